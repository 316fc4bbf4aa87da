"""A batch takes its locks in the order every writer keeps: holds, seats, areas, each by number.

Somebody has one lock already; the batch waits for it. What comes after it in the order must be free.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg
import pytest

from store.plan import Area, Plan
from store.words import Want
from tests.allocator.house import Owner, check_laws, entry, owner_of, plan_of, seats
from tests.allocator.waiting import held_up, is_free


def many_floors() -> Plan:
    """Large enough that rows are found by key, one after the other, in the order a statement names them."""
    plan = plan_of(rows=40, seats_a_row=50)
    names = ("balcony", *(f"floor-{n}" for n in range(198)))
    floors = (*plan.areas, *(Area(name, name, 1, 20, 5.0, 0.0, 5.0, 5.0) for name in names))
    return type(plan)(**{name: getattr(plan, name) for name in plan.__struct_fields__} | {"areas": floors})


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    with owner_of(database_url, redis_url, many_floors()) as made:
        made.conn.execute("SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_seqscan = off")
        made.conn.commit()
        made.query_nothing("ANALYZE area")
        yield made
        check_laws(database_url, made.event_id)


def hold_row(owner: Owner, buyer: str) -> str:
    return f"FROM hold WHERE hold_id = {owner.hold_of(buyer)}"


def seat(number: int) -> str:
    return f"FROM seat WHERE seat_no = {number}"


def area(number: int) -> str:
    return f"FROM area WHERE area_no = {number}"


def locking(rows: str) -> str:
    return f"SELECT 1 {rows} FOR UPDATE"


def test_holds_that_run_out_are_locked_before_their_seats_and_places(owner):
    owner.ask(entry("ann", "r1", Want(seats=("A-1",), areas={"floor": 1})))
    owner.make_holds_old()
    with held_up(owner.database_url, locking(hold_row(owner, "ann")), owner.loop.tick) as other:
        assert is_free(other, seat(0))
        assert is_free(other, area(0))
    assert owner.memory.holds == {}


def test_holds_that_run_out_are_locked_by_number(owner):
    owner.ask(entry("ann", "r1", seats("A-1")), entry("bob", "r1", seats("A-2")))
    owner.make_holds_old()
    with held_up(owner.database_url, locking(hold_row(owner, "ann")), owner.loop.tick) as other:
        assert is_free(other, hold_row(owner, "bob"))
    assert owner.memory.holds == {}


def test_seats_of_holds_that_ran_out_are_locked_by_number(owner):
    owner.ask(entry("ann", "r1", seats("A-9", "A-2")), entry("bob", "r1", seats("A-1")))
    owner.make_holds_old()
    with held_up(owner.database_url, locking(seat(0)), owner.loop.tick) as other:
        assert is_free(other, seat(1))
        assert is_free(other, seat(8))
    assert owner.memory.holds == {}


def test_seats_are_claimed_by_number_whatever_the_order_of_requests(owner):
    owner.append([entry("ann", "r1", seats("A-9", "A-2")), entry("bob", "r1", seats("A-1"))])
    with held_up(owner.database_url, locking(seat(0)), owner.loop.turn) as other:
        assert is_free(other, seat(1))
        assert is_free(other, seat(8))
    assert len(owner.memory.holds) == 2


def test_seats_are_claimed_before_places(owner):
    owner.append([entry("ann", "r1", Want(seats=("A-1",), areas={"floor": 1}))])
    with held_up(owner.database_url, locking(seat(0)), owner.loop.turn) as other:
        assert is_free(other, area(0))
    assert len(owner.memory.holds) == 1


def test_places_are_claimed_by_area_number(owner):
    owner.append(
        [entry("ann", "r1", Want(areas={"balcony": 1})), entry("bob", "r1", Want(areas={"floor": 1}))]
    )
    with held_up(owner.database_url, locking(area(0)), owner.loop.turn) as other:
        assert is_free(other, area(1))
    assert len(owner.memory.holds) == 2


def test_a_deadlock_with_somebody_who_keeps_no_order_is_decided_again(owner):
    """Who has a high seat and then wants a low one, which the batch has: Postgres ends the batch."""
    owner.conn.execute("SET deadlock_timeout = '200ms'")  # the batch's check comes first
    owner.conn.execute("SET lock_timeout = '20s'")
    owner.conn.commit()
    owner.append([entry("ann", "r1", seats("A-1", "A-9"))])
    wants_low: list[threading.Thread] = []

    def want_low(other: psycopg.Connection[tuple[object, ...]]) -> None:
        other.execute(locking(seat(0)))

    with held_up(owner.database_url, locking(seat(8)), owner.loop.turn) as other:
        wants_low.append(threading.Thread(target=want_low, args=(other,)))
        wants_low[0].start()
        wants_low[0].join(timeout=30)  # it has the seat: the batch was ended and begins again
        assert not wants_low[0].is_alive()
    assert owner.loop.redone == 1
    assert [row[3:] for row in owner.ledger() if row[1] == "request"] == [("ann", "held")]
