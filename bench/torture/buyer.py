"""A tortured buyer: asks, waits for the answer however long it takes, uses what it got, lies a little.

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
from typing import Any, Protocol

import msgspec
from msgspec import Struct, field

from bench.evidence import Ask, HoldOp, Leaving, Seen, read_frame, read_json

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
    extend_share: float = 0.15
    """Of holds: let them run on, half of these twice."""
    part_share: float = 0.15
    """Give some of it back."""
    move_share: float = 0.15
    """Ask for something else instead."""
    waitlist_share: float = 0.25
    """Of requests: wait where it cannot be had."""
    leave_share: float = 0.08
    """Leave the waiting list again."""
    look_share: float = 0.1
    """Ask what of one's own is on it."""


class Offer(Struct, frozen=True):
    """Something that was given to a request on the waiting list."""

    request_id: str
    result: dict[str, Any]


class Carrier(Protocol):
    """One device's way to the gateways."""

    async def ask(self, ask: Ask) -> None:
        """Ask until answered; what was heard is in `ask` when this returns."""
        ...

    async def change(self, op: HoldOp) -> None:
        """Release, confirm or extend until answered; the answer is in `op`."""
        ...

    async def leave(self, leaving: Leaving) -> None:
        """Leave the waiting list until answered; the answer is in `leaving`."""
        ...

    async def look(self) -> None:
        """Ask for the waiting list until answered; what was heard is in `Seen`, offers also in `offers`."""
        ...

    @property
    def offers(self) -> deque[Offer]:
        """What was offered to this device's buyer and not looked at yet, each once."""
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
        self._on_list: list[str] = []

    async def live(self) -> None:
        """Until the fleet stops and everything asked is answered; then look at the waiting list."""
        while not self._shared.stopping.is_set():
            await asyncio.sleep(self._chance.uniform(0, 2 * self._habits.think_seconds))
            if self.told_by_twin:
                await self._answered(self.told_by_twin.popleft())
                continue
            count = self._chance.randint(2, 4) if self._chance.random() < self._habits.burst_share else 1
            async with asyncio.TaskGroup() as asking:
                for _ in range(count):
                    asking.create_task(self._answered(self._new()))
            while self._carrier.offers:
                offer = self._carrier.offers.popleft()
                await self._use(offer.request_id, offer.result)
            await self._other_things()
        await self._look_to_the_end()
        await self._carrier.close()

    def _new(self) -> Ask:
        self._asked += 1
        want = self._a_want()
        if self._chance.random() < self._habits.waitlist_share:
            want = _with(want, waitlist=True)
        ask = Ask(f"{self._device}-{self._asked}", want)
        if self.twin is not None and self._chance.random() < self._habits.twin_share:
            other = self._chance.random() < self._habits.twin_other_share
            self.twin.told_by_twin.append(Ask(ask.request_id, self._a_want() if other else ask.want))
        return ask

    async def _answered(self, ask: Ask) -> dict[str, Any]:
        """Asks until there is an answer, and uses it; its result."""
        if not ask.sent_ns:
            self.seen.asks.append(ask)
        await self._until(f"{self.seen.buyer}'s request {ask.request_id}", self._carrier.ask(ask))
        frame = read_frame(ask.decisions[-1][1]) if ask.decisions else None
        if frame is None:
            return {}
        if frame.outcome == "waitlisted" and self._is_mine(ask.request_id):
            self._on_list.append(ask.request_id)
        elif frame.outcome == "held":
            await self._use(ask.request_id, frame.result)
        return frame.result

    def _is_mine(self, request_id: str) -> bool:
        """Whether this device asked first: the other one leaves it alone, so its answers are its own."""
        return request_id.startswith(f"{self._device}-")

    async def _use(self, request_id: str, result: dict[str, Any]) -> None:
        """A hold: extended, parted with in part or moved, then bought, given back or left to run out."""
        hold, habits = str(result["hold"]), self._habits
        self._shared.holds.append((self.seen.buyer, hold))
        dice = self._chance.random() if self._is_mine(request_id) else 1.0
        if dice < habits.extend_share:
            await self._extend(hold, result)
        elif dice < habits.extend_share + habits.part_share:
            await self._part(hold, result)
        elif dice < habits.extend_share + habits.part_share + habits.move_share:
            result = await self._answered(self._instead_of(hold))
            if "moved" in result:
                return
        dice = self._chance.random()
        if dice < habits.confirm_share:
            await self._change(self._op("confirm", hold))
        elif dice < habits.confirm_share + habits.release_share:
            await self._change(self._op("release", hold))

    async def _extend(self, hold: str, result: dict[str, Any]) -> None:
        ends_ms = int(result["expires_at"])
        for _ in range(self._chance.randint(1, 2)):
            op = self._op("extend", hold)
            op.ends_ms = ends_ms
            await self._change(op)
            if op.answer is None:
                return
            ends_ms = op.answer.expires_at

    async def _part(self, hold: str, result: dict[str, Any]) -> None:
        """Give one seat back, or one place."""
        op = self._op("release", hold)
        seats, areas = list(result.get("seats", ())), dict(result.get("areas", {}))
        op.quantity = len(seats) + sum(areas.values())
        if seats:
            op.seats = [self._chance.choice(seats)]
        else:
            op.areas = {self._chance.choice(sorted(areas)): 1}
        await self._change(op)

    def _instead_of(self, hold: str) -> Ask:
        self._asked += 1
        return Ask(f"{self._device}-{self._asked}", _with(self._a_want(), move=hold))

    def _op(self, what: str, hold: str) -> HoldOp:
        return HoldOp(what, hold, time.monotonic_ns())

    async def _change(self, op: HoldOp) -> None:
        self.seen.hold_ops.append(op)
        await self._until(f"{self.seen.buyer}'s {op.op} of hold {op.hold}", self._carrier.change(op))

    async def _leave(self) -> None:
        request_id = self._on_list.pop(self._chance.randrange(len(self._on_list)))
        leaving = Leaving(request_id, time.monotonic_ns())
        self.seen.leaves.append(leaving)
        await self._until(f"{self.seen.buyer}'s leaving with {request_id}", self._carrier.leave(leaving))

    async def _look(self) -> None:
        await self._until(f"{self.seen.buyer}'s look at the waiting list", self._carrier.look())

    async def _look_to_the_end(self) -> None:
        """Twice: what comes first may have been read just before it was asked for."""
        asked_ns = time.monotonic_ns()
        await self._look()
        await self._look()
        self.seen.looked_ns = asked_ns

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
                await self._change(self._op("release", self._chance.choice(others)))
        if self._on_list and self._chance.random() < habits.leave_share:
            await self._leave()
        if self._chance.random() < habits.look_share:
            await self._look()

    async def _until(self, what: str, work: object) -> None:
        assert asyncio.iscoroutine(work)
        number = id(work)
        self._shared.open[number] = what
        await work
        del self._shared.open[number]


def _with(want: str, **more: object) -> str:
    """The same want, with something added; as canonical as it was."""
    return msgspec.json.encode(read_json(want) | more).decode()


def held(ask: Ask) -> str:
    """The hold this request was told it has, or an empty text."""
    for _, raw in ask.decisions[-1:]:
        frame = read_frame(raw)
        if frame.outcome == "held":
            return str(frame.result["hold"])
    return ""
