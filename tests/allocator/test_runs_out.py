"""Holds that run out in the moment in which somebody pays, releases or changes them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from allocator import sql
from allocator.decided import Decided
from allocator.ports import Begun
from allocator.truth import PostgresTruth
from store.database import connect
from store.errors import Unavailable
from store.words import Arrival
from tests.allocator.house import Owner, check_laws, entry, owner_of, seats


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    with owner_of(database_url, redis_url) as made:
        yield made


def between_begin_and_write(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """`change` happens once, after the batch consumed its facts and before it writes."""
    write = PostgresTruth.write
    left = [change]

    def changed_first(
        truth: PostgresTruth, batch_no: int, begun: Begun, arrival: Arrival, pieces: Iterator[Decided]
    ) -> Decided:
        while left:
            left.pop()()
        return write(truth, batch_no, begun, arrival, pieces)

    monkeypatch.setattr(PostgresTruth, "write", changed_first)


def test_a_release_of_what_runs_out_in_this_batch_waits_for_it(owner, monkeypatch):
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.make_holds_old()
    with ThreadPoolExecutor(1) as thread:
        released: list[Future[None]] = []

        def release() -> None:
            released.append(thread.submit(owner.release, "ann"))
            waits_for_a_lock(owner)

        between_begin_and_write(monkeypatch, release)
        assert owner.outcomes(entry("bob", "r1", seats("A-1"))) == ["held"]
        released[0].result()
    kinds = [row[1:2] + row[4:] for row in owner.ledger()][-2:]
    assert kinds == [("expired", "expired"), ("request", "held")]
    assert owner.loop.redone == 0
    check_laws(owner.database_url, owner.event_id)


def waits_for_a_lock(owner: Owner) -> None:
    """Until somebody waits for a row that the owner's batch has locked."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"
    give_up_at = time.monotonic() + 60
    while not owner.query(waiting, owner.conn.info.backend_pid):
        assert time.monotonic() < give_up_at, "nobody waits for the batch"


def test_who_lost_the_event_locks_no_hold(owner):
    """Or an owner that was stopped and goes on would make payments wait."""
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.make_holds_old()
    values = {"event": owner.event_id, "batch": owner.memory.batch_no, "most": 10}
    due = values | owner.owned._asdict()
    with connect(owner.database_url, "test") as conn:
        assert conn.execute(sql.LOCK_DUE, due).fetchall() == [(1,)]
        for changed in ({"epoch": 99}, {"owner": uuid4()}, {"batch": owner.memory.batch_no + 1}):
            assert conn.execute(sql.LOCK_DUE, due | changed).fetchall() == []


def beyond_those_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if as many holds as one batch locks ran out before."""
    monkeypatch.setattr(sql, "LOCK_DUE", "SELECT 1 WHERE false")


def test_a_release_in_the_moment_a_hold_runs_out_is_a_release(owner, monkeypatch):
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.make_holds_old()
    beyond_those_locked(monkeypatch)
    between_begin_and_write(monkeypatch, lambda: owner.release("ann"))
    assert owner.outcomes(entry("bob", "r1", seats("A-1"))) == ["held"]
    assert [row[1:2] + row[4:] for row in owner.ledger()][-2:] == [("fact", "released"), ("request", "held")]
    assert owner.loop.redone == 1
    check_laws(owner.database_url, owner.event_id)


def test_a_payment_in_the_moment_a_hold_runs_out_is_a_payment_and_no_alert(owner, monkeypatch, caplog):
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.make_holds_old()
    beyond_those_locked(monkeypatch)

    def pay_just_in_time() -> None:
        owner.query_nothing("UPDATE hold SET expires_at = expires_at + interval '2 days'")
        owner.confirm("ann")
        owner.query_nothing("UPDATE hold SET expires_at = expires_at - interval '2 days'")

    between_begin_and_write(monkeypatch, pay_just_in_time)
    assert owner.outcomes(entry("bob", "r1", seats("A-1"))) == ["taken"]
    assert owner.query("SELECT state FROM hold") == [("paid",)]
    assert owner.loop.redone == 1
    assert "ALERT" not in caplog.text
    check_laws(owner.database_url, owner.event_id)


@pytest.mark.parametrize("asked", [True, False], ids=["a request", "a tick"])
def test_expiries_that_lose_again_and_again_say_nothing_against_a_request(owner, monkeypatch, asked):
    """Each time the batch is written somebody releases one more of the holds that ran out."""
    owner.ask(*[entry(f"b{n}", "r1", seats(f"A-{n + 1}")) for n in range(8)])
    owner.make_holds_old()
    beyond_those_locked(monkeypatch)
    write, left = PostgresTruth.write, [f"b{n}" for n in range(8)]

    def lose(truth: PostgresTruth, *given: Any) -> Decided:
        if left:
            owner.release(left.pop())
        return write(truth, *given)

    monkeypatch.setattr(PostgresTruth, "write", lose)
    if asked:
        owner.append([entry("eve", "r1", seats("A-9"))])
    with pytest.raises(Unavailable, match="Facts and expiries"):
        owner.loop.turn() if asked else owner.loop.tick()
    left.clear()
    owner.loop.turn() if asked else owner.loop.tick()
    decided = [row[3:] for row in owner.ledger() if row[1] == "request"]
    assert decided[8:] == ([("eve", "held")] if asked else [])
    check_laws(owner.database_url, owner.event_id)


def test_a_hold_that_the_table_gives_longer_does_not_run_out(owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.make_holds_old()
    owner.query_nothing("UPDATE hold SET expires_at = expires_at + interval '2 days'")
    assert owner.outcomes(entry("bob", "r1", seats("A-1"))) == ["taken"]
    assert [row[1] for row in owner.ledger()].count("expired") == 0
    assert owner.query("SELECT state FROM hold") == [("active",)]


def test_a_hold_that_ran_out_frees_no_seat_that_names_another(owner):
    owner.ask(entry("ann", "r1", seats("A-1")), entry("bob", "r1", seats("A-2")))
    owner.make_holds_old()
    owner.query_nothing("UPDATE seat SET hold_id = 4711 WHERE seat_no = 0")
    with pytest.raises(AssertionError):  # tables that contradict each other: never on with doubtful memory
        owner.loop.turn()
    assert owner.query("SELECT state, hold_id FROM seat WHERE seat_no = 0") == [("held", 4711)]
    assert [row[1] for row in owner.ledger()].count("expired") == 0


def test_a_hold_seat_row_of_another_hold_is_not_deleted_by_an_expiry(owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.make_holds_old()
    owner.query_nothing("UPDATE hold_seat SET hold_id = 4711")
    owner.loop.turn()
    assert owner.query("SELECT hold_id FROM hold_seat") == [(4711,)]
