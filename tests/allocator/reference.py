"""The decision once more, plain and slow: what seats and holds there are, looked through from the start
each time. Shares no code with `allocator.decide` but the words. Tests compare the two.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from store.plan import Plan
from store.wire import decode_want
from store.words import Best, Choice, EventState, Policy, Want
from tests.allocator.ladder import Ladder, with_parts_of
from tests.allocator.reference_fact import ReferenceFact as ReferenceFact
from tests.allocator.room import Room

Decision = tuple[str, dict[str, Any]]
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
    counts: bool = True
    """Towards its buyer's limit: an operator's sale does not."""

    @property
    def quantity(self) -> int:
        return len(self.seats) + sum(self.areas.values())


@dataclass
class ReferenceAsk:
    buyer: str
    want: str
    conflict: bool = False


@dataclass
class ReferenceWait:
    wait_id: int
    ask: ReferenceAsk
    what: Any
    """What it waits for, equal for all who wait for the same."""


class ReferenceTooManyOffers(Exception):
    """The batch has requests and makes as many offers as a batch may."""


@dataclass
class Reference:
    """An event as a list of holds, and of what operators blocked. A seat or place is taken while a hold that
    has it is active or paid, or while it is blocked.
    """

    plan: Plan
    policy: Policy
    holds: list[ReferenceHold] = field(default_factory=list)
    blocked_seats: list[int] = field(default_factory=list)
    blocked_places: list[int] = field(default_factory=list)
    """The area's number, once for each place."""
    elsewhere: dict[str, int] = field(default_factory=dict)
    """On the tour's other dates, as this batch found it."""
    waits: list[ReferenceWait] = field(default_factory=list)
    """In the list's order."""
    offers_max: int = 8_000
    waits_max: int = 200_000
    owed: bool = False
    """The batch before ended with offers left to be made."""
    ladder: Ladder = field(init=False)

    def __post_init__(self) -> None:
        self.ladder = Ladder(self.plan)

    def running(self, *states: str) -> list[ReferenceHold]:
        return [hold for hold in self.holds if hold.state in (states or ("active", "paid"))]

    def taken_seats(self) -> set[int]:
        return {seat for hold in self.running() for seat in hold.seats} | set(self.blocked_seats)

    def places_free(self, area: int) -> int:
        given = sum(hold.areas.get(area, 0) for hold in self.running())
        return self.plan.areas[area].capacity - given - self.blocked_places.count(area)

    def count_of(self, buyer: str) -> int:
        return sum(hold.quantity for hold in self.running() if hold.buyer == buyer and hold.counts)

    def count_of_category(self, buyer: str, category: int) -> int:
        """Seats and places of it that the buyer has."""
        mine = [hold for hold in self.running() if hold.buyer == buyer and hold.counts]
        seats = [self.plan.seats[seat].category for hold in mine for seat in hold.seats]
        places = [(self.plan.areas[area].category, n) for hold in mine for area, n in hold.areas.items()]
        return seats.count(category) + sum(n for of, n in places if of == category)

    def decide(
        self,
        batch_no: int,
        batch_time: int,
        facts: Sequence[ReferenceFact],
        asks: Sequence[ReferenceAsk],
    ) -> list[Answer]:
        rows: list[Answer] = []
        self.elsewhere = {}
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
        if rows or self.owed or self.policy.tour is not None:
            self._offer(rows, batch_no, batch_time, asks)
        for ask in asks:
            if not ask.conflict and (want := self._readable(ask)) is not None:
                self._offer(rows, batch_no, batch_time, asks, self._what(want))
            hold_id = batch_no * 65536 + len(rows)
            expires_at = batch_time + self.policy.hold_ttl_seconds * 1_000_000
            rows.append(("request", *self.answer(ask, hold_id, expires_at, batch_time)))
            if "moved" in rows[-1][2]:
                self._offer(rows, batch_no, batch_time, asks)
        self.owed = self._offers(rows) >= self.offers_max
        return rows

    def _offers(self, rows: Sequence[Answer]) -> int:
        return sum(kind == "offer" for kind, _, _ in rows)

    def _offer(
        self,
        rows: list[Answer],
        batch_no: int,
        batch_time: int,
        asks: Sequence[ReferenceAsk],
        what: Any = None,
    ) -> None:
        """Along the whole list, once: to everyone who can be served now, or of them who want `what`."""
        refused: list[Any] = []
        for wait in list(self.waits):
            if self.policy.state is not EventState.OPEN or wait.what in refused:
                continue
            if what is not None and wait.what != what:
                continue
            hold_id = batch_no * 65536 + len(rows)
            expires_at = batch_time + self.policy.offer_ttl_seconds * 1_000_000
            outcome, result = self._first_choice(wait.ask, decode_want(wait.ask.want), hold_id, expires_at)
            if outcome not in ("held", "limit_reached"):
                refused.append(wait.what)
            if outcome == "held":
                passed_over = self.waits.index(wait)
                self.waits.remove(wait)
                rows.append(("offer", "offered", {**result, "passed_over": passed_over}))
                if self._offers(rows) >= self.offers_max:
                    if asks:
                        raise ReferenceTooManyOffers
                    return

    def _readable(self, ask: ReferenceAsk) -> Want | None:
        try:
            want = decode_want(ask.want)
        except msgspec.DecodeError:
            return None
        return None if self._why_invalid(want) else want

    def _what(self, want: Want) -> Any:
        return [
            (
                choice.seats,
                [(self.ladder.described(b), b.quantity, b.accessible, b.apart) for b in choice.parties],
                sorted(choice.areas.items()),
                choice.up_to and self._quantity(choice) > 1,
            )
            for choice in want.choices
        ]

    def _consume(self, fact: ReferenceFact) -> None:
        since = self.policy.paused_at if fact.policy else fact.since
        for hold in self.running("active"):
            if since is not None and hold.expires_at > since:
                hold.expires_at += fact.policy.holds_extended_us if fact.policy else fact.by_us
        self.policy = fact.policy or self.policy
        if fact.kind == "recategorised":
            self._recategorise(fact)
            return
        if fact.kind == "elsewhere":
            self.elsewhere = fact.counts
        places = [area for area, count in fact.areas for _ in range(count)]
        if fact.kind == "blocked":
            self.blocked_seats += fact.seats
            self.blocked_places += places
        if fact.kind in ("unblocked", "sold"):
            for seat in fact.seats:
                self.blocked_seats.remove(seat)
            for area in places:
                self.blocked_places.remove(area)
        if fact.kind == "left":
            self.waits = [wait for wait in self.waits if wait.wait_id != fact.hold_id]
        if fact.kind == "sold" and fact.hold_id is not None:
            has = (list(fact.seats), dict(fact.areas))
            self.holds.append(ReferenceHold(fact.hold_id, fact.buyer, *has, 0, "paid", counts=False))
        if fact.kind == "returned":
            self._take_back(fact, places)
        for hold in self.running("active"):
            if hold.hold_id != fact.hold_id:
                continue
            if fact.kind == "extended":
                hold.expires_at += fact.by_us
            elif fact.seats or fact.areas:
                hold.seats = [seat for seat in hold.seats if seat not in fact.seats]
                for area, count in fact.areas:
                    hold.areas[area] -= count
                hold.areas = {area: count for area, count in hold.areas.items() if count}
            else:
                hold.state = fact.kind

    def _recategorise(self, fact: ReferenceFact) -> None:
        """The plan made anew of the same parts, and what everyone who waits wants read anew by it."""
        areas = [area for area, _ in fact.areas]
        self.plan = with_parts_of(self.plan, fact.category, fact.seats, areas)
        self.ladder = Ladder(self.plan)
        for wait in self.waits:
            wait.what = self._what(decode_want(wait.ask.want))

    def _take_back(self, fact: ReferenceFact, places: list[int]) -> None:
        (order,) = [hold for hold in self.running("paid") if hold.hold_id == fact.hold_id]
        order.seats = [seat for seat in order.seats if seat not in fact.seats]
        order.areas = {area: left for area, has in order.areas.items() if (left := has - places.count(area))}
        if not order.quantity:
            order.state = "refunded"
        if fact.blocked:
            self.blocked_seats += fact.seats
            self.blocked_places += places

    def answer(
        self, ask: ReferenceAsk, hold_id: int = 0, expires_at: int = 0, now: int = 0
    ) -> tuple[str, dict[str, Any]]:
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
        if want.move is UNSET:
            outcome, result = self._first_choice(ask, want, hold_id, expires_at)
            if want.waitlist and outcome in ("taken", "sold_out"):
                return self._wait(ask, want, hold_id, outcome, result)
            return outcome, result
        mine = [
            hold
            for hold in self.running("active")
            if str(hold.hold_id) == want.move
            and hold.buyer == ask.buyer
            and hold.expires_at > now
            and hold.hold_id < hold_id // 65536 * 65536
        ]
        if not mine:
            return "invalid", {"reason": "no_such_hold"}
        old = mine[0]
        old.state = "moving"
        outcome, result = self._first_choice(ask, want, hold_id, old.expires_at)
        old.state = "released" if outcome == "held" else "active"
        return outcome, {**result, "moved" if outcome == "held" else "kept": want.move}

    def _wait(
        self, ask: ReferenceAsk, want: Want, wait_id: int, outcome: str, result: dict[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        if sum(wait.ask.buyer == ask.buyer for wait in self.waits) == 4:
            return "limit_reached", {"reason": "waiting", "limit": 4}
        if len(self.waits) == self.waits_max:
            return outcome, {**result, "waiting_list": "full"}
        self.waits.append(ReferenceWait(wait_id, ask, self._what(want)))
        position = len(self.waits)
        return "waitlisted", {"wait": str(wait_id), "position": position, "why": outcome, "detail": result}

    def _first_choice(
        self, ask: ReferenceAsk, want: Want, hold_id: int, expires_at: int
    ) -> tuple[str, dict[str, Any]]:
        refusals = []
        for number, choice in enumerate(want.choices):
            outcome, result = self._choose(ask.buyer, choice)
            if outcome != "held":
                refusals.append((outcome, result))
                continue
            seats, areas = result.pop("chosen")
            self.holds.append(ReferenceHold(hold_id, ask.buyer, seats, areas, expires_at))
            return "held", {
                "hold": str(hold_id),
                "seats": [self.plan.seats[seat].guid for seat in seats],
                "areas": {self.plan.areas[area].guid: places for area, places in areas.items()},
                "expires_at": expires_at // 1000,
                **result,
                **({"choice": number} if number else {}),
            }
        limited = [refusal for refusal in refusals if refusal[0] == "limit_reached"]
        return (limited or refusals)[0]

    def _choose(self, buyer: str, choice: Choice) -> tuple[str, dict[str, Any]]:
        """An outcome and its result; of `held` the seats and areas as `chosen`."""
        numbers = {seat.guid: number for number, seat in enumerate(self.plan.seats)}
        named = [numbers[guid] for guid in choice.seats]
        areas = {
            n: choice.areas[area.guid] for n, area in enumerate(self.plan.areas) if area.guid in choice.areas
        }
        parties = sum(best.quantity for best in choice.parties)
        left, over = self._left(buyer)
        room = Room(self, buyer)
        asked = list(named), dict(areas)
        gone = self.taken_seats()
        if len(named) + parties + sum(areas.values()) == 1:
            choice = replace(choice, up_to=False)
        if choice.up_to:
            if left <= 0:
                return over(1)
            named = room.take_what_fits([seat for seat in named if seat not in gone], left)
        elif gone & set(named):
            return "taken", self._taken(named)
        elif len(named) + parties + sum(areas.values()) > left:
            return over(len(named) + parties + sum(areas.values()))
        elif lacking := room.take_all(named, areas):
            return self._over_category(lacking[0])
        else:
            room = Room(self, buyer, named, areas)
            for best in choice.parties:
                described = [self.plan.blocks[block].category for block in self.ladder.described(best)]
                if described and all(room.of(category) < best.quantity for category in described):
                    return self._over_category(described[0])
        if not choice.up_to:
            for area, places in areas.items():
                if self.places_free(area) < places:
                    return "sold_out", {"reason": "area_full", "free": self.places_free(area)}
        seats, step = self._seat_parties(choice, named, left, room)
        if step is None:
            decided: Decision = seats
            return decided
        if choice.up_to:
            left -= len(seats)
            given = {}
            for area, places in areas.items():
                given[area] = min(
                    places, self.places_free(area), left, room.of(self.plan.areas[area].category)
                )
                room.use(self.plan.areas[area].category, given[area])
                left -= given[area]
            areas = {area: places for area, places in given.items() if places}
            if not seats and not areas:
                return self._nothing(choice, *asked, room)
        return "held", {"chosen": (seats, areas), **({"step": step} if choice.parties else {})}

    def _left(self, buyer: str) -> tuple[int, Callable[[int], Decision]]:
        """What the buyer may have more in all, and the refusal of who asks for so many."""
        limit, tour = self.policy.seats_per_buyer_max, self.policy.tour
        here, there = self.count_of(buyer), self.elsewhere.get(buyer, 0)

        def over(quantity: int) -> Decision:
            if tour is None or here + quantity > limit:
                return "limit_reached", {"reason": "limit", "limit": limit}
            told = {"limit": tour.seats_per_buyer_max, "elsewhere": there}
            return "limit_reached", {"reason": "tour_limit", **told}

        by_tour = limit if tour is None else tour.seats_per_buyer_max - there
        return min(limit, by_tour) - here, over

    def _over_category(self, category: int) -> Decision:
        name = self.plan.categories[category].name
        return "limit_reached", {"reason": "limit", "limit": self.policy.limits[name], "category": name}

    def _seat_parties(
        self, choice: Choice, named: list[int], left: int, room: Room
    ) -> tuple[Any, str | None]:
        """(seats, step), or (the decision, None)."""
        seats, steps = list(named), ["together"]
        order = ["together", "together_leaving_one", "apart"]

        def free(seat: int) -> bool:
            return seat not in self.taken_seats() and seat not in seats

        for best in choice.parties:
            most = min(best.quantity, left - len(seats))
            sizes = range(most, 0, -1) if choice.up_to else [best.quantity]
            found = next((f for size in sizes if (f := room.party(best, size, free))), None)
            if found is not None:
                seats += found[0]
                steps.append(found[1])
                room.take_all(found[0], {})
            elif not choice.up_to:
                if room.unlimited:
                    why = {"reason": "none_together", "largest": self._largest(best, seats)}
                    return ("sold_out", why), None
                return self._but_for_limits(choice, named, room), None
        return seats, max(steps, key=order.index)

    def _but_for_limits(self, choice: Choice, named: list[int], room: Room) -> Decision:
        """What who has no limits by category would hear; or if they would be seated, the limit in the way."""
        seats, step = self._seat_parties(choice, named, 10**9, room.without_limits())
        if step is None:
            decided: Decision = seats
            return decided
        room = room.at_first()
        at = len(named)
        for best in choice.parties:
            part = seats[at : at + best.quantity]
            at += best.quantity
            if lacking := room.without(part, best.quantity):
                return self._over_category(lacking[0])
            room.take_all(part, {})
        raise AssertionError("with room for all of them the parties had been seated")

    def _nothing(self, choice: Choice, named: list[int], areas: dict[int, int], room: Room) -> Decision:
        """Why nothing can be had: but for a category's limit something could, or there is none."""
        gone = self.taken_seats()
        free = [seat for seat in named if seat not in gone]
        free += [
            seat
            for best in choice.parties
            if (found := self.ladder.party(best, 1, lambda seat: seat not in gone))
            for seat in found[0]
        ]
        if free:
            return self._over_category(room.without(free, 1)[0])
        for area in areas:
            if self.places_free(area):
                return self._over_category(self.plan.areas[area].category)
        if choice.parties:
            return "sold_out", {"reason": "none_together", "largest": self._largest(choice.parties[0])}
        if areas:
            return "sold_out", {"reason": "area_full", "free": self.places_free(min(areas))}
        return "taken", self._taken(named)

    def _largest(self, best: Best, but: Sequence[int] = ()) -> int:
        gone = self.taken_seats() | set(but)
        return self.ladder.largest(best, best.quantity, lambda seat: seat not in gone)

    def _taken(self, named: list[int]) -> dict[str, Any]:
        gone = self.taken_seats()
        groups = self.ladder.instead(named[0], len(named), lambda seat: seat not in gone)
        guid = [seat.guid for seat in self.plan.seats]
        return {
            "taken": [guid[seat] for seat in named if seat in gone],
            "instead": [[guid[seat] for seat in group] for group in groups],
        }

    def _why_invalid(self, want: Want) -> str:
        if want.waitlist and want.move is not UNSET:
            return "waitlist_with_move"
        return next((reason for choice in want.choices if (reason := self._why_choice_invalid(choice))), "")

    def _why_choice_invalid(self, choice: Choice) -> str:
        guids = {seat.guid for seat in self.plan.seats}
        if any(guid not in guids for guid in choice.seats):
            return "unknown_seat"
        if len(set(choice.seats)) < len(choice.seats):
            return "repeated_seat"
        for best in choice.parties:
            if not self.ladder.described(best):
                used_sections = {self.plan.sections[block.section].name for block in self.plan.blocks}
                used_categories = {self.plan.categories[block.category].name for block in self.plan.blocks}
                if best.section not in used_sections | {None}:
                    return "unknown_section"
                known = best.category in used_categories | {None}
                return "no_such_seats" if known else "unknown_category"
            if best.accessible > best.quantity:
                return "more_accessible_than_asked_for"
        if any(guid not in {area.guid for area in self.plan.areas} for guid in choice.areas):
            return "unknown_area"
        quantity = self._quantity(choice)
        return "too_many" if quantity > 50 else "" if quantity else "nothing_asked_for"

    def _quantity(self, choice: Choice) -> int:
        parties = sum(best.quantity for best in choice.parties)
        return len(choice.seats) + parties + sum(choice.areas.values())


def in_plain(rows: Sequence[Any]) -> list[Answer]:
    """Ledger rows of the real decision in the form of the reference."""
    return [(str(row.kind), str(row.outcome), json.loads(row.result)) for row in rows]
