"""Figures of an event as pages see them, read at most once a second however many ask."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from msgspec.structs import replace

from gateway.buyers.recall import DATABASE_AWAY
from store.errors import Unavailable
from store.figures.read import PublicFigures, read_public
from store.lookups import Pool

FRESH_SECONDS: Final = 1.0


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

    async def _from_database(self) -> tuple[float, PublicFigures]:
        try:
            async with self._pool.connection() as connection:
                return time.monotonic(), await read_public(connection, self._event_id)
        except DATABASE_AWAY as error:
            raise Unavailable("The database is away. Try again shortly.") from error
