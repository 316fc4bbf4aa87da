"""What buyers return, on the real engines: in the ledger, had by others again, and decided again the same."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from allocator.replay import Finding, verify
from bench.checker import judge
from bench.truth import read_truth
from store import events
from store.errors import NotFound
from store.tickets import returns
from store.tickets.items import SEAT, Item
from store.words import Want
from tests.allocator.house import SLUG, Owner, best, check_laws, entry, owner_of, plan_of, seats

PLAN = plan_of(rows=1, seats_a_row=5)


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    """An owner of five seats and twenty places; in the end the ledger explains everything."""
    with owner_of(database_url, redis_url, PLAN, seats_per_buyer_max=4) as made:
        with psycopg.connect(database_url, autocommit=True) as conn:
            events.set_policy(conn, SLUG, returns_allowed=True)
        yield made
        made.settle_down()
        check_laws(database_url, made.event_id)
        with psycopg.connect(database_url) as conn:
            assert [step for step in verify(conn, made.event_id) if isinstance(step, Finding)] == []
            assert judge([], read_truth(conn, SLUG)) == []


def give_back(owner: Owner, buyer: str, order_id: int, *items: Item) -> None:
    with psycopg.connect(owner.database_url, autocommit=True) as conn:
        returns.give_back(conn, owner.event_id, PLAN, order_id, buyer, items or None)


def bought(owner: Owner, buyer: str, want: Want) -> int:
    owner.ask(entry(buyer, "r1", want))
    order = owner.hold_of(buyer)
    owner.confirm(buyer)
    return order


def test_what_a_buyer_returns_can_be_had_again_and_no_longer_counts_for_the_buyer(owner):
    order = bought(owner, "ann", Want(seats=("A-1", "A-2"), areas={"floor": 2}))
    assert owner.outcomes(entry("ann", "r2", best(1))) == ["limit_reached"]
    give_back(owner, "ann", order, Item(SEAT, 0), Item(0, 1))
    assert owner.outcomes(entry("bob", "r1", seats("A-1")), entry("ann", "r3", best(2))) == ["held", "held"]
    assert owner.outcomes(entry("ann", "r4", best(1))) == ["limit_reached"]
    give_back(owner, "ann", order)
    owner.poke()
    owner.settle_down()
    assert owner.memory.areas_free == [20]
    assert [row[4] for row in owner.ledger() if row[1] == "fact"][-3:] == ["paid", "returned", "returned"]
    assert owner.loop.redone == 0


def test_what_a_buyer_returns_goes_to_who_waits_for_it(owner):
    order = bought(owner, "ann", best(4))
    assert owner.outcomes(entry("bob", "r1", Want(seats=("A-2",), waitlist=True))) == ["waitlisted"]
    give_back(owner, "ann", order, Item(SEAT, 1))
    assert owner.outcomes(entry("eve", "r1", seats("A-2"))) == ["taken"]
    assert "offer" in [row[1] for row in owner.ledger()]
    assert owner.query("SELECT buyer FROM hold WHERE state = 'active'") == [("bob",)]


def test_an_order_by_hand_that_its_buyer_returns_does_not_count_and_never_did(owner):
    order = owner.sell("ann", "A-1", "A-2", places=3)
    assert owner.outcomes(entry("ann", "r1", best(3))) == ["held"]
    give_back(owner, "ann", order, Item(SEAT, 0), Item(0, 2))
    assert owner.outcomes(entry("ann", "r2", seats("A-1")), entry("ann", "r3", best(1))) == [
        "held",
        "limit_reached",
    ]
    assert owner.memory.areas_free == [18]


def test_an_owner_that_loaded_a_return_before_its_fact_takes_it_in_once(owner):
    order = bought(owner, "ann", Want(seats=("A-1", "A-2"), areas={"floor": 2}))
    owner.settle_down()
    give_back(owner, "ann", order, Item(SEAT, 1), Item(0, 2))
    owner.reload()
    owner.settle_down()
    assert owner.memory.count_by_buyer == {"ann": 2}
    assert owner.memory.areas_free == [19]
    with pytest.raises(NotFound):
        give_back(owner, "bob", order)
