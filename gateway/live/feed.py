"""What this gateway's consoles see, read once however many watch.

One task, which reads only while somebody watches: every launch at a glance, what is about none of them, and
of each event that somebody looks at all there is. It reads once a second, sooner for who has just come, and
less often where a reading takes long (`store.console.now.Pace`); in a thread, on a connection of its own, so
buyers wait for nothing of it. Frames are encoded once for all who may see the same.

A watcher that reads too slowly is closed by the hub (4409) and comes back; `history` fills its gap.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Any, Final

import msgspec
import psycopg
import redis.asyncio
from redis.exceptions import RedisError

from gateway.callers import Caller
from gateway.ending import end
from gateway.problems import error_frame
from notifier.hub import RESTARTING, Client, Hub
from store.console import view
from store.console.launch import Launch
from store.console.needs import Need, needs_around
from store.console.now import Conn, Pace, Reader
from store.console.samples import COLUMNS
from store.console.view import Detail, Look
from store.errors import NotFound
from store.settings import EngineUrls

log = logging.getLogger("onsale.gateway")

WATCHERS_MAX: Final = 200
EVERY_SECONDS: Final = 1.0
SOON_SECONDS: Final = 0.1
STREAM_SECONDS_MAX: Final = 1.0
STATEMENT_MS_MAX: Final = 5_000
CONNECT_SECONDS_MAX: Final = 3
AWAY_SECONDS: Final = 1.0
TRY_LATER: Final = 1013
LAUNCHES_BYTES_A_SECOND: Final = 32 * 1024
"""Of launches a watcher is sent at most; where there are very many, they are told less often."""

Clock = Callable[[], float]


class Watcher:
    """One socket: who watches, and what."""

    __slots__ = ("caller", "client", "event", "launches_again_at", "new")

    def __init__(self, client: Client, caller: Caller) -> None:
        self.client = client
        self.caller = caller
        self.event: str | None = None
        self.new = False
        """It has not been told anything of what it watches yet."""
        self.launches_again_at = 0.0


class LiveFeed:
    """One gateway's."""

    def __init__(
        self, engines: EngineUrls, client: redis.asyncio.Redis, on_reading: Callable[[float], None]
    ) -> None:
        """`on_reading` is told how many seconds each look at Postgres took."""
        self._on_reading = on_reading
        self._database_url = engines.database_url
        self._redis = client
        self.hub = Hub(WATCHERS_MAX)
        self._watchers: set[Watcher] = set()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._steady = Pace(EVERY_SECONDS)
        self._eager = Pace(SOON_SECONDS)
        self._told: dict[object, bytes] = {}
        """What was told last of launches by scope, and of an event by its name; without what moves anyway."""
        self.readings = 0
        self.strangers = 0
        """Sockets that have not said yet who they are: they take no watcher's place."""

    @property
    def full(self) -> bool:
        """Whether as many watch as may."""
        return len(self.hub.clients) - self.strangers >= WATCHERS_MAX

    @property
    def watching(self) -> int:
        """Consoles that are told here."""
        return len(self._watchers)

    def start(self) -> None:
        """Read for whoever watches, whatever fails, until `stop`."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Watchers are told to come back."""
        await end([] if self._task is None else [self._task])
        await self.hub.close_all(RESTARTING)

    def watch(self, watcher: Watcher, event: str | None) -> None:
        """From now on it sees that event, or every launch."""
        watcher.event, watcher.new = event, True
        self._watchers.add(watcher)
        self._wake.set()

    def leave(self, watcher: Watcher) -> None:
        """It is gone."""
        self._watchers.discard(watcher)

    async def _run(self) -> None:
        while True:
            try:
                await self._follow()
            except (psycopg.OperationalError, OSError) as error:
                log.warning("consoles wait for the database: %s", error)
                self._say_away("the database is away")
            except Exception:
                log.exception("ALERT: consoles are told nothing; reading again")
                self._say_away("how things stand could not be read")
            await asyncio.sleep(AWAY_SECONDS)

    async def _follow(self) -> None:
        """Read and tell, on one connection, until Postgres is away."""
        conn: Conn | None = None
        try:
            while True:
                await self._next_turn()
                if conn is None:
                    conn = await asyncio.to_thread(self._connect)
                    reader = Reader(conn)
                await self._turn(reader, conn)
        finally:
            if conn is not None:
                conn.close()

    async def _next_turn(self) -> None:
        """Wait until somebody watches and it is time."""
        while True:
            self._wake.clear()
            pace = self._eager if any(one.new for one in self._watchers) else self._steady
            if self._watchers and pace.due():
                return
            left = pace.left_seconds() if self._watchers else None
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), left)

    async def _turn(self, reader: Reader, conn: Conn) -> None:
        newcomers = {one.event for one in self._watchers if one.new and one.event is not None}
        watched = {one.event for one in self._watchers if one.event is not None}
        scopes = {one.caller.events for one in self._watchers if one.event is None}
        limited = {slug for scope in scopes for slug in scope or ()}
        with self._steady, self._eager:
            self.readings += 1
            begun = time.perf_counter()
            seen = await _in_thread(view.look, reader, conn, watched, newcomers, limited)
            self._on_reading(time.perf_counter() - begun)
            stream_away = await self.stream_away()
        self._tell_launches(seen, stream_away)
        for event in sorted(watched):
            self._tell_event(seen, event)

    async def stream_away(self) -> bool:
        """Whether this gateway hears nothing of the stream's server."""
        try:
            async with asyncio.timeout(STREAM_SECONDS_MAX):
                await self._redis.ping()
        except (RedisError, OSError):  # TimeoutError is an OSError
            return True
        return False

    def _tell_launches(self, seen: Look, stream_away: bool) -> None:
        """Each scope's frame is made once; it is sent where something in it changed."""
        now = asyncio.get_running_loop().time()
        frames: dict[object, tuple[bytes, bool]] = {}
        for one in [one for one in self._watchers if one.event is None]:
            scope = one.caller.events
            if scope not in frames:
                there = seen.launches if scope is None else [*seen.launches, *seen.others]
                mine = [launch for launch in there if one.caller.may_see(launch.slug)]
                needs = needs_around(seen.around, stream_away=stream_away, limited=scope is not None)
                frame = _launches_frame(seen.at_ms, mine, needs)
                calm = _launches_frame(0, [view.steady(launch) for launch in mine], needs)
                frames[scope] = frame, calm != self._told.get(("launches", scope))
                self._told["launches", scope] = calm
            frame, changed = frames[scope]
            if one.new or (changed and now >= one.launches_again_at):
                one.launches_again_at = now + len(frame) / LAUNCHES_BYTES_A_SECOND
                one.client.write(frame)
                one.new = False

    def _tell_event(self, seen: Look, event: str) -> None:
        watchers = [one for one in self._watchers if one.event == event]
        detail = seen.details.get(event)
        if detail is None:
            for one in watchers:
                self._say_unknown(one, event)
            return
        calm = msgspec.json.encode(view.steady_detail(detail))
        changed = calm != self._told.get(event)
        self._told[event] = calm
        whole, point = _detail_frame(detail), _point_frame(event, detail)
        past = _history_frame(event, seen.histories[event]) if event in seen.histories else None
        for one in watchers:
            if one.new and past is None:
                continue  # who came while this was read is told with the next
            if one.new and past is not None:
                one.client.write(whole)
                one.client.write(past)
                one.new = False
            elif changed:
                one.client.write(whole)
            one.client.write(point)

    def _say_unknown(self, watcher: Watcher, event: str) -> None:
        story = f"There is no event {event!r}. List them to see which there are."
        watcher.client.write(error_frame(NotFound("unknown_event", story)))
        self.leave(watcher)

    def _say_away(self, why: str) -> None:
        self._told.clear()
        for one in list(self._watchers):
            one.client.close(TRY_LATER, why)

    def _connect(self) -> Conn:
        return psycopg.connect(
            self._database_url,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS_MAX,
            prepare_threshold=None,
            application_name="onsale console",
            options=f"-c statement_timeout={STATEMENT_MS_MAX}",
        )


async def _in_thread(work: Callable[..., Look], *given: Any) -> Look:
    """What `work` gives. Where this is cancelled, `work` is waited for: it has a connection in its hands."""
    task = asyncio.ensure_future(asyncio.to_thread(work, *given))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with contextlib.suppress(psycopg.Error):
            await task
        raise


def _launches_frame(at_ms: int, launches: list[Launch], needs: list[Need]) -> bytes:
    return msgspec.json.encode({"type": "launches", "at_ms": at_ms, "launches": launches, "needs": needs})


def _detail_frame(detail: Detail) -> bytes:
    return msgspec.json.encode(view.told(detail))


def _history_frame(event: str, rows: list[tuple[Any, ...]]) -> bytes:
    return msgspec.json.encode({"type": "history", "event": event, "columns": COLUMNS, "rows": rows})


def _point_frame(event: str, detail: Detail) -> bytes:
    return msgspec.json.encode({"type": "point", "event": event, "row": detail.point})
