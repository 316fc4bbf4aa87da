"""Release and confirm: only by the holder, only while it runs, once, and never half."""

from __future__ import annotations

import asyncio
import contextlib
import functools

import psycopg
import pytest

from store import events, holds, outbox
from store.errors import Conflicted, NotFound, Unavailable
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState, HoldState

HOLD = 1 << 16
RUN_OUT = -1.0
PLAN = make("arena", 100, standing=50)
NUMBERS = {seat.guid: no for no, seat in enumerate(PLAN.seats)}


GIVE_HOLD = """
INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at)
VALUES (%(event)s, %(hold)s, %(buyer)s, 'r1', %(quantity)s,
        clock_timestamp() + make_interval(secs => %(seconds)s));
UPDATE seat SET state = 'held', hold_id = %(hold)s
 WHERE event_id = %(event)s AND seat_no = ANY (%(seats)s);
INSERT INTO hold_seat SELECT %(event)s, unnest(%(seats)s::int[]), %(hold)s;
INSERT INTO ledger (event_id, batch_no, position, kind, arrival, buyer, request_id, input, outcome, result)
VALUES (%(event)s, %(hold)s::bigint >> 16, %(hold)s::bigint & 65535, 'request', '1-1', %(buyer)s,
        %(hold)s::text, '{}', 'held', %(result)s)
"""


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


def hold(conn, event, *, hold_id=HOLD, buyer="ann", seats=(3, 4), places=2, seconds=60.0):
    """What an allocator writes when it gives a hold."""
    values = {"event": event, "hold": hold_id, "buyer": buyer, "seats": list(seats), "seconds": seconds}
    values["places"], values["quantity"] = places, len(seats) + places
    guids = ",".join(f'"{PLAN.seats[no].guid}"' for no in seats)
    values["result"] = f'{{"hold":"{hold_id}","seats":[{guids}]}}'
    for statement in GIVE_HOLD.split(";"):
        conn.execute(statement, values)
    if places:
        conn.execute("INSERT INTO hold_area VALUES (%(event)s, %(hold)s, 0, %(places)s)", values)
        conn.execute("UPDATE area SET held = held + %(places)s WHERE event_id = %(event)s", values)


def url_of(conn):
    return psycopg.conninfo.make_conninfo(conn.info.dsn, password=conn.info.password)


def change(conn, write, event, buyer="ann", hold_id=HOLD, numbers=NUMBERS):
    async def run():
        async with await psycopg.AsyncConnection.connect(url_of(conn), autocommit=True) as own:
            return await write(own, event, hold_id, buyer, numbers)

    return asyncio.run(run())


def everything(conn):
    """All that a change of a hold may touch."""
    return {
        "hold": conn.execute("SELECT state FROM hold ORDER BY hold_id").fetchall(),
        "seats": conn.execute(
            "SELECT seat_no, state, hold_id FROM seat WHERE state <> 'available' ORDER BY 1"
        ).fetchall(),
        "hold_seat": conn.execute("SELECT seat_no, hold_id FROM hold_seat ORDER BY 1").fetchall(),
        "area": conn.execute("SELECT held, sold FROM area").fetchall(),
        "hold_area": conn.execute("SELECT hold_id, quantity FROM hold_area ORDER BY 1").fetchall(),
        "facts": conn.execute("SELECT kind, hold_id FROM fact ORDER BY id").fetchall(),
        "history": conn.execute(
            "SELECT seat_no, state, hold_id, by FROM seat_history ORDER BY 1, 2"
        ).fetchall(),
    }


@pytest.mark.parametrize("numbers", [NUMBERS, None])
def test_a_confirmed_hold_is_an_order(conn, event, numbers):
    hold(conn, event)
    assert change(conn, holds.confirm, event, numbers=numbers) is HoldState.PAID
    assert everything(conn) == {
        "hold": [("paid",)],
        "seats": [(3, "sold", HOLD), (4, "sold", HOLD)],
        "hold_seat": [(3, HOLD), (4, HOLD)],
        "area": [(0, 2)],
        "hold_area": [(HOLD, 2)],
        "facts": [("paid", HOLD)],
        "history": [(3, "sold", HOLD, "buyer"), (4, "sold", HOLD, "buyer")],
    }


def test_what_is_paid_for_is_not_confirmed_unless_it_costs_nothing(conn, event):
    hold(conn, event)
    conn.execute("UPDATE event SET payment = 'required'")
    before = everything(conn)
    with pytest.raises(Conflicted) as refused:
        change(conn, holds.confirm, event)
    assert refused.value.code == "payment_required"
    assert everything(conn) == before
    assert change(conn, functools.partial(holds.confirm, free=True), event) is HoldState.PAID


@pytest.mark.parametrize("numbers", [NUMBERS, None])
def test_an_order_is_told_to_the_world_in_its_transaction(conn, event, numbers):
    hold(conn, event)
    change(conn, holds.confirm, event, numbers=numbers)
    change(conn, holds.confirm, event, numbers=numbers)
    told = [
        (
            outbox.Told.ORDER_PAID,
            {"order": str(HOLD), "buyer": "ann", "kind": "buyer", "seats": [3, 4], "areas": [[0, 2]]},
        )
    ]
    assert conn.execute("SELECT kind, body FROM outbox").fetchall() == told


@pytest.mark.parametrize("numbers", [NUMBERS, None])
def test_a_released_hold_frees_all_it_had(conn, event, numbers):
    hold(conn, event)
    hold(conn, event, hold_id=HOLD + 1, seats=(5,), places=0)
    assert change(conn, holds.release, event, numbers=numbers) is HoldState.RELEASED
    assert everything(conn) == {
        "hold": [("released",), ("active",)],
        "seats": [(5, "held", HOLD + 1)],
        "hold_seat": [(5, HOLD + 1)],
        "area": [(0, 0)],
        "hold_area": [],
        "facts": [("released", HOLD)],
        "history": [(3, "available", HOLD, "buyer"), (4, "available", HOLD, "buyer")],
    }


@pytest.mark.parametrize("write", [holds.confirm, holds.release])
def test_asking_again_gives_the_same_answer_and_changes_nothing(conn, event, write):
    hold(conn, event)
    first = change(conn, write, event)
    before = everything(conn)
    assert change(conn, write, event) is first
    assert everything(conn) == before


@pytest.mark.parametrize("write", [holds.confirm, holds.release])
@pytest.mark.parametrize(("buyer", "hold_id"), [("bob", HOLD), ("ann", HOLD + 9)])
def test_somebody_elses_hold_looks_like_none(conn, event, write, buyer, hold_id):
    hold(conn, event)
    before = everything(conn)
    with pytest.raises(NotFound) as refusal:
        change(conn, write, event, buyer, hold_id)
    assert refusal.value.code == "hold_not_found"
    assert everything(conn) == before


def test_a_hold_that_ran_out_cannot_be_bought_and_can_still_be_given_back(conn, event):
    hold(conn, event, seconds=RUN_OUT)
    before = everything(conn)
    with pytest.raises(Conflicted) as refusal:
        change(conn, holds.confirm, event)
    assert refusal.value.code == "hold_expired"
    assert everything(conn) == before
    assert change(conn, holds.release, event) is HoldState.RELEASED


def test_a_hold_the_allocator_ended_is_over_for_both(conn, event):
    hold(conn, event)
    conn.execute("UPDATE hold SET state = 'expired'")
    with pytest.raises(Conflicted):
        change(conn, holds.confirm, event)
    assert change(conn, holds.release, event) is HoldState.EXPIRED


def test_an_order_is_not_released_and_a_released_hold_not_bought(conn, event):
    hold(conn, event)
    hold(conn, event, hold_id=HOLD + 1, seats=(5,))
    change(conn, holds.confirm, event)
    with pytest.raises(Conflicted) as refusal:
        change(conn, holds.release, event)
    assert refusal.value.code == "hold_paid"
    change(conn, holds.release, event, hold_id=HOLD + 1)
    with pytest.raises(Conflicted) as refusal:
        change(conn, holds.confirm, event, hold_id=HOLD + 1)
    assert refusal.value.code == "hold_released"


@pytest.mark.parametrize(("seconds", "ran_at_the_pause"), [(-1.0, True), (-10.0, False)])
def test_while_paused_a_hold_runs_by_the_moment_of_the_pause(conn, event, seconds, ran_at_the_pause):
    events.set_state(conn, "gig", EventState.PAUSED)
    conn.execute("UPDATE event SET paused_at = clock_timestamp() - interval '5 s'")
    hold(conn, event, seconds=seconds)
    if ran_at_the_pause:
        assert change(conn, holds.confirm, event) is HoldState.PAID
    else:
        with pytest.raises(Conflicted):
            change(conn, holds.confirm, event)


@pytest.mark.parametrize("write", [holds.confirm, holds.release])
def test_a_hold_whose_seats_do_not_add_up_is_left_alone_and_alarms(conn, event, write):
    hold(conn, event)
    conn.execute("UPDATE seat SET state = 'blocked', hold_id = NULL WHERE seat_no = 3")
    before = everything(conn)
    with pytest.raises(AssertionError, match="counts 4 but 3"):
        change(conn, write, event)
    assert everything(conn) == before


def test_one_of_many_at_once_decides_and_the_seats_change_once(conn, event):
    hold(conn, event)

    async def run():
        async with contextlib.AsyncExitStack() as stack:
            calls = []
            for write in [holds.confirm, holds.release] * 4:
                own = await psycopg.AsyncConnection.connect(url_of(conn), autocommit=True)
                await stack.enter_async_context(own)
                calls.append(functools.partial(write, own, event, HOLD, "ann", NUMBERS))
            return await asyncio.gather(*(call() for call in calls), return_exceptions=True)

    answers = asyncio.run(run())
    states = {answer for answer in answers if isinstance(answer, HoldState)}
    assert len(states) == 1
    assert all(isinstance(answer, (HoldState, Conflicted)) for answer in answers)
    assert len(everything(conn)["facts"]) == 1
    assert len(everything(conn)["history"]) == 2


def test_a_lock_held_for_long_is_waited_for_a_bounded_time(conn, event, monkeypatch):
    monkeypatch.setattr(holds, "LOCK_WAIT_MS_MAX", 20)
    hold(conn, event)
    with psycopg.connect(url_of(conn)) as other:
        other.execute("SELECT 1 FROM seat WHERE seat_no = 3 FOR UPDATE")
        with pytest.raises(Unavailable):
            change(conn, holds.confirm, event)
    assert everything(conn)["hold"] == [("active",)]


def test_seats_are_found_by_key_where_the_plan_is_known(conn, event):
    with conn.transaction():
        conn.execute("SET LOCAL enable_seqscan = off")  # which a table of six seats would rather have
        plan = conn.execute(
            "EXPLAIN (FORMAT TEXT) " + holds.LOCK_SEATS.format(among=holds.AMONG),
            {"event": event, "hold": HOLD, "among": [3, 4]},
        ).fetchall()
    by_number = [line for (line,) in plan if "Index Cond" in line and "seat_no = ANY" in line]
    assert len(by_number) == 2, plan
