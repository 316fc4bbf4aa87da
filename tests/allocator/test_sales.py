"""What operators sell and take back, on the real engines: in the ledger, and against what happens then."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from allocator.replay import Finding, verify
from bench.checker import judge
from bench.truth import read_truth
from store.database import connect
from store.wire import Delta, decode_delta, seats_channel
from store.words import OPERATORS_HOLDS, Want
from tests.allocator.house import SLUG, Owner, best, check_laws, entry, owner_of, plan_of, seats, snapshot
from tests.allocator.test_contradictions import before_it_is_written


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    """An owner of five seats and twenty places; in the end the ledger explains everything."""
    plan = plan_of(rows=1, seats_a_row=5)
    with owner_of(database_url, redis_url, plan, seats_per_buyer_max=4) as made:
        yield made
        made.settle_down()
        check_laws(database_url, made.event_id)
        with psycopg.connect(database_url) as conn:
            assert [step for step in verify(conn, made.event_id) if isinstance(step, Finding)] == []
            assert judge([], read_truth(conn, SLUG)) == []


def standing(places: int) -> Want:
    return Want(areas={"floor": places})


def facts(owner: Owner) -> list[str]:
    return [row[4] for row in owner.ledger() if row[1] == "fact"][2:]


def test_what_an_operator_sells_is_gone_for_all_who_are_decided_later_and_counts_for_nobodys_limit(owner):
    owner.block("A-1", places=15)
    owner.sell("ann", "A-1", "A-2", places=17)
    assert owner.outcomes(
        entry("bob", "r1", seats("A-1")), entry("bob", "r2", best(4)), entry("bob", "r3", standing(4))
    ) == ["taken", "sold_out", "sold_out"]
    assert facts(owner) == ["blocked", "blocked", "sold"]
    assert owner.outcomes(entry("ann", "r1", best(3)), entry("ann", "r2", standing(1))) == ["held", "held"]
    assert owner.loop.redone == 0


def test_an_order_that_is_taken_back_can_be_had_again_and_no_longer_counts(owner):
    owner.ask(entry("ann", "r1", Want(best=best(2).best, areas={"floor": 2})))
    hold = owner.hold_of("ann")
    owner.confirm("ann")
    assert owner.outcomes(entry("ann", "r2", standing(1))) == ["limit_reached"]
    owner.take_back(hold)
    owner.poke()
    assert owner.outcomes(entry("bob", "r1", best(4)), entry("ann", "r3", standing(4))) == ["held", "held"]
    assert facts(owner) == ["paid", "returned"]
    assert (owner.memory.seats_free, owner.memory.areas_free) == (1, [16])
    assert owner.loop.redone == 0


def test_an_order_paid_and_taken_back_before_a_batch_is_free_and_shown_free(owner):
    owner.ask(entry("ann", "r1", seats("A-2", "A-3")))
    with owner.redis.pubsub(ignore_subscribe_messages=True) as listening:
        listening.subscribe(seats_channel(SLUG))
        listening.get_message(timeout=30)
        hold = owner.hold_of("ann")
        owner.confirm("ann")
        owner.take_back(hold, "A-2")
        delta = decided(owner, listening)
        assert (delta.freed, delta.sold) == ([1], [2])


def decided(owner, listening) -> Delta:
    owner.poke()
    owner.loop.turn()
    message = listening.get_message(timeout=30)
    assert message is not None
    return decode_delta(message["data"])


def test_gateways_hear_what_was_sold_and_taken_back(owner):
    with owner.redis.pubsub(ignore_subscribe_messages=True) as listening:
        listening.subscribe(seats_channel(SLUG))
        listening.get_message(timeout=30)
        first = owner.sell("ann", "A-2", "A-4", places=4)
        delta = decided(owner, listening)
        assert (delta.freed, delta.sold, delta.blocked, delta.areas) == ([], [1, 3], [], [(0, 16)])
        owner.take_back(first, "A-2", places=1, block=True)
        delta = decided(owner, listening)
        assert (delta.freed, delta.sold, delta.blocked, delta.areas) == ([], [], [1], [(0, 16)])
        owner.take_back(first)
        delta = decided(owner, listening)
        assert (delta.freed, delta.sold, delta.blocked, delta.areas) == ([3], [], [], [(0, 19)])


def test_a_standby_follows_whether_it_loaded_before_or_after(owner):
    with connect(owner.database_url, "early") as early, connect(owner.database_url, "late") as late:
        owner.ask(entry("eve", "r1", seats("A-5")))
        followers = [owner.follower(early)]
        owner.confirm("eve")
        first = owner.sell("ann", "A-1", "A-2", places=3)
        owner.take_back(owner.hold_of("eve"), block=True)
        owner.take_back(first, "A-1", places=1)
        followers.append(owner.follower(late))  # the tables show it, the facts are not consumed
        owner.settle_down()
        owner.take_back(first, block=True)
        owner.settle_down()
        mine = snapshot(owner.memory)
        for follower in followers:
            follower.catch_up()
            theirs = snapshot(follower.memory)
            assert {**theirs, "reflected": None} == {**mine, "reflected": None}


def test_an_owner_that_loaded_it_before_its_facts_takes_it_in_once(owner):
    first = owner.sell("ann", "A-1", "A-2", places=15)
    owner.take_back(first, "A-1", places=3)
    owner.reload()
    before = snapshot(owner.memory)
    owner.settle_down()
    after = snapshot(owner.memory)
    for name in ("hold_of", "areas_free", "seats_free", "free", "count_by_buyer"):
        assert after[name] == before[name], name
    assert owner.memory.hold_of == [0, OPERATORS_HOLDS, 0, 0, 0]
    assert owner.memory.areas_free == [8]


def test_a_sale_between_the_decision_and_its_writing_wins_and_the_batch_is_decided_again(owner, monkeypatch):
    before_it_is_written(monkeypatch, lambda: owner.sell("ann", "A-1"))
    assert owner.outcomes(entry("bob", "r1", seats("A-1")), entry("eve", "r1", best(1))) == ["taken", "held"]
    assert owner.loop.redone == 1
    assert [row[4] for row in owner.ledger()][-4:] == ["blocked", "sold", "taken", "held"]


def test_a_hold_id_of_an_operators_order_cannot_be_moved_or_guessed_by_its_buyer(owner):
    order = owner.sell("ann", "A-1")
    want = Want(seats=("A-2",), move=str(order))
    assert owner.outcomes(entry("ann", "r1", want)) == ["invalid"]
    assert owner.query("SELECT state FROM seat WHERE seat_no = 0") == [("sold",)]
