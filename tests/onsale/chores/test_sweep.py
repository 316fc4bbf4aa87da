"""What ran out before the last sign of life is freed where nobody attends, and nothing that is given back."""

from __future__ import annotations

import asyncio
import threading

import psycopg
import pytest

from onsale.chores.doing import connected
from onsale.chores.sweep import sweep
from store import invariant, lost_time, sweeping
from tests.onsale.chores.doings import doing, settings_of
from tests.store.test_holds import HOLD, everything, hold

SILENT_SECONDS = 30.0


def silent(conn, seconds=SILENT_SECONDS):
    """Nobody has attended to any event for so long."""
    since = f"clock_timestamp() - interval '{seconds} seconds'"
    conn.execute(f"UPDATE event_cursor SET batch_time = {since}")
    conn.execute(f"UPDATE lease SET renewed_at = {since}, given_until = NULL")


def attended(conn):
    conn.execute("UPDATE lease SET renewed_at = clock_timestamp()")


def adds_up(conn, event):
    return invariant.mismatches(conn, event, invariant.read_capacity(conn, event)) == []


def test_what_was_over_before_the_last_sign_of_life_is_freed_and_told(conn, event, database_url):
    hold(conn, event, seconds=-SILENT_SECONDS - 1)
    silent(conn)
    assert doing(database_url, sweep).done == 1
    assert everything(conn) == {
        "hold": [("expired",)],
        "seats": [],
        "hold_seat": [],
        "area": [(0, 0)],
        "hold_area": [],
        "facts": [("released", HOLD)],
        "history": [(3, "available", HOLD, "expiry"), (4, "available", HOLD, "expiry")],
    }
    assert adds_up(conn, event)
    assert doing(database_url, sweep).done == 0


def test_what_a_takeover_gives_back_stays(conn, event, database_url):
    hold(conn, event, seconds=-SILENT_SECONDS + 1)
    silent(conn)
    before = everything(conn)
    assert doing(database_url, sweep).done == 0
    assert everything(conn) == before
    with conn.transaction():
        assert lost_time.lock_outage(conn, event)
        assert lost_time.give_outage_back(conn, event) > 0
        attended(conn)
    assert conn.execute("SELECT expires_at > clock_timestamp() FROM hold").fetchall() == [(True,)]


def test_what_a_pause_gives_back_stays(conn, event, database_url):
    hold(conn, event, seconds=-SILENT_SECONDS - 1)
    silent(conn)
    ago = f"clock_timestamp() - interval '{SILENT_SECONDS + 2} seconds'"
    conn.execute(f"UPDATE event SET state = 'paused', paused_at = {ago}")
    assert doing(database_url, sweep).done == 0
    ago = f"clock_timestamp() - interval '{SILENT_SECONDS} seconds'"
    conn.execute(f"UPDATE event SET paused_at = {ago}")
    assert doing(database_url, sweep).done == 1


def test_an_event_that_somebody_attends_to_is_left_to_its_allocator(conn, event, database_url):
    hold(conn, event, seconds=-SILENT_SECONDS)
    attended(conn)
    assert doing(database_url, sweep).done == 0


@pytest.mark.parametrize("state", ["paid", "released", "expired"])
def test_only_active_holds_are_ended(conn, event, database_url, state):
    hold(conn, event, seconds=-SILENT_SECONDS - 1)
    silent(conn)
    conn.execute(
        "UPDATE hold SET state = %s, paid_at = CASE WHEN %s THEN now() END", (state, state == "paid")
    )
    before = everything(conn)
    assert doing(database_url, sweep).done == 0
    assert everything(conn) == before


def test_a_hold_that_somebody_changes_in_this_moment_is_left_out(conn, event, database_url):
    for number in range(2):
        hold(conn, event, hold_id=HOLD + number, seats=(number,), places=0, seconds=-SILENT_SECONDS - 1)
    silent(conn)
    with psycopg.connect(database_url) as other:
        other.execute("SELECT 1 FROM hold WHERE hold_id = %s FOR UPDATE", (HOLD,))
        assert doing(database_url, sweep).done == 1
    assert conn.execute("SELECT state FROM hold ORDER BY hold_id").fetchall() == [("active",), ("expired",)]
    assert adds_up(conn, event)


def test_two_sweeps_at_once_free_each_hold_once(conn, event, database_url):
    for number in range(20):
        hold(conn, event, hold_id=HOLD + number, seats=(number,), places=2, seconds=-SILENT_SECONDS - 1)
    silent(conn)
    settings = settings_of(database_url)

    async def one():
        async with connected(settings, "test") as connection:
            return await sweeping.sweep(connection, event)

    async def both():
        return await asyncio.gather(one(), one(), one())

    assert sum(asyncio.run(both())) == 20
    assert conn.execute("SELECT count(*), count(DISTINCT hold_id) FROM fact").fetchone() == (20, 20)
    assert adds_up(conn, event)


def test_a_sweep_is_bounded_and_goes_on(conn, event, database_url, monkeypatch):
    few = sweeping.LOCK_HOLDS.replace(f"LIMIT {sweeping.HOLDS_MAX}", "LIMIT 3")
    assert few != sweeping.LOCK_HOLDS
    monkeypatch.setattr(sweeping, "LOCK_HOLDS", few)
    monkeypatch.setattr(sweeping, "HOLDS_MAX", 3)
    for number in range(7):
        hold(conn, event, hold_id=HOLD + number, seats=(number,), places=0, seconds=-SILENT_SECONDS - 1)
    silent(conn)
    assert doing(database_url, sweep).done == 7
    assert adds_up(conn, event)


def test_who_is_asked_to_stop_leaves_the_rest_for_the_next_run(conn, event, database_url):
    hold(conn, event, seconds=-SILENT_SECONDS - 1)
    silent(conn)
    stop = threading.Event()
    stop.set()
    run = doing(database_url, sweep, stop=stop)
    assert (run.done, run.more) == (0, True)


def test_a_hold_whose_seats_are_not_what_it_counts_is_told_and_nothing_is_changed(conn, event, database_url):
    hold(conn, event, seconds=-SILENT_SECONDS - 1)
    silent(conn)
    conn.execute("UPDATE hold SET quantity = 7")
    before = everything(conn)
    assert "count 7; 4 seats and places are theirs" in doing(database_url, sweep).told()
    assert everything(conn) == before


def test_an_event_whose_places_postgres_refuses_to_free_is_told_and_stops_no_other(conn, event, database_url):
    hold(conn, event, seats=(), seconds=-SILENT_SECONDS - 1)
    silent(conn)
    conn.execute("UPDATE area SET held = 0")
    before = everything(conn)
    assert f"event {event}" in doing(database_url, sweep).told()
    assert everything(conn) == before
