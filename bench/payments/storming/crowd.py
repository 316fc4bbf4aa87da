"""All buyers of a wave, and the organiser; how far they are."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from bench.payments.storming.buyer import Buyer
from bench.payments.storming.calls import Calls
from bench.payments.storming.evidence import Told
from bench.payments.storming.office import Office
from bench.payments.storming.plan import TAKE_PLACE, Fate
from bench.target import StageEvent

AT_ONCE: Final = 100
"""Buyers who ask for seats in the same moment, and as many who pay; those who wait are not counted."""


class Crowd:
    """Use as a context; `hold` first, then `pay`, which ends when all is over; or `hold_and_pay`."""

    def __init__(
        self,
        calls: Calls,
        office: Office,
        on_sale: Sequence[StageEvent],
        who: Sequence[Fate],
        tokens: Sequence[tuple[str, str]],
    ) -> None:
        self.calls = calls
        self.office = office
        self.given_up = False
        self.asking = asyncio.Semaphore(AT_ONCE)
        self.paying = asyncio.Semaphore(AT_ONCE)
        self.at_rest = asyncio.Event()
        self.steps = 0
        """How often a buyer got any further."""
        self.settled_at: list[float] = []
        """When each buyer knew whether it will pay (monotonic)."""
        self.waits: dict[str, list[float]] = defaultdict(list)
        """What buyers waited for → how long each did."""
        self.half_paid = asyncio.Event()
        """Half of the buyers of the event that is canceled have paid."""
        self._of_canceled = sum(fate.event == TAKE_PLACE for fate in who)
        self._paid_there = 0
        self.buyers = [Buyer(self, fate, on_sale[fate.event], *tokens[fate.number]) for fate in who]

    def count(self, what: str) -> None:
        self.calls.counts[what] += 1

    def has_paid(self, fate: Fate) -> None:
        self.steps += 1
        self._paid_there += fate.event == TAKE_PLACE
        if 2 * self._paid_there >= self._of_canceled:
            self.half_paid.set()

    def took(self, what: str, seconds: float) -> None:
        self.waits[what].append(seconds)

    async def until_rest(self, seconds_max: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds_max):
                await self.at_rest.wait()

    def has_settled(self) -> None:
        self.steps += 1
        self.settled_at.append(time.monotonic())

    async def hold(self) -> None:
        """Everybody has seats and may pay for them, or was refused."""
        await asyncio.gather(*[buyer.hold() for buyer in self.buyers])

    async def pay(self) -> None:
        """Ends after `rest` was said."""
        await asyncio.gather(*[buyer.pay() for buyer in self.buyers])

    async def hold_and_pay(self) -> None:
        """Each buyer by itself: some pay while others ask."""

        async def one(buyer: Buyer) -> None:
            await buyer.hold()
            await buyer.pay()

        await asyncio.gather(*[one(buyer) for buyer in self.buyers])

    def rest(self) -> None:
        """Nothing will change any more: whoever still looks looks a last time."""
        self.given_up = True
        self.at_rest.set()

    @property
    def all_pressed(self) -> bool:
        """Everybody who can pay has paid."""
        return all(buyer.settled and (buyer.pressed or not buyer.checkout) for buyer in self.buyers)

    @property
    def progress(self) -> str:
        """For people."""
        seen = Counter(
            hold=sum(buyer.held is not None for buyer in self.buyers),
            paid=sum(buyer.pressed for buyer in self.buyers),
            answered=sum(buyer.done for buyer in self.buyers),
        )
        told = ", ".join(f"{count:,} {what}" for what, count in seen.items())
        back = f", {len(self.office.returned):,} taken back" if self.office.returned else ""
        canceled = "; one event is canceled" if self.office.canceled else ""
        return f"of {len(self.buyers):,} buyers {told}{back}{canceled}"

    @property
    def told(self) -> list[Told]:
        return [told for buyer in self.buyers for told in buyer.told]
