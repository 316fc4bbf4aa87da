"""Which events a gateway serves: each is loaded when first asked for and let go when nobody uses it.

Each event that is served costs a connection to the stream, a seat map in memory and a look at the database
every few seconds. So one that nobody has used for `UNUSED_SECONDS_MAX` is let go; where `events_max` are
served already, the one that nobody has used for longest makes room for the next. What somebody may still
be at is never let go: whoever holds an event without being seen (`EventRuntime.in_use`) asked for it less
than `UNUSED_SECONDS_MIN` ago, for no call takes as long as that.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import time

from gateway.buyers.recall import DATABASE_AWAY
from gateway.ending import end
from gateway.events import EventRuntime, Parts
from gateway.problems import Busy
from store import lookups
from store.errors import NotFound, Unavailable
from store.room import watching

log = logging.getLogger("onsale.gateway")

MISSING_SECONDS = 1.0
MISSING_MAX = 1_000
EVERY_SECONDS = 5.0
"""How often it is seen who uses which event."""
UNUSED_SECONDS_MAX = 600.0
UNUSED_SECONDS_MIN = 120.0


class Events:
    """Events by slug, each loaded once."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._loaded: dict[str, EventRuntime] = {}
        self._loading: dict[str, asyncio.Task[EventRuntime]] = {}
        self._missing: dict[str, float] = {}
        self._stopping: set[asyncio.Task[None]] = set()

    def loaded(self) -> list[EventRuntime]:
        return list(self._loaded.values())

    def known(self, slug: str) -> EventRuntime | None:
        """An event that is loaded; whoever gets it must use it before anybody else's turn."""
        return self._loaded.get(slug)

    async def get(self, slug: str) -> EventRuntime:
        """Raises `NotFound` (event_not_found), `Unavailable` when it cannot be loaded now."""
        found = self._loaded.get(slug)
        if found is not None:
            found.used_at = time.monotonic()
            return found
        if self._missing.get(slug, 0.0) > time.monotonic():
            raise NotFound("event_not_found", f"There is no event {slug!r}. GET /v1/events lists them.")
        task = self._loading.get(slug)
        if task is None:
            self._make_room()
            task = self._loading[slug] = asyncio.get_running_loop().create_task(self._load(slug))
            task.add_done_callback(functools.partial(self._forget, slug))
        return await asyncio.shield(task)

    def _forget(self, slug: str, done: asyncio.Task[EventRuntime]) -> None:
        del self._loading[slug]
        if not done.cancelled():
            done.exception()  # whoever asked has it, if they still wait

    async def _load(self, slug: str) -> EventRuntime:
        try:
            async with self._parts.pool.connection() as connection:
                row = await lookups.event_by_slug(connection, slug)
                text = await lookups.plan_text(connection, row.id)
                moves = await lookups.plan_moves(connection, row.id)
                seat_map = await lookups.seat_map(connection, row.id)
                room = await watching.now(connection, row.id)
        except NotFound:
            if len(self._missing) >= MISSING_MAX:
                self._missing.clear()
            self._missing[slug] = time.monotonic() + MISSING_SECONDS
            raise
        except DATABASE_AWAY as error:
            raise Unavailable("The database is away. Try again shortly.") from error
        runtime = EventRuntime(row, *text, moves, seat_map, room, self._parts)
        await runtime.start()
        self._loaded[slug] = runtime
        return runtime

    # --- letting go ---

    async def run(self) -> None:
        """Let go what nobody has used for long, until cancelled."""
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            self.let_go_unused(UNUSED_SECONDS_MAX)

    def let_go_unused(self, seconds: float) -> None:
        """Let go the events that nobody has used for so long."""
        for event in self._unused(seconds):
            self._let_go(event)

    def _unused(self, seconds: float) -> list[EventRuntime]:
        """Those unused for so long, the longest unused first."""
        now = time.monotonic()
        for event in self._loaded.values():
            if event.in_use:
                event.used_at = now
        unused = [event for event in self._loaded.values() if now - event.used_at >= seconds]
        return sorted(unused, key=lambda event: event.used_at)

    def _make_room(self) -> None:
        """For one more; raises `Busy` where all that is loaded is in use."""
        if len(self._loaded) + len(self._loading) < self._parts.settings.bounds.events_max:
            return
        unused = self._unused(UNUSED_SECONDS_MIN)
        if not unused:
            raise Busy("too_many_events", "This gateway serves as many events as it can.")
        self._let_go(unused[0])

    def _let_go(self, event: EventRuntime) -> None:
        log.info("nobody uses %s; it is loaded again when somebody asks", event.row.slug)
        del self._loaded[event.row.slug]
        task = asyncio.get_running_loop().create_task(event.stop())
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)

    async def stop(self) -> None:
        await end(self._loading.values())
        await asyncio.gather(*self._stopping, *(event.stop() for event in self.loaded()))
