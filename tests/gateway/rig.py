"""A gateway in the test's own loop, a stand-in for the allocator, and clients for both ways in."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jwt
import psycopg
import redis.asyncio
import uvicorn
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from gateway.app import Gateway, server_of
from gateway.ending import end
from gateway.runtime import Runtime
from gateway.settings import Settings
from store import events
from store.settings import EngineUrls
from store.venues.make import make
from store.venues.rows import save_venue
from store.wire import (
    Delta,
    Entry,
    decision_frame,
    decisions_channel,
    decode_entry,
    encode_delta,
    encode_published,
    seats_channel,
    stream_key,
)
from store.words import EventState

SECRET = "a secret of the tests, 32 bytes long or more"
EVENT = f"gig-{os.getpid()}"
"""Each process that runs tests has its own, for channels are the whole server's."""
WITHIN = 30.0


def scenario(test):
    """Runs an async test to its end, in a loop of its own, within a minute."""

    @functools.wraps(test)
    def run(*args, **kwargs):
        async def bounded():
            async with asyncio.timeout(60):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return run


async def until(true: Callable[[], object], within: float = WITHIN) -> None:
    """Waits for what must become true."""
    end = time.monotonic() + within
    while not true():
        assert time.monotonic() < end, "it did not become true in time"
        await asyncio.sleep(0.01)


def token(buyer: str = "ann", *, seconds: int = 600, secret: str = SECRET, **claims: Any) -> str:
    return jwt.encode({"sub": buyer, "exp": int(time.time()) + seconds, **claims}, secret, algorithm="HS256")


def make_event(
    database_url: str, *, state: EventState = EventState.OPEN, seats: int = 100, **policy: Any
) -> int:
    plan = make("arena", seats, standing=50)
    with psycopg.connect(database_url, autocommit=True) as conn:
        number = events.create_event(conn, EVENT, "The gig", save_venue(conn, "arena", plan), plan, **policy)
        for step in {
            EventState.DRAFT: [],
            EventState.LOBBY: [EventState.LOBBY],
            EventState.OPEN: [EventState.OPEN],
            EventState.PAUSED: [EventState.OPEN, EventState.PAUSED],
            EventState.CLOSED: [EventState.OPEN, EventState.CLOSED],
        }[state]:
            events.set_state(conn, EVENT, step)
        conn.execute("DELETE FROM fact")
    return number


SEATS = [seat.guid for seat in make("arena", 100, standing=50).seats]


class StandIn:
    """Reads the stream like an allocator and answers `held` to the first who names a seat.

    `deciding`, `writing` and `publishing` switch off what a test wants to go missing.
    """

    def __init__(self, urls: EngineUrls, event_id: int) -> None:
        self._urls = urls
        self._event_id = event_id
        self._gone: dict[str, int] = {}
        self._known: dict[tuple[str, str], tuple[str, str, str, str]] = {}
        self.batch_no = 0
        self.at = "0-0"
        self.read: list[Entry] = []
        self.deciding = self.writing = self.publishing = True

    async def __aenter__(self) -> StandIn:
        self.redis = redis.asyncio.Redis.from_url(self._urls.redis_url)
        self._conn = await psycopg.AsyncConnection.connect(self._urls.database_url, autocommit=True)
        if not await self.redis.exists(stream_key(EVENT)):
            await self.redis.xadd(stream_key(EVENT), {"c": "1"}, id="1-1")
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        await end([self._task])
        await self._conn.close()
        await self.redis.aclose()

    async def _run(self) -> None:
        while True:
            try:
                reply: Any = await self.redis.xread({stream_key(EVENT): self.at}, count=500)
            except (redis.RedisError, OSError):
                reply = None
            entries = (
                next(iter(reply.values()))[0] if isinstance(reply, dict) else reply[0][1] if reply else []
            )
            if not entries or not self.deciding:
                await asyncio.sleep(0.003)
                continue
            await self._batch(entries)

    async def _batch(self, entries: Any) -> None:
        self.batch_no += 1
        answers: dict[str, list[tuple[str, str, bytes]]] = {}
        held: list[tuple[int, int]] = []
        rows = []
        for position, (raw, fields) in enumerate(entries):
            if b"r" not in fields:
                continue
            entry = decode_entry(fields[b"r"])
            self.read.append(entry)
            arrival = entry.first_arrival or raw.decode()
            want, key = bytes(entry.want).decode(), (entry.buyer, entry.request_id)
            if key not in self._known:
                answer = self._decide(json.loads(want), position, held)
                self._known[key] = (want, arrival, *answer)
                rows.append((self.batch_no, position, arrival, *key, want, *answer))
            known_want, known_arrival, outcome, result = self._known[key]
            if known_want != want:
                known_arrival, outcome, result = arrival, "conflict", '{"reason":"key_reused"}'
            frame = decision_frame(entry.request_id, known_arrival, outcome, result)
            answers.setdefault(entry.gateway, []).append((*key, frame))
        self.at = entries[-1][0].decode()
        if self.writing:
            await self._write(rows)
        if self.publishing:
            await self._publish(answers, Delta(self.batch_no, _now_us(), held, [], [], []))

    def _decide(self, want: dict[str, Any], position: int, held: list[tuple[int, int]]) -> tuple[str, str]:
        seats = want.get("seats", [])
        if taken := [seat for seat in seats if seat in self._gone]:
            return "taken", json.dumps({"taken": taken})
        hold = self.batch_no << 16 | position
        for seat in seats:
            self._gone[seat] = hold
            held.append((SEATS.index(seat), _now_us() + 480_000_000))
        return "held", json.dumps({"hold": str(hold), "seats": seats, "areas": {}, "expires_at": 1})

    async def _write(self, rows: list[tuple[Any, ...]]) -> None:
        async with self._conn.transaction(), self._conn.cursor() as cursor:
            await cursor.execute(
                "UPDATE event_cursor SET arrival = %s, batch_no = %s WHERE event_id = %s",
                (self.at, self.batch_no, self._event_id),
            )
            await cursor.executemany(
                "INSERT INTO ledger (event_id, batch_no, position, kind, arrival, buyer, request_id, input,"
                " outcome, result) VALUES (%s, %s, %s, 'request', %s, %s, %s, %s, %s, %s)",
                [(self._event_id, *row) for row in rows],
            )

    async def _publish(self, answers: dict[str, list[tuple[str, str, bytes]]], delta: Delta) -> None:
        for gateway, decisions in answers.items():
            await self.redis.publish(decisions_channel(EVENT, gateway), encode_published(decisions))
        await self.redis.publish(seats_channel(EVENT), encode_delta(delta))


def _now_us() -> int:
    return time.time_ns() // 1000


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Served:
    """A gateway that runs, and ways to talk to it."""

    def __init__(self, app: Gateway, server: uvicorn.Server, port: int) -> None:
        self.server = server
        self.port = port
        self.app = app

    @property
    def runtime(self) -> Runtime:
        return self.app.runtime

    @contextlib.asynccontextmanager
    async def socket(
        self, buyer: str = "ann", *, hello: dict[str, Any] | None = None, **options: Any
    ) -> AsyncIterator[Buyer]:
        async with self.bare_socket(**options) as talk:
            await talk.send({"type": "hello", "event": EVENT, "token": token(buyer)} | (hello or {}))
            talk.welcome = await talk.receive("welcome")
            yield talk

    @contextlib.asynccontextmanager
    async def bare_socket(self, **options: Any) -> AsyncIterator[Buyer]:
        url = f"ws://127.0.0.1:{self.port}/v1/socket"
        async with connect(url, compression=None, **options) as connection:
            yield Buyer(connection)

    async def http(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        headers: dict[str, str] | None = None,
        stays: bool = False,
    ) -> Answer:
        """One request on a connection of its own; `stays`: one that may be used again."""
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        head = {"Host": f"127.0.0.1:{self.port}", "Content-Length": str(len(raw))} | (headers or {})
        if not stays:
            head["Connection"] = "close"
        lines = [f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in head.items()), "", ""]
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write("\r\n".join(lines).encode() + raw)
        answer = await read_answer(reader)
        writer.close()
        await writer.wait_closed()
        return answer

    async def post(
        self,
        want: Any,
        key: str | None = "r1",
        *,
        buyer: str = "ann",
        event: str = EVENT,
        stays: bool = True,
        **headers: str,
    ) -> Answer:
        head = {"Authorization": f"Bearer {token(buyer)}"} | headers
        if key is not None:
            head["Idempotency-Key"] = key
        return await self.http("POST", f"/v1/events/{event}/requests", body=want, headers=head, stays=stays)


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    """The next answer on a connection, which may stay open after it."""
    top = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), WITHIN)).decode()
    first, *others = top.strip().split("\r\n")
    found: dict[str, str] = {}
    for name, _, value in (line.partition(": ") for line in others):
        before = found.get(name.lower())
        found[name.lower()] = value if before is None else f"{before}, {value}"
    if found.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    else:
        body = await reader.readexactly(int(found.get("content-length", 0)))
    return Answer(int(first.split()[1]), found, body)


class Buyer:
    """One client socket that speaks JSON."""

    welcome: dict[str, Any]

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, frame: Any) -> None:
        await self.connection.send(frame if isinstance(frame, str) else json.dumps(frame))

    async def ask(self, request_id: str, **want: Any) -> None:
        await self.send({"type": "request", "id": request_id, **want})

    async def receive(self, *kinds: str, but: tuple[str, ...] = ("accepted",)) -> Any:
        """The next frame that is one of `kinds`; frames in `but` may come before it, others may not."""
        while True:
            frame = json.loads(await asyncio.wait_for(self.connection.recv(), WITHIN))
            if not kinds or frame["type"] in kinds:
                return frame
            assert frame["type"] in but, f"{frame} came instead of {kinds}"

    async def nothing_for(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            frame = await asyncio.wait_for(self.connection.recv(), seconds)
            raise AssertionError(f"{frame!r} came, nothing should")

    async def close_code(self) -> int | None:
        """The code the connection was closed with; what came before is read and forgotten."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                await asyncio.wait_for(self.connection.recv(), WITHIN)
        return self.connection.close_code


@contextlib.asynccontextmanager
async def gateway(
    urls: EngineUrls, *, bounds: dict[str, Any] | None = None, port: int = 0, **given: Any
) -> AsyncIterator[Served]:
    """A gateway on a free port, if none is given, stopped gracefully."""
    settings = Settings(engines=urls, port=port, token_secret=SECRET, **given)
    settings = replace(settings, bounds=replace(settings.bounds, **(bounds or {})))
    server = server_of(settings)
    task = asyncio.create_task(server.serve())
    await until(lambda: server.started or task.done())
    if task.done():
        await task
    port = server.servers[0].sockets[0].getsockname()[1]
    app = server.config.app
    assert isinstance(app, Gateway)
    try:
        yield Served(app, server, port)
    finally:
        server.should_exit = True
        await task
