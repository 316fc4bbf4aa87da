"""Asking the ledger what became of keys: one query for all who ask at the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import psycopg
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from gateway.problems import Busy
from store import lookups
from store.errors import OnsaleError, Unavailable
from store.lookups import Decided, Key, Pool

ASKING_MAX = 20_000
DATABASE_AWAY = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, PoolClosed, TooManyRequests)

Then = Callable[[Decided | None, OnsaleError | None], None]
"""Called once with the decision there is, or None, or the reason nobody knows."""


class Recall:
    """Shared look-ups of one event. At most one query is under way."""

    def __init__(self, pool: Pool, event_id: int) -> None:
        self._pool = pool
        self._event_id = event_id
        self._asked: list[tuple[Key, Then]] = []
        self._task: asyncio.Task[None] | None = None
        self.queries = 0

    @property
    def asked(self) -> bool:
        """Whether somebody has not been told yet."""
        return bool(self._asked) or (self._task is not None and not self._task.done())

    def ask(self, buyer: str, request_id: str, then: Then) -> None:
        """Look a key up with everybody else's; `then` must neither wait nor raise."""
        if len(self._asked) >= ASKING_MAX:
            then(None, Busy("too_many_lookups", "Too many ask at once. Ask again shortly."))
            return
        self._asked.append(((buyer, request_id), then))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def find(self, buyer: str, request_id: str) -> Decided | None:
        """The decision for a key, or None; raises `Unavailable` when Postgres cannot be asked."""
        answer: asyncio.Future[Decided | None] = asyncio.get_running_loop().create_future()

        def then(decided: Decided | None, error: OnsaleError | None) -> None:
            if answer.done():
                return
            if error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(decided)

        self.ask(buyer, request_id, then)
        return await answer

    async def decisions(self, keys: Sequence[Key]) -> dict[Key, Decided]:
        """All decisions there are for `keys`, in bounded chunks; raises `Unavailable`."""
        found: dict[Key, Decided] = {}
        try:
            async with self._pool.connection() as connection:
                for start in range(0, len(keys), lookups.KEYS_MAX):
                    chunk = keys[start : start + lookups.KEYS_MAX]
                    found |= await lookups.decisions(connection, self._event_id, chunk)
                    self.queries += 1
        except DATABASE_AWAY as error:
            raise Unavailable("The database is away. Ask again with the same key.") from error
        return found

    async def _run(self) -> None:
        while self._asked:
            asked = self._asked[: 4 * lookups.KEYS_MAX]
            del self._asked[: len(asked)]
            found: dict[Key, Decided] = {}
            trouble: OnsaleError | None = None
            try:
                found = await self.decisions(list({key for key, _ in asked}))
            except Unavailable as error:
                trouble = error
            for key, then in asked:
                then(found.get(key), trouble)
