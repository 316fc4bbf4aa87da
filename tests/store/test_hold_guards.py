"""What only contradicting or neighbouring rows show: each condition of a holder's change stands alone."""

from __future__ import annotations

import psycopg
import pytest

from store import events, holds
from store.errors import NotFound
from store.venues.rows import save_venue
from store.words import EventState, HoldState
from tests.allocator.waiting import held_up, is_free
from tests.store.test_holds import HOLD, NUMBERS, PLAN, change, everything, hold

OTHER = HOLD + 1


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def event(conn):
    number = events.create_event(conn, "gig", "The gig", save_venue(conn, "arena", PLAN), PLAN)
    events.set_state(conn, "gig", EventState.OPEN)
    conn.execute("DELETE FROM fact")
    return number


@pytest.mark.parametrize(("write", "state"), [(holds.confirm, "paid"), (holds.release, "released")])
def test_one_of_a_buyers_holds_is_changed_and_the_others_are_not(conn, event, write, state):
    hold(conn, event)
    hold(conn, event, hold_id=OTHER, seats=(5,), places=3)
    change(conn, write, event)
    after = everything(conn)
    assert after["hold"] == [(state,), ("active",)]
    assert (5, "held", OTHER) in after["seats"]
    assert (OTHER, 3) in after["hold_area"]
    assert after["area"] == [(3, 2 if state == "paid" else 0)]
    change(conn, write, event, hold_id=OTHER)
    assert everything(conn)["area"] == [(0, 5 if state == "paid" else 0)]


@pytest.mark.parametrize("write", [holds.confirm, holds.release])
def test_a_hold_of_another_event_looks_like_none(conn, event, write):
    hold(conn, event)
    other = events.create_event(conn, "gig-2", "Again", save_venue(conn, "arena", PLAN), PLAN)
    before = everything(conn)
    with pytest.raises(NotFound):
        change(conn, write, other)
    assert everything(conn) == before


@pytest.mark.parametrize("write", [holds.confirm, holds.release])
@pytest.mark.parametrize(
    "contradiction",
    [f"SET state = 'sold', hold_id = {HOLD}", f"SET state = 'held', hold_id = {OTHER}"],
    ids=["sold", "another's"],
)
def test_a_seat_that_is_not_held_by_the_hold_does_not_count(conn, event, write, contradiction):
    hold(conn, event)
    conn.execute(f"UPDATE seat {contradiction} WHERE seat_no = 3")
    before = everything(conn)
    with pytest.raises(AssertionError, match="counts 4 but 3"):
        change(conn, write, event)
    assert everything(conn) == before


@pytest.mark.parametrize("write", [holds.confirm, holds.release])
@pytest.mark.parametrize("numbers", [NUMBERS, None], ids=["by key", "among all"])
def test_a_seat_that_another_hold_keeps_does_not_count(conn, event, write, numbers):
    hold(conn, event)
    conn.execute("UPDATE hold_seat SET hold_id = %s WHERE seat_no = 3", [OTHER])
    before = everything(conn)
    with pytest.raises(AssertionError, match="counts 4 but 3"):
        change(conn, write, event, numbers=numbers)
    assert everything(conn) == before


# the order of locks: somebody has one, and what comes after it must be free


both = pytest.mark.parametrize(
    ("write", "state"), [(holds.confirm, HoldState.PAID), (holds.release, HoldState.RELEASED)]
)


def locking(rows):
    return f"SELECT 1 {rows} FOR UPDATE"


@both
def test_the_hold_is_locked_before_its_seats_and_places(conn, event, database_url, write, state):
    hold(conn, event)
    answers = []
    with held_up(
        database_url, locking("FROM hold"), lambda: answers.append(change(conn, write, event))
    ) as other:
        for number in (3, 4):
            assert is_free(other, f"FROM seat WHERE seat_no = {number}")
        assert is_free(other, "FROM area")
    assert answers == [state]


@both
def test_a_holds_seats_are_locked_by_number_and_before_its_places(conn, event, database_url, write, state):
    hold(conn, event)
    answers = []
    with held_up(
        database_url,
        locking("FROM seat WHERE seat_no = 3"),
        lambda: answers.append(change(conn, write, event)),
    ) as other:
        assert is_free(other, "FROM seat WHERE seat_no = 4")
        assert is_free(other, "FROM area")
    assert answers == [state]


def resume(database_url):
    with psycopg.connect(database_url, autocommit=True) as own:
        events.set_state(own, "gig", EventState.OPEN)


def test_resuming_locks_the_cursor_before_holds(conn, event, database_url):
    hold(conn, event)
    events.set_state(conn, "gig", EventState.PAUSED)
    with held_up(database_url, locking("FROM event_cursor"), lambda: resume(database_url)) as other:
        assert is_free(other, "FROM hold")
    assert events.get_event(conn, "gig").state is EventState.OPEN


def test_resuming_locks_holds_by_number(conn, event, database_url):
    hold(conn, event)
    hold(conn, event, hold_id=OTHER, seats=(5,), places=0)
    events.set_state(conn, "gig", EventState.PAUSED)
    first = f"FROM hold WHERE hold_id = {HOLD}"
    with held_up(database_url, locking(first), lambda: resume(database_url)) as other:
        assert is_free(other, f"FROM hold WHERE hold_id = {OTHER}")
    assert events.get_event(conn, "gig").state is EventState.OPEN
