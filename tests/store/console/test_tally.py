"""How far buyers came: each counted once, from the ledger as it grows."""

from __future__ import annotations

import psycopg
import pytest
from msgspec.structs import replace

from store.console import tally
from store.lookups import PLAN_BY_KEY
from store.words import Outcome, Want
from tests.allocator.house import best, entry, owner_of, plan_of, seats


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def owner(database_url, redis_url):
    with owner_of(database_url, redis_url, plan_of(2, 4, 0)) as owner:
        yield owner


def count(conn):
    while tally.count(conn):
        pass


def steps(conn, owner, orders=0):
    read = tally.read(conn, owner.event_id, orders)
    return {one.step: one.count for one in read.steps}


def test_a_buyer_counts_once_however_often_they_ask_and_are_given(conn, owner):
    owner.ask(entry("ann", "r1", seats("A-1")), entry("bob", "r1", seats("A-1")))
    count(conn)
    assert steps(conn, owner, 7) == {"asked": 2, "held": 1, "paid": 7}
    owner.ask(
        entry("ann", "r2", seats("A-2")), entry("bob", "r2", seats("A-3")), entry("eve", "r1", seats("A-1"))
    )
    count(conn)
    assert steps(conn, owner) == {"asked": 3, "held": 2, "paid": 0}
    owner.ask(entry("eve", "r1", seats("B-1")))  # a conflict: asked before, and given nothing
    count(conn)
    read = tally.read(conn, owner.event_id, 0)
    assert steps(conn, owner) == {"asked": 3, "held": 2, "paid": 0}
    assert read.outcomes == {Outcome.HELD: 3, Outcome.TAKEN: 2, Outcome.CONFLICT: 1}
    assert read.steps_age_ms == 0


def test_who_was_offered_something_later_is_given_something_once(conn, owner):
    owner.ask(entry("ann", "r1", best(4)), entry("bob", "r1", best(4)))
    owner.ask(entry("eve", "r1", replace(best(4), waitlist=True)))
    count(conn)
    assert steps(conn, owner) == {"asked": 3, "held": 2, "paid": 0}
    owner.release("ann")
    owner.poke()
    owner.loop.turn()
    count(conn)
    assert steps(conn, owner) == {"asked": 3, "held": 3, "paid": 0}
    owner.release("eve")
    owner.ask(entry("eve", "r2", best(1)))
    count(conn)
    assert steps(conn, owner) == {"asked": 3, "held": 3, "paid": 0}


def test_two_who_count_at_once_count_a_row_once(conn, owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    values = {"event": owner.event_id, "batch": 0, "last": 2, "outcomes": "{}", "asked": 1, "held": 1}
    conn.execute("DELETE FROM event_tally")
    assert [conn.execute(tally.PUT, values).rowcount for _ in range(2)] == [1, 0]


def test_who_began_is_counted_of_those_who_sell_and_told_with_the_rooms_numbers(conn, owner):
    event = owner.event_id
    conn.execute(
        "INSERT INTO room (event_id, seed, seed_sha256, joined, next_position, serving)"
        " VALUES (%s, decode(repeat('00', 32), 'hex'), sha256(decode(repeat('00', 32), 'hex')), 9, 8, 5)",
        (event,),
    )
    conn.execute(
        "INSERT INTO place (event_id, buyer, in_draw, state, begun_at, until, ended_at)"
        " SELECT %s, 'b' || n, true, 'finished', now(), now(), now() FROM generate_series(1, 3) n",
        (event,),
    )
    tally.count_begun(conn)
    tally.count_begun(conn)
    told = steps(conn, owner)
    assert told == {"joined": 9, "in_line": 7, "called": 5, "began": 3, "asked": 0, "held": 0, "paid": 0}
    conn.execute(
        "INSERT INTO room_refused VALUES (%s, now(), 'too_many_joins', 2, '{}'),"
        " (%s, now() - interval '1 min', 'too_many_joins', 3, '{}'), (%s, now(), 'proof_used', 9, '{}')",
        (event, event, event),
    )
    away = tally.read(conn, event, 0).turned_away
    assert [(one.reason, one.count) for one in away] == [("proof_used", 9), ("too_many_joins", 5)]


def test_how_old_the_counts_are_is_how_long_ago_the_first_uncounted_batch_was(conn, owner):
    count(conn)
    owner.ask(entry("ann", "r1", Want(seats=("A-1",))))
    owner.query_nothing("UPDATE ledger_batch SET batch_time = now() - interval '9 s'")
    age_ms = tally.read(conn, owner.event_id, 0).steps_age_ms
    assert 9_000 <= age_ms < 60_000


def test_earlier_rows_are_looked_for_by_key(conn):
    conn.execute(
        "INSERT INTO ledger SELECT 1, n / 100, n % 100, 'request', '1-1', 'b' || n, 'r', '{}', 'held', '{}'"
        "  FROM generate_series(1, 20000) n"
    )
    conn.execute("ANALYZE ledger")
    conn.execute(PLAN_BY_KEY)
    values = {"event": 1, "batch": 100, "last": 120}
    plan = "\n".join(line for (line,) in conn.execute("EXPLAIN " + tally.COUNT, values).fetchall())
    assert "ledger_pkey" in plan
    assert "ledger_key" in plan
    assert "Seq Scan on ledger" not in plan
