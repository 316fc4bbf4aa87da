"""A tortured buyer: asks, waits for the answer however long it takes, gives holds back, buys, lies a little.

What a buyer does is the same over a websocket and over HTTP; how it is said is a `Carrier`'s matter.
Everything seen goes into `bench.evidence.Seen`, and nothing a buyer asked for is dropped: a request is
asked again with the same key until there is an answer.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct, field

from bench.evidence import Ask, HoldOp, Seen, read_frame

ASK_AGAIN_CODES = frozenset(
    {
        "outcome_unknown", "unavailable", "queue_full", "too_many_waiting", "too_many_undecided",
        "too_many_lookups", "stream_unavailable", "database_unavailable", "lagging", "too_many_events",
        "unknown", "unknown_request",
    }
)  # fmt: skip
ASK_AGAIN_SECONDS = 0.25
FOREIGN_HOLDS_MAX = 50


class Habits(Struct, frozen=True):
    """How buyers of a round behave; shares are of all their requests or holds."""

    think_seconds: float = 0.03
    release_share: float = 0.6
    confirm_share: float = 0.04
    """The rest of the holds run out."""
    again_share: float = 0.05
    """Ask a decided key again: the same answer is due."""
    other_share: float = 0.03
    """Ask a decided key again with other content: a conflict is due."""
    twin_share: float = 0.3
    """Of a buyer with two devices: ask the same on both, half a moment apart."""
    twin_other_share: float = 0.2
    """Of those: the second device asks for something else under the same key."""
    foreign_share: float = 0.02
    """Try to give back somebody else's hold."""
    burst_share: float = 0.1
    """Several requests at once."""


class Carrier(Protocol):
    """One device's way to the gateways."""

    async def ask(self, ask: Ask) -> None:
        """Ask until answered; what was heard is in `ask` when this returns."""
        ...

    async def change(self, op: HoldOp) -> None:
        """Release or confirm until answered; the answer is in `op`."""
        ...

    async def close(self) -> None: ...


class Shared(Struct):
    """What buyers of one fleet know of each other."""

    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    holds: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=FOREIGN_HOLDS_MAX))
    """(buyer, hold) given lately"""
    errors: Counter[str] = field(default_factory=Counter)
    open: dict[int, str] = field(default_factory=dict)
    """What is asked and not answered, for whoever asks what hangs."""


class Buyer:
    """One device of a buyer. `twin` is the same buyer's other device, if there is one."""

    def __init__(
        self,
        seen: Seen,
        device: str,
        carrier: Carrier,
        habits: Habits,
        a_want: Callable[[], str],
        chance: random.Random,
        shared: Shared,
    ) -> None:
        self.seen = seen
        self.twin: Buyer | None = None
        self.told_by_twin: deque[Ask] = deque()
        self._device = device
        self._carrier = carrier
        self._habits = habits
        self._a_want = a_want
        self._chance = chance
        self._shared = shared
        self._asked = 0

    async def live(self) -> None:
        """Until the fleet stops and everything asked is answered."""
        while not self._shared.stopping.is_set():
            await asyncio.sleep(self._chance.uniform(0, 2 * self._habits.think_seconds))
            if self.told_by_twin:
                await self._answered(self.told_by_twin.popleft())
                continue
            count = self._chance.randint(2, 4) if self._chance.random() < self._habits.burst_share else 1
            async with asyncio.TaskGroup() as asking:
                for _ in range(count):
                    asking.create_task(self._answered(self._new()))
            await self._other_things()
        await self._carrier.close()

    def _new(self) -> Ask:
        self._asked += 1
        ask = Ask(f"{self._device}-{self._asked}", self._a_want())
        if self.twin is not None and self._chance.random() < self._habits.twin_share:
            other = self._chance.random() < self._habits.twin_other_share
            self.twin.told_by_twin.append(Ask(ask.request_id, self._a_want() if other else ask.want))
        return ask

    async def _answered(self, ask: Ask) -> None:
        if not ask.sent_ns:
            self.seen.asks.append(ask)
        await self._until(f"{self.seen.buyer}'s request {ask.request_id}", self._carrier.ask(ask))
        hold = held(ask)
        if not hold:
            return
        self._shared.holds.append((self.seen.buyer, hold))
        dice = self._chance.random()
        if dice < self._habits.confirm_share:
            await self._change("confirm", hold)
        elif dice < self._habits.confirm_share + self._habits.release_share:
            await self._change("release", hold)

    async def _change(self, what: str, hold: str) -> None:
        op = HoldOp(what, hold, time.monotonic_ns())
        self.seen.hold_ops.append(op)
        await self._until(f"{self.seen.buyer}'s {what} of hold {hold}", self._carrier.change(op))

    async def _other_things(self) -> None:
        dice = self._chance.random()
        habits = self._habits
        if dice < habits.again_share:
            await self._answered(self._chance.choice(self.seen.asks[-20:]))
        elif dice < habits.again_share + habits.other_share:
            earlier = self._chance.choice(self.seen.asks[-20:])
            await self._answered(Ask(earlier.request_id, self._a_want()))
        elif dice < habits.again_share + habits.other_share + habits.foreign_share:
            others = [hold for buyer, hold in self._shared.holds if buyer != self.seen.buyer]
            if others:
                await self._change("release", self._chance.choice(others))

    async def _until(self, what: str, work: object) -> None:
        assert asyncio.iscoroutine(work)
        number = id(work)
        self._shared.open[number] = what
        await work
        del self._shared.open[number]


def held(ask: Ask) -> str:
    """The hold this request was told it has, or an empty text."""
    for _, raw in ask.decisions[-1:]:
        frame = read_frame(raw)
        if frame.outcome == "held":
            return str(frame.result["hold"])
    return ""
