"""The chore that runs rehearsals: for real, knowing nothing of this onsale but the event to copy."""

from __future__ import annotations

import os
import subprocess
import threading
import time

import psycopg
import pytest

from onsale.rehearsals import chore, scratch
from store import events
from store.audit import Said
from store.rehearsals import rows
from store.rehearsals.words import RehearsalState
from store.venues.make import make
from store.venues.rows import save_venue

SAID = Said("Olga", "before the sale")


def test_a_rehearsal_is_run_to_its_result_and_writes_into_its_own_folder(engine_urls, tmp_path, monkeypatch):
    monkeypatch.setenv("ONSALE_REHEARSAL_DIR", str(tmp_path))
    written = set()
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
                written |= {path.name for path in tmp_path.glob(f"{scratch.PREFIX}*/onsale-*/data/*")}
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
    assert {"postgres", "valkey"} <= written
    assert list(tmp_path.iterdir()) == []


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


@pytest.fixture
def ends(engine_urls):
    """Runs a rehearsal to its end, whichever that is."""
    plan = make("theatre", 20)
    stop = threading.Event()

    def run():
        with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
            events.create_event(conn, "gala", "Gala", save_venue(conn, "small", plan), plan)
            asked = rows.ask(conn, "gala", SAID, buyers=10)
            thread = threading.Thread(target=chore.run, args=(engine_urls.database_url, stop))
            thread.start()
            try:
                while (seen := rows.read(conn, "gala", asked.id)).ended_at is None:
                    stop.wait(0.05)
                return seen
            finally:
                stop.set()
                thread.join()

    return run


def test_where_it_cannot_write_it_says_where_it_could(ends, tmp_path, monkeypatch):
    monkeypatch.setenv("ONSALE_REHEARSAL_DIR", str(tmp_path / "none"))
    seen = ends()
    assert seen.state is RehearsalState.FAILED
    assert f"{tmp_path / 'none'}, which cannot be written: No such file or directory." in seen.error
    assert "Set ONSALE_REHEARSAL_DIR" in seen.error


def test_where_there_is_no_room_it_does_not_begin(ends, tmp_path, monkeypatch):
    monkeypatch.setenv("ONSALE_REHEARSAL_DIR", str(tmp_path))
    monkeypatch.setattr(scratch, "FREE_BYTES_MIN", 1 << 60)
    seen = ends()
    assert (seen.state, "MiB are free" in seen.error) == (RehearsalState.FAILED, True)
    assert list(tmp_path.iterdir()) == []


def test_folders_of_killed_hosts_go_and_others_stay(tmp_path):
    (tmp_path / "mine").mkdir()
    for name, age_seconds in (("left", 2 * scratch.LEFT_SECONDS), ("running", 1)):
        made = tmp_path / f"{scratch.PREFIX}{name}"
        (made / "data").mkdir(parents=True)
        moment = time.time() - age_seconds
        os.utime(made, (moment, moment))
    with scratch.folder({"ONSALE_REHEARSAL_DIR": str(tmp_path)}) as folder:
        assert folder.parent == tmp_path
        found = {path.name for path in tmp_path.iterdir()}
        assert found == {"mine", f"{scratch.PREFIX}running", folder.name}
    assert not folder.exists()


def test_where_postgres_goes_away_the_rehearsal_ends_before_another_could_begin(engine_urls, monkeypatch):
    plan = make("theatre", 20)
    begun: list[subprocess.Popen[bytes]] = []
    begin = subprocess.Popen

    def popen(*given, **more):
        begun.append(begin(*given, **more))
        return begun[-1]

    def away(*_):
        raise psycopg.OperationalError("the server closed the connection unexpectedly")

    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        events.create_event(conn, "gala", "Gala", save_venue(conn, "small", plan), plan)
        rows.ask(conn, "gala", SAID, buyers=10)
        taken = rows.take(conn)
        assert taken is not None
        monkeypatch.setattr("subprocess.Popen", popen)
        monkeypatch.setattr(chore, "ALIVE_SECONDS", 0.05)
        monkeypatch.setattr(rows, "alive", away)
        try:
            with pytest.raises(psycopg.OperationalError):
                chore._run(conn, engine_urls.database_url, taken, threading.Event())
            assert begun[0].returncode is not None
        finally:
            begun[0].kill()


def test_a_rehearsal_knows_no_engine_key_or_provider_of_this_onsale():
    ours = {"DATABASE_URL": "x", "REDIS_URL": "x", "ONSALE_PAYMENT_PROVIDER": "stripe", "PGPASSWORD": "x"}
    assert chore.bare({**ours, "PATH": "/bin"}) == {"PATH": "/bin"}
