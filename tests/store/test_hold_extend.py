"""Extending a hold: as the organiser allows, from the end its holder knows, once however often asked."""

from __future__ import annotations

import asyncio
import contextlib
import functools

import psycopg
import pytest

from store import events, holds
from store.errors import BadRequest, Conflicted, NotFound
from store.holds import HoldNow
from store.venues.rows import save_venue
from store.words import EventState, HoldState
from tests.store.test_holds import HOLD, PLAN, RUN_OUT, change, everything, hold, url_of

OTHER = HOLD + 1
BY_US = 120 * 1_000_000


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


def ends_us(conn, hold_id=HOLD, event=None):
    ends = "SELECT (extract(epoch FROM expires_at) * 1000000)::bigint FROM hold WHERE hold_id = %s"
    return conn.execute(ends + (f" AND event_id = {event}" if event else ""), [hold_id]).fetchone()[0]


def extend(conn, event, buyer="ann", hold_id=HOLD, *, ends=None, times=1) -> HoldNow:
    known = ends_us(conn, hold_id) // 1000 if ends is None else ends

    async def run(own, event_id, hold_id, buyer, _):
        return await holds.extend(own, event_id, hold_id, buyer, known, times=times)

    changed: HoldNow = change(conn, run, event, buyer, hold_id)
    return changed


def facts(conn):
    return conn.execute("SELECT kind, hold_id, body FROM fact ORDER BY id").fetchall()


@pytest.mark.parametrize("times", [1, 2])
def test_an_extended_hold_ends_later_and_the_allocator_is_told_by_how_much(conn, event, times):
    hold(conn, event)
    before = ends_us(conn)
    now = extend(conn, event, times=times)
    assert (now.state, now.expires_at, now.extensions_left) == (
        HoldState.ACTIVE, before + times * BY_US, 0,
    )  # fmt: skip
    assert ends_us(conn) == now.expires_at
    assert facts(conn) == [("extended", HOLD, {"by_us": times * BY_US})]


def test_a_repeated_call_extends_once_and_is_answered_with_the_hold_as_it_is(conn, event):
    events.set_policy(conn, "gig", extensions_max=5)
    conn.execute("DELETE FROM fact")
    hold(conn, event)
    known = ends_us(conn) // 1000
    first = extend(conn, event, ends=known)
    assert extend(conn, event, ends=known) == first
    assert len(facts(conn)) == 1
    assert extend(conn, event).expires_at == first.expires_at + BY_US


def test_of_many_equal_calls_at_once_one_extends(conn, event):
    events.set_policy(conn, "gig", extensions_max=20)
    conn.execute("DELETE FROM fact")
    hold(conn, event)
    before = ends_us(conn)

    async def run():
        async with contextlib.AsyncExitStack() as stack:
            calls = []
            for _ in range(6):
                own = await psycopg.AsyncConnection.connect(url_of(conn), autocommit=True)
                await stack.enter_async_context(own)
                calls.append(functools.partial(holds.extend, own, event, HOLD, "ann", before // 1000))
            return await asyncio.gather(*(call() for call in calls))

    assert {now.expires_at for now in asyncio.run(run())} == {before + BY_US}
    assert len(facts(conn)) == 1


@pytest.mark.parametrize("most", [0, 1, 3])
def test_a_hold_is_extended_as_often_as_the_organiser_allows(conn, event, most):
    events.set_policy(conn, "gig", extensions_max=most, extension_seconds=7)
    hold(conn, event)
    before = ends_us(conn)
    for _ in range(most):
        extend(conn, event)
    with pytest.raises(Conflicted) as refusal:
        extend(conn, event)
    assert refusal.value.code == "no_extensions_left"
    assert ends_us(conn) == before + most * 7_000_000


@pytest.mark.parametrize(("buyer", "hold_id"), [("bob", HOLD), ("ann", HOLD + 9)])
def test_somebody_elses_hold_looks_like_none(conn, event, buyer, hold_id):
    hold(conn, event)
    before, ends = everything(conn), ends_us(conn)
    with pytest.raises(NotFound) as refusal:
        extend(conn, event, buyer, hold_id, ends=ends // 1000)
    assert refusal.value.code == "hold_not_found"
    assert (everything(conn), ends_us(conn)) == (before, ends)


def test_the_statement_itself_extends_only_for_the_holder(conn, event):
    hold(conn, event)
    values = {"event": event, "hold": HOLD, "buyer": "bob", "ends": ends_us(conn) // 1000, "times": 1}
    assert conn.execute(holds.EXTEND, values).fetchall() == []
    assert len(conn.execute(holds.EXTEND, values | {"buyer": "ann"}).fetchall()) == 1


def test_a_hold_of_another_event_and_a_buyers_other_holds_stay_as_they_are(conn, event):
    hold(conn, event)
    hold(conn, event, hold_id=OTHER, seats=(5,), places=0)
    conn.execute("UPDATE hold SET expires_at = (SELECT max(expires_at) FROM hold)")
    twin = events.create_event(conn, "gig-2", "Again", save_venue(conn, "arena", PLAN), PLAN)
    conn.execute(
        "INSERT INTO hold SELECT %s, hold_id, buyer, request_id, state, quantity, expires_at FROM hold"
        " WHERE hold_id = %s", (twin, HOLD)
    )  # fmt: skip
    conn.execute("DELETE FROM fact")
    before = ends_us(conn, OTHER)
    extend(conn, event, ends=before // 1000)
    assert (ends_us(conn, HOLD, event), ends_us(conn, OTHER), ends_us(conn, HOLD, twin)) == (
        before + BY_US, before, before,
    )  # fmt: skip
    assert facts(conn) == [("extended", HOLD, {"by_us": BY_US})]


def test_a_hold_that_ran_out_is_not_extended(conn, event):
    hold(conn, event, seconds=RUN_OUT)
    with pytest.raises(Conflicted) as refusal:
        extend(conn, event)
    assert refusal.value.code == "hold_expired"
    assert facts(conn) == []


@pytest.mark.parametrize(("seconds", "ran_at_the_pause"), [(-1.0, True), (-10.0, False)])
def test_while_paused_a_hold_that_ran_at_the_pause_is_extended(conn, event, seconds, ran_at_the_pause):
    events.set_state(conn, "gig", EventState.PAUSED)
    conn.execute("UPDATE event SET paused_at = clock_timestamp() - interval '5 s'")
    conn.execute("DELETE FROM fact")
    hold(conn, event, seconds=seconds)
    if ran_at_the_pause:
        extend(conn, event)
        assert len(facts(conn)) == 1
    else:
        with pytest.raises(Conflicted):
            extend(conn, event)


@pytest.mark.parametrize(
    ("state", "code"),
    [("paid", "hold_paid"), ("released", "hold_released"), ("expired", "hold_expired")],
)
def test_a_hold_that_is_over_is_not_extended(conn, event, state, code):
    hold(conn, event)
    paid = "clock_timestamp()" if state == "paid" else "NULL"
    conn.execute(f"UPDATE hold SET state = '{state}', paid_at = {paid}")
    before = ends_us(conn)
    with pytest.raises(Conflicted) as refusal:
        extend(conn, event)
    assert refusal.value.code == code
    assert (ends_us(conn), facts(conn)) == (before, [])


@pytest.mark.parametrize(
    "policy",
    [{"extensions_max": -1}, {"extensions_max": 21}, {"extension_seconds": 0}, {"extension_seconds": 3601}],
)
def test_what_an_organiser_may_allow_has_bounds(conn, event, policy):
    with pytest.raises(BadRequest, match=next(iter(policy))):
        events.set_policy(conn, "gig", **policy)
    with pytest.raises(BadRequest, match=next(iter(policy))):
        events.create_event(conn, "gig-3", "Gig", save_venue(conn, "arena", PLAN), PLAN, **policy)


def test_what_an_organiser_allows_is_no_fact_for_the_allocator(conn, event):
    changed = events.set_policy(conn, "gig", extensions_max=4, extension_seconds=30)
    assert (changed.extensions_max, changed.extension_seconds) == (4, 30)
    assert facts(conn) == []
