"""What stands before a place in line: bounds, proof of work or a wait in its place, the human check; and
evidence of who was refused.

Nobody is turned away in silence: each refusal has a code, says what to do, and is counted.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from gateway.addresses import Address
from gateway.ending import end
from gateway.room.human import HumanCheck, HumanCheckFailed
from gateway.room.keys import RoomKeys
from gateway.room.limits import Kind, Limits, TurnedAway
from gateway.room.patience import Patience, WaitRefused
from gateway.room.proof import ProofRefused, Proofs
from gateway.room.refusals import Refusals
from gateway.room.settings import RoomSettings
from store.lookups import Pool
from store.room.words import Proof, RoomTerms

METERS_MAX: Final = 10_000
"""Events whose joins are measured; of more the one that was joined the longest time ago is forgotten."""
MINUTE_SECONDS: Final = 60.0


class Asking(Struct, frozen=True):
    """Who wants a place, where, and what they bring with them."""

    event_id: int
    slug: str
    terms: RoomTerms
    address: Address
    buyer: str
    has_code: bool = False
    has_place: bool = False
    """Is known to have one: asks again, and proves nothing once more."""
    proof: str | None = None
    waited: str | None = None
    """A ticket of patience, in place of a proof."""
    human: str | None = None
    """What the human check gave them."""


class Meter:
    """How many came in the last minute: of the minute before this one as much as belongs to it."""

    def __init__(self) -> None:
        self._minute = 0
        self._now = self._before = 0

    def count(self, now: float) -> None:
        """One came."""
        self._turn(now)
        self._now += 1

    def per_minute(self, now: float) -> float:
        self._turn(now)
        return self._now + self._before * (1 - now / MINUTE_SECONDS % 1)

    def _turn(self, now: float) -> None:
        minute = int(now // MINUTE_SECONDS)
        if minute != self._minute:
            self._before = self._now if minute == self._minute + 1 else 0
            self._minute, self._now = minute, 0


class Guard:
    """One gateway's, for all of its waiting rooms. `start` within a running loop; `stop` before pools
    close."""

    def __init__(
        self, settings: RoomSettings, pool: Pool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        keys = RoomKeys(settings.key) if settings.key else None
        own = secrets.token_bytes(32)
        self.limits = Limits(settings, clock)
        self.proofs = Proofs(keys.secret("proof") if keys else own, settings.proof_tries_max)
        self.patience = Patience(keys.secret("patience") if keys else own)
        self.human = HumanCheck(settings)
        self.refusals = Refusals(pool, keys.secret("addresses") if keys else own)
        self._clock = clock
        self._meters: dict[int, Meter] = {}
        self._task: asyncio.Task[None] | None = None

    def proof_required(self, event_id: int, terms: RoomTerms) -> bool:
        """Whether who joins now has to bring a proof of work."""
        if terms.proof is not Proof.BUSY:
            return terms.proof is Proof.ALWAYS
        meter = self._meters.get(event_id)
        return meter is not None and meter.per_minute(self._clock()) > terms.proof_above_per_minute

    def challenge(self, slug: str, buyer: str) -> dict[str, Any]:
        """What a proof of work solves."""
        return self.proofs.challenge(slug, buyer)

    def check(self, asking: Asking) -> None:
        """Let them pass, or raise `TurnedAway`, `ProofRefused`, `WaitRefused` or `Busy`; `check_human` comes
        after it.

        Of an attempt with a code tell `code_was_right` where it was.
        """
        try:
            self.limits.check(asking.address, asking.buyer, Kind.JOIN)
            if asking.has_code:
                self.limits.check(asking.address, asking.buyer, Kind.CODE)
            if asking.has_place:
                return
            self._meter(asking.event_id).count(self._clock())
            if self.proof_required(asking.event_id, asking.terms):
                if asking.waited:
                    self.patience.check(asking.slug, asking.buyer, asking.address, asking.waited)
                else:
                    self.proofs.check(asking.slug, asking.buyer, asking.proof)
        except (TurnedAway, ProofRefused, WaitRefused) as error:
            self.refusals.count(asking.event_id, error.reason, asking.address)
            raise

    def patience_for(self, asking: Asking) -> str:
        """A ticket for who waits in place of a proof; asking for one counts as a join. Raises
        `TurnedAway`."""
        try:
            self.limits.check(asking.address, asking.buyer, Kind.JOIN)
            return self.patience.give(asking.slug, asking.buyer, asking.address)
        except TurnedAway as error:
            self.refusals.count(asking.event_id, error.reason, asking.address)
            raise

    async def check_human(self, asking: Asking) -> None:
        """Raises `HumanCheckFailed`, `Busy` or `Unavailable`; where `human.on` is false it asks nobody."""
        if asking.has_place:
            return
        try:
            await self.human.check(asking.human)
        except HumanCheckFailed as error:
            self.refusals.count(asking.event_id, error.reason, asking.address)
            raise

    def code_was_right(self, asking: Asking) -> None:
        """Right codes are not counted as attempts."""
        self.limits.give_back(asking.address, asking.buyer, Kind.CODE)

    def _meter(self, event_id: int) -> Meter:
        meter = self._meters.pop(event_id, None) or Meter()
        self._meters[event_id] = meter  # the one that was used last stands last
        if len(self._meters) > METERS_MAX:
            del self._meters[next(iter(self._meters))]
        return meter

    def start(self) -> None:
        """Begin to write evidence down."""
        self._task = asyncio.get_running_loop().create_task(self.refusals.run())

    async def stop(self) -> None:
        """What was counted is written first."""
        if self._task is not None:
            await end([self._task])
        await self.human.close()
