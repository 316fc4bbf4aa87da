"""Looking places up in Postgres: who asks in one moment shares one query, and is answered once it is there.

One query is under way per event; who asks meanwhile goes with the next. A buyer is looked up once however
many ask, with what they hold where they have no place inside: that lets them ask for seats too.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from gateway.buyers.recall import DATABASE_AWAY
from gateway.problems import Busy
from gateway.room.known import Known
from notifier.hub import SLICE
from store.errors import OnsaleError, Unavailable
from store.lookups import Pool
from store.room import joining, watching
from store.room.watching import IDS_MAX
from store.room.words import Place, PlaceState
from store.words import Micros

ASKING_MAX: Final = 50_000
"""Most who wait for a look-up at a time."""

Then = Callable[[Known, OnsaleError | None], None]
"""Called once with what is known now, or why nobody knows; must neither wait nor raise."""
Found = Callable[[str, Place | None, Micros | None, float], Known | None]
"""Takes a buyer's place and until when they hold something, as a read that began then found them: what is
known now, or None where that may be older than what is known: they are looked up once more."""


class LookUps:
    """One event's."""

    def __init__(self, pool: Pool, event_id: int, found: Found, known: Callable[[str], Known]) -> None:
        """`known`: what is known of a buyer without a look-up."""
        self._pool = pool
        self._event_id = event_id
        self._found = found
        self._known = known
        self._asked: dict[str, list[Then]] = {}
        self._asking = 0
        self._task: asyncio.Task[None] | None = None
        self.queries = 0

    @property
    def asked(self) -> bool:
        """Whether somebody waits."""
        return bool(self._asked) or (self._task is not None and not self._task.done())

    def ask(self, buyer: str, then: Then) -> None:
        """Look a buyer up with everybody else's."""
        if self._asking >= ASKING_MAX:
            then(self._known(buyer), Busy("too_many_lookups", "Too many ask at once. Ask again shortly."))
            return
        self._asking += 1
        self._asked.setdefault(buyer, []).append(then)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look_up())

    async def find(self, buyer: str) -> Known:
        """What is known after a look-up; raises `Busy` or `Unavailable`."""
        answer: asyncio.Future[Known] = asyncio.get_running_loop().create_future()

        def then(known: Known, error: OnsaleError | None) -> None:
            if answer.done():  # who asked is gone
                return
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(known)

        self.ask(buyer, then)
        return await answer

    async def _look_up(self) -> None:
        while self._asked:
            await asyncio.sleep(0)  # all of this turn go together
            began, some = time.monotonic(), list(self._asked)[:IDS_MAX]
            asked = {buyer: self._asked.pop(buyer) for buyer in some}  # who asks later asks for what is then
            found: dict[str, Place] = {}
            holding: dict[str, Micros] = {}
            error: OnsaleError | None = None
            try:
                async with self._pool.connection() as connection:
                    found = await joining.read(connection, self._event_id, some)
                    others = [buyer for buyer in some if not _inside(found.get(buyer))]
                    holding = await watching.holding(connection, self._event_id, others) if others else {}
                self.queries += 1
            except DATABASE_AWAY as away:
                error = Unavailable("The database is away. Try again shortly.")
                error.__cause__ = away
            for number, (buyer, thens) in enumerate(asked.items()):
                known = self._known(buyer)
                if error is None:
                    learned = self._found(buyer, found.get(buyer), holding.get(buyer), began)
                    if learned is None:
                        self._asked.setdefault(buyer, []).extend(thens)
                        continue
                    known = learned
                self._asking -= len(thens)
                for then in thens:
                    then(known, error)
                if number % SLICE == SLICE - 1:
                    await asyncio.sleep(0)

    def stop(self) -> None:
        """Nobody is answered any more."""
        if self._task is not None:
            self._task.cancel()


def _inside(place: Place | None) -> bool:
    return place is not None and place.state is PlaceState.ADMITTED
