"""How many the waiting room lets in now: pure, from what is seen at one moment to one decision.

The organiser says a pace (buyers a minute), how many may be inside at once, or both. Over any stretch of time
no more are called than the pace makes of it, `BURST_SECONDS` of pace, and those whose admission came back
because they never began. When the allocator lags or payments fail the room slows itself (a factor on the
pace and on how many may be inside), by half and by half again while it lasts, and speeds up slowly; it says
why.

Who was called before and came back goes first. Of the others the priority lane has every second admission
while it has people, and what one lane does not use the other has. Positions are called in their order: how
many of a lane is all that is decided here.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from msgspec import Struct

from store.room.words import Admission, SlowedBy
from store.words import Micros

STEP_MAX: Final = 5_000
"""Most who are called by one decision."""
BURST_SECONDS: Final = 3.0
"""So much of the pace is kept for later at most: nobody pours in after an outage."""

FACTOR_LEAST: Final = 0.05
"""However slow it goes, it goes: what is seen of lag and payments would otherwise never change."""
HALVES_IN_SECONDS: Final = 2.0
RECOVERS_IN_SECONDS: Final = 20.0
"""From standing nearly still to the organiser's pace."""
MOVES_SECONDS_MAX: Final = 1.0
"""What the factor changes by in one decision at most: a decision after a long silence knows only of now."""

LAG_SECONDS_MAX: Final = 2.0
LAG_SECONDS_GOOD: Final = 0.5
FAILED_MAX: Final = 0.5
"""Share of payments lately; cards that are declined are a tenth and more on a good day."""
FAILED_GOOD: Final = 0.25


class Seen(Struct, frozen=True, kw_only=True):
    """A room at one moment; times by Postgres' clock."""

    paused: bool
    """The whole sale is."""
    admission: Admission
    pace: int | None
    shopping_max: int | None
    now: Micros
    decided_at: Micros
    """When the decision was made that `credit` and `factor` are of."""
    credit: float
    factor: float
    reason: str | None
    """Of that decision."""
    admitted: int
    """Ever called from the lanes: tells whose turn it is."""
    inside: int
    """Admitted and not gone, those who are ended now taken off. Need not be known where `shopping_max` is
    None."""
    no_shows: int
    """Who never began, and is ended now or has left."""
    returners: int
    priority: int
    ordinary: int
    """Positions of the lane that were not called yet."""
    lag_seconds: float | None
    """How long the oldest undecided request has waited; None: nobody knows."""
    failed_share: float | None
    """Of payments lately; None: too few to tell."""

    @property
    def waiting(self) -> int:
        return self.returners + self.priority + self.ordinary


class Decision(Struct, frozen=True):
    """How many to call of each, at most, and what the next decision begins from."""

    returners: int
    priority: int
    ordinary: int
    credit: float
    """Before anybody was called: `spent` of it."""
    factor: float
    reason: SlowedBy | None

    @property
    def called(self) -> int:
        return self.returners + self.priority + self.ordinary


def decide(seen: Seen) -> Decision:
    """Who is called now."""
    runs = seen.admission is Admission.RUNNING and not seen.paused
    if not runs:
        stopped = seen.admission is Admission.STOPPED
        why = SlowedBy.STOPPED if stopped else SlowedBy.PAUSED
        return Decision(0, 0, 0, _credit(seen, 0.0), seen.factor, why)
    factor, slowed_by = _factor(seen)
    credit = _credit(seen, factor)
    wanted = min(seen.waiting, STEP_MAX, STEP_MAX if seen.pace is None else int(credit))
    many = min(wanted, _room(seen, factor))
    returners = min(many, seen.returners)
    priority, ordinary = _lanes(seen, many - returners)
    reason = slowed_by or (SlowedBy.FULL_INSIDE if many < wanted else None)
    return Decision(returners, priority, ordinary, credit, factor, reason)


def spent(decision: Decision, pace: int | None, called: int) -> float:
    """The credit that is left when so many were there to be called."""
    return 0.0 if pace is None else decision.credit - called


def _factor(seen: Seen) -> tuple[float, SlowedBy | None]:
    """What the pace is multiplied by, and why where it is less than 1."""
    lag, failed = seen.lag_seconds or 0.0, seen.failed_share or 0.0
    elapsed = min(MOVES_SECONDS_MAX, max(0, seen.now - seen.decided_at) / 1_000_000)
    if lag > LAG_SECONDS_MAX or failed > FAILED_MAX:
        slowed = max(FACTOR_LEAST, seen.factor * 0.5 ** (elapsed / HALVES_IN_SECONDS))
        return slowed, SlowedBy.LAG if lag > LAG_SECONDS_MAX else SlowedBy.PAYMENTS_FAILING
    known = seen.lag_seconds is not None
    factor = seen.factor
    if known and lag <= LAG_SECONDS_GOOD and failed <= FAILED_GOOD:
        factor = min(1.0, factor + elapsed / RECOVERS_IN_SECONDS)
    still = SlowedBy.PAYMENTS_FAILING if seen.reason == SlowedBy.PAYMENTS_FAILING else SlowedBy.LAG
    return factor, None if factor >= 1.0 else still


def _credit(seen: Seen, factor: float) -> float:
    """What the pace allows by now. An admission that nobody used comes back whole, beyond any bound of it."""
    if seen.pace is None:
        return 0.0
    a_second = seen.pace / 60
    elapsed = max(0, seen.now - seen.decided_at) / 1_000_000
    burst = a_second * BURST_SECONDS
    most = max(min(2.0, 1.0 + burst), burst)  # a slow pace keeps what a step went beyond one
    return max(seen.credit, min(most, seen.credit + a_second * factor * elapsed)) + seen.no_shows


def _room(seen: Seen, factor: float) -> int:
    """How many more may be inside; where only the pace says how many, it is slowed and this is no bound."""
    if seen.shopping_max is not None:
        return max(0, max(1, int(seen.shopping_max * factor)) - seen.inside)
    return STEP_MAX if seen.pace is not None else max(1, int(STEP_MAX * factor))


def _lanes(seen: Seen, many: int) -> tuple[int, int]:
    """(priority, ordinary): every second admission from the lanes, counted over all there ever were, is the
    priority lane's; what one lane has nobody for is the other's."""
    turns = (seen.admitted + many + 1) // 2 - (seen.admitted + 1) // 2
    priority = min(seen.priority, turns)
    ordinary = min(seen.ordinary, many - priority)
    return min(seen.priority, many - ordinary), ordinary


class Called:
    """Measures how many ordinary positions a minute are called: over the last minute, or where these are few,
    over as long as it takes to see `POSITIONS_LEAST` of them."""

    WINDOW_SECONDS: Final = 60
    WINDOW_SECONDS_MAX: Final = 600
    POSITIONS_LEAST: Final = 20
    MEASURED_SECONDS_LEAST: Final = 10
    SAMPLE_SECONDS: Final = 1

    def __init__(self) -> None:
        self._samples: deque[tuple[Micros, int]] = deque()

    def interrupted(self) -> None:
        """Nobody is called for now, on purpose: that says nothing about how fast it goes when it goes on."""
        self._samples.clear()

    def rate(self, now: Micros, serving: int) -> float | None:
        """Positions a minute up to `now`, when `serving` were called; None while too little was seen."""
        samples = self._samples
        if not samples or now - samples[-1][0] >= self.SAMPLE_SECONDS * 1_000_000:
            samples.append((now, serving))
        while len(samples) > 1 and self._says_enough(samples[1], now, serving):
            samples.popleft()
        since, had = samples[0]
        seconds = (now - since) / 1_000_000
        return None if seconds < self.MEASURED_SECONDS_LEAST else (serving - had) * 60 / seconds

    def _says_enough(self, sample: tuple[Micros, int], now: Micros, serving: int) -> bool:
        seconds, many = (now - sample[0]) / 1_000_000, serving - sample[1]
        enough = many >= self.POSITIONS_LEAST and seconds >= self.WINDOW_SECONDS
        return enough or seconds >= self.WINDOW_SECONDS_MAX
