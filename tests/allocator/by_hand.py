"""What operators sell and take back in random histories: a fact for the decision, one for the reference."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from allocator.decide import Fact
from store.words import OPERATORS_HOLDS, Blocks, HoldId, HoldKind, Returned, Sold
from tests.allocator.histories import Changed
from tests.allocator.reference import Reference, ReferenceFact

Told = tuple[Fact, ReferenceFact]


def sold_fact(fact_id: int, hold_id: int, sold: Sold) -> Fact:
    return Fact(fact_id, "sold", HoldId(hold_id), msgspec.json.encode(sold).decode())


def returned_fact(fact_id: int, hold_id: int, returned: Returned) -> Fact:
    return Fact(fact_id, "returned", HoldId(hold_id), msgspec.json.encode(returned).decode())


def sold(fact_id: int, change: Changed, blocked: Blocks) -> Told | None:
    """What is blocked becomes an order of somebody."""
    if not blocked.seats and not blocked.areas:
        return None
    hold_id, buyer = OPERATORS_HOLDS + fact_id, f"b{change.which % 5}"
    body = Sold(buyer, "sale", HoldKind.BOX_OFFICE, blocked.seats, blocked.areas)
    plain = ReferenceFact("sold", hold_id, seats=blocked.seats, areas=blocked.areas, buyer=buyer)
    return sold_fact(fact_id, hold_id, body), plain


def returned(
    fact_id: int, change: Changed, reference: Reference, before: Sequence[ReferenceFact]
) -> Told | None:
    """All or half of an order that no fact of this step named, to be sold again or not."""
    named = {fact.hold_id for fact in before}
    orders = [hold for hold in reference.running("paid") if hold.hold_id not in named]
    if not orders:
        return None
    order = orders[change.which % len(orders)]
    half = change.value % 2 and order.quantity > 1
    seats = tuple(order.seats[: (len(order.seats) + 1) // 2] if half else order.seats)
    areas = () if half and seats else tuple(sorted(order.areas.items()))
    blocked = change.value % 3 == 0
    fact = returned_fact(fact_id, order.hold_id, Returned(order.buyer, order.counts, blocked, seats, areas))
    return fact, ReferenceFact("returned", order.hold_id, seats=seats, areas=areas, blocked=blocked)
