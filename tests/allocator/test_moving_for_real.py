"""A move in Postgres: counted with everything else of its batch, or the batch is decided again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from allocator.follow import Follower, Mismatch
from allocator.keys import Keys
from allocator.load import load_memory
from allocator.replay import Finding, verify
from store.database import connect
from store.words import Want
from tests.allocator.house import Owner, check_laws, entry, owner_of, seats, snapshot
from tests.allocator.test_contradictions import before_it_is_written
from tests.allocator.test_lock_order import locking
from tests.allocator.waiting import held_up, is_free


@pytest.fixture
def tampered(database_url: str, redis_url: str) -> Iterator[Owner]:
    """Of an event whose tables a test changes by hand: the ledger cannot say why it was decided so."""
    with owner_of(database_url, redis_url) as made:
        yield made


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    with owner_of(database_url, redis_url) as made:
        yield made
        made.settle_down()
        check_laws(database_url, made.event_id)
        with psycopg.connect(database_url) as conn:
            assert [found for found in verify(conn, made.event_id) if isinstance(found, Finding)] == []


STANDS = Want(seats=("A-1", "A-2"), areas={"floor": 3})


def move(owner: Owner, want: Want, request_id: str = "r2") -> bytes:
    return entry("ann", request_id, replace(want, move=str(owner.hold_of("ann"))))


def holds(owner: Owner) -> list[Any]:
    return owner.query("SELECT buyer, state, quantity FROM hold ORDER BY hold_id")


def test_the_old_hold_ends_and_the_new_one_begins_in_one_batch(owner):
    owner.ask(entry("ann", "r1", STANDS), entry("bob", "r1", Want(areas={"floor": 4})))
    old = owner.hold_of("ann")
    ends = "SELECT expires_at FROM hold WHERE buyer = 'ann' ORDER BY hold_id"
    assert owner.outcomes(move(owner, Want(seats=("A-2", "B-1"), areas={"floor": 1}))) == ["held"]
    new = owner.hold_of("ann")
    assert holds(owner) == [("ann", "released", 5), ("bob", "active", 4), ("ann", "active", 3)]
    first, second = owner.query(ends)
    assert first == second
    assert owner.query("SELECT held FROM area") == [(5,)]
    assert owner.query("SELECT seat_no, hold_id FROM hold_seat ORDER BY 1") == [(1, new), (10, new)]
    history = owner.query(
        "SELECT seat_no, state, hold_id, by FROM seat_history WHERE seat_no < 2 ORDER BY at, 1"
    )
    assert history[2:] == [
        (0, "available", old, "buyer"), (1, "available", old, "buyer"), (1, "held", new, "allocator"),
    ]  # fmt: skip


def test_a_hold_that_was_moved_is_extended_no_more_often_than_one_that_was_not(owner):
    owner.ask(entry("ann", "r1", seats("A-1")), entry("bob", "r1", seats("A-2")))
    owner.extend("ann")
    owner.ask(move(owner, seats("A-3")))
    assert owner.query("SELECT extensions FROM hold ORDER BY hold_id") == [(1,), (0,), (1,)]


@pytest.mark.parametrize("seed_first", [True, False])
def test_a_standby_follows_a_move(owner, seed_first):
    owner.ask(entry("ann", "r1", STANDS))
    with connect(owner.database_url, "standby") as conn:
        memory, _ = load_memory(conn, owner.event_id, owner.memory.layout)
        follower = Follower(conn, owner.event_id, memory, Keys())
        if seed_first:
            owner.extend("ann")
        owner.ask(move(owner, Want(seats=("A-2", "B-1"), areas={"floor": 1})))
        owner.ask(move(owner, seats("nowhere"), "r3"))
        follower.catch_up()
        followed, owners = snapshot(follower.memory), snapshot(owner.memory)
        assert {slot for slot in owners if owners[slot] != followed[slot]} <= {"reflected", "policy"}


def test_a_standby_that_does_not_know_the_old_hold_says_so(tampered):
    """It loads its memory anew then."""
    tampered.ask(entry("ann", "r1", STANDS))
    with connect(tampered.database_url, "standby") as conn:
        memory, _ = load_memory(conn, tampered.event_id, tampered.memory.layout)
        del memory.holds[tampered.hold_of("ann")]
        follower = Follower(conn, tampered.event_id, memory, Keys())
        tampered.ask(move(tampered, seats("B-1")))
        with pytest.raises(Mismatch):
            follower.catch_up()


CHANGES: dict[str, tuple[Callable[[Owner], None], list[Any], str]] = {
    "paid": (lambda owner: owner.confirm("ann"), [("ann", "paid", 5)], "invalid"),
    "released": (lambda owner: owner.release("ann"), [("ann", "released", 5)], "invalid"),
    "extended": (
        lambda owner: owner.extend("ann"), [("ann", "released", 5), ("ann", "active", 1)], "held",
    ),
    "a seat given back": (
        lambda owner: owner.release_some("ann", (0,)), [("ann", "released", 4), ("ann", "active", 1)], "held",
    ),
    "places given back": (
        lambda owner: owner.release_some("ann", (), 2),
        [("ann", "released", 3), ("ann", "active", 1)],
        "held",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_a_hold_changed_in_the_moment_it_is_moved_is_moved_as_it_is_then_or_not_at_all(
    owner, monkeypatch, caplog, what
):
    """Another hold in the same area, so that its counter alone would let the batch take back too many."""
    change, after, outcome = CHANGES[what]
    owner.ask(entry("ann", "r1", STANDS), entry("bob", "r1", Want(areas={"floor": 5})))
    before_it_is_written(monkeypatch, lambda: change(owner))
    owner.append([asked := move(owner, seats("B-1"))])
    owner.loop.turn()
    assert owner.loop.redone == 1
    assert owner.answer(asked)[0] == outcome
    assert [row for row in holds(owner) if row[0] == "ann"] == after
    stand = owner.query("SELECT held, sold FROM area")
    assert stand == ([(5, 3)] if what == "paid" else [(5, 0)])
    ends = owner.query("SELECT DISTINCT expires_at FROM hold WHERE buyer = 'ann'")
    assert "a constraint refused" not in caplog.text
    assert len(ends) == 1, "a hold that is moved ends when the old one does"


def test_a_hold_that_ran_out_in_the_table_alone_is_not_moved_on(tampered, monkeypatch):
    tampered.ask(entry("ann", "r1", seats("A-1")))
    asked = move(tampered, seats("B-1"))
    expire = "UPDATE hold SET expires_at = expires_at - interval '1 day'"
    before_it_is_written(monkeypatch, lambda: tampered.query_nothing(expire))
    tampered.append([asked])
    tampered.loop.turn()
    assert tampered.answer(asked)[0] == "invalid"


def test_the_table_moves_no_hold_of_somebody_else(tampered, monkeypatch):
    """Whatever memory believes."""
    tampered.ask(entry("ann", "r1", seats("A-1")))
    asked = move(tampered, seats("B-1"))
    rename = "UPDATE hold SET buyer = 'eve'"
    before_it_is_written(monkeypatch, lambda: tampered.query_nothing(rename))
    tampered.append([asked])
    tampered.loop.turn()
    assert tampered.answer(asked)[0] == "invalid"
    assert holds(tampered) == [("eve", "active", 1)]


def test_a_hold_that_is_moved_is_locked_before_its_seats_and_places(owner, database_url):
    owner.ask(entry("ann", "r1", STANDS))
    owner.append([move(owner, seats("B-1"))])
    lock = locking(f"FROM hold WHERE hold_id = {owner.hold_of('ann')}")
    with held_up(database_url, lock, owner.loop.turn) as other:
        assert is_free(other, "FROM seat WHERE seat_no IN (0, 1, 10)")
        assert is_free(other, "FROM area")
    assert holds(owner)[-1] == ("ann", "active", 1)


def test_holds_that_are_moved_are_locked_by_number(owner, database_url):
    owner.ask(entry("ann", "r1", seats("A-1")), entry("bob", "r1", seats("A-2")))
    first, second = owner.hold_of("ann"), owner.hold_of("bob")
    owner.append(
        [
            entry("bob", "r2", replace(seats("B-2"), move=str(second))),
            entry("ann", "r2", replace(seats("B-1"), move=str(first))),
        ]
    )
    lock = locking(f"FROM hold WHERE hold_id = {first}")
    with held_up(database_url, lock, owner.loop.turn) as other:
        assert is_free(other, f"FROM hold WHERE hold_id = {second}")
    assert len(owner.memory.holds) == 2
