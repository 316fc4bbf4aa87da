"""The chore that runs rehearsals: for real, knowing nothing of this onsale but the event to copy."""

from __future__ import annotations

import threading

import psycopg

from onsale.rehearsals import chore
from store import events
from store.audit import Said
from store.rehearsals import rows
from store.rehearsals.words import RehearsalState
from store.venues.make import make
from store.venues.rows import save_venue

SAID = Said("Olga", "before the sale")


def test_a_rehearsal_is_run_to_its_result(engine_urls):
    plan = make("theatre", 20)
    stop = threading.Event()
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        events.create_event(conn, "gala", "Gala", save_venue(conn, "small", plan), plan)
        asked = rows.ask(conn, "gala", SAID, buyers=10, sized_for=5_000)
        before = conn.execute("SELECT count(*) FROM event").fetchone()
        thread = threading.Thread(target=chore.run, args=(engine_urls.database_url, stop))
        thread.start()
        try:
            for _ in range(600):
                seen = rows.read(conn, "gala", asked.id)
                if seen.state in (RehearsalState.DONE, RehearsalState.FAILED):
                    break
                stop.wait(0.1)
        finally:
            stop.set()
            thread.join()
        assert (seen.state, seen.error) == (RehearsalState.DONE, None)
        assert seen.result is not None
        assert (seen.result["sizing"]["buyers"], len(seen.result["measured"]["runs"])) == (5_000, 2)
        assert conn.execute("SELECT count(*) FROM event").fetchone() == before, "the copies were elsewhere"


def test_who_is_stopped_in_the_middle_leaves_it_failed(engine_urls):
    plan = make("theatre", 20)
    stop = threading.Event()
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        events.create_event(conn, "gala", "Gala", save_venue(conn, "small", plan), plan)
        asked = rows.ask(conn, "gala", SAID, buyers=10)
        thread = threading.Thread(target=chore.run, args=(engine_urls.database_url, stop))
        thread.start()
        while rows.read(conn, "gala", asked.id).state is RehearsalState.QUEUED:
            stop.wait(0.05)
        stop.set()
        thread.join()
        seen = rows.read(conn, "gala", asked.id)
        assert (seen.state, seen.error) == (
            RehearsalState.FAILED,
            "The chores were stopped; ask for it again.",
        )


def test_a_rehearsal_knows_no_engine_key_or_provider_of_this_onsale():
    ours = {"DATABASE_URL": "x", "REDIS_URL": "x", "ONSALE_PAYMENT_PROVIDER": "stripe", "PGPASSWORD": "x"}
    assert chore.bare({**ours, "PATH": "/bin"}) == {"PATH": "/bin"}
