"""Who got more than they may is found: in all, of a category, and across a tour."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from bench.evidence import LedgerRow, TourSeen
from store.categories import with_category
from store.plan import Category
from store.words import EventState, Policy, TourLimit
from tests.checker.judged import judged, of_kind
from tests.checker.sale import CEM


def rules(**policy):
    """The clean sale under these rules; a batch of its own before it."""

    def put(truth, seen):
        fact = {"fact": 9, "hold": None, "body": Policy(EventState.OPEN, **policy)}
        row = LedgerRow(0, 0, "fact", "", "", "", msgspec.json.encode(fact).decode(), "policy", "{}")
        truth.ledger.insert(0, row)

    return put


def found(*corrupts):
    return of_kind(judged(*corrupts), "over_limit")


@pytest.mark.parametrize(
    "policy",
    [
        {},
        {"seats_per_buyer_max": 3},
        {"limits": {"A": 3}},
        {"tour": TourLimit(1, 3)},
    ],
)
def test_what_is_within_every_limit_is_no_finding(policy):
    assert found(rules(**policy)) == ""


@pytest.mark.parametrize(
    ("policy", "story"),
    [
        ({"seats_per_buyer_max": 2}, "3 seats and places for cem; 2 are allowed"),
        ({"limits": {"A": 2}}, "3 of A for cem; 2 are allowed"),
        ({"tour": TourLimit(1, 2)}, "3 beside 0 on other dates of the tour for cem; 2 are allowed"),
    ],
)
def test_who_got_more_than_a_limit_is_told_with_the_limit(policy, story):
    told = found(rules(**policy))
    assert story in told
    assert len(told.splitlines()) == 1


def elsewhere(batch_no, buyer, count):
    def put(truth, seen):
        text = f'{{"fact":0,"hold":null,"body":{{"{buyer}":{count}}}}}'
        truth.ledger.insert(1, LedgerRow(batch_no, 0, "fact", "", "", "", text, "elsewhere", "{}"))

    return put


def test_what_the_batch_found_on_other_dates_counts_in_that_batch():
    tour = rules(tour=TourLimit(1, 4))
    assert found(tour) == ""
    assert "3 beside 2 on other dates" in found(tour, elsewhere(1, "cem", 2))
    assert found(tour, elsewhere(0, "cem", 2)) == ""


def test_what_was_given_back_does_not_count():
    """Cem gives a place and then the seat back; then somebody of that name gets two more."""

    def more(truth, seen):
        rules(limits={"A": 3})(truth, seen)
        give = truth.ledger[3]
        part = f'{{"fact":7,"hold":"{CEM}","body":{{"areas":[[0,1]]}}}}'
        truth.ledger.append(LedgerRow(5, 0, "fact", "", "", "", part, "released", "{}"))
        result = '{"hold":"327681","seats":["s3"],"areas":{},"expires_at":1}'
        again = give._replace(batch_no=5, position=1, request_id="r2", result=result)
        truth.ledger.append(again)

    assert found(more) == ""


@pytest.mark.parametrize("category", ["A", "B"])
def test_a_limit_that_was_lowered_is_judged_by_what_is_given_after_it(category):
    """Cem keeps three of A where two are allowed by now, and may have something of B."""

    def more(truth, seen):
        two = (*truth.plan.categories, Category("B", 500, "EUR", "#445566"))
        truth.plan = with_category(replace(truth.plan, categories=two), "AB".index(category), [2], [])
        rules(limits={"A": 3})(truth, seen)
        fact = {"fact": 10, "hold": None, "body": Policy(EventState.OPEN, limits={"A": 2})}
        body = msgspec.json.encode(fact).decode()
        truth.ledger.append(LedgerRow(5, 0, "fact", "", "", "", body, "policy", "{}"))
        result = '{"hold":"327681","seats":["s3"],"areas":{},"expires_at":1}'
        again = truth.ledger[3]._replace(batch_no=5, position=1, request_id="r2", result=result)
        truth.ledger.append(again)

    assert ("4 of A for cem; 2 are allowed" in found(more)) is (category == "A")


def test_a_buyer_with_more_on_all_dates_than_the_tour_allows_is_found_in_the_tables():
    def put(truth, seen):
        truth.tour = TourSeen(4, [("ann", 4), ("bob", 5)])

    assert found(put) == "bob has 5 seats and places on the dates of the tour; 4 are allowed."
