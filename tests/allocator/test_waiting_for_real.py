"""The waiting list in Postgres: offers are true with their batch, for whoever owns or follows the event."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from allocator import waiting
from allocator.follow import Follower, Mismatch
from allocator.keys import Keys
from allocator.load import load_layout, load_memory
from allocator.replay import Finding, verify
from allocator.truth import PostgresTruth
from store.database import connect
from store.errors import Unavailable
from store.wire import decode_delta, decode_news, holds_channel, seats_channel
from store.words import Best, EventState, Want
from tests.allocator.house import (
    SLUG,
    Owner,
    best,
    change_event,
    check_laws,
    entry,
    owner_of,
    plan_of,
    seats,
    snapshot,
)
from tests.allocator.test_contradictions import before_it_is_written
from tests.allocator.test_lock_order import locking
from tests.allocator.waiting import WAITING, held_up, is_free


@pytest.fixture
def dying(database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Owner]:
    """An owner that another one may follow, of a house of six seats: `h0`, `h1` and `h2` have a pair each.

    What a test patched is so until the replay is done, for `monkeypatch` outlives this.
    """
    with owner_of(database_url, redis_url, plan_of(1, 6, 4), offer_ttl_seconds=900) as made:
        pairs = [(f"h{n}", f"A-{2 * n + 1}", f"A-{2 * n + 2}") for n in range(3)]
        made.ask(*[entry(buyer, "r", seats(*pair)) for buyer, *pair in pairs])
        yield made
        check_laws(database_url, made.event_id)
        with psycopg.connect(database_url) as conn:
            assert [found for found in verify(conn, made.event_id) if isinstance(found, Finding)] == []


@pytest.fixture
def owner(dying: Owner) -> Iterator[Owner]:
    """One that owns the event to the end."""
    yield dying
    dying.settle_down()


def waits(buyer: str, quantity: int = 2, request_id: str = "w", **more: Any) -> bytes:
    return entry(buyer, request_id, Want(best=Best(quantity), waitlist=True, **more))


def offers(owner: Owner) -> list[tuple[str, list[str], int]]:
    """(buyer, seats, passed over) of every offer in the ledger, in order."""
    rows = owner.query(
        "SELECT buyer, result::text FROM ledger WHERE kind = 'offer' ORDER BY batch_no, position"
    )
    told = [(buyer, json.loads(result)) for buyer, result in rows]
    return [(buyer, result["seats"], result["passed_over"]) for buyer, result in told]


@contextmanager
def heir_of(dead: Owner, redis_url: str) -> Iterator[Owner]:
    """Whoever owns the event next, with memory loaded from the tables."""
    heir = Owner(dead.database_url, redis_url, dead.event_id)
    try:
        yield heir
        heir.settle_down()
    finally:
        heir.close()


def test_an_offer_is_a_hold_a_row_of_the_ledger_and_the_end_of_waiting(owner):
    assert owner.outcomes(waits("ann", 4), waits("bob")) == ["waitlisted", "waitlisted"]
    owner.release("h0")
    owner.settle_down()
    assert offers(owner) == [("bob", ["A-1", "A-2"], 1)]
    assert owner.waiting() == [("ann", "w", "waiting"), ("bob", "w", "offered")]
    kept = owner.query(
        "SELECT kind, arrival, request_id, input::text, outcome FROM ledger WHERE kind = 'offer'"
    )
    wait_id, hold_id = owner.query("SELECT wait_id, hold_id FROM waiting WHERE buyer = 'bob'")[0]
    assert kept == [("offer", None, "w", f'{{"wait":"{wait_id}"}}', "offered")]
    assert owner.hold_of("bob") == hold_id
    left = owner.query("SELECT expires_at - clock_timestamp() > interval '880 s' FROM hold ORDER BY hold_id")
    assert left[-1] == (True,)


def test_a_repeated_request_is_answered_as_it_was_while_waiting_and_after_an_offer(owner):
    _, first = owner.ask(waits("ann"))[0]
    owner.release("h0")
    owner.settle_down()
    owner.append([waits("ann")])
    owner.loop.turn()
    rows = owner.query("SELECT result::text FROM ledger WHERE buyer = 'ann' AND kind = 'request'")
    assert rows == [(first,)]


def test_offers_and_what_they_hold_are_told_after_the_batch(owner):
    owner.ask(waits("ann"))
    with owner.redis.pubsub(ignore_subscribe_messages=True) as listening:
        listening.subscribe(seats_channel(SLUG), holds_channel(SLUG))
        listening.get_message(timeout=30)
        listening.get_message(timeout=30)
        owner.release("h0")
        owner.settle_down()
        told = [listening.get_message(timeout=30) for _ in range(2)]
    by_channel = {one["channel"].decode(): one["data"] for one in told if one}
    delta = decode_delta(by_channel[seats_channel(SLUG)])
    assert ([seat for seat, _ in delta.held], delta.freed) == ([0, 1], [])
    news = decode_news(by_channel[holds_channel(SLUG)])
    result, wait_id = owner.query("SELECT result::text, input->>'wait' FROM ledger WHERE kind = 'offer'")[0]
    assert (news.gateway, news.buyer) == ("", "ann")
    assert news.frame.decode() == f'{{"type":"offer","id":"w","wait":"{wait_id}","result":{result}}}'


def test_answers_go_to_who_asked_when_offers_stand_between_them(owner):
    """A moved hold frees seats in the middle of a batch."""
    owner.ask(waits("ann"))
    move = replace(Want(areas={"floor": 1}), move=str(owner.hold_of("h0")))
    asked = [entry("h0", "m", move), entry("eve", "r", seats("A-1")), entry("dan", "r", best(1))]
    assert owner.outcomes(*asked) == ["held", "taken", "sold_out"]
    assert [row[1:5:2] for row in owner.ledger()[-4:]] == [
        ("request", "h0"), ("offer", "ann"), ("request", "eve"), ("request", "dan"),
    ]  # fmt: skip


def test_an_offer_that_runs_out_or_is_given_back_goes_to_the_next(database_url, redis_url):
    with owner_of(database_url, redis_url, plan_of(1, 2, 0), offer_ttl_seconds=1) as owner:
        owner.ask(entry("h0", "r", best(2)), *[waits(buyer) for buyer in ("ann", "bob", "eve")])
        owner.release("h0")
        owner.settle_down()
        owner.release("ann")
        owner.settle_down()
        while len(offers(owner)) < 3:
            owner.loop.turn()
        assert [buyer for buyer, *_ in offers(owner)] == ["ann", "bob", "eve"]
        states = owner.query("SELECT state FROM hold ORDER BY hold_id")
        assert states == [("released",), ("released",), ("expired",), ("active",)]


def test_who_leaves_in_the_moment_of_an_offer_has_left_and_the_next_is_offered_it(owner, monkeypatch):
    owner.ask(waits("ann"), waits("bob"))
    owner.release("h0")
    before_it_is_written(monkeypatch, lambda: owner.leave("ann", "w"))
    owner.settle_down()
    assert owner.loop.redone == 1
    assert offers(owner) == [("bob", ["A-1", "A-2"], 0)]
    assert owner.waiting() == [("ann", "w", "left"), ("bob", "w", "offered")]


def test_who_leaves_after_an_offer_is_too_late(owner):
    owner.ask(waits("ann"))
    owner.release("h0")
    owner.settle_down()
    assert not owner.leave("ann", "w")


def test_a_leave_waits_for_the_batch_that_makes_the_offer(owner, monkeypatch):
    """Whichever locks the row first has it."""
    owner.ask(waits("ann"))
    owner.release("h0")
    commit, left = PostgresTruth.commit, []
    leaving = threading.Thread(target=lambda: left.append(owner.leave("ann", "w")))

    def leave_meanwhile(truth: PostgresTruth) -> None:
        leaving.start()
        with psycopg.connect(owner.database_url, autocommit=True) as watcher:
            while watcher.execute(WAITING).fetchone() == (0,):
                pass
        monkeypatch.setattr(PostgresTruth, "commit", commit)
        commit(truth)

    monkeypatch.setattr(PostgresTruth, "commit", leave_meanwhile)
    owner.settle_down()
    leaving.join()
    assert left == [False]
    assert owner.waiting() == [("ann", "w", "offered")]


def test_the_list_is_locked_after_holds_and_before_seats_and_in_its_order(owner, database_url):
    owner.ask(waits("ann"), waits("bob"))
    owner.release("h0")
    owner.release("h1")
    first = "FROM waiting WHERE buyer = 'ann'"
    with held_up(database_url, locking(first), owner.settle_down) as other:
        assert is_free(other, "FROM waiting WHERE buyer = 'bob'")
        assert is_free(other, "FROM seat WHERE seat_no < 4")
    assert [buyer for buyer, *_ in offers(owner)] == ["ann", "bob"]


def test_a_hold_that_is_moved_is_locked_before_the_list(owner, database_url):
    owner.ask(waits("ann"))
    move = replace(Want(areas={"floor": 1}), move=str(owner.hold_of("h0")))
    owner.append([entry("h0", "m", move)])
    lock = locking("FROM hold WHERE buyer = 'h0'")
    with held_up(database_url, lock, owner.loop.turn) as other:
        assert is_free(other, "FROM waiting")
    assert [buyer for buyer, *_ in offers(owner)] == ["ann"]


def crowd(owner: Owner) -> None:
    """Some wait for a pair, one for four, one for a seat or places; one has left, one was offered."""
    asked = [waits("ann", 4), waits("bob"), waits("eve"), waits("dan", 1, areas={"floor": 2})]
    owner.ask(*asked, waits("fay"))
    owner.leave("fay", "w")
    owner.release("h0")
    owner.settle_down()


def same_but_rules(one: Any, other: Any) -> bool:
    return {slot for slot in one if one[slot] != other[slot]} <= {"reflected", "policy"}


def test_memory_that_is_loaded_knows_who_waits_as_the_owner_does(owner):
    crowd(owner)
    with connect(owner.database_url, "heir") as conn:
        loaded, _ = load_memory(conn, owner.event_id, load_layout(conn, owner.event_id))
    assert [entry.buyer for _, entry in loaded.waiting] == ["ann", "eve", "dan"]
    assert same_but_rules(snapshot(loaded), snapshot(owner.memory))


@pytest.mark.parametrize("from_the_start", [True, False])
def test_a_standby_follows_the_list(owner, from_the_start):
    with connect(owner.database_url, "standby") as conn:
        if not from_the_start:
            owner.ask(waits("gil", 3))
        memory, _ = load_memory(conn, owner.event_id, owner.memory.layout)
        follower = Follower(conn, owner.event_id, memory, Keys())
        crowd(owner)
        follower.catch_up()
        assert same_but_rules(snapshot(follower.memory), snapshot(owner.memory))


def test_a_standby_that_does_not_know_who_waits_says_so(owner):
    owner.ask(waits("ann"))
    with connect(owner.database_url, "standby") as conn:
        memory, _ = load_memory(conn, owner.event_id, owner.memory.layout)
        memory.waiting.remove(next(iter(memory.waiting))[0])
        follower = Follower(conn, owner.event_id, memory, Keys())
        owner.release("h0")
        owner.settle_down()
        with pytest.raises(Mismatch):
            follower.catch_up()


def test_a_standby_notices_an_offer_that_runs_out_when_no_offer_does(owner):
    owner.ask(waits("ann"))
    with connect(owner.database_url, "standby") as conn:
        memory, _ = load_memory(conn, owner.event_id, owner.memory.layout)
        memory.policy = replace(memory.policy, offer_ttl_seconds=7)
        follower = Follower(conn, owner.event_id, memory, Keys())
        owner.release("h0")
        owner.settle_down()
        with pytest.raises(Mismatch):
            follower.catch_up()


@pytest.mark.parametrize(("change", "offered"), [("release", ["ann"]), ("leave", []), ("both", ["bob"])])
def test_a_change_that_the_heir_loads_and_then_hears_of_is_offered_as_it_would_have_been(
    dying, redis_url, change, offered
):
    """Committed, not consumed, when the owner dies: the tables show it and the fact is still to come."""
    dying.ask(waits("ann"), waits("bob"), waits("eve", 4))
    if change != "leave":
        dying.release("h0")
    if change != "release":
        dying.leave("ann", "w")
    with heir_of(dying, redis_url) as heir:
        asked = entry("dan", "r", best(1)), entry("gil", "r", seats("A-1"))
        assert heir.outcomes(*asked) == ["sold_out", "taken"]
        assert [buyer for buyer, *_ in offers(heir)] == offered


def test_an_owner_killed_after_the_commit_has_made_its_offers_and_none_is_made_twice(
    dying, redis_url, monkeypatch
):
    dying.ask(waits("ann"), waits("bob"))
    dying.release("h0")
    commit = PostgresTruth.commit

    def die(truth: PostgresTruth) -> None:
        commit(truth)
        raise Unavailable

    dying.poke()
    with monkeypatch.context() as patched:
        patched.setattr(PostgresTruth, "commit", die)
        with pytest.raises(Unavailable):
            dying.loop.turn()
    with heir_of(dying, redis_url) as heir:
        assert [entry.buyer for _, entry in heir.memory.waiting] == ["bob"]
        heir.release("h1")
        heir.settle_down()
        assert [buyer for buyer, *_ in offers(heir)] == ["ann", "bob"]


def test_an_owner_killed_before_the_commit_has_made_no_offer(dying, redis_url, monkeypatch):
    dying.ask(waits("ann"))
    dying.release("h0")

    def die(truth: PostgresTruth) -> None:
        raise Unavailable

    dying.poke()
    with monkeypatch.context() as patched:
        patched.setattr(PostgresTruth, "commit", die)
        with pytest.raises(Unavailable):
            dying.loop.turn()
    dying.conn.close()
    with heir_of(dying, redis_url) as heir:
        assert [entry.buyer for _, entry in heir.memory.waiting] == ["ann"]
        heir.settle_down()
        assert [buyer for buyer, *_ in offers(heir)] == ["ann"]


def test_more_offers_than_a_batch_may_make_go_before_the_requests_that_came_with_them(owner, monkeypatch):
    monkeypatch.setattr(waiting, "OFFERS_PER_BATCH_MAX", 2)
    owner.ask(*[waits(f"b{n}", 1) for n in range(5)])
    for holder in ("h0", "h1", "h2"):
        owner.release(holder)
    assert owner.outcomes(*[entry(f"r{n}", "r", best(1)) for n in range(3)]) == [
        "held", "sold_out", "sold_out",
    ]  # fmt: skip
    assert owner.loop.offers_first == 1
    batches: dict[int, list[str]] = {}
    for batch_no, kind, *_ in owner.ledger():
        batches.setdefault(batch_no, []).append(kind)
    made = [batch.count("offer") for batch in batches.values()]
    assert [count for count in made if count] == [2, 2, 1]
    assert all(not {"offer", "request"} <= set(kinds) for kinds in batches.values())


def test_offers_that_are_owed_are_made_without_waiting_for_anything(owner, monkeypatch):
    monkeypatch.setattr(waiting, "OFFERS_PER_BATCH_MAX", 1)
    owner.ask(waits("ann"), waits("bob"))
    owner.release("h0")
    owner.release("h1")
    owner.settle_down()
    assert owner.memory.offers_owed
    owner.loop.tick()
    assert [buyer for buyer, *_ in offers(owner)] == ["ann", "bob"]
    owner.loop.tick()
    assert not owner.memory.offers_owed


@pytest.mark.parametrize("way", ["loaded", "followed"])
def test_whoever_takes_over_knows_that_offers_are_owed(owner, monkeypatch, way):
    monkeypatch.setattr(waiting, "OFFERS_PER_BATCH_MAX", 1)
    owner.ask(waits("ann"), waits("bob"))
    with connect(owner.database_url, "heir") as conn:
        memory, _ = load_memory(conn, owner.event_id, owner.memory.layout)
        follower = Follower(conn, owner.event_id, memory, Keys())
        owner.release("h0")
        owner.release("h1")
        owner.settle_down()
        if way == "followed":
            follower.catch_up()
            assert follower.memory.offers_owed
        else:
            memory, _ = load_memory(conn, owner.event_id, owner.memory.layout)
            assert memory.offers_owed
    while owner.memory.offers_owed:
        owner.loop.tick()


def test_an_event_that_was_paused_before_offers_went_first_decides_no_request(owner, monkeypatch):
    """The pause is consumed by the batch of offers."""
    monkeypatch.setattr(waiting, "OFFERS_PER_BATCH_MAX", 1)
    owner.ask(waits("ann"), waits("bob"))
    owner.release("h0")
    attempt = owner.loop._attempt
    tried: list[Any] = []

    def pause_meanwhile(asks: Any, arrival: Any) -> Any:
        if tried:
            change_event(owner.database_url, EventState.PAUSED)
            monkeypatch.setattr(owner.loop, "_attempt", attempt)
        tried.append(asks)
        return attempt(asks, arrival)

    monkeypatch.setattr(owner.loop, "_attempt", pause_meanwhile)
    asked = entry("eve", "r", best(1))
    owner.append([asked])
    owner.loop.turn()
    assert owner.query("SELECT 1 FROM ledger WHERE buyer = 'eve'") == []
    change_event(owner.database_url, EventState.OPEN)
    owner.poke()
    owner.loop.turn()
    while not owner.query("SELECT 1 FROM ledger WHERE buyer = 'eve'"):
        owner.loop.turn()
    assert owner.answer(asked)[0] == "sold_out"


def test_nobody_is_offered_what_was_blocked_in_the_same_moment(owner, monkeypatch):
    owner.ask(waits("ann"), waits("bob", 1))
    owner.release("h0")
    before_it_is_written(monkeypatch, lambda: owner.block("A-1"))
    owner.settle_down()
    assert offers(owner) == [("bob", ["A-2"], 1)]


def test_who_waits_for_another_event_is_not_loaded(owner):
    crowd(owner)
    owner.query_nothing("INSERT INTO waiting SELECT event_id + 1, wait_id, buyer, request_id FROM waiting")
    owner.reload()
    assert [entry.buyer for _, entry in owner.memory.waiting] == ["ann", "eve", "dan"]
    owner.release("h1")
    owner.settle_down()
    assert [buyer for buyer, *_ in offers(owner)] == ["bob", "eve"]
    states = owner.query("SELECT DISTINCT state FROM waiting WHERE event_id <> %s", owner.event_id)
    assert states == [("waiting",)]
