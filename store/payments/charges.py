"""What a hold costs, seat by seat: pure. See `store.prices` for how one seat's price is made.

A hold costs what its seats cost when it was decided: a seat that was moved to another category since then
counts as what it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from store.plan import Plan
from store.prices import PlanMove, Price, PriceTerms, price_of


class Line(Struct, frozen=True, array_like=True):
    """A seat, or some places of an area: by number of the plan, and what one of them costs."""

    seat: int | None
    area: int | None
    count: int
    category: int
    """By number of the plan."""
    price_minor: int
    fee_minor: int
    tax_minor: int
    total_minor: int


class Charge(Struct, frozen=True):
    """All of it; sums of the lines' counts times their parts."""

    currency: str
    amount_minor: int
    fee_minor: int
    tax_minor: int
    lines: tuple[Line, ...]


def charge(
    plan: Plan,
    moves: Sequence[PlanMove],
    terms: PriceTerms,
    hold_id: int,
    seats: Iterable[int],
    areas: Mapping[int, int],
) -> Charge:
    """What hold `hold_id` of these seats (by number) and places (area number → how many) costs.

    `plan` is the event's plan now, `moves` what was moved since the sale began, in order.
    """
    seats_were: dict[int, int] = {}
    areas_were: dict[int, int] = {}
    for move in moves:
        if hold_id < int(move.before):
            for seat, category in move.seats:
                seats_were.setdefault(seat, category)
            for area, category in move.areas:
                areas_were.setdefault(area, category)
    prices: dict[int, Price] = {}

    def line(seat: int | None, area: int | None, count: int, category: int) -> Line:
        if category not in prices:
            prices[category] = price_of(plan.categories[category].price_minor, terms)
        one = prices[category]
        parts = (one.price_minor, one.fee_minor, one.tax_minor, one.total_minor)
        return Line(seat, area, count, category, *parts)

    lines = [line(no, None, 1, seats_were.get(no, plan.seats[no].category)) for no in sorted(seats)]
    for no, count in sorted(areas.items()):
        lines.append(line(None, no, count, areas_were.get(no, plan.areas[no].category)))
    return Charge(
        plan.currency,
        sum([each.count * each.total_minor for each in lines]),
        sum([each.count * each.fee_minor for each in lines]),
        sum([each.count * each.tax_minor for each in lines]),
        tuple(lines),
    )


def lines_of(lines: Iterable[Line], seats: Iterable[int], areas: Mapping[int, int]) -> tuple[Line, ...]:
    """The lines of these of a charge's seats and places, with how many of each."""
    wanted = set(seats)
    there = [
        replace(each, count=int(each.seat in wanted) if each.area is None else areas.get(each.area, 0))
        for each in lines
    ]
    return tuple([each for each in there if each.count])
