"""Evidence of who was turned away: counted in bounded memory, written to Postgres every few seconds.

An address is kept as a keyed hash: who has the room's key can tell whether one they know was among them, and
nobody can read addresses out of the table.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections import Counter
from typing import Final

from gateway.addresses import Address
from gateway.buyers.recall import DATABASE_AWAY
from store.lookups import Pool
from store.room import refused
from store.room.refused import Counted, Reason

log = logging.getLogger("onsale.gateway")

WRITE_SECONDS: Final = 5.0
ADDRESSES_MAX: Final = 1_000
"""Told apart of one event and reason between two writings; of more only the number is kept."""
ROWS_MAX: Final = 2_000
"""Events and reasons counted between two writings; while Postgres is away no more come to them."""
HASH_BYTES: Final = 8


class Refusals:
    """One gateway's. `run` writes; what was counted since is lost with the process."""

    def __init__(self, pool: Pool, secret: bytes) -> None:
        self._pool = pool
        self._secret = secret
        self._counts: Counter[tuple[int, Reason]] = Counter()
        self._addresses: dict[tuple[int, Reason], Counter[str]] = {}
        self.total = 0

    def hashed(self, address: Address) -> str:
        """What stands for an address in the table."""
        return hmac.digest(self._secret, address.encode(), "sha256")[:HASH_BYTES].hex()

    def count(self, event_id: int, reason: Reason, address: Address) -> None:
        """Somebody was turned away."""
        self.total += 1
        key = (event_id, reason)
        if key not in self._counts and len(self._counts) >= ROWS_MAX:
            return
        self._counts[key] += 1
        addresses = self._addresses.setdefault(key, Counter())
        name = self.hashed(address)
        if name in addresses or len(addresses) < ADDRESSES_MAX:
            addresses[name] += 1

    async def run(self) -> None:
        """Write every few seconds, and once more at the end."""
        try:
            while True:
                await asyncio.sleep(WRITE_SECONDS)
                await self.write()
        finally:
            await self.write()

    async def write(self) -> None:
        """Add what was counted to the rows of this minute; where that fails it is tried again later."""
        if not self._counts:
            return
        counts, self._counts = self._counts, Counter()
        addresses, self._addresses = self._addresses, {}
        told = [
            Counted(event, reason, count, dict(addresses[event, reason].most_common(refused.ADDRESSES_MAX)))
            for (event, reason), count in counts.items()
        ]
        try:
            async with self._pool.connection() as connection:
                await refused.add(connection, told)
        except DATABASE_AWAY as error:
            log.warning("who was turned away from waiting rooms is written down later: %r", error)
            self._put_back(counts, addresses)

    def _put_back(
        self, counts: Counter[tuple[int, Reason]], addresses: dict[tuple[int, Reason], Counter[str]]
    ) -> None:
        """What came meanwhile goes first where not all of it can be kept."""
        for key, count in counts.items():
            if key in self._counts or len(self._counts) < ROWS_MAX:
                self._counts[key] += count
                both = addresses[key] + self._addresses.get(key, Counter())
                self._addresses[key] = Counter(dict(both.most_common(ADDRESSES_MAX)))
