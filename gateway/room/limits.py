"""How often somebody may join, and try codes: by buyer and by address, in bounded memory, never in silence.

Each bound is a bucket (GCRA): so many a minute, five minutes' worth at once. A bucket is one number, the
moment at which it will be full again, and whoever has not been seen for that long has none. Of too many the
one that was used the longest time ago is forgotten, so memory is bounded whatever is sent. The bounds are
each gateway's own.

An attempt at a code is taken from its buckets before the code is looked at, so that a thousand at once are
a thousand attempts, and given back where the code was right: many may come from one office with an
invitation each.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from gateway.addresses import Address
from gateway.problems import TooMany
from gateway.room.settings import RoomSettings
from store.room.refused import Reason

BURST_MINUTES: Final = 5
"""So many minutes' worth may come at once."""
KEPT_MAX: Final = 100_000
"""Addresses, and buyers, that are remembered for each kind."""


class Kind(StrEnum):
    JOIN = "join"
    CODE = "code"


WHAT_TO_DO: Final = {
    Reason.ADDRESS_JOINS: "Very many join from your network. Wait {wait}, or use another connection.",
    Reason.BUYER_JOINS: "You asked for a place very often. It is not lost: wait {wait}, then ask again.",
    Reason.ADDRESS_CODES: "Too many wrong codes came from your network. Wait {wait}, or join without one.",
    Reason.ADDRESS_WAITS: "Very many of your network wait. Ask again in {wait}, or turn JavaScript on.",
    Reason.BUYER_CODES: "Too many wrong codes. Wait {wait}, look at your invitation, or join without one.",
}


class TurnedAway(TooMany):
    """A bound of the waiting room; `reason` is what is counted."""

    def __init__(self, reason: Reason, retry_after_seconds: int) -> None:
        minutes = math.ceil(retry_after_seconds / 60)
        wait = f"{retry_after_seconds} seconds" if retry_after_seconds < 120 else f"{minutes} minutes"
        story = WHAT_TO_DO[reason].format(wait=wait)
        super().__init__(reason.value, story, retry_after_seconds=retry_after_seconds)
        self.reason = reason


class Buckets:
    """One bound, for everybody it is kept for by name."""

    def __init__(self, per_minute: int, kept_max: int = KEPT_MAX) -> None:
        self._interval = 60 / per_minute if per_minute else 0.0
        self._tolerance = self._interval * per_minute * BURST_MINUTES
        self._full_at: OrderedDict[str, float] = OrderedDict()
        self._kept_max = kept_max

    def __len__(self) -> int:
        return len(self._full_at)

    def wait_of(self, name: str, now: float) -> float:
        """Seconds until the next one may come; 0: now."""
        full_at = self._full_at.get(name, now)
        return max(0.0, full_at + self._interval - self._tolerance - now)

    def take(self, name: str, now: float) -> None:
        """One came."""
        if not self._interval:
            return
        self._full_at[name] = max(self._full_at.get(name, now), now) + self._interval
        self._full_at.move_to_end(name)
        if len(self._full_at) > self._kept_max:
            self._full_at.popitem(last=False)

    def give_back(self, name: str) -> None:
        """One that came is not counted."""
        if name in self._full_at:
            self._full_at[name] -= self._interval


class Limits:
    """One gateway's, for all of its waiting rooms."""

    def __init__(
        self,
        settings: RoomSettings,
        clock: Callable[[], float] = time.monotonic,
        kept_max: int = KEPT_MAX,
    ) -> None:
        self._clock = clock
        by_address = {
            Kind.JOIN: (settings.joins_per_address_minute, Reason.ADDRESS_JOINS),
            Kind.CODE: (settings.codes_per_address_minute, Reason.ADDRESS_CODES),
        }
        by_buyer = {
            Kind.JOIN: (settings.joins_per_buyer_minute, Reason.BUYER_JOINS),
            Kind.CODE: (settings.codes_per_buyer_minute, Reason.BUYER_CODES),
        }
        self._bounds = {
            kind: [(Buckets(most, kept_max), reason) for most, reason in (by_buyer[kind], by_address[kind])]
            for kind in Kind
        }

    def check(self, address: Address, buyer: str, kind: Kind) -> None:
        """One more, or `TurnedAway`, which takes nothing from any bucket."""
        now = self._clock()
        for (buckets, reason), name in zip(self._bounds[kind], (buyer, address), strict=True):
            wait = buckets.wait_of(name, now)
            if wait > 0:
                raise TurnedAway(reason, math.ceil(wait))
        for (buckets, _), name in zip(self._bounds[kind], (buyer, address), strict=True):
            buckets.take(name, now)

    def give_back(self, address: Address, buyer: str, kind: Kind) -> None:
        """What `check` let pass is not counted: the code was right."""
        for (buckets, _), name in zip(self._bounds[kind], (buyer, address), strict=True):
            buckets.give_back(name)

    @property
    def remembered(self) -> int:
        """Buckets that are kept, all in all."""
        return sum([len(buckets) for bounds in self._bounds.values() for buckets, _ in bounds])
