"""Everything adds up; and each way in which it does not is told with its row, and left as it is."""

from __future__ import annotations

import psycopg
import pytest

from store import audit, blocks, events, holds, invariant
from store.invariant import Capacity, mismatches, read_capacity
from store.venues.rows import save_venue
from store.words import EventState
from tests.store.test_holds import HOLD, PLAN, change, everything, hold

CAPACITY = Capacity(100, (50,))
PAID, OVER = HOLD + 1, HOLD + 2


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def make(conn):
    """Held: 3, 4 and two places, an offer to who waited; sold: 5 and three; blocked: 7 and four; released: 8;
    somebody waits on.
    """
    number = events.create_event(conn, "gig", "The gig", save_venue(conn, "arena", PLAN), PLAN)
    events.set_state(conn, "gig", EventState.OPEN)
    hold(conn, number)
    hold(conn, number, hold_id=PAID, seats=(5,), places=3)
    hold(conn, number, hold_id=OVER, seats=(8,), places=1)
    change(conn, holds.confirm, number, hold_id=PAID)
    change(conn, holds.release, number, hold_id=OVER)
    said = audit.said("Olga", "house seats")
    blocks.block(conn, number, PLAN, [PLAN.seats[7].guid], {PLAN.areas[0].guid: 4}, said)
    conn.execute(
        "INSERT INTO waiting SELECT event_id, 1, buyer, request_id, 'offered', hold_id FROM hold"
        " WHERE event_id = %s AND hold_id = %s", (number, HOLD),
    )  # fmt: skip
    conn.execute("INSERT INTO waiting VALUES (%s, 2, 'bob', 'r', 'waiting', NULL)", (number,))
    return number


@pytest.fixture
def event(conn):
    return make(conn)


def test_what_onsale_writes_adds_up(conn, event):
    assert read_capacity(conn, event) == CAPACITY
    assert mismatches(conn, event, CAPACITY) == []


WRONG = {
    "a held seat nobody keeps": ("DELETE FROM hold_seat WHERE seat_no = 3", {("seat", 3), ("hold", HOLD)}),
    "a seat kept by another hold than it names": (
        f"UPDATE hold_seat SET hold_id = {PAID} WHERE seat_no = 3",
        {("seat", 3), ("hold", HOLD), ("hold", PAID)},
    ),
    "a free seat that is kept": (
        "UPDATE seat SET state = 'available', hold_id = NULL WHERE seat_no = 3",
        {("seat", 3)},
    ),
    "a held seat of an order": ("UPDATE seat SET state = 'held' WHERE seat_no = 5", {("seat", 5)}),
    "a sold seat of a hold": ("UPDATE seat SET state = 'sold' WHERE seat_no = 3", {("seat", 3)}),
    "a seat of a hold that is over": (
        f"UPDATE hold SET state = 'expired' WHERE hold_id = {HOLD}",
        {("seat", 3), ("seat", 4), ("hold", HOLD), ("area", 0)},
    ),
    "a seat of a hold that is not there": (
        f"DELETE FROM hold WHERE hold_id = {PAID}",
        {("seat", 5), ("hold", PAID), ("area", 0)},
    ),
    "a hold that counts more than it keeps": (
        f"UPDATE hold SET quantity = 9 WHERE hold_id = {HOLD}",
        {("hold", HOLD)},
    ),
    "places of a hold that is over": (
        f"INSERT INTO hold_area VALUES (1, {OVER}, 0, 1)",
        {("hold", OVER)},
    ),
    "a counter that counts too few held": ("UPDATE area SET held = held - 1", {("area", 0)}),
    "a counter that counts too many sold": ("UPDATE area SET sold = sold + 1", {("area", 0)}),
    "more than the capacity": (
        "ALTER TABLE area DROP CONSTRAINT area_within_capacity; UPDATE area SET blocked = 46",
        {("area", 0)},
    ),
    "less than nothing blocked": (
        "ALTER TABLE area DROP CONSTRAINT area_counts_not_negative; UPDATE area SET blocked = -1",
        {("area", 0)},
    ),
    "an offer that is no hold": ("UPDATE waiting SET hold_id = 4711 WHERE wait_id = 1", {("waiting", 1)}),
    "an offer to somebody else": ("UPDATE waiting SET buyer = 'eve' WHERE wait_id = 1", {("waiting", 1)}),
    "an offer for another request": (
        "UPDATE waiting SET request_id = 'other' WHERE wait_id = 1",
        {("waiting", 1)},
    ),
    "a seat too few": ("DELETE FROM seat WHERE seat_no = 99", {("plan", 100)}),
    "a seat the plan has not": ("INSERT INTO seat VALUES (1, 100, 'available', NULL)", {("plan", 100)}),
    "another seat in the place of one": ("UPDATE seat SET seat_no = 100 WHERE seat_no = 99", {("plan", 100)}),
    "a capacity that is not the plan's": ("UPDATE area SET capacity = 60", {("plan", 1)}),
    "an area too many": ("INSERT INTO area VALUES (1, 1, 10)", {("plan", 1)}),
}


@pytest.mark.parametrize(("hand", "found"), list(WRONG.values()), ids=list(WRONG))
def test_what_does_not_add_up_is_told_and_left_alone(new_database, hand, found):
    with psycopg.connect(new_database(), autocommit=True) as conn:
        event = make(conn)
        assert event == 1
        for statement in hand.split("; "):
            conn.execute(statement)
        before = everything(conn)
        told = mismatches(conn, event, CAPACITY)
        assert {(one.what, one.number) for one in told} == found
        assert all(one.story for one in told)
        assert everything(conn) == before


def test_another_events_rows_do_not_matter(conn, event):
    other = events.create_event(conn, "gig-2", "Again", save_venue(conn, "arena", PLAN), PLAN)
    conn.execute("UPDATE area SET held = 9 WHERE event_id = %s", (event,))
    conn.execute("DELETE FROM hold_seat WHERE event_id = %s", (event,))
    assert mismatches(conn, other, CAPACITY) == []
    assert mismatches(conn, event, CAPACITY) != []


def test_many_rows_are_told_up_to_a_bound(conn, event):
    conn.execute("INSERT INTO hold_seat SELECT %s, 1000 + n, 77 FROM generate_series(1, 300) AS n", (event,))
    told = mismatches(conn, event, CAPACITY)
    assert len([one for one in told if one.what == "seat"]) == 100


def test_all_is_read_of_one_moment(conn, event):
    """What somebody changes between two of its statements is for the next time."""

    class Interrupted(psycopg.Connection):
        def execute(self, query, *args, **kwargs):
            if query == invariant.HOLDS:
                conn.execute("UPDATE hold SET quantity = 9 WHERE hold_id = %s", (HOLD,))
            return super().execute(query, *args, **kwargs)

    with Interrupted.connect(conn.info.dsn, password=conn.info.password, autocommit=True) as own:
        assert mismatches(own, event, CAPACITY) == []
    assert {(one.what, one.number) for one in mismatches(conn, event, CAPACITY)} == {("hold", HOLD)}


def test_it_reads_and_only_reads(conn, event):
    """Nobody is made to wait for it, and it waits for nobody."""
    with psycopg.connect(conn.info.dsn, password=conn.info.password) as other:
        other.execute("SELECT 1 FROM seat, area, hold FOR UPDATE")
        assert mismatches(conn, event, CAPACITY) == []
