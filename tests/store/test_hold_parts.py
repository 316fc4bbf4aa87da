"""Giving some of a hold back: what is named is freed, once, and the rest stays held until the same end."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from typing import Any

import psycopg
import pytest

from store import events, hold_parts, holds
from store.errors import Conflicted, NotFound
from store.venues.rows import save_venue
from store.words import EventState, HoldState
from tests.allocator.waiting import held_up, is_free
from tests.store.test_hold_extend import ends_us
from tests.store.test_holds import HOLD, NUMBERS, PLAN, change, everything, hold, url_of

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


def give_back(conn, event, seats=(), places=0, *, buyer="ann", hold_id=HOLD, of=None):
    areas = {0: places} if places else {}

    async def run(own, event_id, hold_id, buyer, _):
        named = (list(seats), areas)
        return await hold_parts.release_some(own, event_id, hold_id, buyer, NUMBERS, *named, of=of)

    return change(conn, run, event, buyer, hold_id)


def quantities(conn):
    return conn.execute("SELECT quantity FROM hold ORDER BY hold_id").fetchall()


def test_what_is_named_is_freed_and_the_rest_stays_held_until_the_same_end(conn, event):
    hold(conn, event)
    ends = ends_us(conn)
    now = give_back(conn, event, (3,), 1)
    assert (now.state, now.expires_at, now.seats, now.areas) == (HoldState.ACTIVE, ends, (4,), ((0, 1),))
    assert everything(conn) == {
        "hold": [("active",)],
        "seats": [(4, "held", HOLD)],
        "hold_seat": [(4, HOLD)],
        "area": [(1, 0)],
        "hold_area": [(HOLD, 1)],
        "facts": [("released", HOLD)],
        "history": [(3, "available", HOLD, "buyer")],
    }
    assert quantities(conn) == [(2,)]
    assert conn.execute("SELECT body FROM fact").fetchall() == [({"seats": [3], "areas": [[0, 1]]},)]


def test_all_places_or_all_seats_of_a_hold_can_go_while_the_others_stay(conn, event):
    hold(conn, event)
    assert give_back(conn, event, (), 2).areas == ()
    assert everything(conn)["hold_area"] == []
    assert everything(conn)["area"] == [(0, 0)]
    hold(conn, event, hold_id=OTHER, seats=(5, 6))
    assert give_back(conn, event, (6, 5), hold_id=OTHER).seats == ()
    assert everything(conn)["hold_seat"] == [(3, HOLD), (4, HOLD)]
    assert quantities(conn) == [(2,), (2,)]


def test_naming_all_there_is_gives_the_hold_back_as_ever(conn, event):
    hold(conn, event)
    assert give_back(conn, event, (4, 3), 2).state is HoldState.RELEASED
    assert everything(conn)["hold"] == [("released",)]
    assert everything(conn)["area"] == [(0, 0)]
    assert conn.execute("SELECT kind, body FROM fact").fetchall() == [("released", None)]
    before = everything(conn)
    assert give_back(conn, event, (4, 3), 2).state is HoldState.RELEASED
    assert everything(conn) == before


def test_what_stays_can_be_bought(conn, event):
    hold(conn, event)
    give_back(conn, event, (3,), 1)
    assert change(conn, holds.confirm, event) is HoldState.PAID
    assert everything(conn)["seats"] == [(4, "sold", HOLD)]
    assert everything(conn)["area"] == [(0, 1)]


@pytest.mark.parametrize(
    ("seats", "places"),
    [((5,), 0), ((3, 5), 0), ((3, 3), 0), ((9,), 0), ((), 3), ((3,), 3), ((3, 4, 5), 1), ((3, 5), 2)],
    ids=str,
)
def test_what_a_hold_has_not_cannot_be_given_back_nor_anything_with_it(conn, event, seats, places):
    hold(conn, event)
    hold(conn, event, hold_id=OTHER, seats=(5,), places=4)
    before = (everything(conn), quantities(conn))
    with pytest.raises(Conflicted) as refusal:
        give_back(conn, event, seats, places)
    assert refusal.value.code == "not_in_hold"
    assert (everything(conn), quantities(conn)) == before


@pytest.mark.parametrize(("buyer", "hold_id"), [("bob", HOLD), ("ann", HOLD + 9)])
def test_somebody_elses_hold_looks_like_none(conn, event, buyer, hold_id):
    hold(conn, event)
    before = everything(conn)
    with pytest.raises(NotFound) as refusal:
        give_back(conn, event, (3,), buyer=buyer, hold_id=hold_id)
    assert refusal.value.code == "hold_not_found"
    assert everything(conn) == before


def test_the_statement_itself_leaves_fewer_only_for_the_holder(conn, event):
    hold(conn, event)
    values = {"event": event, "hold": HOLD, "buyer": "bob", "count": 1, "of": None}
    assert conn.execute(hold_parts.KEEP_FEWER, values).fetchall() == []
    assert conn.execute(hold_parts.KEEP_FEWER, values | {"buyer": "ann"}).fetchall() == [(3,)]


def test_an_order_is_not_given_back_and_what_is_over_is_told(conn, event):
    hold(conn, event)
    change(conn, holds.confirm, event)
    with pytest.raises(Conflicted) as refusal:
        give_back(conn, event, (3,))
    assert refusal.value.code == "hold_paid"
    hold(conn, event, hold_id=OTHER, seats=(5, 6))
    conn.execute("UPDATE hold SET state = 'expired' WHERE hold_id = %s", [OTHER])
    assert give_back(conn, event, (5,), hold_id=OTHER).state is HoldState.EXPIRED


def test_what_a_repeated_call_is_told_is_of_one_moment(conn, event, monkeypatch):
    """Not that the hold is active and then, given away meanwhile, that it has nothing."""
    hold(conn, event)
    give_back(conn, event, (3,), of=4)
    look, locked = holds.look, []

    async def looked(own, values):
        now = await look(own, values)
        locked.append(not is_free(conn, "FROM hold"))
        return now

    monkeypatch.setattr(holds, "look", looked)
    assert give_back(conn, event, (3,), of=4).seats == (4,)
    assert locked == [True]


def test_a_repeated_call_that_says_of_how_many_gives_back_once(conn, event):
    hold(conn, event, places=3)
    first = give_back(conn, event, (), 1, of=5)
    assert give_back(conn, event, (), 1, of=5) == first
    assert first.areas == ((0, 2),)
    assert everything(conn)["area"] == [(2, 0)]
    assert give_back(conn, event, (3, 4), 2, of=5) == first, "nor is the hold given back whole"


def test_of_another_hold_and_another_event_nothing_is_freed(conn, event):
    hold(conn, event)
    hold(conn, event, hold_id=OTHER, seats=(5,), places=3)
    twin = events.create_event(conn, "gig-2", "Again", save_venue(conn, "arena", PLAN), PLAN)
    hold(conn, twin)
    conn.execute("UPDATE hold_area SET quantity = 2 WHERE event_id = %s", [twin])
    conn.execute("UPDATE area SET held = 2 WHERE event_id = %s", [twin])
    conn.execute("UPDATE area SET held = 5 WHERE event_id = %s", [event])
    give_back(conn, event, (3,), 1)
    tables = "SELECT event_id, hold_id, quantity FROM {} ORDER BY 1, 2"
    assert conn.execute(tables.format("hold")).fetchall() == [
        (event, HOLD, 2), (event, OTHER, 4), (twin, HOLD, 4),
    ]  # fmt: skip
    assert conn.execute(tables.format("hold_area")).fetchall() == [
        (event, HOLD, 1), (event, OTHER, 3), (twin, HOLD, 2),
    ]  # fmt: skip
    assert conn.execute("SELECT event_id, held FROM area ORDER BY 1").fetchall() == [(event, 4), (twin, 2)]
    give_back(conn, event, (), 1)
    assert conn.execute(tables.format("hold_area")).fetchall() == [(event, OTHER, 3), (twin, HOLD, 2)]


def test_payments_and_parts_given_back_at_once_leave_each_seat_and_place_accounted_for(conn, event):
    hold(conn, event, seats=(3, 4, 5), places=3)

    async def run():
        async with contextlib.AsyncExitStack() as stack:
            calls: list[functools.partial[Any]] = []
            for seat in (3, 4, 5, None):
                own = await psycopg.AsyncConnection.connect(url_of(conn), autocommit=True)
                await stack.enter_async_context(own)
                if seat is None:
                    calls.append(functools.partial(holds.confirm, own, event, HOLD, "ann", NUMBERS))
                else:
                    part = (NUMBERS, [seat], {0: 1})
                    calls.append(functools.partial(hold_parts.release_some, own, event, HOLD, "ann", *part))
            return await asyncio.gather(*(call() for call in calls), return_exceptions=True)

    answers = asyncio.run(run())
    assert all(not isinstance(answer, BaseException) or isinstance(answer, Conflicted) for answer in answers)
    after = everything(conn)
    freed = sum(1 for kind, _ in after["facts"] if kind == "released")
    states = [state for _, state, _ in after["seats"]]
    held, sold = after["area"][0]
    assert len(states) == len(after["hold_seat"]) == held + sold == 3 - freed
    assert set(states) <= ({"sold"} if after["hold"] == [("paid",)] else {"held"})


def test_a_hold_is_locked_before_what_it_gives_back(conn, event, database_url):
    hold(conn, event)
    lock = "SELECT 1 FROM hold FOR UPDATE"
    with held_up(database_url, lock, lambda: give_back(conn, event, (3,), 1)) as other:
        assert is_free(other, "FROM seat WHERE seat_no = 3")
        assert is_free(other, "FROM area")
    with held_up(
        database_url, "SELECT 1 FROM seat WHERE seat_no = 4 FOR UPDATE", lambda: give_back(conn, event, (4,))
    ) as other:
        assert is_free(other, "FROM area")
