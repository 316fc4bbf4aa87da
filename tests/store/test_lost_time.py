"""Time in which nobody attended to an event: given back to holds that ran, to the microsecond, and once."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import msgspec
import psycopg
import pytest

from store import events, holds, lost_time
from store.errors import Conflicted
from store.venues.rows import save_venue
from store.words import EventState, HoldState, Outage
from tests.store.test_events import add_hold, expiries
from tests.store.test_holds import HOLD, PLAN, change, hold, url_of

OUT_SECONDS = 40.0


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def event(conn):
    return make_event(conn, "gig")


def make_event(conn, slug):
    number = events.create_event(conn, slug, "The gig", save_venue(conn, "arena", PLAN), PLAN)
    events.set_state(conn, slug, EventState.OPEN)
    conn.execute("DELETE FROM fact")
    return number


def unattended(conn, seconds):
    """The last signs of life of all events are so long ago."""
    since = f"clock_timestamp() - interval '{seconds} seconds'"
    conn.execute(f"UPDATE event_cursor SET batch_time = {since}")
    conn.execute(f"UPDATE lease SET renewed_at = {since}, given_until = NULL")


def give(conn, event):
    """As who takes the event over does: what was given back is in microseconds."""
    with conn.transaction():
        if not lost_time.lock_outage(conn, event):
            return 0
        lost_us = lost_time.give_outage_back(conn, event)
        conn.execute("UPDATE lease SET renewed_at = clock_timestamp() WHERE event_id = %s", [event])
        return lost_us


def outages(conn):
    rows = conn.execute("SELECT body::text FROM fact WHERE kind = 'outage' ORDER BY id").fetchall()
    return [msgspec.json.decode(body, type=Outage) for (body,) in rows]


def seconds(micros):
    return pytest.approx(micros, abs=4)


def test_holds_that_ran_at_the_last_sign_of_life_get_exactly_the_time_since_and_once(conn, event):
    add_hold(conn, event, 1, expires_in_seconds=100)
    add_hold(conn, event, 2, expires_in_seconds=1 - OUT_SECONDS)  # ran out a second after the last sign
    add_hold(conn, event, 3, expires_in_seconds=-1 - OUT_SECONDS)  # and a second before
    add_hold(conn, event, 4, state="paid", expires_in_seconds=100)
    add_hold(conn, event, 5, state="released", expires_in_seconds=100)
    unattended(conn, OUT_SECONDS)
    before = expiries(conn)
    lost_us = give(conn, event)
    lost = timedelta(microseconds=lost_us)
    assert lost_us / 1e6 == seconds(OUT_SECONDS)
    assert expiries(conn) == before | {1: before[1] + lost, 2: before[2] + lost}
    assert [outage.lost_us for outage in outages(conn)] == [lost_us]
    assert give(conn, event) == 0
    assert expiries(conn)[1] == before[1] + lost
    assert len(outages(conn)) == 1


@pytest.mark.parametrize("sign", ["renewed_at", "given_until", "batch_time"])
def test_any_sign_of_life_within_the_threshold_is_no_outage(conn, event, sign):
    add_hold(conn, event, 1)
    unattended(conn, OUT_SECONDS)
    table = "event_cursor" if sign == "batch_time" else "lease"
    recently = f"clock_timestamp() - interval '{lost_time.OUTAGE_SECONDS - 3} seconds'"
    conn.execute(f"UPDATE {table} SET {sign} = {recently}")
    before = expiries(conn)
    assert give(conn, event) == 0
    assert expiries(conn) == before
    assert outages(conn) == []


def test_holds_of_another_event_keep_their_time(conn, event):
    other = make_event(conn, "other")
    add_hold(conn, event, 1)
    add_hold(conn, other, 2)
    unattended(conn, OUT_SECONDS)
    before = expiries(conn)[2]
    assert give(conn, event) > 0
    assert expiries(conn)[2] == before


def test_where_nothing_ran_nothing_is_said(conn, event):
    add_hold(conn, event, 1, expires_in_seconds=-2 * OUT_SECONDS)
    unattended(conn, OUT_SECONDS)
    assert give(conn, event) == 0
    assert outages(conn) == []


# with a pause


def pause(conn, seconds_ago):
    events.set_state(conn, "gig", EventState.PAUSED)
    since = f"clock_timestamp() - interval '{seconds_ago} seconds'"
    conn.execute(f"UPDATE event SET paused_at = {since} WHERE state = 'paused'")


def test_an_outage_within_a_pause_is_given_back_as_the_pause_alone(conn, event):
    add_hold(conn, event, 1)
    pause(conn, OUT_SECONDS + 10)
    unattended(conn, OUT_SECONDS)
    before = expiries(conn)[1]
    assert give(conn, event) == 0
    events.set_state(conn, "gig", EventState.OPEN)
    assert (expiries(conn)[1] - before).total_seconds() == seconds(OUT_SECONDS + 10)


def test_of_an_outage_that_a_pause_began_in_the_time_before_the_pause_is_given_back_and_the_pause_later(
    conn, event
):
    add_hold(conn, event, 1)
    pause(conn, 10)
    unattended(conn, OUT_SECONDS)
    before = expiries(conn)[1]
    assert give(conn, event) / 1e6 == seconds(OUT_SECONDS - 10)
    events.set_state(conn, "gig", EventState.OPEN)
    assert (expiries(conn)[1] - before).total_seconds() == seconds(OUT_SECONDS)


@pytest.mark.parametrize("to", [EventState.OPEN, EventState.CLOSED])
def test_a_pause_that_begins_and_ends_in_an_outage_is_given_back_once(conn, event, to):
    add_hold(conn, event, 1)
    add_hold(conn, event, 2, expires_in_seconds=-20)  # ran out in the outage, before the pause
    pause(conn, 10)
    unattended(conn, OUT_SECONDS)
    before = expiries(conn)
    events.set_state(conn, "gig", to)
    assert give(conn, event) == 0
    for one in (1, 2):
        assert (expiries(conn)[one] - before[one]).total_seconds() == seconds(OUT_SECONDS)
    facts = conn.execute("SELECT kind FROM fact ORDER BY id").fetchall()
    assert facts[-2:] == [("outage",), ("policy",)]


def test_an_outage_that_goes_on_after_a_pause_is_given_back_from_the_pauses_end(conn, event):
    add_hold(conn, event, 1)
    pause(conn, 10)
    unattended(conn, OUT_SECONDS)
    before = expiries(conn)[1]
    events.set_state(conn, "gig", EventState.OPEN)
    conn.execute("UPDATE lease SET given_until = clock_timestamp() - interval '20 seconds'")
    assert give(conn, event) / 1e6 == seconds(20)
    assert (expiries(conn)[1] - before).total_seconds() == seconds(OUT_SECONDS + 20)


# before it is given back


def extend(conn, event, ends_ms):
    async def run():
        async with await psycopg.AsyncConnection.connect(url_of(conn), autocommit=True) as own:
            return await holds.extend(own, event, HOLD, "ann", ends_ms)

    return asyncio.run(run())


def ends_ms(conn):
    return conn.execute("SELECT floor(extract(epoch FROM expires_at) * 1000)::bigint FROM hold").fetchone()[0]


def test_until_it_is_given_back_holders_can_pay_and_extend_what_ran_at_the_last_sign(conn, event):
    hold(conn, event, seconds=-1.0)
    unattended(conn, OUT_SECONDS)
    assert extend(conn, event, ends_ms(conn)).state is HoldState.ACTIVE
    conn.execute("UPDATE hold SET expires_at = clock_timestamp() - interval '1 s', extensions = 1")
    with pytest.raises(Conflicted) as refusal:
        extend(conn, event, ends_ms(conn))
    assert refusal.value.code == "no_extensions_left"
    assert change(conn, holds.confirm, event) is HoldState.PAID


@pytest.mark.parametrize(
    ("out_seconds", "ended_seconds_ago"),
    [(OUT_SECONDS, OUT_SECONDS + 1), (2.0, 1.0)],
    ids=["before", "short"],
)
def test_what_will_get_nothing_back_is_over(conn, event, out_seconds, ended_seconds_ago):
    hold(conn, event, seconds=-ended_seconds_ago)
    unattended(conn, out_seconds)
    with pytest.raises(Conflicted) as refusal:
        change(conn, holds.confirm, event)
    assert refusal.value.code == "hold_expired"
    with pytest.raises(Conflicted) as refusal:
        extend(conn, event, ends_ms(conn))
    assert refusal.value.code == "hold_expired"


def test_while_paused_in_an_outage_a_hold_that_ran_at_the_last_sign_can_be_paid(conn, event):
    pause(conn, 10)
    hold(conn, event, seconds=-20.0)
    unattended(conn, OUT_SECONDS)
    assert change(conn, holds.confirm, event) is HoldState.PAID


def test_a_pause_of_one_event_says_nothing_of_another(conn, event):
    other = make_event(conn, "other")
    add_hold(conn, other, 2)
    pause(conn, 10)
    unattended(conn, OUT_SECONDS)
    events.set_state(conn, "gig", EventState.OPEN)
    assert give(conn, other) / 1e6 == seconds(OUT_SECONDS)
