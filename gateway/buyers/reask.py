"""Nobody who was told "accepted" is forgotten: what is undecided for long is asked for again.

Fan-out may lose a decision and a stream may lose an entry. Once a second the ledger is asked for
what is undecided for more than a second; what it has is delivered. What it lacks although the
cursor has passed the arrival, or although the stream's last id is below it, was lost and is
appended again with the arrival it had first.
"""

from __future__ import annotations

import asyncio
import logging
import time

from redis.exceptions import RedisError

from gateway.buyers.intake import Intake
from gateway.buyers.pending import Pending
from gateway.buyers.recall import DATABASE_AWAY, Recall
from gateway.problems import Busy
from gateway.settings import Bounds
from store import lookups
from store.errors import Unavailable
from store.lookups import Cursor, Decided, Pool
from store.wire import arrival_order
from store.words import Arrival

log = logging.getLogger("onsale.gateway")

EVERY_SECONDS = 1.0
ASK_AFTER_SECONDS = 1.0
ASK_AGAIN_SECONDS_MAX = 8.0
ASK_MAX = 5_000
"""Most keys asked for in one turn."""


def answers(decided: Decided, pending: Pending) -> bool:
    """Whether this is the decision of what was asked.

    A key that is decided with other content is not: that this content conflicts is a decision of its own,
    the allocator's. Where its telling was lost it is appended again and told again.
    """
    return decided.want.encode() == pending.want


def was_lost(arrival: str, cursor: Arrival, last: Arrival | None) -> bool:
    """Whether an entry without decision is neither before the allocator nor in the stream."""
    order = arrival_order(arrival)
    return order <= arrival_order(cursor) or (last is not None and order > arrival_order(last))


class Reask:
    """The loop of one event."""

    def __init__(self, intake: Intake, recall: Recall, pool: Pool, event_id: int, bounds: Bounds) -> None:
        self._intake = intake
        self._recall = recall
        self._pool = pool
        self._event_id = event_id
        self._bounds = bounds
        self.paused_since: float | None = None
        """Monotonic time of a pause; nothing is decided then, so nothing lags."""
        self.resumed_at = 0.0
        self.database_away = False
        self.redelivered = 0

    async def run(self) -> None:
        """Ask every second until cancelled."""
        while True:
            await asyncio.sleep(EVERY_SECONDS)
            try:
                await self.turn()
            except Exception:  # told in the log; whoever waits must not lose the one who asks for them
                log.exception("asking again failed; it goes on in a second")

    async def turn(self) -> None:
        """One look at everything undecided."""
        self._intake.refuse_stale()
        due = self._due()
        try:
            if due:
                await self._ask(due)
            elif self.database_away:
                await self._cursor()
            self.database_away = False
        except (Unavailable, *DATABASE_AWAY):
            self.database_away = True
            self._tell_delayed()
        self._intake.refuse_new = self._lag()

    def _due(self) -> list[Pending]:
        now = time.monotonic()
        due: list[Pending] = []
        for pending in self._intake.undecided.values():
            pause = min(ASK_AFTER_SECONDS * 2**pending.asked_times, ASK_AGAIN_SECONDS_MAX)
            if pending.arrival and now - pending.asked_at >= pause:
                due.append(pending)
                if len(due) == ASK_MAX:
                    break
        return due

    async def _ask(self, due: list[Pending]) -> None:
        # The cursor first: what it has passed by then and the ledger lacks after it is lost for certain.
        cursor = await self._cursor()
        last = await self._last_arrival()
        found = await self._recall.decisions([(pending.buyer, pending.request_id) for pending in due])
        now = time.monotonic()
        lost = []
        for pending in due:
            if pending.decided:
                continue
            decided = found.get((pending.buyer, pending.request_id))
            if decided is not None and answers(decided, pending):
                self._intake.deliver([(pending.buyer, pending.request_id, decided.frame)])
                self.redelivered += 1
                continue
            pending.asked_at = now
            pending.asked_times = min(pending.asked_times + 1, 8)
            if was_lost(pending.arrival, cursor.arrival, last):
                lost.append(pending)
        if lost:
            log.warning("%d accepted requests are not in the stream any more: appending again", len(lost))
            self._intake.append_again(lost)

    async def _cursor(self) -> Cursor:
        async with self._pool.connection() as connection:
            return await lookups.cursor_of(connection, self._event_id)

    async def _last_arrival(self) -> Arrival | None:
        """None also when the stream does not answer: then nothing is concluded from it."""
        try:
            last = await self._intake.stream.last_arrival()
        except (RedisError, OSError):
            return None
        if last is None:
            self._intake.everything_again()  # the append finds it missing and creates it
        return last

    def _tell_delayed(self) -> None:
        for pending in self._intake.undecided.values():
            if pending.arrival and not pending.delayed:
                pending.delayed = True
                for waiter in pending.waiters:
                    waiter.delayed(pending.request_id)

    @property
    def lag_seconds(self) -> float:
        """For how long the oldest undecided request waits here; 0 while the event is paused."""
        undecided = self._intake.undecided
        if self.paused_since is not None or not undecided:
            return 0.0
        oldest = next(iter(undecided.values()))
        return time.monotonic() - max(oldest.since, self.resumed_at)

    def _lag(self) -> Busy | None:
        undecided = self._intake.undecided
        if self.database_away and len(undecided) > self._bounds.undecided_without_database_max:
            return Busy(
                "database_unavailable", "The database is away. Ask again shortly.", retry_after_seconds=5
            )
        if self.lag_seconds > self._bounds.lag_seconds_max:
            return Busy(
                "lagging", "Decisions are far behind. Ask again with the same key.", retry_after_seconds=5
            )
        return None
