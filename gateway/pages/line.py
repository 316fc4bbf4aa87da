"""The waiting room without JavaScript: a page that renews itself, and plain forms.

Who its buyer is stands in a cookie that scripts and other sites cannot use (HttpOnly, SameSite=Lax, of this
event's pages only): in a demo a guest's token, else the one the shop's page sent here by a form. A form is
taken from this page alone; only the shop may send a buyer in.
"""

from __future__ import annotations

import asyncio
import secrets
from html import escape
from pathlib import Path
from string import Template
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, unquote

import msgspec
from fastapi import APIRouter, Query, Request
from fastapi import Path as PathParameter
from starlette.responses import HTMLResponse, RedirectResponse, Response

from gateway.addresses import address_of
from gateway.buyers import owning
from gateway.buyers.decode import Confirm, JoinBody, Release
from gateway.buyers.recall import DATABASE_AWAY
from gateway.buyers.tokens import DEMO_SECONDS
from gateway.events import EventRuntime
from gateway.pages import plain
from gateway.pages.files import STATIC
from gateway.pages.plain import Asked, Seen
from gateway.pages.texts import texts
from gateway.payments import paying
from gateway.problems import Forbidden, Unauthorized
from gateway.room import acting, shops
from gateway.room.protection import tokens_of
from gateway.routing import Slug
from gateway.runtime import Runtime
from store import holds
from store.errors import BadRequest, NotFound, OnsaleError, Unavailable
from store.room.words import Place
from store.wire import canonical_want
from store.words import Best, HoldState, Want

TOKEN, ASKED, BACK = "onsale-line", "onsale-asked", "onsale-back"
END_DIGITS_MAX = 15
ANSWER_SECONDS_MAX = 10.0
"""Longest wait for Postgres or the stream within one form."""
ACTS = "^(come|join|begin|more|leave|hold|buy|release|again)$"
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin"}
HEADERS["Content-Security-Policy"] = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)

_page = Template((Path(__file__).parent / "plain.html").read_text(encoding="utf-8"))

router = APIRouter(include_in_schema=False)


class _Accepted:
    """Waits until a request is in the stream; its decision is read by the page."""

    prompt = True

    def __init__(self) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def decided(self, frame: bytes) -> None:
        self._end(None)

    def accepted(self, request_id: str, arrival: str) -> None:
        self._end(None)

    def delayed(self, request_id: str) -> None:
        return

    def refused(self, request_id: str, error: OnsaleError) -> None:
        self._end(error)

    def _end(self, error: OnsaleError | None) -> None:
        if not self.done.done():
            self.done.set_result(None) if error is None else self.done.set_exception(error)


class _Visit:
    """One call: whose, at which event."""

    def __init__(self, request: Request, event: EventRuntime) -> None:
        self.request = request
        self.runtime: Runtime = request.app.state.runtime
        self.event = event
        self.room = acting.room_of(event)
        self.buyer = ""
        peer = request.client and (request.client.host, request.client.port)
        self.address = address_of(peer, request.scope["headers"], self.runtime.settings.trusted_proxies)
        self.asked = request.cookies.get(ASKED, "")[:64]
        self.back = shops.returning(self.runtime.settings.room, unquote(request.cookies.get(BACK, "")))
        self.onward = ""
        """Where who has begun goes, with their admission."""

    async def recognise(self) -> None:
        token = self.request.cookies.get(TOKEN, "")
        if token:
            try:
                self.buyer = (await self.runtime.tokens.verify(token)).id
            except Unauthorized:
                self.buyer = ""  # run out: comes in anew

    async def place(self) -> Place | None:
        try:
            return await self.room.look_up(self.buyer) if self.buyer else None
        except NotFound:
            return None

    async def seen(self, trouble: str = "") -> Seen:
        place = await self.place()
        told = self.room.shown() or await self.room.freshened()
        return Seen(
            self.event.row.slug,
            self.event.row.name,
            msgspec.json.decode(told.body),
            None if place is None else msgspec.json.decode(self.room.place_body(place)),
            bool(self.buyer) or self.runtime.settings.demo,
            await self._what_was_asked(),
            trouble,
            self.back.host if self.back else "",
        )

    async def _decided(self) -> dict[str, Any] | None:
        if not self.asked or not self.buyer:
            return None
        decided = await self.event.recall.find(self.buyer, self.asked)
        return None if decided is None else msgspec.json.decode(decided.frame)

    async def _what_was_asked(self) -> Asked | None:
        decided = await self._decided()
        if decided is None:
            waits = self.buyer and self.event.intake.find(self.buyer, self.asked) is not None
            return Asked("asking") if waits else None
        if decided["outcome"] != "held":
            return Asked(decided["outcome"])
        return await self._held(decided["result"])

    async def _held(self, result: dict[str, Any]) -> Asked:
        values = {"event": self.event.row.id, "hold": int(result["hold"]), "buyer": self.buyer}
        try:
            async with self.runtime.pool.connection() as connection:
                now = await holds.look(connection, values)
        except NotFound:
            return Asked("gone")
        except DATABASE_AWAY as error:
            raise Unavailable("The database is away. Try again shortly.") from error
        if now.state is not HoldState.ACTIVE:
            return Asked("paid" if now.state is HoldState.PAID else str(now.state))
        seats = {seat.guid: seat for seat in self.event.plan.seats}
        named = [seats[guid] for guid in result["seats"]]
        names = [f"{self.event.plan.sections[one.section].name} {one.row} {one.number}" for one in named]
        minutes = round((now.expires_at - self.event.now_us()) / 60_000_000)
        costs = self.event.row.payment != "none"
        return Asked("held", tuple(names), minutes, await self._pay_url(result) if costs else "", costs)

    async def _pay_url(self, result: dict[str, Any]) -> str:
        try:
            told = await paying.read_payment(self.runtime, self.event, int(result["hold"]), self.buyer)
        except NotFound:
            return ""
        url = (told.checkout or {}).get("url", "")
        return url if url.startswith(("https://", "http://")) else ""

    # --- what forms do ---

    async def act(self, act: str, form: dict[str, str]) -> None:
        if act == "again":
            self.asked = ""
        elif act == "join":
            answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            acting.ask_to_join(
                self.runtime,
                self.event,
                acting.Asker(self.buyer, self.address),
                JoinBody(),
                lambda _, error: _answer(answer, error),
            )
            await asyncio.wait_for(answer, ANSWER_SECONDS_MAX)
        elif act == "begin":
            self._go_on(await acting.begin(self.event, self.runtime.pool, self.buyer))
        elif act == "more":
            end = form.get("end", "")
            if not (end.isdecimal() and len(end) <= END_DIGITS_MAX):
                raise BadRequest("bad_end", "Say when your time ends, as this page does.")
            await acting.more_time(self.event, self.runtime.pool, self.buyer, int(end))
        elif act == "leave":
            await acting.leave(self.event, self.runtime.pool, self.buyer)
        elif act == "hold":
            await self._ask(form)
        else:
            await self._settle(act)

    def _go_on(self, place: Place) -> None:
        if self.back is not None:
            admission = tokens_of(self.request).of(self.event.row.slug, place, self.back.shop)
            self.onward = shops.with_admission(self.back.address, admission.token)

    async def _ask(self, form: dict[str, str]) -> None:
        quantity = form.get("quantity", "")
        if not quantity.isdecimal() or int(quantity) not in plain.QUANTITIES:
            raise BadRequest("bad_quantity", f"Choose {plain.QUANTITIES[0]} to {plain.QUANTITIES[-1]} seats.")
        self.event.must_sell()
        let: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.room.let_in(self.buyer, lambda error: _answer(let, error))
        await asyncio.wait_for(let, ANSWER_SECONDS_MAX)
        asked, waiter = f"plain-{secrets.token_hex(8)}", _Accepted()
        want = canonical_want(Want(best=Best(int(quantity))))
        self.event.intake.submit(self.buyer, asked, want, waiter)
        self.asked = asked
        await asyncio.wait_for(waiter.done, ANSWER_SECONDS_MAX)

    async def _settle(self, act: str) -> None:
        decided = await self._decided()
        if decided is None or decided["outcome"] != "held":
            raise NotFound("hold_not_found", "You have no such hold.")
        hold = decided["result"]["hold"]
        if act == "release":
            await owning.change(self.runtime, self.event, Release(hold), self.buyer)
            self.asked = ""
        elif self.event.row.payment == "none":
            await owning.change(self.runtime, self.event, Confirm(hold), self.buyer)
        else:
            await paying.begin_payment(self.runtime, self.event, int(hold), self.buyer, None)


def _answer(future: asyncio.Future[None], error: OnsaleError | None) -> None:
    if not future.done():
        future.set_result(None) if error is None else future.set_exception(error)


async def _visit(request: Request, slug: str) -> _Visit:
    visit = _Visit(request, await request.app.state.runtime.events.get(slug))
    await visit.recognise()
    return visit


def _render(seen: Seen, shop: str = "") -> HTMLResponse:
    """`shop`: the origin a form may lead on to."""
    again = f"{plain.REFRESH_SECONDS}; url=/e/{seen.event}/line"
    name = escape(seen.name)
    told = _page.substitute(
        lang="en", title=name, name=name, static=STATIC, refresh=again, body=plain.body(seen)
    )
    answer = HTMLResponse(told, headers=HEADERS)
    if shop:
        policy = HEADERS["Content-Security-Policy"]
        wider = policy.replace("form-action 'self'", f"form-action 'self' {shop}")
        answer.headers["Content-Security-Policy"] = wider
    return answer


@router.get("/e/{event}/line")
async def line_page(
    request: Request, event: Slug, back: Annotated[str, Query(alias="return")] = ""
) -> Response:
    """How the buyer stands; renews itself. `return`: an address of the shop that sent them here."""
    try:
        visit = await _visit(request, event)
    except NotFound:
        return RedirectResponse(f"/e/{event}", 303)
    if not back:
        return await _shown(visit)
    known = shops.returning(visit.runtime.settings.room, back)
    if known is None:
        return await _shown(visit, str(texts("en")["back.refused"]))
    visit.back = known
    answer = await _shown(visit)
    _remember(request, answer, event, BACK, quote(known.address, safe=""))
    return answer


async def _shown(visit: _Visit, trouble: str = "") -> Response:
    return _render(await visit.seen(trouble), visit.back.shop if visit.back else "")


@router.post("/e/{event}/line/{act}")
async def line_form(
    request: Request, event: Slug, act: Annotated[str, PathParameter(pattern=ACTS)]
) -> Response:
    """One form; then the page again."""
    _must_be_from_here(request, act)
    form = dict(parse_qsl((await request.body()).decode("ascii", "replace"), max_num_fields=10))
    visit, token = await _visit(request, event), ""
    try:
        token = await _token_for(visit, act, form)
        if act != "come":
            await visit.act(act, form)
    except TimeoutError:
        pass  # nobody knows yet; the page shows it as soon as somebody does
    except OnsaleError as error:
        return await _shown(visit, str(error))
    back = RedirectResponse(visit.onward or f"/e/{event}/line", 303, HEADERS)
    if token:
        _remember(request, back, event, TOKEN, token)
    if visit.asked != request.cookies.get(ASKED, ""):
        _remember(request, back, event, ASKED, visit.asked)
    return back


async def _token_for(visit: _Visit, act: str, form: dict[str, str]) -> str:
    """A token to remember, of who comes in; raises `Unauthorized` for who does not say who they are."""
    if act == "come":
        visit.buyer = (await visit.runtime.tokens.verify(form.get("token", ""))).id
        return form["token"]
    if not visit.buyer and visit.runtime.settings.demo:
        token, visit.buyer = visit.runtime.tokens.demo_token()
        return token
    if not visit.buyer:
        raise Unauthorized("token_required", "Come in from the shop's page, which says who you are.")
    return ""


def _must_be_from_here(request: Request, act: str) -> None:
    """Raises `Forbidden` (origin_refused) for a form of another site."""
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "same-origin")
    allowed = request.app.state.runtime.origin_allowed(origin, request.headers.get("host", ""))
    same = site in ("same-origin", "none") and (origin is None or _is_own(origin, request))
    if not (allowed if act == "come" else same):
        raise Forbidden("origin_refused", "Use the forms of this event's own page.")


def _is_own(origin: str, request: Request) -> bool:
    return origin.partition("://")[2] == request.headers.get("host", "") != ""


def _remember(request: Request, answer: Response, event: str, name: str, value: str) -> None:
    """Keep it for this event's pages, or forget it (empty)."""
    answer.set_cookie(
        name,
        value,
        max_age=DEMO_SECONDS if value else 0,
        path=f"/e/{event}",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="lax",
    )
