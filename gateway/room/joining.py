"""Joining at this gateway: who asks in one moment shares one transaction, and is answered after its COMMIT.

One transaction is under way per event; who asks meanwhile goes with the next, so they grow with load. Where
nobody knows whether one was committed (the connection was cut), the same buyers join again: that waits for
the room's row, so for whatever the cut one still does, and gives whoever has a place that one. It goes on
until Postgres answers or they have waited long enough; then the outcome is unknown: joining again is safe.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Final

from gateway.buyers.recall import DATABASE_AWAY
from gateway.problems import Busy, TooMany, code_of
from store.errors import OnsaleError, Refused, Unavailable
from store.jitter import jitter
from store.lookups import Pool
from store.room import joining
from store.room.codes import Code
from store.room.joining import JOINS_MAX
from store.room.words import Place

log = logging.getLogger("onsale.gateway")

JOINING_SECONDS_MAX: Final = 8.0
"""How long somebody waits for Postgres."""
ASKED_TIMES_MAX: Final = 16
"""How often one buyer may ask at a time, on different sockets."""
BACKOFF_SECONDS: Final = (0.05, 0.5)

Then = Callable[[Place | None, OnsaleError | None], None]
"""Called once with the place, or the reason there is none; must neither wait nor raise."""
Joined = Callable[[Sequence[Place], float], None]
"""Called once a group, after those who asked, with when their transaction began."""


class _Asking:
    __slots__ = ("buyer", "code", "email", "since", "thens")

    def __init__(self, buyer: str, code: Code | None, email: str | None, then: Then) -> None:
        self.buyer = buyer
        self.email = email
        self.code = code
        self.thens = [then]
        self.since = time.monotonic()

    def tell(self, place: Place | None, error: OnsaleError | None) -> None:
        for then in self.thens:
            then(place, error)


class Joins:
    """One event's."""

    def __init__(self, pool: Pool, event_id: int, waiting_max: int, joined: Joined) -> None:
        self._pool = pool
        self._event_id = event_id
        self._waiting_max = waiting_max
        self._joined = joined
        self._asking: dict[str, _Asking] = {}
        """Everybody who was not answered yet, by buyer."""
        self._queue: deque[_Asking] = deque()
        self._task: asyncio.Task[None] | None = None
        self.joined = self.groups = 0
        self.refused: Counter[str] = Counter()
        """By the code that was told, wherever on the way it was."""

    @property
    def waiting(self) -> int:
        """How many were not answered yet."""
        return len(self._asking)

    def ask(self, buyer: str, code: Code | None, then: Then, email: str | None = None) -> None:
        """A place for this buyer; raises `Busy` (joins_full) or `TooMany` (too_many_joins), and then nothing
        was asked."""
        asking = self._asking.get(buyer)
        if asking is not None:
            if len(asking.thens) >= ASKED_TIMES_MAX:
                raise TooMany("too_many_joins", "You are joining already. Wait for the answer.")
            asking.thens.append(then)
            return
        if len(self._asking) >= self._waiting_max:
            raise Busy("joins_full", "Many are joining just now. Join again: being early gives nothing.")
        asking = self._asking[buyer] = _Asking(buyer, code, email, then)
        self._queue.append(asking)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    def was_refused(self, error: OnsaleError) -> None:
        """Somebody who wanted to join was told this."""
        self.refused[code_of(error)] += 1

    async def stop(self) -> None:
        """Let those who were asked for be answered; bounded by `JOINING_SECONDS_MAX`."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=JOINING_SECONDS_MAX)
            self._task.cancel()

    async def _run(self) -> None:
        while self._queue:
            group = [self._queue.popleft() for _ in range(min(JOINS_MAX, len(self._queue)))]
            try:
                await self._join(group)
            except Exception:
                log.exception("ALERT: a join of %d could not be done", len(group))
                self._give_up(group)

    async def _join(self, group: list[_Asking]) -> None:
        """Until it is known what became of each of them, or they have waited long enough."""
        unknown = False
        pause, longest = BACKOFF_SECONDS
        while group := self._still_in_time(group):
            began = time.monotonic()
            asked = [joining.Joining(one.buyer, code=one.code, email=one.email) for one in group]
            try:
                async with self._pool.connection() as connection:
                    try:
                        answers = await joining.join(connection, self._event_id, asked)
                    except Refused as refused:
                        # before the connection was cut they may have been in time
                        buyers = [one.buyer for one in group] if unknown else []
                        places = await joining.read(connection, self._event_id, buyers)
                        answers = {one.buyer: places.get(one.buyer, refused) for one in group}
                    self._answer(group, answers, began)
                return
            except (Unavailable, *DATABASE_AWAY) as error:
                log.warning("a join of %d got no answer, it is tried again: %r", len(group), error)
                unknown = True
            await asyncio.sleep(pause * jitter(0.5, 1.0))
            pause = min(2 * pause, longest)

    def _answer(self, group: list[_Asking], answers: dict[str, Place | Refused], began: float) -> None:
        places = [answer for answer in answers.values() if isinstance(answer, Place)]
        self.groups += 1
        self.joined += len(places)
        for one in group:
            del self._asking[one.buyer]
            answer = answers[one.buyer]
            if isinstance(answer, Place):
                one.tell(answer, None)
            else:
                one.tell(None, answer)
        self._joined(places, began)

    def _still_in_time(self, group: list[_Asking]) -> list[_Asking]:
        oldest = time.monotonic() - JOINING_SECONDS_MAX
        self._give_up([one for one in group if one.since < oldest])
        return [one for one in group if one.since >= oldest]

    def _give_up(self, group: list[_Asking]) -> None:
        why = "Nobody knows whether you have a place. Join again: whoever has one keeps it."
        for one in group:
            if self._asking.pop(one.buyer, None) is not None:
                one.tell(None, Busy("outcome_unknown", why))
