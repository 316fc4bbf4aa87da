"""An event's seat map compared with what somebody read of Postgres: one that is wrong is read anew.

The map follows batch by batch, and each is told once at most. A batch that was lost shows when the next one
comes; after the last of them, or should a map ever go wrong, this does.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from gateway.gate import Seats
from gateway.watch import Watch
from store.wire import map_digest

log = logging.getLogger("onsale.gateway")

HEARD_SECONDS = 2.0
"""What a batch changed is heard of by then, or was lost on the way."""


class Compared:
    """One event's."""

    def __init__(
        self, slug: str, seats: Seats, watch: Watch, reloading: Callable[[], bool], reload: Callable[[], None]
    ) -> None:
        self._slug = slug
        self._seats = seats
        self._watch = watch
        self._reloading = reloading
        self._reload = reload
        self._later: asyncio.TimerHandle | None = None
        self.repaired = 0
        """How often the map was wrong."""

    def told(self, batch_no: int, digest: int) -> None:
        """After that batch, with nothing changed since, the map has this digest."""
        known = self._watch.batch_no
        if self._reloading() or known > batch_no:
            return
        if known < batch_no:
            self.stop()
            self._later = asyncio.get_running_loop().call_later(HEARD_SECONDS, self._heard, batch_no)
        elif map_digest(self._seats.letters, self._seats.areas_free) != digest:
            self._repair("is not as Postgres says")

    def _heard(self, batch_no: int) -> None:
        if not self._reloading() and self._watch.batch_no < batch_no:
            self._repair(f"has not heard of batch {batch_no}")

    def _repair(self, story: str) -> None:
        log.warning("the seat map of %s %s; it is read anew", self._slug, story)
        self.repaired += 1
        self._reload()

    def stop(self) -> None:
        if self._later is not None:
            self._later.cancel()
