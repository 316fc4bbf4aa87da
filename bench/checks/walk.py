"""One walk along the ledger: which hold had which seat, from which row to which row.

It knows nothing of how decisions are made; it only adds up what the ledger says was given and freed,
and notes where that cannot be: a seat given while somebody has it, a refusal though it was free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.checks.free import Choices, Could, Free
from bench.checks.lives import Later, Life, Order, Overtaken
from bench.checks.waiting import ListWalk, what
from bench.evidence import Finding, LedgerRow, Truth, read_json
from store.wire import arrival_order

ENDS_A_HOLD = frozenset({"released", "expired"})
"""Outcomes of fact and expiry rows after which the hold's seats are free."""


@dataclass(slots=True)
class Refusal:
    """A request that was refused although the ledger says that what it named was free."""

    row: LedgerRow
    seats: tuple[int, ...]
    """The free seats it could have had (for standing places: none)."""


@dataclass(slots=True)
class Walk:
    lives: dict[int, Life] = field(default_factory=dict)
    holder: dict[int, int] = field(default_factory=dict)
    """Seat number → hold, after the last row."""
    blocked: set[int] = field(default_factory=set)
    """Seats that an operator took off sale, after the last row."""
    places_blocked: Counter[int] = field(default_factory=Counter)
    """Area → places that an operator took off sale, after the last row."""
    refusals: list[Refusal] = field(default_factory=list)
    overtaken: list[Overtaken] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    moved: set[int] = field(default_factory=set)
    """Seats that an operator gave another category, at any time."""
    by_key: dict[tuple[str, str], list[LedgerRow]] = field(default_factory=dict)
    """Request rows by (buyer, request id)."""


class Walker:
    """The state of a walk. `seat_numbers` and `guids` translate between names and numbers."""

    def __init__(self, truth: Truth) -> None:
        self.guids = [seat.guid for seat in truth.plan.seats]
        self.seat_numbers = {guid: number for number, guid in enumerate(self.guids)}
        self.area_numbers = {area.guid: number for number, area in enumerate(truth.plan.areas)}
        self.walk = Walk()
        self._truth = truth
        self._area_free = [area.capacity for area in truth.plan.areas]
        self._category_of = [seat.category for seat in truth.plan.seats]
        self._moves = 0
        self._frees = 0
        self._choices = Choices(truth.plan, self._category_of)
        self._now = Free(self._is_free, self._places_free)
        self._behind = {row.at for row in out_of_order(truth.ledger)}
        """Rows that were decided behind later arrivals."""
        self._later = Later(truth.plan, self.walk.lives, self.walk.holder)
        self.owned: Counter[str] = Counter()
        """Seats and places of each buyer that count for the limit."""
        self.list = ListWalk(self.owned, told)
        self._nothing_since: dict[str, int] = {}
        self._nothing_behind: dict[str, tuple[int, Order]] = {}

    def run(self) -> Walk:
        """Along the whole ledger, once."""
        for row in self._truth.ledger:
            if row.kind == "request":
                self.walk.by_key.setdefault((row.buyer, row.request_id), []).append(row)
                if row.outcome == "held":
                    self.list.given(row, what(row))
                    self._give(row)
                elif row.outcome in ("taken", "sold_out", "waitlisted"):
                    self._refuse(row)
                if row.outcome == "waitlisted":
                    self.list.put(row)
            elif row.kind == "offer":
                self._give(self.list.offer(row))
            elif row.outcome == "left":
                self.list.leave(row)
            elif row.outcome == "policy":
                self.list.policy(row)
            elif row.outcome in ("blocked", "unblocked"):
                self._block(row)
            elif row.outcome == "sold":
                self._sell(row)
            elif row.outcome == "returned":
                self._take_back(row)
            elif row.outcome == "recategorised":
                self._recategorise(row)
            else:
                self._end_or_pay(row)
        self.walk.findings += [*self.list.findings, *self.list.could_have(self._free_for)]
        return self.walk

    def _block(self, row: LedgerRow) -> None:
        """An operator took seats and places off sale, or put them on sale again."""
        body = read_json(row.input)["body"]
        block, blocked = row.outcome == "blocked", self.walk.blocked
        at = f"Batch {row.batch_no} position {row.position} {row.outcome}"
        for seat in body["seats"]:
            if seat in self.walk.holder:
                story = f"{at} seat {self.guids[seat]} while hold {self.walk.holder[seat]} had it."
                self.walk.findings.append(Finding("unexplained", story))
            if (seat in blocked) == block:
                story = f"{at} seat {self.guids[seat]}, which was {row.outcome} already."
                self.walk.findings.append(Finding("unexplained", story))
            (blocked.add if block else blocked.discard)(seat)
        for area, places in body["areas"]:
            change = places if block else -places
            self._area_free[area] -= change
            self.walk.places_blocked[area] += change
            if self._area_free[area] < 0 or self.walk.places_blocked[area] < 0:
                story = f"{at} {places} places in {self._truth.plan.areas[area].guid}: more than there were."
                self.walk.findings.append(Finding("unexplained", story))
        self._frees += not block

    def _sell(self, row: LedgerRow) -> None:
        """An operator sold what was blocked: an order from this row on, in nobody's way."""
        fact = read_json(row.input)
        hold_id, body = int(fact["hold"]), fact["body"]
        row = row._replace(buyer=body["buyer"], request_id=body["request_id"])
        seats, areas = tuple(body["seats"]), tuple((area, places) for area, places in body["areas"])
        if hold_id in self.walk.lives:
            self.walk.findings.append(Finding("doubled", f"{told(row)} sold hold {hold_id} a second time."))
        for seat in seats:
            if seat not in self.walk.blocked:
                story = f"{told(row)} sold seat {self.guids[seat]}, which was not off sale."
                self.walk.findings.append(Finding("unexplained", story))
            self.walk.blocked.discard(seat)
            self.walk.holder[seat] = hold_id
        for area, places in areas:
            self.walk.places_blocked[area] -= places
            if self.walk.places_blocked[area] < 0:
                name = self._truth.plan.areas[area].guid
                story = f"{told(row)} sold {places} places in {name}: more than were off sale."
                self.walk.findings.append(Finding("unexplained", story))
        self.walk.lives[hold_id] = Life(hold_id, row, seats, areas, paid=True)

    def _recategorise(self, row: LedgerRow) -> None:
        """An operator gave seats another category: what is described by one means others from here on."""
        body = read_json(row.input)["body"]
        self._moves += 1
        if body["version"] != self._moves:
            story = f"Batch {row.batch_no} position {row.position} made plan {body['version']}"
            self.walk.findings.append(
                Finding("unexplained", f"{story}; it is move {self._moves} of the sale.")
            )
        for seat in body["seats"]:
            self._category_of[seat] = body["category"]
        self.walk.moved.update(body["seats"])
        self._frees += 1

    def _take_back(self, row: LedgerRow) -> None:
        """An operator took an order back, or some of it; it is free, or stays off sale."""
        fact = read_json(row.input)
        life, body = self.walk.lives.get(int(fact["hold"])), fact["body"]
        if life is None or life.end is not None or not life.paid:
            story = f"Batch {row.batch_no} position {row.position} took back hold {fact['hold']}, no order."
            self.walk.findings.append(Finding("unexplained", story))
            return
        self._give_back(row, life, body)
        if not life.areas and all(seat in life.given_back for seat in life.seats):
            life.end, life.ending = row.at, "returned"
        if body["blocked"]:
            self.walk.blocked.update(body["seats"])
            for area, places in body["areas"]:
                self._area_free[area] -= places
                self.walk.places_blocked[area] += places

    def _give(self, row: LedgerRow) -> None:
        result = read_json(row.result)
        if result.get("hold") != str(row.hold_id):
            story = f"{told(row)} gave hold {result.get('hold')}; a hold given there is {row.hold_id}."
            self.walk.findings.append(Finding("unexplained", story))
        unknown = [guid for guid in result.get("seats", ()) if guid not in self.seat_numbers]
        if unknown:
            self.walk.findings.append(
                Finding("unexplained", f"{told(row)} gave {unknown}, which the plan has not.")
            )
        seats = tuple(self.seat_numbers[g] for g in result.get("seats", ()) if g in self.seat_numbers)
        areas = tuple((self.area_numbers[g], n) for g, n in result.get("areas", {}).items())
        old = self.walk.lives.get(int(result.get("moved", -1)))
        if "moved" in result:
            self._end(old, row, "moved")
        for seat in seats:
            holder = self.walk.holder.get(seat)
            if seat in self.walk.blocked:
                story = f"{told(row)} gave seat {self.guids[seat]}, which was blocked."
                self.walk.findings.append(Finding("oversold", story))
            if holder is not None:
                story = f"{told(row)} gave seat {self.guids[seat]} while hold {holder} had it"
                self.walk.findings.append(
                    Finding("oversold", f"{story} ({told(self.walk.lives[holder].row)}).")
                )
            self.walk.holder[seat] = row.hold_id
        for area, quantity in areas:
            self._area_free[area] -= quantity
            if self._area_free[area] < 0:
                name = self._truth.plan.areas[area].guid
                over = -self._area_free[area]
                story = f"{told(row)} gave {quantity} places in {name}: {over} over its capacity."
                self.walk.findings.append(Finding("oversold", story))
        life = self.walk.lives[row.hold_id] = Life(row.hold_id, row, seats, areas)
        if self._behind:
            self._later.given(life, old if old is not None and old.end == row.at else None)
        self.owned[row.buyer] += len(seats) + sum(quantity for _, quantity in areas)

    def _end_or_pay(self, row: LedgerRow) -> None:
        named = read_json(row.input).get("hold")
        life = self.walk.lives.get(int(named)) if named is not None else None
        if life is None or life.end is not None:
            return
        part = read_json(row.input).get("body") if row.outcome == "released" else None
        if part is not None:
            self._give_back(row, life, part)
        elif row.outcome == "paid":
            life.paid = True
        elif row.outcome in ENDS_A_HOLD:
            self._end(life, row, row.outcome)

    def _end(self, life: Life | None, row: LedgerRow, ending: str) -> None:
        """All that a hold still has is free from this row on."""
        if life is None or life.end is not None or life.row.buyer != (row.buyer or life.row.buyer):
            story = f"{told(row)} moved a hold that was not its buyer's, or over."
            self.walk.findings.append(Finding("unexplained", story))
            return
        life.end, life.ending = row.at, ending
        self._frees += 1
        self.owned[life.row.buyer] -= len(life.seats) - len(life.given_back)
        for seat in life.seats:
            if self.walk.holder.get(seat) == life.hold_id:
                del self.walk.holder[seat]
        for area, quantity in life.areas:
            self._area_free[area] += quantity
            self.owned[life.row.buyer] -= quantity

    def _give_back(self, row: LedgerRow, life: Life, part: dict[str, Any]) -> None:
        """Some of a hold, which lives on with the rest."""
        self._frees += 1
        counts = life.row.kind != "fact"  # what an operator sold is no limit's concern
        for seat in part.get("seats", ()):
            if self.walk.holder.get(seat) != life.hold_id:
                story = f"Hold {life.hold_id} gave back seat {self.guids[seat]}, which it had not."
                self.walk.findings.append(Finding("unexplained", story))
                continue
            del self.walk.holder[seat]
            life.given_back[seat] = row.at
            self.owned[life.row.buyer] -= counts
        left = dict(life.areas)
        for area, quantity in part.get("areas", ()):
            if left.get(area, 0) < quantity:
                story = f"Hold {life.hold_id} gave back {quantity} places in area {area}; it had fewer."
                self.walk.findings.append(Finding("unexplained", story))
                continue
            left[area] -= quantity
            self._area_free[area] += quantity
            self.owned[life.row.buyer] -= quantity * counts
        life.areas = tuple((area, quantity) for area, quantity in left.items() if quantity)

    def _refuse(self, row: LedgerRow) -> None:
        if self._nothing_since.get(row.input) != self._frees:  # else nothing came free since it was so
            could = self._free_for(read_json(row.input))
            if could is not None:
                self.walk.refusals.append(Refusal(row, could.seats))
                return
            self._nothing_since[row.input] = self._frees
        if self._behind and row.at in self._behind:
            self._refuse_behind(row)

    def _refuse_behind(self, row: LedgerRow) -> None:
        """Refused rightly, as things are; but later arrivals were decided before it."""
        order = arrival_order(row.arrival)
        frees, nothing_for = self._nothing_behind.get(row.input, (-1, order))
        if frees == self._frees and nothing_for <= order:
            return  # more arrivals are later than an earlier one, and they had nothing of it
        without = self._later.without(order, self._now)
        found = self._choices.that_could_be_had(read_json(row.input), without)
        could = [(one, *self._later.who_had(one, order, self._now)) for one in found]
        if could:
            self.walk.overtaken.append(Overtaken(row, could))
        else:
            self._nothing_behind[row.input] = self._frees, order

    def _free_for(self, want: dict[str, Any]) -> Could | None:
        """What would have satisfied the want, or None when every choice lacked something."""
        return next(self._choices.that_could_be_had(want, self._now), None)

    def _is_free(self, seat: int) -> bool:
        return seat not in self.walk.holder and seat not in self.walk.blocked

    def _places_free(self, area: int, _wanted: int) -> int:
        return self._area_free[area]


def out_of_order(ledger: Sequence[LedgerRow]) -> Iterator[LedgerRow]:
    """Requests that were decided behind a later arrival."""
    highest = (0, 0)
    for row in ledger:
        if row.kind == "request":
            order = arrival_order(row.arrival)
            if order < highest:
                yield row
            else:
                highest = order


def told(row: LedgerRow) -> str:
    """A request row in a few words."""
    return (
        f"{row.buyer}'s request {row.request_id} (arrival {row.arrival}, batch {row.batch_no} "
        f"position {row.position}, {row.outcome})"
    )
