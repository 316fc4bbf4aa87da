"""All events of one process that share: begins with them and ends, and hands them from thread to thread."""

from __future__ import annotations

from allocator.busy import StreamClock
from allocator.cold.event import ColdEvent
from allocator.cold.loading import Loading
from allocator.cold.owning import Owning
from allocator.cold.rooms import Rooms
from allocator.cold.standing_by import StandingBy
from store.settings import EngineUrls


class ColdGroup:
    """Its threads run from the first event on until `stop`."""

    def __init__(self, urls: EngineUrls, worker: str, clock: StreamClock) -> None:
        """`worker` is who takes leases, as they show it."""
        self._clock = clock
        self._loading = Loading(urls.database_url, self._loaded)
        self._owning = Owning(urls.database_url, urls.redis_url, self._loading.add, self._loaded)
        self._standing_by = StandingBy(
            urls.database_url,
            worker,
            lambda: self._owning.backend,
            self._owning.add,
            self._loading.add,
            self._owning.nudge,
        )
        self._rooms = Rooms(urls.database_url, urls.redis_url, self._owning.owned)
        self._threads = (self._owning, self._standing_by, self._loading, self._rooms)
        self._begun = False

    def add(self, event_id: int, slug: str) -> ColdEvent:
        """Attend to this one too; end it by its `stop`."""
        if not self._begun:
            self._begun = True
            for thread in self._threads:
                thread.start()
        event = ColdEvent(event_id, slug, self._clock, self._owning.turns, self._owning.wake)
        self._loading.add(event)
        return event

    def stop(self) -> None:
        """Give all leases back, and end with all events."""
        for thread in self._threads if self._begun else ():
            thread.stop()

    def join(self, timeout: float) -> None:
        """Wait until that is done."""
        for thread in self._threads if self._begun else ():
            thread.join(timeout)

    def _loaded(self, event: ColdEvent) -> None:
        self._standing_by.add(event)
