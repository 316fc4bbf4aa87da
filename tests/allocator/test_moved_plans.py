"""Seats in other categories while an event sells, on the real engines: taken in once, in order, replayed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import psycopg
import pytest
from msgspec.json import encode as encode_json

from allocator import loop
from allocator.decide import Ask, Fact, decide
from allocator.follow import Follower
from allocator.layout import Layout
from allocator.limits import Room
from allocator.load import load_keys, load_layout, load_memory
from allocator.memory import Memory, Overlay
from allocator.replay import Finding, verify
from allocator.truth import PostgresTruth
from bench.checker import judge
from bench.truth import read_truth
from store import events
from store.database import connect
from store.errors import Fenced, OutcomeUnknown, ShortWrite, Unavailable
from store.plan import encode
from store.venues.rows import save_venue
from store.wire import decode_delta, seats_channel
from store.words import Arrival, Best, EventState, Policy, Recategorise, Want
from tests.allocator.house import (
    SLUG,
    Owner,
    change_event,
    check_laws,
    entry,
    owner_of,
    plan_of,
    seats,
    snapshot,
)
from tests.allocator.pure_sale import Sale


def gold(quantity: int, *, waitlist: bool = False) -> Want:
    return Want(best=Best(quantity, category="Gold"), waitlist=waitlist)


def silver(quantity: int) -> Want:
    return Want(best=Best(quantity, category="Silver"))


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    """Row A is Gold, row B Silver, five seats each; in the end everything agrees."""
    with owner_of(database_url, redis_url, plan_of(rows=2, seats_a_row=5), seats_per_buyer_max=40) as made:
        yield made
        made.settle_down()
        check_laws(database_url, made.event_id)
        with psycopg.connect(database_url) as conn:
            assert [step for step in verify(conn, made.event_id) if isinstance(step, Finding)] == []
            assert judge([], read_truth(conn, SLUG)) == []
            layout = load_layout(conn, made.event_id)
            loaded, _ = load_memory(conn, made.event_id, layout)
        mine, tables = snapshot(made.memory), snapshot(loaded)
        assert {name for name in mine if mine[name] != tables[name]} <= {"reflected", "policy"}


def seats_of(answer: tuple[str, str]) -> list[str]:
    assert answer[0] == "held", answer
    return list(json.loads(answer[1])["seats"])


def test_who_asks_before_a_move_is_served_by_the_plan_before_it_and_who_asks_after_it_is_not(owner):
    [before] = owner.ask(entry("ann", "r1", gold(3)))
    owner.recategorise("Silver", "A-1", "A-2", "A-3", "A-4", "A-5", areas=["floor"])
    owner.settle_down()
    served, refused = owner.ask(entry("bob", "r1", silver(2)), entry("bob", "r2", gold(1)))
    assert {seat[0] for seat in seats_of(before) + seats_of(served)} == {"A"}
    assert refused == ("invalid", '{"reason":"unknown_category"}')


def test_requests_that_came_with_a_move_are_decided_by_the_new_plan_in_their_order(owner):
    owner.recategorise("Silver", "A-1", "A-2", "A-3", "A-4")
    asked = [entry("ann", "r1", gold(1)), entry("bob", "r1", gold(1)), entry("cat", "r1", silver(4))]
    owner.append(asked)
    owner.loop.turn()  # the move alone: what was read with it is read again
    assert [row for row in owner.ledger() if row[1] == "request"] == []
    owner.loop.turn()
    found = [owner.answer(one) for one in asked]
    assert [outcome for outcome, _ in found] == ["held", "sold_out", "held"]
    assert seats_of(found[0]) == ["A-5"]
    assert seats_of(found[2]) == ["A-1", "A-2", "A-3", "A-4"]


@pytest.mark.parametrize("tick", [True, False])
def test_what_was_read_ahead_is_read_again_by_the_plan_it_is_decided_by(database_url, redis_url, tick):
    """Whether the move comes with the next requests, or before them, as when the stream cannot be reached."""
    with owner_of(database_url, redis_url, plan_of(rows=2, seats_a_row=5), seats_per_buyer_max=40) as made:
        event = made.event_id
    owner = Owner(database_url, redis_url, event, batch_size_max=2)
    try:
        owner.settle_down()
        asked = [entry(f"b{n}", "r1", gold(1)) for n in range(6)]
        owner.append(asked)
        owner.loop.turn()  # two, and two are read ahead
        owner.recategorise("Silver", "A-1", "A-2", "A-3", "A-4", "A-5")
        owner.recategorise("Gold", "B-1")
        if tick:
            owner.loop.tick()
        for _ in range(5):
            owner.loop.turn()
        found = [owner.answer(one) for one in asked]
        assert [outcome for outcome, _ in found] == [
            "held",
            "held",
            "held",
            "sold_out",
            "sold_out",
            "sold_out",
        ]
        assert seats_of(found[2]) == ["B-1"]
        with psycopg.connect(database_url) as conn:
            assert [step for step in verify(conn, event) if isinstance(step, Finding)] == []
    finally:
        owner.close()


def test_a_hold_knows_by_its_number_which_plan_it_was_given_by(owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.recategorise("Silver", "A-1", "A-2")
    owner.settle_down()
    owner.ask(entry("bob", "r1", seats("A-2")))
    [(at,)] = owner.query("SELECT ledger_at FROM event_plan WHERE version = 1")
    assert owner.hold_of("ann") < at < owner.hold_of("bob")
    assert owner.query(
        "SELECT outcome FROM ledger WHERE batch_no = %s AND position = %s", at >> 16, at & 65535
    ) == [("recategorised",)]


def test_who_waits_is_offered_what_became_of_their_category_in_the_lists_order(owner):
    owner.ask(entry("ann", "r0", gold(5)))
    waits = [entry("bob", "w", gold(2, waitlist=True)), entry("cat", "w", gold(1, waitlist=True))]
    assert owner.outcomes(*waits) == ["waitlisted", "waitlisted"]
    owner.recategorise("Gold", "B-1")
    owner.settle_down()
    assert owner.waiting() == [("bob", "w", "waiting"), ("cat", "w", "offered")]
    owner.recategorise("Gold", "B-3", "B-4")
    owner.settle_down()
    assert owner.waiting() == [("bob", "w", "offered"), ("cat", "w", "offered")]


def test_who_waits_for_a_category_that_has_no_seats_any_longer_stays_on_the_list(owner):
    owner.ask(entry("ann", "r0", gold(5)))
    assert owner.outcomes(entry("bob", "w", gold(2, waitlist=True))) == ["waitlisted"]
    owner.recategorise("Silver", "A-1", "A-2", "A-3", "A-4", "A-5")
    owner.settle_down()
    owner.release("ann")
    owner.settle_down()
    assert owner.waiting() == [("bob", "w", "waiting")]
    owner.reload()
    assert len(owner.memory.waiting) == 1
    owner.recategorise("Gold", "A-4", "A-5")
    owner.settle_down()
    assert owner.waiting() == [("bob", "w", "offered")]


def test_while_paused_a_move_is_taken_in_and_nobody_is_offered_anything(owner):
    owner.ask(entry("ann", "r0", gold(5)))
    assert owner.outcomes(entry("bob", "w", gold(1, waitlist=True))) == ["waitlisted"]
    change_event(owner.database_url, EventState.PAUSED)
    owner.recategorise("Gold", "B-1")
    owner.settle_down()
    assert owner.memory.layout.version == 1
    assert owner.waiting() == [("bob", "w", "waiting")]
    change_event(owner.database_url, EventState.OPEN)
    owner.settle_down()
    assert owner.waiting() == [("bob", "w", "offered")]


def test_a_standby_follows_a_move_and_decides_as_the_owner_would(owner):
    with connect(owner.database_url, "standby") as conn:
        memory, _ = load_memory(conn, owner.event_id, load_layout(conn, owner.event_id))
        follower = Follower(conn, owner.event_id, memory, load_keys(conn, owner.event_id))
        owner.ask(entry("ann", "r0", gold(5)))
        owner.outcomes(entry("bob", "w", gold(1, waitlist=True)))
        owner.recategorise("Silver", "A-1", "A-2")
        owner.settle_down()
        owner.outcomes(entry("cat", "w", Want(best=Best(7, category="Silver"), waitlist=True)))
        follower.catch_up()
        mine, theirs = snapshot(memory), snapshot(owner.memory)
        assert {name for name in mine if mine[name] != theirs[name]} <= {"reflected", "policy"}
        assert memory.layout.version == 1


def dies(when: str) -> Callable[[PostgresTruth], None]:
    """A COMMIT that kills its process, before it or behind it."""
    commit = PostgresTruth.commit

    def die(truth: PostgresTruth) -> None:
        if when == "after":
            commit(truth)
        raise Unavailable("killed here")

    return die


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_before_or_after_its_commit_a_move_is_taken_in_once(
    database_url, redis_url, monkeypatch, when
):
    with owner_of(database_url, redis_url) as killed:
        killed.recategorise("Silver", "A-1")
        monkeypatch.setattr(PostgresTruth, "commit", dies(when))
        killed.poke()
        with pytest.raises(Unavailable):
            killed.loop.turn()
        monkeypatch.undo()
        heir = Owner(database_url, redis_url, killed.event_id)
        heir.settle_down()
        heir.settle_down()
        assert (heir.memory.layout.version, heir.memory.layout.plan.seats[0].category) == (1, 1)
        assert [row[4] for row in heir.ledger()].count("recategorised") == 1
        assert [step for step in verify(heir.conn, heir.event_id) if isinstance(step, Finding)] == []
        heir.close()


def test_a_commit_of_which_nothing_is_heard_moves_once(owner, monkeypatch):
    commit = PostgresTruth.commit

    def unheard(truth: PostgresTruth) -> None:
        commit(truth)
        raise OutcomeUnknown

    owner.recategorise("Silver", "A-1")
    with monkeypatch.context() as patch:
        patch.setattr(PostgresTruth, "commit", unheard)
        owner.settle_down()
    assert owner.memory.layout.version == 1
    owner.recategorise("Silver", "A-2")
    owner.settle_down()
    assert owner.memory.layout.version == 2


def test_an_owner_of_an_older_epoch_takes_in_no_move(database_url, redis_url):
    with owner_of(database_url, redis_url) as stale:
        heir = Owner(database_url, redis_url, stale.event_id)
        stale.recategorise("Silver", "A-1")
        with pytest.raises((Fenced, Unavailable)):
            stale.loop.tick()
        assert heir.query("SELECT count(*) FROM fact") == [(1,)]
        heir.settle_down()
        assert heir.query("SELECT count(*) FROM event_plan WHERE ledger_at IS NOT NULL") == [(1,)]
        heir.close()


def test_a_batch_that_came_short_after_a_move_is_decided_again_by_the_plan_before(owner, monkeypatch):
    owner.ask(entry("ann", "r0", gold(5)))
    owner.outcomes(entry("bob", "w", gold(1, waitlist=True)))
    before = snapshot(owner.memory)
    owner.recategorise("Gold", "B-1", "B-2")
    write = PostgresTruth.write
    seen: list[int] = []

    def short(truth: PostgresTruth, *args: object) -> object:
        decided = write(truth, *args)  # type: ignore[arg-type]
        if not seen:
            seen.append(owner.memory.layout.version)
            raise ShortWrite("once")
        return decided

    rollback = PostgresTruth.rollback

    def look(truth: PostgresTruth) -> None:
        rollback(truth)
        assert snapshot(owner.memory) == before

    monkeypatch.setattr(PostgresTruth, "write", short)
    monkeypatch.setattr(PostgresTruth, "rollback", look)
    owner.settle_down()
    assert seen == [1]
    assert owner.waiting() == [("bob", "w", "offered")]


def test_memory_that_is_loaded_anew_by_another_plan_has_its_requests_read_again(owner, monkeypatch):
    behind, _ = owner.truth.load()
    asked = entry("ann", "r1", gold(1))
    owner.recategorise("Silver", "A-1", "A-2", "A-3", "A-4")
    owner.settle_down()
    attempt, ahead, tried = loop.BatchLoop._attempt, owner.memory, []

    def by_the_plan_before(self: loop.BatchLoop, asks: Sequence[Ask], arrival: Arrival) -> Any:
        tried.append(len(asks))
        if len(tried) == 1:
            self.memory = ahead
            raise ShortWrite("not now")
        return attempt(self, asks, arrival)

    monkeypatch.setattr(loop.BatchLoop, "_attempt", by_the_plan_before)
    owner.loop.memory = behind
    owner.append([asked])
    owner.loop.turn()
    assert owner.memory.layout.version == 1
    owner.loop.turn()
    assert seats_of(owner.answer(asked)) == ["A-5"]


def test_gateways_hear_that_the_plan_is_another(owner):
    with owner.redis.pubsub() as listening:
        listening.subscribe(seats_channel(SLUG))
        listening.get_message(timeout=30)
        owner.recategorise("Silver", "A-1")
        owner.settle_down()
        message = listening.get_message(timeout=30)
        assert decode_delta(message["data"]).plan


def test_a_plan_that_the_ledgers_moves_do_not_lead_to_is_found(owner):
    owner.recategorise("Silver", "A-1")
    owner.settle_down()
    owner.query_nothing("UPDATE event_plan SET plan = (SELECT plan FROM venue LIMIT 1)")
    with psycopg.connect(owner.database_url) as conn:
        found = [step for step in verify(conn, owner.event_id) if isinstance(step, Finding)]
    assert ["the event's plan is not the one" in one.story for one in found] == [True]
    owner.query_nothing("UPDATE event_plan SET plan = %s", encode(owner.memory.layout.plan).decode())


def test_a_plan_begins_to_count_at_one_place(database_url, redis_url):
    with owner_of(database_url, redis_url) as owner:
        owner.recategorise("Silver", "A-1")
        owner.query_nothing("UPDATE event_plan SET ledger_at = 7")
        owner.poke()
        with pytest.raises(AssertionError, match="one by one"):  # as memory that is loaded anew says
            owner.loop.turn()
        assert owner.query("SELECT ledger_at FROM event_plan") == [(7,)]


def test_a_batch_that_takes_in_a_move_decides_no_requests():
    sale = Sale()
    move = Fact(1, "recategorised", None, encode_json(Recategorise(1, 1, (0,))).decode())
    with pytest.raises(AssertionError, match="by the plan that it is decided by"):
        sale.batch(sale.ask("ann", seats("A-1")), facts=[move])


def test_who_was_offered_something_by_a_plan_that_was_discarded_waits_by_the_one_before():
    sale = Sale(plan_of(rows=2, seats_a_row=2))
    sale.answer("ann", gold(2))
    sale.answer("bob", gold(1, waitlist=True))
    before = snapshot(sale.memory)
    overlay = Overlay(sale.memory)
    move = Fact(1, "recategorised", None, encode_json(Recategorise(1, 0, (2,))).decode())
    decided = decide(sale.memory, overlay, sale.memory.batch_no + 1, sale.memory.batch_time, [move], [])
    assert len(decided.offered) == 1
    overlay.discard()
    assert snapshot(sale.memory) == before


def test_who_waits_for_what_there_is_no_longer_is_over_no_limit():
    room = Room(Layout(plan_of()), [(1, 0)])
    assert (room.barred(0, 1), room.barred(1 << 1, 1)) == (None, 1)


def test_moves_are_taken_in_one_by_one(owner):
    overlay = Overlay(owner.memory)
    with pytest.raises(AssertionError, match="one by one"):
        overlay.recategorise(Recategorise(2, 1, (0,)))


def test_what_is_of_a_limited_category_contradicts_memory_when_it_is_moved():
    memory = Memory(Layout(plan_of()), Policy(EventState.OPEN, limits={"Gold": 2}))
    memory.count_by_buyer["ann"] = 1
    for move in (Recategorise(1, 0, (15,)), Recategorise(1, 1, (0,))):
        with pytest.raises(AssertionError, match="of a limited category"):
            Overlay(memory).recategorise(move)


def test_a_limit_that_was_set_in_the_lobby_after_a_move_does_not_contradict_it(database_url, redis_url):
    """Memory that is loaded before either is taken in knows the limit already."""
    plan = plan_of()
    with psycopg.connect(database_url, autocommit=True) as conn:
        event = events.create_event(conn, SLUG, "Gala", save_venue(conn, "house", plan), plan)
        events.set_state(conn, SLUG, EventState.LOBBY)
        owner = Owner(database_url, redis_url, event)
        owner.settle_down()
        owner.recategorise("Silver", "A-1")
        events.set_policy(conn, SLUG, limits={"Silver": 1})
    try:
        owner.reload()
        assert owner.memory.category_limits == {1: 1}
        owner.settle_down()
        assert (owner.memory.layout.version, owner.memory.layout.plan.seats[0].category) == (1, 1)
    finally:
        owner.close()
