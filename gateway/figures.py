"""Figures of an event as pages see them, read at most once a second however many ask.

Sockets are told where the organiser wants that, when figures have changed, every ten seconds at most.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec.structs import replace

from gateway.buyers.recall import DATABASE_AWAY
from notifier.hub import Client, broadcast
from store.errors import Unavailable
from store.figures.read import PublicFigures, read_public
from store.lookups import Pool

FRESH_SECONDS: Final = 1.0
TOLD_SECONDS: Final = 10.0


class ShownFigures:
    """Of one event."""

    def __init__(self, pool: Pool, event_id: int) -> None:
        self._pool = pool
        self._event_id = event_id
        self._reading = asyncio.Lock()
        self._read: tuple[float, PublicFigures] | None = None

    async def now(self) -> PublicFigures:
        """As they are, or were within the last second; their age says so. Raises `Unavailable`."""
        async with self._reading:
            if self._read is None or time.monotonic() - self._read[0] > FRESH_SECONDS:
                self._read = await self._from_database()
            at, figures = self._read
        return replace(figures, age_ms=figures.age_ms + int((time.monotonic() - at) * 1_000))

    async def tell(self, sockets: Callable[[], set[Client]]) -> None:
        """For ever: tell these what is new. `sockets` gives none where they are not to be told."""
        told: PublicFigures | None = None
        while True:
            await asyncio.sleep(TOLD_SECONDS)
            if not sockets():
                continue
            try:
                figures = await self.now()
            except Unavailable:
                continue  # their age grows where they are shown
            if told is None or replace(figures, age_ms=0) != told:
                told = replace(figures, age_ms=0)
                await broadcast(sockets(), frame(figures))

    async def _from_database(self) -> tuple[float, PublicFigures]:
        try:
            async with self._pool.connection() as connection:
                return time.monotonic(), await read_public(connection, self._event_id)
        except DATABASE_AWAY as error:
            raise Unavailable("The database is away. Try again shortly.") from error


def frame(figures: PublicFigures) -> bytes:
    """What sockets are told: of what was booked only the last."""
    shown = replace(figures, just_booked=figures.just_booked[:1])
    return msgspec.json.encode({"type": "figures"} | msgspec.structs.asdict(shown))
