"""One of the events that share, and who has it just now. As `EventWorker`, for who attends to a process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from allocator.busy import Busy, EventLoad, StreamClock
from allocator.cold.loop import ColdLoop
from allocator.direction import Direction
from allocator.follow import Follower
from allocator.lease import Owned


class ColdEvent:
    """Handed from thread to thread: whoever has it alone sets `follower` and `loop`."""

    shared = True

    def __init__(
        self,
        event_id: int,
        slug: str,
        clock: StreamClock,
        attends: Callable[[], bool],
        stops: Callable[[], None],
    ) -> None:
        """`attends`: whether the thread that owns events turns. `stops` is called when this is to stop."""
        self.event_id = event_id
        self.slug = slug
        self.clock = clock
        self.direction = Direction()
        self.owned: Owned | None = None
        self.follower: Follower | None = None
        self.loop: ColdLoop | None = None
        self.stopping = False
        self.not_before = 0.0
        """It could not be decided: by `time.monotonic`, when to try again."""
        self.gone = threading.Event()
        """Nobody here has it any more."""
        self._attends = attends
        self._stops = stops
        self._lapsed: Owned | None = None

    def stop(self) -> None:
        """Finish the batch under way and give the lease back."""
        self.stopping = True
        self._stops()

    def join(self, timeout: float) -> None:
        """Wait until that is done."""
        self.gone.wait(timeout)

    def direct(self, preferred: bool | None, successor_warm: bool = False) -> None:
        """Who is to own the event, as in `allocator.attend.Assigned`; as often as it is known again."""
        self.direction.direct(preferred, successor_warm)

    def attends(self) -> bool:
        """Whether the event is owned here and its owner turns."""
        return self.owned is not None and self._attends()

    def lapse(self, right: Owned) -> None:
        """This right could not be renewed: stand by, and take the event again if it is free."""
        self._lapsed = right

    @property
    def lapsed(self) -> bool:
        """Whether that is the right it has."""
        return self.owned is not None and self._lapsed == self.owned

    def rests(self) -> bool:
        """Whether it is not to be taken yet."""
        return time.monotonic() < self.not_before

    @property
    def warm_batch(self) -> int | None:
        """The batch that memory is at, as owner or standby; None while it is being loaded."""
        knows = self.loop or self.follower
        return None if knows is None else knows.memory.batch_no

    @property
    def busy(self) -> Busy | None:
        """What is counted while the event is owned here."""
        loop = self.loop
        return None if loop is None else loop.busy

    def load(self) -> EventLoad | None:
        """How busy the event is, if it is owned here."""
        loop, owned = self.loop, self.owned
        if loop is None or owned is None:
            return None
        return loop.busy.since_last(self.event_id, owned.epoch, loop.cursor.batch_no)
