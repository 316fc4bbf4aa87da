"""Late payments that were settled here: their seats are asked for at once, and they resolved once decided.

A few looks at the ledger for all that are followed, growing apart, for `FOLLOWED_SECONDS_MAX`; what is not
decided by then, or was too many, the chores look after. Whatever fails here is tried at the next look.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final

import redis.asyncio
from redis.exceptions import RedisError

from gateway.buyers.recall import DATABASE_AWAY
from gateway.loading import Events
from gateway.payments import asking
from gateway.payments.telling import Telling
from store import lookups
from store import plan as plans
from store.errors import OnsaleError
from store.holds import Conn
from store.lookups import KEYS_MAX, Pool
from store.payments import late, records
from store.payments.settle import Settled
from store.plan import Plan
from store.stream import RedisIntake

log = logging.getLogger("onsale.gateway")

FOLLOWED_MAX: Final = 1_000
FOLLOWED_SECONDS_MAX: Final = 30.0
PAUSES_SECONDS: Final = (0.05, 0.5)
"""Between two looks: the first, and the longest."""
ASK_AGAIN_SECONDS: Final = 2.0
PLANS_MAX: Final = 16


class _Followed:
    """One late payment."""

    def __init__(self, settled: Settled) -> None:
        self.key = (settled.buyer, late.request_of(settled.payment))
        self.event_id = settled.event_id
        self.since = time.monotonic()
        self.asked_at = 0.0


class Following:
    """One gateway's."""

    def __init__(
        self,
        pool: Pool,
        client: redis.asyncio.Redis,
        events: Events,
        telling: Telling,
        gateway_id: str,
        *,
        stream_replicas: int = 0,
    ) -> None:
        self._pool = pool
        self._redis = client
        self._events = events
        self._telling = telling
        self._gateway_id = gateway_id
        self._replicas = stream_replicas
        self.followed: dict[int, _Followed] = {}
        self._plans: dict[int, Plan] = {}
        self._wake = asyncio.Event()

    def follow(self, settled: Settled) -> None:
        """A payment that is late now. Never waits."""
        if len(self.followed) < FOLLOWED_MAX:
            self.followed[settled.payment] = _Followed(settled)
            self._wake.set()

    async def run(self) -> None:
        """Look until cancelled."""
        first, longest = PAUSES_SECONDS
        while True:
            await self._wake.wait()
            self._wake.clear()
            pause = first
            while self.followed:
                await self._look()
                if self._wake.is_set():  # somebody new: soon again
                    self._wake.clear()
                    pause = first
                await asyncio.sleep(pause)
                pause = min(2 * pause, longest)

    async def _look(self) -> None:
        oldest = time.monotonic() - FOLLOWED_SECONDS_MAX
        self.followed = {number: one for number, one in self.followed.items() if one.since >= oldest}
        for event_id in {one.event_id for one in self.followed.values()}:
            mine = [number for number, one in self.followed.items() if one.event_id == event_id]
            for start in range(0, len(mine), KEYS_MAX):
                try:
                    await self._turn(event_id, mine[start : start + KEYS_MAX])
                except (OnsaleError, RedisError, OSError, *DATABASE_AWAY) as error:
                    log.warning("late payments are looked at again soon: %r", error)
                except Exception:  # whoever is late next must find somebody who follows
                    log.exception("ALERT: late payments could not be looked at")

    async def _turn(self, event_id: int, numbers: list[int]) -> None:
        keys = {self.followed[number].key: number for number in numbers}
        async with self._pool.connection() as connection:
            decided = await lookups.decisions(connection, event_id, list(keys))
            for key in decided:
                try:
                    await late.resolve(connection, keys[key])
                except AssertionError:  # its rows contradict each other, which stops no other
                    log.exception("ALERT: late payment %d could not be resolved", keys[key])
                del self.followed[keys[key]]
            self._telling.changed([keys[key] for key in decided])
            asked = [number for key, number in keys.items() if key not in decided and self._is_due(number)]
            found = await records.read(connection, asked)
            slug = (await lookups.slugs(connection, [event_id]))[event_id]
            plan = await self._plan(connection, event_id, slug)
        stream = RedisIntake(self._redis, slug, replicas=self._replicas)
        entries = [asking.entry_of(plan, payment, self._gateway_id) for payment in found.values()]
        for number in asked:
            self.followed[number].asked_at = time.monotonic()
        if entries:
            await stream.append(entries)

    def _is_due(self, number: int) -> bool:
        asked_at = self.followed[number].asked_at
        return not asked_at or time.monotonic() - asked_at > ASK_AGAIN_SECONDS

    async def _plan(self, connection: Conn, event_id: int, slug: str) -> Plan:
        """Of which only the names of seats and areas count here, and these never change."""
        event = self._events.known(slug)
        if event is not None:
            return event.plan
        if event_id not in self._plans:
            if len(self._plans) >= PLANS_MAX:
                self._plans.clear()
            text, _ = await lookups.plan_text(connection, event_id)
            self._plans[event_id] = await asyncio.to_thread(plans.decode, text)
        return self._plans[event_id]
