"""Did anybody get more than they may: in all, of a category, or on all dates of a tour together?

Along the ledger with arithmetic of its own: what a buyer has after each row that gave them something,
against the rules as the policy facts before it say. Of a tour also what its tables say at this moment.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from bench.checks.free import Could
from bench.checks.walk import ENDS_A_HOLD, told
from bench.evidence import Finding, LedgerRow, Truth, read_json

GIVES = ("held", "offered")


def check_limits(truth: Truth) -> Iterator[Finding]:
    """Findings of kind `over_limit`."""
    limits = Limits(truth)
    for row in truth.ledger:
        yield from limits.take(row)
    if truth.tour is not None:
        for buyer, quantity in truth.tour.counts:
            if quantity > truth.tour.seats_per_buyer_max:
                most = truth.tour.seats_per_buyer_max
                story = (
                    f"{buyer} has {quantity} seats and places on the dates of the tour; {most} are allowed."
                )
                yield Finding("over_limit", story)


class Limits:
    """What buyers have, by the rows so far."""

    def __init__(self, truth: Truth) -> None:
        plan = truth.plan
        self._names = [category.name for category in plan.categories]
        self._category_of = {seat.guid: plan.categories[seat.category].name for seat in plan.seats}
        self._guids = [seat.guid for seat in plan.seats]
        self._areas = [area.guid for area in plan.areas]
        self._category_of_area = {area.guid: plan.categories[area.category].name for area in plan.areas}
        self._policy: dict[str, Any] = {}
        self._elsewhere: tuple[int, dict[str, int]] = (0, {})
        self._buyer_of: dict[str, str] = {}
        self._holds_of: defaultdict[str, dict[str, Counter[tuple[str, str]]]] = defaultdict(dict)
        """Buyer → hold → how many of each (seat or area, guid)."""

    def take(self, row: LedgerRow) -> Iterator[Finding]:
        if row.outcome in GIVES:
            result = read_json(row.result)
            self._end(result.get("moved", ""))
            things = Counter({("seat", guid): 1 for guid in result["seats"]})
            things.update({("area", guid): count for guid, count in result["areas"].items()})
            yield from self._judge(row, things)
            self._buyer_of[result["hold"]] = row.buyer
            self._holds_of[row.buyer][result["hold"]] = things
        elif row.kind != "request":
            self._note(row)

    def _note(self, row: LedgerRow) -> None:
        given = read_json(row.input)
        body, hold = given.get("body"), given.get("hold")
        if row.outcome == "policy":
            self._policy = body
        elif row.outcome == "elsewhere":
            self._elsewhere = (row.batch_no, body)
        elif row.outcome in ("released", "returned") and body is not None and hold in self._buyer_of:
            things = self._holds_of[self._buyer_of[hold]][hold]
            things.subtract([("seat", self._guids[seat]) for seat in body.get("seats", ())])
            things.subtract({("area", self._areas[area]): count for area, count in body.get("areas", ())})
        elif row.outcome == "recategorised":
            name = self._names[body["category"]]
            self._category_of.update({self._guids[seat]: name for seat in body["seats"]})
            self._category_of_area.update({self._areas[area]: name for area in body["areas"]})
        elif row.outcome in ENDS_A_HOLD:
            self._end(hold)

    def _end(self, hold: str) -> None:
        if (buyer := self._buyer_of.pop(hold, None)) is not None:
            del self._holds_of[buyer][hold]

    def allow(self, row: LedgerRow, could: Could) -> bool:
        """Whether who asks with this row may have as much, or any of it where less would do."""
        things = Counter({("seat", self._guids[seat]): 1 for seat in could.seats})
        things.update({("area", self._areas[area]): count for area, count in could.areas.items()})
        parts = [Counter([thing]) for thing in things] if could.up_to else [things]
        return any(not list(self._judge(row, part)) for part in parts)

    def _judge(self, row: LedgerRow, given: Counter[tuple[str, str]]) -> Iterator[Finding]:
        """Of what is given. Who has more of something else than a limit that was lowered since keeps it."""
        has = Counter(given)
        for things in self._holds_of[row.buyer].values():
            has.update(things)
        quantity, most = has.total(), self._policy.get("seats_per_buyer_max")
        if most is not None and quantity > most:
            yield _over(row, f"{quantity} seats and places", most)
        by_category, asked = self._by_category(has), self._by_category(given)
        for category, limit in self._policy.get("limits", {}).items():
            if asked[category] and by_category[category] > limit:
                yield _over(row, f"{by_category[category]} of {category}", limit)
        tour = self._policy.get("tour")
        batch_no, counts = self._elsewhere
        elsewhere = counts.get(row.buyer, 0) if batch_no == row.batch_no else 0
        if tour is not None and quantity + elsewhere > tour["seats_per_buyer_max"]:
            story = f"{quantity} beside {elsewhere} on other dates of the tour"
            yield _over(row, story, tour["seats_per_buyer_max"])

    def _by_category(self, things: Counter[tuple[str, str]]) -> Counter[str]:
        counts: Counter[str] = Counter()
        for (what, guid), count in things.items():
            of = self._category_of if what == "seat" else self._category_of_area
            counts[of.get(guid, "")] += count
        return counts


def _over(row: LedgerRow, has: str, most: int) -> Finding:
    return Finding("over_limit", f"{told(row)} made it {has} for {row.buyer}; {most} are allowed.")
