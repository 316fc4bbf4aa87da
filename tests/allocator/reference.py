"""The decision once more, plain and slow: what seats and holds there are, looked through from the start
each time. Shares no code with `allocator.decide` but the words. Tests compare the two.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from store.plan import Plan
from store.wire import decode_want
from store.words import EventState, Policy, Want

Answer = tuple[str, str, dict[str, Any]]
"""(kind, outcome, result)"""


@dataclass
class ReferenceHold:
    hold_id: int
    buyer: str
    seats: list[int]
    areas: dict[int, int]
    expires_at: int
    state: str = "active"

    @property
    def quantity(self) -> int:
        return len(self.seats) + sum(self.areas.values())


@dataclass
class ReferenceAsk:
    buyer: str
    want: str
    conflict: bool = False


@dataclass
class ReferenceFact:
    kind: str
    hold_id: int | None = None
    policy: Policy | None = None


@dataclass
class Reference:
    """An event as a list of holds. A seat or place is taken while a hold that has it is active or paid."""

    plan: Plan
    policy: Policy
    holds: list[ReferenceHold] = field(default_factory=list)

    def running(self, *states: str) -> list[ReferenceHold]:
        return [hold for hold in self.holds if hold.state in (states or ("active", "paid"))]

    def taken_seats(self) -> set[int]:
        return {seat for hold in self.running() for seat in hold.seats}

    def places_free(self, area: int) -> int:
        return self.plan.areas[area].capacity - sum(hold.areas.get(area, 0) for hold in self.running())

    def count_of(self, buyer: str) -> int:
        return sum(hold.quantity for hold in self.running() if hold.buyer == buyer)

    def decide(
        self,
        batch_no: int,
        batch_time: int,
        facts: Sequence[ReferenceFact],
        asks: Sequence[ReferenceAsk],
    ) -> list[Answer]:
        rows: list[Answer] = []
        for fact in facts:
            self._consume(fact)
            rows.append(("fact", fact.kind, {}))
        now = batch_time
        if self.policy.state is EventState.PAUSED and self.policy.paused_at is not None:
            now = min(now, self.policy.paused_at)
        due = [hold for hold in self.running("active") if hold.expires_at <= now]
        for hold in sorted(due, key=lambda hold: (hold.expires_at, hold.hold_id)):
            hold.state = "expired"
            rows.append(("expired", "expired", {}))
        for ask in asks:
            hold_id = batch_no * 65536 + len(rows)
            expires_at = batch_time + self.policy.hold_ttl_seconds * 1_000_000
            rows.append(("request", *self._answer(ask, hold_id, expires_at)))
        return rows

    def _consume(self, fact: ReferenceFact) -> None:
        if fact.policy is not None:
            for hold in self.running("active"):
                paused_at = self.policy.paused_at
                if paused_at is not None and hold.expires_at > paused_at:
                    hold.expires_at += fact.policy.holds_extended_us
            self.policy = fact.policy
        for hold in self.running("active"):
            if hold.hold_id == fact.hold_id:
                hold.state = fact.kind

    def _answer(self, ask: ReferenceAsk, hold_id: int, expires_at: int) -> tuple[str, dict[str, Any]]:
        if ask.conflict:
            return "conflict", {"reason": "key_reused"}
        try:
            want = decode_want(ask.want)
        except msgspec.DecodeError:
            return "invalid", {"reason": "unreadable"}
        reason = self._why_invalid(want)
        if reason:
            return "invalid", {"reason": reason}
        if self.policy.state is not EventState.OPEN:
            return "closed", {"reason": f"event_{self.policy.state.value}"}
        numbers = {seat.guid: number for number, seat in enumerate(self.plan.seats)}
        areas = {
            number: want.areas[area.guid]
            for number, area in enumerate(self.plan.areas)
            if area.guid in want.areas
        }
        seats = [numbers[guid] for guid in want.seats]
        taken = [guid for guid in want.seats if numbers[guid] in self.taken_seats()]
        if taken:
            return "taken", {"taken": taken}
        best = want.best.quantity if want.best is not None else 0
        quantity = len(seats) + best + sum(areas.values())
        limit = self.policy.seats_per_buyer_max
        if self.count_of(ask.buyer) + quantity > limit:
            return "limit_reached", {"reason": "limit", "limit": limit}
        for area, places in areas.items():
            if self.places_free(area) < places:
                return "sold_out", {"reason": "area_full", "free": self.places_free(area)}
        if best:
            together = self.best_together(want, seats)
            if together is None:
                return "sold_out", {"reason": "none_together"}
            seats = seats + together
        self.holds.append(ReferenceHold(hold_id, ask.buyer, seats, areas, expires_at))
        return "held", {
            "hold": str(hold_id),
            "seats": [self.plan.seats[seat].guid for seat in seats],
            "areas": {self.plan.areas[area].guid: places for area, places in areas.items()},
            "expires_at": expires_at // 1000,
        }

    def best_together(self, want: Want, but: Sequence[int]) -> list[int] | None:
        """The first free neighbours in the plan's order, block by block."""
        assert want.best is not None
        taken = self.taken_seats() | set(but)
        for block in self._blocks(want):
            for first in range(block.first, block.first + block.length - want.best.quantity + 1):
                seats = list(range(first, first + want.best.quantity))
                if not taken & set(seats):
                    return seats
        return None

    def _blocks(self, want: Want) -> list[Any]:
        assert want.best is not None
        section, category = want.best.section, want.best.category
        return [
            block
            for block in self.plan.blocks
            if section in (None, self.plan.sections[block.section].name)
            and category in (None, self.plan.categories[block.category].name)
        ]

    def _why_invalid(self, want: Want) -> str:
        guids = {seat.guid for seat in self.plan.seats}
        if any(guid not in guids for guid in want.seats):
            return "unknown_seat"
        if len(set(want.seats)) < len(want.seats):
            return "repeated_seat"
        if want.best is not None and not self._blocks(want):
            used_sections = {self.plan.sections[block.section].name for block in self.plan.blocks}
            used_categories = {self.plan.categories[block.category].name for block in self.plan.blocks}
            if want.best.section not in used_sections | {None}:
                return "unknown_section"
            return (
                "unknown_category" if want.best.category not in used_categories | {None} else "no_such_seats"
            )
        if any(guid not in {area.guid for area in self.plan.areas} for guid in want.areas):
            return "unknown_area"
        return "" if want.seats or want.best or want.areas else "nothing_asked_for"


def in_plain(rows: Sequence[Any]) -> list[Answer]:
    """Ledger rows of the real decision in the form of the reference."""
    return [(str(row.kind), str(row.outcome), json.loads(row.result)) for row in rows]
