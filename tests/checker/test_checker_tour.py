"""Who had more than a tour allows on all its dates, if only for a while, is found in the dates' ledgers."""

from __future__ import annotations

import pytest

from bench.checks.tour import check_tour
from bench.evidence import TourSeen, Truth
from tests.checker import sale
from tests.checker.sale import CEM, DAN


def dates(most: int) -> list[Truth]:
    """The clean sale on two dates: cem has three on each, dan has one on each for a while."""
    both = []
    for slug in ("first", "second"):
        truth = sale.truth()
        truth.slug, truth.tour = slug, TourSeen(most, [])
        both.append(truth)
    return both


def found(both: list[Truth]) -> str:
    findings = list(check_tour(both))
    assert all(finding.kind == "over_limit" for finding in findings)
    return "\n".join(finding.story for finding in findings)


def freed_at(truth: Truth, hold: int, at: int) -> None:
    """When the seat of a hold came free."""
    number = next(n for n, c in enumerate(truth.history) if c.hold_id == hold and c.state == "available")
    truth.history[number] = truth.history[number]._replace(at=at)


def with_places(truth: Truth, hold: int, count: int) -> None:
    """The hold has so many places besides."""
    number = next(n for n, row in enumerate(truth.ledger) if row.outcome == "held" and row.hold_id == hold)
    result = truth.ledger[number].result.replace('"areas":{}', f'"areas":{{"floor":{count}}}')
    truth.ledger[number] = truth.ledger[number]._replace(result=result)


def test_within_the_limit_nobody_is_found():
    assert found(dates(6)) == ""


def test_seats_and_places_of_both_dates_count_from_the_batch_after_the_one_that_gave_them():
    told = f"cem had 6 seats and places on the dates of the tour at 20 µs (hold {CEM} of first, hold {CEM}"
    assert found(dates(5)) == f"{told} of second); 5 are allowed."


def test_what_is_over_for_long_is_found_all_the_same():
    both = dates(1)
    for truth in both:
        freed_at(truth, DAN, 31)
    assert "dan had 2" in found(both)


@pytest.mark.parametrize("at", [29, 30])
def test_what_came_free_before_it_was_surely_had_does_not_count(at):
    both = dates(1)
    freed_at(both[0], DAN, 31)
    freed_at(both[1], DAN, at)
    assert "dan" not in found(both)


def test_one_after_the_other_is_not_both_together():
    both = dates(1)
    for truth, at in zip(both, (31, 41), strict=True):
        freed_at(truth, DAN, at)
    both[1].batches[2] = both[1].batches[2]._replace(batch_time=35)
    assert "dan" not in found(both)


@pytest.mark.parametrize(("ending", "counts"), [("expired", True), ("released", False)])
def test_places_count_as_long_as_a_batch_says_that_the_hold_ran(ending, counts):
    """When a holder gave places back nothing tells, so it may have been at once."""
    both = dates(3)
    for truth in both:
        with_places(truth, DAN, 2)
        number = next(n for n, row in enumerate(truth.ledger) if row.outcome == "expired")
        kind = "expired" if counts else "fact"
        truth.ledger[number] = truth.ledger[number]._replace(kind=kind, outcome=ending)
    assert ("dan had 4" in found(both)) is counts


def test_orders_that_an_operator_sold_count_for_no_limit():
    both = dates(3)
    both[1].ledger[:] = [
        row._replace(kind="fact", buyer="", request_id="", outcome="sold", input=_sold_by_hand())
        if row.outcome == "held" and row.hold_id == CEM
        else row
        for row in both[1].ledger
    ]
    assert found(both) == ""


def _sold_by_hand() -> str:
    hold = 1 << 59
    body = '{"buyer":"cem","request_id":"sale-1","kind":"box_office","seats":[1],"areas":[[0,2]]}'
    return f'{{"fact":7,"hold":"{hold}","body":{body}}}'
