"""What operators change of the fleet: done whole with its log and audit, or refused with what to do."""

from __future__ import annotations

import threading

import psycopg
import pytest

from store import audit
from store.audit import Said
from store.errors import BadRequest, Conflicted, NotFound, Refused, Unavailable
from store.fleet import edit, log, steps, turn
from store.fleet.steps import Heat, Note
from store.fleet.words import FleetWhat, Mode
from tests.store.fleet import fleet_rows as rows

OLGA = Said("Olga", "the sale of the year")


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as conn:
        turn.make(conn)
        yield conn


@pytest.fixture
def gala(conn):
    return rows.add_event(conn, "gala")


def refused(kind, work, *arguments, **named) -> Refused:
    with pytest.raises(kind) as caught:
        work(*arguments, **named)
    error: Refused = caught.value
    return error


def preferred_host(conn, event):
    [(host,)] = conn.execute(
        "SELECT host FROM fleet_assignment JOIN fleet_worker ON id = worker_id"
        " WHERE event_id = %s AND preferred",
        (event,),
    ).fetchall()
    return host


def nothing_told(conn):
    return log.read(conn) == [] and conn.execute("SELECT count(*) FROM audit").fetchone() == (0,)


def test_an_event_is_scaled_and_it_is_told(conn, gala):
    assert edit.scale(conn, "gala", OLGA, workers=3) == edit.Wanted(Mode.AUTO, 3, False, 1)
    assert edit.scale(conn, "gala", OLGA, workers=3, mode=Mode.HOT) == edit.Wanted(Mode.HOT, 3, True, 2)
    assert edit.scale(conn, "gala", OLGA, workers=2, mode=Mode.COLD) == edit.Wanted(Mode.COLD, 2, False, 3)
    told = log.read(conn)
    assert [(one.what, one.event, one.who, one.why) for one in told] == [
        (FleetWhat.SCALED, "gala", "Olga", "the sale of the year")
    ] * 3
    assert told[0].detail == {"workers": 2, "mode": "cold"}
    assert [row.what for row in audit.read(conn, gala)] == [
        {"change": "scale", "workers": workers, "mode": mode}
        for workers, mode in ((2, "cold"), (3, "hot"), (3, "auto"))
    ]


def test_back_to_auto_an_event_stays_what_it_was(conn, gala):
    edit.scale(conn, "gala", OLGA, workers=2, mode=Mode.HOT)
    assert edit.scale(conn, "gala", OLGA, workers=2, mode=Mode.AUTO).hot


def test_what_is_so_already_is_told_to_nobody(conn, gala):
    assert edit.scale(conn, "gala", OLGA, workers=2, mode=Mode.AUTO).edition == 0
    assert nothing_told(conn)


@pytest.mark.parametrize("workers", [-1, 0, 9, 10_000])
def test_an_event_has_one_to_eight_workers(conn, gala, workers):
    error = refused(BadRequest, edit.scale, conn, "gala", OLGA, workers=workers)
    assert (error.code, "1 to 8" in str(error)) == ("invalid_workers", True)
    assert nothing_told(conn)


def test_who_saw_another_edition_is_told_what_it_is_now(conn, gala):
    edit.scale(conn, "gala", OLGA, workers=3, edition=0)
    error = refused(Conflicted, edit.scale, conn, "gala", OLGA, workers=4, edition=0)
    assert error.code == "fleet_changed"
    assert "gala has 3 workers, mode auto, in edition 1, not 0" in str(error)
    assert edit.scale(conn, "gala", OLGA, workers=4, edition=1).edition == 2


def test_what_the_planner_notes_is_no_operators_change(conn, gala):
    note = Note(event=gala, edition=0, busy_since=1, quiet_since=None, why="")
    steps.write(conn, [note, Heat(event=gala, edition=0, why="it is busy")])
    other = rows.add_event(conn, "other")
    steps.write(conn, [Heat(event=other, edition=0, why="it is busy")])
    for slug in ("gala", "other"):
        assert edit.scale(conn, slug, OLGA, workers=3, edition=0).edition == 1


def test_of_two_operators_at_once_one_is_refused(conn, gala, database_url):
    edit.scale(conn, "gala", OLGA, workers=3)
    outcomes: list[object] = []

    def other(workers):
        with psycopg.connect(database_url, autocommit=True) as mine:
            try:
                outcomes.append(edit.scale(mine, "gala", OLGA, workers=workers, edition=1).workers)
            except Conflicted as error:
                outcomes.append(error.code)

    with conn.transaction():
        turn.take(conn)
        both = [threading.Thread(target=other, args=(workers,)) for workers in (5, 6)]
        for one in both:
            one.start()
    for one in both:
        one.join()
    assert "fleet_changed" in outcomes
    [done] = [outcome for outcome in outcomes if outcome != "fleet_changed"]
    assert conn.execute("SELECT workers, edition FROM fleet_event").fetchall() == [(done, 2)]


def test_who_waits_too_long_for_the_turn_is_told_to_try_again(conn, gala, database_url, monkeypatch):
    monkeypatch.setattr("store.events.LOCK_WAIT_SECONDS_MAX", 0.05)
    with psycopg.connect(database_url) as other:
        turn.take(other)
        with pytest.raises(Unavailable, match="nothing was changed"):
            edit.scale(conn, "gala", OLGA, workers=3)
    assert nothing_told(conn)


def test_unknown_events_and_hosts_are_refused(conn, gala):
    rows.add_host(conn, "a")
    for code, work, arguments in (
        ("unknown_event", edit.scale, ("nope", OLGA)),
        ("unknown_event", edit.move, ("nope", "a", OLGA)),
        ("host_not_found", edit.move, ("gala", "nope", OLGA)),
        ("host_not_found", edit.drain, ("nope", OLGA)),
        ("host_not_found", edit.keep, ("nope", OLGA)),
    ):
        named = {"workers": 2} if work is edit.scale else {}
        assert refused(NotFound, work, conn, *arguments, **named).code == code
    assert nothing_told(conn)


def test_a_cold_event_goes_to_who_shares_on_that_host(conn, gala):
    other = rows.add_event(conn, "gig")
    for host in ("a", "b"):
        rows.add_host(conn, host)
    here, there = rows.add_worker(conn, "a"), rows.add_worker(conn, "b")
    rows.assign(conn, gala, here, preferred=True)
    rows.assign(conn, other, here, preferred=True)
    rows.assign(conn, other, there)
    moved = edit.move(conn, "gala", "b", OLGA)
    assert (moved.event, moved.host, moved.worker, moved.hot) == ("gala", "b", there, False)
    assert preferred_host(conn, gala) == "b"
    [told] = log.read(conn)
    assert (told.what, told.host, told.detail) == (FleetWhat.MOVED, "b", {"to": "b", "hot": False})
    [kept] = audit.read(conn, gala)
    assert kept.what == {"change": "move to host", "to": "b", "hot": False}
    again = edit.move(conn, "gala", "b", OLGA)
    assert (again, len(log.read(conn))) == (moved, 1), "it is there already"


def test_who_stands_by_on_that_host_is_to_own_it(conn, gala):
    rows.add_host(conn, "a")
    rows.add_host(conn, "b", 1)
    here, there = rows.add_worker(conn, "a"), rows.add_worker(conn, "b")
    rows.assign(conn, gala, here, preferred=True)
    rows.assign(conn, gala, there)
    assert edit.move(conn, "gala", "b", OLGA).worker == there, "full or not: it needs no slot"


def test_where_nobody_shares_it_gets_a_worker_of_its_own(conn, gala):
    rows.add_host(conn, "a")
    rows.add_host(conn, "b", 1)
    rows.assign(conn, gala, rows.add_worker(conn, "a"), preferred=True)
    moved = edit.move(conn, "gala", "b", OLGA)
    assert (moved.hot, moved.edition, preferred_host(conn, gala)) == (True, 1, "b")
    assert conn.execute("SELECT mode, hot FROM fleet_event").fetchall() == [("hot", True)]


@pytest.mark.parametrize("full", [False, True])
def test_a_hot_event_does_not_go_to_who_is_for_others(conn, gala, full):
    other = rows.add_event(conn, "gig")
    rows.add_host(conn, "a")
    rows.add_host(conn, "b", 1 if full else 2)
    edit.scale(conn, "gala", OLGA, workers=2, mode=Mode.HOT)
    rows.assign(conn, gala, rows.add_worker(conn, "a"), preferred=True)
    taken = rows.add_worker(conn, "b")
    rows.assign(conn, other, taken, preferred=True)
    if full:
        assert refused(Conflicted, edit.move, conn, "gala", "b", OLGA).code == "host_full"
        assert preferred_host(conn, gala) == "a"
    else:
        assert edit.move(conn, "gala", "b", OLGA).worker != taken


def test_nothing_goes_where_it_could_not_stay(conn, gala):
    rows.add_host(conn, "a")
    rows.add_host(conn, "drains", draining=True)
    rows.add_host(conn, "gone", silent_seconds=60)
    assert refused(Conflicted, edit.move, conn, "gala", "drains", OLGA).code == "host_draining"
    assert refused(Conflicted, edit.move, conn, "gala", "gone", OLGA).code == "host_gone"
    conn.execute("UPDATE event SET state = 'closed'")
    conn.execute("DELETE FROM fact")
    assert refused(Conflicted, edit.move, conn, "gala", "a", OLGA).code == "event_not_on_sale"
    assert nothing_told(conn)
    assert conn.execute("SELECT count(*) FROM fleet_worker").fetchone() == (0,)


def test_a_host_is_drained_and_taken_back(conn):
    for host in ("a", "b"):
        rows.add_host(conn, host)
    for _ in range(2):
        edit.drain(conn, "a", OLGA)
        assert conn.execute("SELECT name FROM fleet_host WHERE draining_at IS NOT NULL").fetchall() == [
            ("a",)
        ]
    for _ in range(2):
        edit.keep(conn, "a", OLGA)
    assert [(one.what, one.host) for one in log.read(conn)] == [
        (FleetWhat.KEPT, "a"),
        (FleetWhat.DRAINING, "a"),
    ]


def test_the_last_host_is_not_drained(conn):
    rows.add_host(conn, "a")
    rows.add_host(conn, "drains", draining=True)
    rows.add_host(conn, "gone", silent_seconds=60)
    error = refused(Conflicted, edit.drain, conn, "a", OLGA)
    assert (error.code, "./run worker" in str(error)) == ("last_host", True)
    assert nothing_told(conn)


def test_of_the_last_two_hosts_drained_at_once_one_stays(conn, database_url):
    for host in ("a", "b"):
        rows.add_host(conn, host)
    outcomes = []

    def drain(host):
        with psycopg.connect(database_url, autocommit=True) as mine:
            try:
                edit.drain(mine, host, OLGA)
                outcomes.append("drained")
            except Conflicted as error:
                outcomes.append(error.code)

    with conn.transaction():
        turn.take(conn)
        both = [threading.Thread(target=drain, args=(host,)) for host in ("a", "b")]
        for one in both:
            one.start()
    for one in both:
        one.join()
    assert sorted(outcomes) == ["drained", "last_host"]
