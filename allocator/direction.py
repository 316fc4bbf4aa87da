"""Which of those who attend to an event is to own it, and when it goes from one to the other by plan.

Only wishes: the lease alone says who owns (`allocator.lease`), and whoever stands by takes what nobody has. A
planned handover is quick because the one who is to own the event looks often while it expects it, and because
the others leave it precedence for a moment; it is without danger because it is a lease given back in order.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from allocator.lease import Seen

LOOK_SECONDS: Final = 0.15
"""How often a standby looks at the lease, and follows the ledger where that has moved."""
EXPECTING_SECONDS: Final = 0.01
"""The same of one that is to own the event."""
EXPECTING_SECONDS_MAX: Final = 30.0
"""An event that did not come for so long is looked for less often."""
PATIENT_SECONDS: Final = 0.05
SETTLED_SECONDS: Final = 0.6
"""A handover is done when it has been wanted for so long: since then the other one has learnt of it too, and
looks."""
AGAIN_SECONDS: Final = 10.0
"""Whoever took an event again that it had handed over, for nobody else did, keeps it for so long."""


class Direction:
    """What is wanted of one who attends to an event. One thread directs, another asks."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._preferred: bool | None = None
        self._since = monotonic()
        self._wanted_at: float | None = None
        self._handed_over: int | None = None
        self._keeps_until = 0.0

    def direct(self, preferred: bool | None, successor_warm: bool) -> None:
        """As in `allocator.attend.Assigned`; as often as it is known again."""
        now = self._monotonic()
        if preferred is not self._preferred:
            self._preferred, self._since = preferred, now
        if preferred is not False or not successor_warm:
            self._wanted_at = None
        elif self._wanted_at is None:
            self._wanted_at = now

    @property
    def expects(self) -> bool:
        """Whether the event is to come here."""
        return self._preferred is True

    def hands_over(self) -> bool:
        """Whether the owner is to give the event back after the batch under way."""
        wanted_at, now = self._wanted_at, self._monotonic()
        settled = wanted_at is not None and now - wanted_at >= SETTLED_SECONDS
        return settled and now >= self._keeps_until

    def handed_over(self, epoch: int) -> None:
        """It was given back by the owner of this epoch."""
        self._handed_over = epoch

    def took(self, epoch: int) -> None:
        """It was taken here."""
        if self._handed_over is not None and epoch == self._handed_over + 1:  # nobody had it in between
            self._keeps_until = self._monotonic() + AGAIN_SECONDS

    def may_take(self, seen: Seen) -> bool:
        """Whether a standby takes the event now. What was given back a moment ago is for who is preferred."""
        return seen.free and not (seen.given_back and self._preferred is False)

    def look_seconds(self) -> float:
        """How long a standby waits until it looks again."""
        if not self.expects:
            return LOOK_SECONDS
        waits = self._monotonic() - self._since
        return EXPECTING_SECONDS if waits < EXPECTING_SECONDS_MAX else PATIENT_SECONDS
