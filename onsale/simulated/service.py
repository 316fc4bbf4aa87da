"""The provider over HTTP: its API for sellers, its checkout page for buyers, its switches for who rehearses.

    POST /v1/intents                  {amount_minor, currency, description, return_url, metadata}
    GET  /v1/intents/{intent}         POST /v1/intents/{intent}/cancel
    POST /v1/refunds                  {intent, amount_minor, reason}
    GET  /v1/balance                  what came in and went back, in all
    GET  /pay/{intent}                the checkout page
    POST /pay/{intent}  ·  /pay/{intent}/decline     pay, or a card that is declined
    GET · POST /control               the switches: a page, or JSON for who asks for it

Calls that make something take an `Idempotency-Key`. Who asks for a page gets pages; everybody else JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, TypeVar

import msgspec
from aiohttp import web

from onsale.simulated import pages
from onsale.simulated.book import Asked, Book, Intent, Notice, RefundAsked, Refused, Status, shown
from onsale.simulated.journal import Journal
from onsale.simulated.sending import Sending
from onsale.simulated.settings import Settings
from onsale.simulated.switches import Dice, changed

BODY_BYTES_MAX: Final = 64 * 1024
_SHUTDOWN_SECONDS: Final = 2.0

T = TypeVar("T")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Service:
    """One provider: its book, and what is on its way to the seller."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.url
        self._journal = Journal(settings.data_dir / "journal.jsonl")
        self.book = Book(self._journal.write, self._tell)
        self.book.read_again(self._journal.entries())
        self.dice = Dice(self.book.switches)
        self.sending = Sending(settings.notify_urls, settings.secret, self.dice)
        self._telling: set[asyncio.Task[None]] = set()

    def application(self) -> web.Application:
        """What serves it; sending begins and ends with it."""
        app = web.Application(client_max_size=BODY_BYTES_MAX, middlewares=[_plainly])
        app.add_routes(
            [
                web.get("/health/ready", self._ready),
                web.post("/v1/intents", self._called(self._make)),
                web.get("/v1/intents/{intent}", self._called(self._find)),
                web.post("/v1/intents/{intent}/cancel", self._called(self._cancel)),
                web.post("/v1/refunds", self._called(self._give_back)),
                web.get("/v1/balance", self._balance),
                web.get("/pay/{intent}", self._checkout),
                web.post("/pay/{intent}", self._pay),
                web.post("/pay/{intent}/decline", self._decline),
                web.get("/control", self._switches),
                web.post("/control", self._control),
            ]
        )
        app.cleanup_ctx.append(self._send)
        return app

    async def _send(self, _: web.Application) -> AsyncIterator[None]:
        for notice in list(self.book.untold.values()):
            await self.sending.add(notice, self.book)
        task = asyncio.create_task(self.sending.run(self.book))
        yield
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        self._journal.close()

    def _tell(self, notice: Notice) -> None:
        task = asyncio.get_running_loop().create_task(self.sending.add(notice, self.book))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    def _called(self, handler: Handler) -> Handler:
        """With the faults that are switched on."""

        async def called(request: web.Request) -> web.StreamResponse:
            switches = self.dice.switches
            if self.dice.falls(switches.errors):
                return web.json_response({"error": "switched_on"}, status=500)
            answer = await handler(request)
            if self.dice.falls(switches.lost_replies) and request.transport is not None:
                request.transport.abort()
            return answer

        return called

    # --- the seller's calls ---

    async def _ready(self, _: web.Request) -> web.StreamResponse:
        return web.json_response({"state": "ready"})

    async def _make(self, request: web.Request) -> web.StreamResponse:
        intent = self.book.make(await _read(request, Asked), request.headers.get("Idempotency-Key", ""))
        return self._shown(intent)

    async def _find(self, request: web.Request) -> web.StreamResponse:
        return self._shown(self.book.find(request.match_info["intent"]))

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        return self._shown(self.book.cancel(request.match_info["intent"]))

    async def _give_back(self, request: web.Request) -> web.StreamResponse:
        asked = await _read(request, RefundAsked)
        refund = self.book.give_back(asked, request.headers.get("Idempotency-Key", ""))
        return web.json_response(msgspec.to_builtins(refund))

    async def _balance(self, _: web.Request) -> web.StreamResponse:
        paid = [one for one in self.book.intents.values() if one.status is Status.SUCCEEDED]
        return web.json_response(
            {
                "intents": len(self.book.intents),
                "paid": len(paid),
                "paid_minor": sum(one.asked.amount_minor for one in paid),
                "fee_minor": sum(one.fee_minor for one in paid),
                "refunds": len(self.book.refunds),
                "refunded_minor": sum(one.refunded_minor for one in paid),
            }
        )

    def _shown(self, intent: Intent) -> web.Response:
        return web.json_response(shown(intent, f"{self._url}/pay/{intent.id}"))

    # --- the buyer's page ---

    async def _checkout(self, request: web.Request) -> web.StreamResponse:
        return _page(pages.checkout(self.book.find(request.match_info["intent"])))

    async def _pay(self, request: web.Request) -> web.StreamResponse:
        wants_page = _wants_page(request)
        try:
            intent = self.book.pay(request.match_info["intent"])
        except Refused as refused:
            if wants_page and refused.status == 409:
                raise web.HTTPSeeOther(request.path) from None
            raise
        if wants_page:
            raise web.HTTPSeeOther(intent.asked.return_url)
        return self._shown(intent)

    async def _decline(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removesuffix("/decline")
        wants_page = _wants_page(request)
        try:
            intent = self.book.decline(request.match_info["intent"])
        except Refused as refused:
            if wants_page and refused.status == 409:
                raise web.HTTPSeeOther(path) from None
            raise
        if wants_page:
            raise web.HTTPSeeOther(path)
        return self._shown(intent)

    # --- who rehearses ---

    async def _switches(self, request: web.Request) -> web.StreamResponse:
        if _wants_page(request):
            return _page(pages.control(self.dice.switches, self._counts()))
        return web.json_response(msgspec.to_builtins(self.dice.switches) | self._counts())

    async def _control(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if _is_form(request) and not body.startswith(b"{"):  # a program may send JSON and not say so
            body = pages.from_form(await request.post())
        try:
            switches = changed(self.dice.switches, body)
        except msgspec.DecodeError as error:
            return web.json_response({"error": "bad_switches", "detail": str(error)}, status=400)
        self.book.set(switches)
        self.dice.set(switches)
        await self.sending.woken()
        if _wants_page(request):
            raise web.HTTPSeeOther(request.path)
        return web.json_response(msgspec.to_builtins(switches) | self._counts())

    def _counts(self) -> dict[str, int]:
        return {
            "untold": len(self.book.untold),
            "attempts": self.sending.attempts,
            "taken": self.sending.taken,
            "given_up": self.sending.given_up,
        }


def _wants_page(request: web.Request) -> bool:
    return "text/html" in request.headers.get("Accept", "")


def _is_form(request: web.Request) -> bool:
    return request.content_type == "application/x-www-form-urlencoded"


def _page(text: str) -> web.Response:
    headers = {"Cache-Control": "no-store", "Content-Security-Policy": pages.POLICY}
    return web.Response(text=text, content_type="text/html", headers=headers)


async def _read(request: web.Request, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(await request.read(), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, f"bad_body: {error}") from None


@web.middleware
async def _plainly(request: web.Request, handler: Any) -> web.StreamResponse:
    """What is refused, as JSON or as a page."""
    try:
        answer: web.StreamResponse = await handler(request)
        return answer
    except Refused as refused:
        if _wants_page(request):
            page = _page(pages.nothing_here())
            page.set_status(refused.status)
            return page
        return web.json_response({"error": refused.code}, status=refused.status)


async def serve(settings: Settings) -> None:
    """Serve until cancelled."""
    runner = web.AppRunner(Service(settings).application(), access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(
            runner, settings.host, settings.port, shutdown_timeout=_SHUTDOWN_SECONDS, backlog=1024
        )
        await site.start()
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()
