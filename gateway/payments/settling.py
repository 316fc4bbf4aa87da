"""Notices of one moment, settled in one transaction: group commit for what providers tell.

One settling is under way at a time; what arrives meanwhile goes into the next, so groups grow with load and a
single notice never waits for others. The queue has a bound, beyond it who tells is asked to come back. It
needs Postgres alone.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from gateway.buyers.recall import DATABASE_AWAY
from gateway.problems import Busy
from store.errors import OnsaleError, Unavailable
from store.lookups import Pool
from store.payments.settle import NOTICES_MAX, Notice, Settled, settle

log = logging.getLogger("onsale.gateway")

QUEUED_MAX: Final = 5_000
UNKNOWN: Final = "The database is away. Whether this notice was acted on is unknown: send it again."

Answer = asyncio.Future[Settled]


class Settling:
    """One gateway's queue of notices and the loop that settles them."""

    def __init__(
        self,
        pool: Pool,
        committed: Callable[[Sequence[Settled]], None],
        observe: Callable[[int, float], None] = lambda size, seconds: None,
    ) -> None:
        """`committed` hears what is true now, before who told it does; it must neither wait nor raise."""
        self._pool = pool
        self._committed = committed
        self._observe = observe
        self._queue: deque[tuple[Notice, Answer]] = deque()
        self._wake = asyncio.Event()

    @property
    def queued(self) -> int:
        return len(self._queue)

    def put(self, notice: Notice) -> Answer:
        """What becomes of it, or its error (see `store.payments.settle`); raises `Busy` (notices_full)."""
        if len(self._queue) >= QUEUED_MAX:
            raise Busy("notices_full", "Too many notices wait here. Send it again.")
        answer: Answer = asyncio.get_running_loop().create_future()
        self._queue.append((notice, answer))
        self._wake.set()
        return answer

    async def run(self) -> None:
        """Settle until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._queue:
                group = [self._queue.popleft() for _ in range(min(len(self._queue), NOTICES_MAX))]
                await self._settle(group)

    async def _settle(self, group: Sequence[tuple[Notice, Answer]]) -> None:
        started = time.monotonic()
        answers: Sequence[Settled | OnsaleError]
        try:
            async with self._pool.connection() as connection:
                answers = await settle(connection, [notice for notice, _ in group])
        except DATABASE_AWAY as error:
            log.warning("%d notices could not be settled, the database is away: %r", len(group), error)
            answers = [Unavailable(UNKNOWN)] * len(group)
        except OnsaleError as error:
            answers = [error] * len(group)
        except Exception:  # whoever tells next must find somebody who settles
            log.exception("ALERT: %d notices could not be settled", len(group))
            answers = [OnsaleError("Something is wrong here. Send the notice again.")] * len(group)
        self._observe(len(group), time.monotonic() - started)
        self._committed([one for one in answers if isinstance(one, Settled) and not one.repeated])
        for (_, answer), told in zip(group, answers, strict=True):
            if answer.done():  # who told it is gone
                continue
            if isinstance(told, Settled):
                answer.set_result(told)
            else:
                answer.set_exception(told)
