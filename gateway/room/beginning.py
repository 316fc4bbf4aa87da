"""Beginning by asking: who was called and asks for seats has begun, and Postgres is told of it soon after.

Nobody's request waits for that. While Postgres is away it is tried again; the time to begin is long enough
for it, and a place that ended meanwhile is known to have ended when it is back.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from gateway.buyers.recall import DATABASE_AWAY
from gateway.ending import end
from store.errors import Unavailable
from store.jitter import jitter
from store.lookups import Pool
from store.room import entering
from store.room.words import Place

log = logging.getLogger("onsale.gateway")

AGAIN_SECONDS: Final = 0.5


class Beginnings:
    """One event's. Bounded by the buyers who are called."""

    def __init__(self, pool: Pool, event_id: int, take: Callable[[Place, float], None]) -> None:
        self._pool = pool
        self._event_id = event_id
        self._take = take
        self.waiting: dict[str, None] = {}
        self._task: asyncio.Task[None] | None = None

    def add(self, buyer: str) -> None:
        """This buyer has begun."""
        self.waiting[buyer] = None
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while self.waiting:
            buyer, began = next(iter(self.waiting)), time.monotonic()
            try:
                async with self._pool.connection() as connection:
                    place = await entering.begin(connection, self._event_id, buyer)
            except (Unavailable, *DATABASE_AWAY) as error:
                log.warning(
                    "%d buyers have begun and Postgres does not know yet: %r", len(self.waiting), error
                )
                await asyncio.sleep(AGAIN_SECONDS * jitter(0.5, 1.0))
                continue
            del self.waiting[buyer]
            if place is not None:
                self._take(place, began)

    async def stop(self) -> None:
        if self._task is not None:
            await end([self._task])
