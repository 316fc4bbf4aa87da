"""Where tests have webhooks sent: a subscriber that answers as it is told, and the relay that asks it.

Everything runs on the test's event loop, on a real Postgres; nothing waits for a time to go by, but until
something is true.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import psycopg
from aiohttp import web

from notifier import relay
from store import outbox
from store.audit import said
from store.outbox import Told
from store.subscribers import edit

SECONDS_MAX = 20.0
WHO = said("Olga", "a test")


class Received:
    """One message, as it came."""

    def __init__(self, headers: dict[str, str], body: bytes) -> None:
        self.headers = headers
        self.body = body
        self.id = headers["webhook-id"]
        self.json: Any = msgspec.json.decode(body)
        self.data = self.json["data"]


class Sink:
    """Keeps what came, in order; `answer` says what each is answered with: a status, or a whole response."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.answer: Callable[[Received], int | web.StreamResponse | Awaitable[Any]] = lambda _: 204
        self.url = ""
        self.new = asyncio.Event()

    @property
    def ids(self) -> list[str]:
        return [one.id for one in self.received]

    @property
    def numbers(self) -> list[int]:
        """The `n` of each message's data."""
        return [one.data["n"] for one in self.received]

    async def has(self, count: int) -> None:
        """Returns when so many messages came."""
        await until(lambda: len(self.received) >= count)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        one = Received({name.lower(): value for name, value in request.headers.items()}, await request.read())
        self.received.append(one)
        answer = self.answer(one)
        if not isinstance(answer, int | web.StreamResponse):
            answer = await answer
        return web.Response(status=answer) if isinstance(answer, int) else answer


@asynccontextmanager
async def sink():
    """A sink that listens on this machine."""
    made = Sink()
    app = web.Application()
    app.router.add_post("/{path:.*}", made.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    try:
        yield made
    finally:
        await runner.cleanup()


@asynccontextmanager
async def relaying(database_url: str, count: int = 1, **how: Any):
    """So many relays, on this loop."""
    how = {"allow_private": True} | how
    stop = asyncio.Event()
    running = [asyncio.create_task(relay.run(database_url, stop=stop, **how)) for _ in range(count)]
    try:
        yield running
    finally:
        stop.set()
        await asyncio.gather(*running)


async def until(true: Callable[[], bool]) -> None:
    """Returns when it is."""
    async with asyncio.timeout(SECONDS_MAX):
        while not true():  # noqa: ASYNC110  # what becomes true is in Postgres, or a list
            await asyncio.sleep(0.01)


def subscribe(conn: psycopg.Connection, url: str, **terms: Any) -> tuple[int, str]:
    """A subscriber's number and secret."""
    made = edit.add(conn, url, WHO, allow_private=True, **terms)
    return int(made.subscriber.id), made.secret


def tell(conn: psycopg.Connection, event: int, *numbers: int, kind: Told = Told.PAYMENT_LATE) -> None:
    """A row of the outbox for each number, each in a transaction of its own."""
    for number in numbers:
        outbox.write(conn, event, kind, {"n": number})


def rows(conn: psycopg.Connection, statement: str) -> list[tuple[Any, ...]]:
    return conn.execute(statement).fetchall()


def one(conn: psycopg.Connection, statement: str) -> Any:
    """The only value."""
    [(value,)] = rows(conn, statement)
    return value
