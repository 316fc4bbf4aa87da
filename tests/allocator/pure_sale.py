"""A sale that is only the decision: no engine, no clock but its own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from allocator.decide import Ask, Fact, decide
from allocator.decided import Decided
from allocator.layout import Layout
from allocator.memory import Memory, Overlay
from allocator.wishes import Wishes
from store.plan import Plan
from store.wire import canonical_want
from store.words import Arrival, EventState, HoldId, Policy, Want
from tests.allocator.house import plan_of

START = 1_000_000_000_000_000
TTL_SECONDS = 8


class Sale:
    """A memory, and a short way to decide batch after batch."""

    def __init__(self, plan: Plan | None = None, **policy: Any) -> None:
        self.layout = Layout(plan or plan_of())
        rules = {"hold_ttl_seconds": TTL_SECONDS, "seats_per_buyer_max": 8} | policy
        self.memory = Memory(self.layout, Policy(EventState.OPEN, **rules))
        self.memory.batch_time = START
        self.wishes = Wishes(self.layout)

    def ask(self, buyer: str, want: Want | str) -> Ask:
        text = want if isinstance(want, str) else canonical_want(want).decode()
        return Ask(Arrival("1-1"), buyer, "r", text, self.wishes.read(text.encode()))

    def follow_plan(self) -> None:
        """What is asked from now on is read by the plan that memory has by now."""
        self.layout = self.memory.layout
        self.wishes = self.wishes.by(self.layout)

    def batch(self, *asks: Ask, facts: Sequence[Fact] = (), seconds: float = 0) -> Decided:
        overlay = Overlay(self.memory)
        time = self.memory.batch_time + int(seconds * 1_000_000)
        decided = decide(self.memory, overlay, self.memory.batch_no + 1, time, facts, asks)
        overlay.keep(self.memory.batch_no + 1, time)
        return decided

    def answer(self, buyer: str, want: Want | str) -> tuple[str, dict[str, Any]]:
        row = self.batch(self.ask(buyer, want)).rows[-1]
        return row.outcome, json.loads(row.result)

    def hold_of(self, buyer: str) -> HoldId:
        return next(hold_id for hold_id, hold in self.memory.holds.items() if hold.buyer == buyer)
