"""Limits by category: what a buyer may have of each, whatever way they ask, and what they are told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from allocator import replay
from allocator.memory import Hold, Memory, Overlay
from bench.checker import judge
from bench.truth import read_truth
from store.database import connect
from store.events import set_policy
from store.plan import Area
from store.words import Best, Choice, EventState, HoldId, Policy, Want
from tests.allocator.house import (
    SLUG,
    Owner,
    best,
    check_laws,
    entry,
    owner_of,
    plan_of,
    seats,
    snapshot,
)
from tests.allocator.pure_sale import TTL_SECONDS, Sale
from tests.allocator.sale import Sale as RandomSale

GOLD = {"reason": "limit", "limit": 2, "category": "Gold"}
SILVER = {"reason": "limit", "limit": 1, "category": "Silver"}


@pytest.fixture
def sale() -> Sale:
    """Row A is Gold, the rest and the floor are Silver; two of Gold a buyer."""
    return Sale(limits={"Gold": 2})


def held(answer: tuple[str, dict[str, Any]]) -> list[str]:
    outcome, result = answer
    assert outcome == "held", answer
    return [*result["seats"], *(f"{area} {count}" for area, count in result["areas"].items())]


def test_named_seats_up_to_the_limit_and_no_more(sale):
    assert held(sale.answer("ann", seats("A-1", "A-2"))) == ["A-1", "A-2"]
    assert sale.answer("ann", seats("A-3")) == ("limit_reached", GOLD)
    assert sale.answer("bob", seats("A-3", "A-4", "A-5")) == ("limit_reached", GOLD)
    assert held(sale.answer("ann", seats("B-1", "B-2", "B-3"))) == ["B-1", "B-2", "B-3"]


def test_the_limit_is_kept_inside_one_batch(sale):
    asked = [sale.ask(buyer, seats(f"A-{n}")) for n, buyer in enumerate(("ann", "bob", "ann", "ann"), 1)]
    assert [row.outcome for row in sale.batch(*asked).rows] == ["held", "held", "held", "limit_reached"]


def test_places_of_a_category_count_like_its_seats():
    sale = Sale(limits={"Silver": 3})
    assert held(sale.answer("ann", Want(seats=("B-1",), areas={"floor": 2}))) == ["B-1", "floor 2"]
    over = {"reason": "limit", "limit": 3, "category": "Silver"}
    assert sale.answer("ann", Want(areas={"floor": 1})) == ("limit_reached", over)
    assert sale.answer("bob", Want(seats=("B-2",), areas={"floor": 3})) == ("limit_reached", over)
    assert sale.answer("bob", Want(areas={"floor": 4})) == ("limit_reached", over)


def test_a_category_with_none_is_not_for_buyers():
    sale = Sale(limits={"Gold": 0})
    told = {"reason": "limit", "limit": 0, "category": "Gold"}
    for want in (seats("A-1"), best(1, category="Gold"), Want(seats=("A-1", "A-2"), up_to=True)):
        assert sale.answer("ann", want) == ("limit_reached", told)
    assert held(sale.answer("ann", best(2))) == ["B-5", "B-6"]


def test_the_limit_of_all_is_told_before_that_of_a_category():
    sale = Sale(limits={"Gold": 2}, seats_per_buyer_max=3)
    assert sale.answer("ann", seats("A-1", "A-2", "A-3", "A-4")) == (
        "limit_reached",
        {"reason": "limit", "limit": 3},
    )


def test_who_names_a_taken_seat_hears_that_before_any_limit(sale):
    sale.answer("bob", seats("A-1"))
    assert sale.answer("ann", seats("A-1", "A-2", "A-3"))[0] == "taken"


def test_a_party_is_seated_where_its_category_has_room_for_it(sale):
    assert held(sale.answer("ann", best(2))) == ["A-5", "A-6"]
    assert held(sale.answer("ann", best(2))) == ["B-5", "B-6"]
    assert held(sale.answer("bob", best(3))) == ["C-5", "C-6", "C-7"]


def test_a_party_that_only_a_limited_category_would_seat_is_told_the_limit(sale):
    assert sale.answer("ann", best(3, category="Gold")) == ("limit_reached", GOLD)
    assert sale.answer("ann", best(11, category="Gold"))[0] == "limit_reached"  # of all: eight
    sale.answer("ann", seats("A-1"))
    assert sale.answer("ann", best(2, category="Gold")) == ("limit_reached", GOLD)
    assert held(sale.answer("ann", best(1, category="Gold")))


def test_where_nothing_is_left_even_without_the_limit_it_is_sold_out():
    sale = Sale(plan_of(rows=2, seats_a_row=2, standing=0), limits={"Gold": 1})
    assert sale.answer("ann", best(3)) == ("sold_out", {"reason": "none_together", "largest": 2})
    sale.answer("bob", seats("A-1"))
    sale.answer("eve", seats("A-2"))
    assert sale.answer("ann", best(1, category="Gold"))[1] == {"reason": "none_together", "largest": 0}
    assert sale.answer("ann", Want(best=Best(2, category="Gold"), up_to=True))[0] == "sold_out"


def test_who_could_never_be_seated_is_told_the_limit_and_does_not_wait():
    sale = Sale(plan_of(rows=2, seats_a_row=2, standing=0), limits={"Gold": 1})
    sale.answer("bob", seats("A-1"))
    sale.answer("eve", seats("A-2"))
    told = {"reason": "limit", "limit": 1, "category": "Gold"}
    assert sale.answer("ann", Want(best=Best(2, category="Gold"), waitlist=True)) == ("limit_reached", told)
    assert sale.answer("ann", Want(best=Best(1, category="Gold"), waitlist=True))[0] == "waitlisted"


def test_several_parties_and_named_seats_share_the_room(sale):
    two_pairs = Want(best=(Best(2), Best(2)))
    assert held(sale.answer("ann", two_pairs)) == ["A-5", "A-6", "B-5", "B-6"]
    with_named = Want(seats=("A-1",), best=Best(2))
    assert held(sale.answer("bob", with_named))[0] == "A-1"
    assert sale.memory.count_by_category == {("ann", 0): 2, ("bob", 0): 1}
    over = Want(seats=("A-2", "A-3"), best=Best(1, category="Gold"))
    assert sale.answer("eve", over) == ("limit_reached", GOLD)


def test_up_to_takes_as_many_as_the_limits_leave(sale):
    want = Want(seats=("A-1", "A-2", "A-3", "B-1"), up_to=True)
    assert held(sale.answer("ann", want)) == ["A-1", "A-2", "B-1"]
    assert held(sale.answer("bob", Want(best=Best(4, category="Gold"), up_to=True))) == ["A-5", "A-6"]
    floor = Sale(limits={"Silver": 3})
    assert held(floor.answer("ann", Want(areas={"floor": 5}, up_to=True))) == ["floor 3"]
    over = {"reason": "limit", "limit": 3, "category": "Silver"}
    assert floor.answer("ann", Want(areas={"floor": 5}, up_to=True)) == ("limit_reached", over)


def test_a_category_in_the_way_of_part_of_a_choice_leaves_room_for_the_rest():
    """Of the total only what is taken counts: seats left out for their category do not."""
    sale = Sale(limits={"Gold": 1}, seats_per_buyer_max=3)
    want = Want(seats=("A-1", "A-2", "A-3", "B-1", "B-2", "B-3"), up_to=True)
    assert held(sale.answer("ann", want)) == ["A-1", "B-1", "B-2"]


def test_a_fallback_of_another_category_is_taken(sale):
    want = Want(best=Best(3, category="Gold"), fallbacks=(Choice(best=Best(3, category="Silver")),))
    assert held(sale.answer("ann", want)) == ["B-5", "B-6", "B-7"]
    assert sale.memory.count_by_category == {}


def test_a_party_apart_is_parted_only_over_categories_with_room_for_all_of_it():
    sale = Sale(plan_of(rows=2, seats_a_row=4, standing=0), limits={"Gold": 2})
    sale.answer("bob", seats("B-2"))
    assert held(sale.answer("ann", best(3, apart=True))) == ["B-1", "B-3", "B-4"]
    eve = sale.answer("eve", best(3, apart=True))
    assert eve == ("limit_reached", GOLD)


def test_what_came_back_can_be_had_again_by_its_buyer(sale):
    sale.answer("ann", seats("A-1", "A-2"))
    sale.batch(seconds=TTL_SECONDS)
    assert sale.memory.count_by_category == {}
    assert held(sale.answer("ann", seats("A-3"))) == ["A-3"]


def test_a_move_counts_what_it_leaves_as_not_had(sale):
    sale.answer("ann", seats("A-1", "A-2"))
    move = Want(seats=("A-3", "A-4"), move=str(sale.hold_of("ann")))
    assert held(sale.answer("ann", move)) == ["A-3", "A-4"]
    more = Want(seats=("A-5", "A-6", "A-7"), move=str(sale.hold_of("ann")))
    assert sale.answer("ann", more) == ("limit_reached", GOLD | {"kept": str(sale.hold_of("ann"))})
    assert sale.memory.count_by_category == {("ann", 0): 2}


def test_which_categories_are_limited_is_settled_before_anybody_has_anything(sale):
    Overlay(sale.memory).set_policy(Policy(EventState.OPEN, limits={"Silver": 1}))
    assert sale.memory.category_limits == {1: 1}
    sale.answer("ann", seats("A-1"))
    Overlay(sale.memory).set_policy(Policy(EventState.OPEN, limits={"Silver": 5}))
    with pytest.raises(AssertionError, match="settled"):
        Overlay(sale.memory).set_policy(Policy(EventState.OPEN, limits={"Gold": 5, "Silver": 5}))


def test_a_discarded_batch_leaves_counts_and_limits_as_they_were(sale):
    sale.answer("ann", Want(seats=("A-1", "B-1"), areas={"floor": 1}))
    before = snapshot(sale.memory)
    overlay = Overlay(sale.memory)
    overlay.set_elsewhere({"ann": 3})
    overlay.free(sale.hold_of("ann"))
    overlay.claim(HoldId(99), Hold("ann", (2,), (), 500))
    overlay.claim(HoldId(98), Hold("bob", (3,), (), 500))
    overlay.set_policy(Policy(EventState.OPEN, limits={"Gold": 7}))
    overlay.discard()
    assert snapshot(sale.memory) == before


def test_names_of_categories_are_told_as_json():
    plan = plan_of()
    named = tuple(replace(one, name=f'{one.name} "x"') for one in plan.categories)
    plan = replace(plan, categories=named)
    told = Sale(plan, limits={'Gold "x"': 0}).answer("ann", seats("A-1"))
    assert told[1]["category"] == 'Gold "x"'


# for real


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    with owner_of(database_url, redis_url, limits={"Gold": 2, "Silver": 3}) as made:
        yield made
        check_laws(database_url, made.event_id)
        with psycopg.connect(database_url) as conn:
            found = [one for one in replay.verify(conn, made.event_id) if isinstance(one, replay.Finding)]
        assert found == []


def counts(memory: Memory) -> dict[tuple[str, int], int]:
    return dict(memory.count_by_category)


def test_loading_counts_holds_and_orders_seats_and_places(owner):
    owner.ask(
        entry("ann", "r1", Want(seats=("A-1", "B-1"), areas={"floor": 1})),
        entry("bob", "r1", Want(seats=("A-2", "A-3"), areas={"floor": 2})),
        entry("eve", "r1", seats("A-4")),
    )
    owner.confirm("bob")
    owner.release("eve")
    owner.settle_down()
    before = counts(owner.memory)
    assert before == {("ann", 0): 1, ("ann", 1): 2, ("bob", 0): 2, ("bob", 1): 2}
    owner.reload()
    assert counts(owner.memory) == before
    [(outcome, result)] = owner.ask(entry("bob", "r2", seats("A-5")))
    assert (outcome, json.loads(result)) == ("limit_reached", GOLD)


def test_a_standby_counts_as_the_owner_does(owner):
    with connect(owner.database_url, "test standby") as conn:
        follower = owner.follower(conn)
        owner.ask(entry("ann", "r1", seats("A-1", "A-2")), entry("bob", "r1", seats("A-3", "B-1")))
        owner.release_some("ann", [0])
        owner.ask(entry("bob", "r2", Want(seats=("B-2",), move=str(owner.hold_of("bob")))))
        owner.confirm("bob")
        owner.settle_down()
        follower.catch_up()
        assert counts(follower.memory) == counts(owner.memory) == {("ann", 0): 1, ("bob", 1): 1}
        follower.memory.reflected = owner.memory.reflected
        assert snapshot(follower.memory) == snapshot(owner.memory)


def test_numbers_changed_during_the_sale_count_from_then_on(owner):
    owner.ask(entry("ann", "r1", seats("A-1", "A-2")))
    with connect(owner.database_url, "operator") as conn:
        set_policy(conn, SLUG, limits={"Gold": 3, "Silver": 1})
    assert owner.outcomes(entry("ann", "r2", seats("A-3")), entry("ann", "r3", seats("A-4"))) == [
        "held",
        "limit_reached",
    ]
    [(_, result)] = owner.ask(entry("ann", "r4", seats("B-1", "B-2")))
    assert json.loads(result) == SILVER


@pytest.mark.parametrize("seed", [3, 4])
def test_a_random_sale_keeps_the_limits_by_the_checkers_arithmetic_too(owner, seed):
    """On the real engines; that it is decided the same again, the fixture says."""
    for _ in RandomSale(owner, seed).steps(25):
        assert all(
            count <= owner.memory.policy.limits[owner.memory.layout.plan.categories[category].name]
            for (_, category), count in owner.memory.count_by_category.items()
        )
    before = counts(owner.memory)
    owner.reload()
    assert counts(owner.memory) == before
    with psycopg.connect(owner.database_url) as conn:
        assert [one for one in judge([], read_truth(conn, SLUG)) if one.kind == "over_limit"] == []


def test_areas_of_several_categories_are_counted_apart():
    plan = plan_of()
    gold_floor = Area("pit", "Pit", 0, 5, 0.0, 0.0, 1.0, 1.0)
    plan = replace(plan, areas=(*plan.areas, gold_floor))
    sale = Sale(plan, limits={"Gold": 2})
    assert held(sale.answer("ann", Want(areas={"floor": 3, "pit": 2})))
    assert sale.answer("ann", Want(areas={"pit": 1})) == ("limit_reached", GOLD)
