"""What operators block and unblock, on the real engines: in the ledger, and against what happens then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest

from allocator.replay import Finding, verify
from bench.checker import judge
from bench.truth import read_truth
from store import blocks
from store.database import connect
from store.errors import Conflicted, Unavailable
from store.wire import Delta, decode_delta, seats_channel
from store.words import Want
from tests.allocator.house import SLUG, Owner, best, check_laws, entry, owner_of, plan_of, seats, snapshot
from tests.allocator.test_contradictions import before_it_is_written
from tests.allocator.waiting import held_up


@pytest.fixture
def hold_ttl_seconds() -> int:
    return 480


@pytest.fixture
def owner(database_url: str, redis_url: str, hold_ttl_seconds: int) -> Iterator[Owner]:
    """An owner of five seats and twenty places; in the end the ledger explains everything."""
    plan = plan_of(rows=1, seats_a_row=5)
    with owner_of(database_url, redis_url, plan, hold_ttl_seconds=hold_ttl_seconds) as made:
        yield made
        made.settle_down()
        check_laws(database_url, made.event_id)
        with psycopg.connect(database_url) as conn:
            assert [step for step in verify(conn, made.event_id) if isinstance(step, Finding)] == []
            assert judge([], read_truth(conn, SLUG)) == []


def standing(places: int) -> Want:
    return Want(areas={"floor": places})


def test_a_block_is_in_the_ledger_and_nobody_gets_those_seats_until_they_are_unblocked(owner):
    owner.block("A-1", "A-2", places=15)
    asks = (seats("A-1"), best(4), standing(6))
    assert owner.outcomes(*[entry("ann", f"r{n}", want) for n, want in enumerate(asks)]) == [
        "taken",
        "sold_out",
        "sold_out",
    ]
    owner.unblock("A-2", places=1)
    asks = (seats("A-1"), best(4), standing(6))
    assert owner.outcomes(*[entry("bob", f"r{n}", want) for n, want in enumerate(asks)]) == [
        "taken",
        "held",
        "limit_reached",
    ]
    facts = [(row[1], row[4]) for row in owner.ledger() if row[1] == "fact"]
    assert facts == [("fact", "policy"), ("fact", "policy"), ("fact", "blocked"), ("fact", "unblocked")]
    assert owner.loop.redone == 0


def test_gateways_hear_what_was_blocked_and_unblocked(owner):
    with owner.redis.pubsub(ignore_subscribe_messages=True) as listening:
        listening.subscribe(seats_channel(SLUG))
        listening.get_message(timeout=30)
        for change, freed, blocked, free in (
            (owner.block, [], [1, 3], 16),
            (owner.unblock, [1, 3], [], 20),
        ):
            change("A-2", "A-4", places=4)
            owner.poke()
            owner.loop.turn()
            message = listening.get_message(timeout=30)
            assert message is not None
            delta = decode_delta(message["data"])
            assert delta == Delta(delta.batch_no, delta.batch_time, [], freed, [], [(0, free)], "", blocked)


def test_a_standby_follows_blocks_whether_it_loaded_before_or_after_they_were_made(owner):
    with connect(owner.database_url, "early") as early, connect(owner.database_url, "late") as late:
        followers = [owner.follower(early)]
        owner.block("A-1", places=3)
        followers.append(owner.follower(late))  # the tables show it, the fact is not consumed
        owner.settle_down()
        owner.unblock("A-1", places=1)
        owner.block("A-2")
        owner.settle_down()
        mine = snapshot(owner.memory)
        for follower in followers:
            follower.catch_up()
            theirs = snapshot(follower.memory)
            assert {**theirs, "reflected": None} == {**mine, "reflected": None}


def test_an_owner_that_loaded_a_block_before_its_fact_counts_it_once(owner):
    owner.block("A-1", places=15)
    owner.reload()
    before = snapshot(owner.memory)
    owner.settle_down()
    after = snapshot(owner.memory)
    for name in ("hold_of", "areas_free", "seats_free", "free"):
        assert after[name] == before[name], name
    assert (owner.memory.seats_free, owner.memory.areas_free) == (4, [5])


# --- in the same moment ---


def test_a_block_between_the_decision_and_its_writing_wins_and_the_batch_is_decided_again(owner, monkeypatch):
    before_it_is_written(monkeypatch, lambda: owner.block("A-1"))
    asked = [entry("ann", "r1", seats("A-1", "A-2")), entry("bob", "r1", best(1))]
    assert owner.outcomes(*asked) == ["taken", "held"]
    assert owner.loop.redone == 1
    outcomes = [row[4] for row in owner.ledger()]
    assert outcomes[-3:] == ["blocked", "taken", "held"]


def test_a_sale_between_the_decision_and_its_writing_wins_without_an_alert(owner, monkeypatch, caplog):
    """No constraint fires: a seat that the batch did not win is not put in a hold of its own."""
    before_it_is_written(monkeypatch, lambda: owner.sell("a guest", "A-1"))
    asked = [entry("ann", "r1", seats("A-1", "A-2")), entry("bob", "r1", seats("A-5"))]
    assert owner.outcomes(*asked) == ["taken", "held"]
    assert owner.loop.redone == 1
    assert "ALERT" not in caplog.text


@pytest.mark.parametrize("sold", [False, True])
def test_what_goes_off_sale_during_a_batch_comes_back_after_it(owner, monkeypatch, sold):
    """Else the batch would find it free and give it, and the next one say that it was blocked then."""
    monkeypatch.setattr(blocks, "LOCK_WAIT_MS_MAX", 20)
    orders: list[int] = []

    def come_back() -> None:
        if sold:
            owner.take_back(orders[0])
        else:
            owner.unblock("A-1")

    def off_sale_and_back() -> None:
        if sold:
            orders.append(owner.sell("a guest", "A-1"))
        else:
            owner.block("A-1")
        with pytest.raises(Unavailable, match="Try again"):
            come_back()

    before_it_is_written(monkeypatch, off_sale_and_back)
    assert owner.outcomes(entry("ann", "r1", seats("A-1"))) == ["taken"]
    come_back()
    assert owner.outcomes(entry("ann", "r2", seats("A-1"))) == ["held"]


@pytest.mark.parametrize("sold", [False, True])
def test_places_go_off_sale_when_no_batch_is_under_way(owner, monkeypatch, sold):
    """Else, of the last place, the batch could give what somebody gave back, and say so before the block."""
    monkeypatch.setattr(blocks, "LOCK_WAIT_MS_MAX", 20)
    owner.block(places=15)
    assert owner.outcomes(entry("ann", "r1", standing(4))) == ["held"]

    def the_last_goes_and_others_come_back() -> None:
        with pytest.raises(Unavailable, match="Try again"):
            owner.sell("a guest", places=1) if sold else owner.block(places=1)
        owner.release("ann")

    before_it_is_written(monkeypatch, the_last_goes_and_others_come_back)
    assert owner.outcomes(entry("bob", "r1", standing(1))) == ["held"]
    owner.settle_down()
    assert owner.memory.areas_free == [4]


def test_a_block_of_a_seat_that_is_being_claimed_waits_and_is_refused(owner):
    owner.append([entry("ann", "r1", seats("A-1", "A-5"))])
    said = beside_a_batch(owner, "FROM seat WHERE seat_no = 4", lambda: owner.block("A-2", "A-1", places=3))
    assert isinstance(said, Conflicted)
    assert said.code == "seats_not_free"
    assert "A-1 (held by hold" in str(said)
    assert "A-2" not in str(said)
    assert owner.query("SELECT count(*) FROM audit") == [(0,)]
    assert owner.query("SELECT held, blocked FROM area") == [(0, 0)]


@pytest.mark.parametrize("hold_ttl_seconds", [1])
def test_a_block_of_a_seat_whose_hold_is_running_out_waits_and_has_it(owner):
    owner.ask(entry("ann", "r1", seats("A-1", "A-5")))
    assert beside_a_batch(owner, "FROM seat WHERE seat_no = 4", lambda: owner.block("A-1")) is None
    assert owner.query("SELECT state FROM hold") == [("expired",)]
    assert owner.outcomes(entry("bob", "r1", seats("A-1")), entry("bob", "r2", seats("A-5"))) == [
        "taken",
        "held",
    ]
    outcomes = [row[4] for row in owner.ledger() if row[1] != "request"]
    assert outcomes[-2:] == ["expired", "blocked"]


@pytest.mark.parametrize("hold_ttl_seconds", [1])
def test_a_hold_an_operator_releases_in_the_moment_it_runs_out_ends_once(owner):
    owner.ask(entry("ann", "r1", Want(seats=("A-1",), areas={"floor": 4})))
    hold = owner.hold_of("ann")
    assert beside_a_batch(owner, "FROM seat WHERE seat_no = 0", lambda: owner.release_by_hand(hold)) is None
    assert owner.query("SELECT state FROM hold") == [("expired",)]
    assert [row[4] for row in owner.ledger() if row[1] != "request"][-1] == "expired"
    assert owner.query("SELECT held FROM area") == [(0,)]
    assert owner.query("SELECT count(*) FROM audit") == [(0,)]


def test_what_is_blocked_unblocked_and_blocked_again_before_a_batch_ends_blocked(owner):
    for _ in range(3):
        owner.block("A-1", places=2)
        owner.unblock("A-1", places=2)
    owner.block("A-1", places=2)
    owner.settle_down()
    assert (owner.memory.seats_free, owner.memory.areas_free) == (4, [18])
    assert owner.outcomes(entry("ann", "r1", seats("A-1"))) == ["taken"]


def run_out(owner: Owner) -> None:
    """Turns until no hold runs; waits as the loop waits."""
    while owner.memory.holds:
        owner.loop.turn()


def beside_a_batch(owner: Owner, lock: str, change: Callable[[], None]) -> BaseException | None:
    """A batch has all its locks but that of `lock`; `change` waits for the batch. Gives what it raised."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            change()
        except BaseException as error:
            raised.append(error)

    beside = threading.Thread(target=run)
    waiting = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE wait_event_type = 'Lock' AND datname = current_database() AND application_name = ''"
    )
    batch = owner.loop.turn if not owner.memory.holds else lambda: run_out(owner)
    with held_up(owner.database_url, f"SELECT 1 {lock} FOR UPDATE", batch):
        beside.start()
        while owner.query(waiting) == [(0,)]:
            assert beside.is_alive(), raised
    beside.join(timeout=30)
    return raised[0] if raised else None


def test_two_operators_at_once_block_a_seat_once(owner):
    raised: list[BaseException] = []

    def block() -> None:
        try:
            owner.block("A-3", "A-4")
        except Conflicted as refused:
            raised.append(refused)

    both = [threading.Thread(target=block) for _ in range(4)]
    for one in both:
        one.start()
    for one in both:
        one.join(timeout=30)
    assert len(raised) == 3
    owner.settle_down()
    assert owner.memory.seats_free == 3
    assert owner.query("SELECT count(*) FROM audit") == [(1,)]
