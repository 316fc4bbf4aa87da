"""The doctor: finds what is wrong, says what to do, and touches nothing."""

from __future__ import annotations

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import psycopg
import pytest
import redis

from onsale import doctor
from onsale.doctor import examine, show
from onsale.findings import Finding, Level, Report
from store.settings import EngineUrls
from store.stream.port import POKE


@pytest.fixture
def looked_at(engine_urls: EngineUrls, monkeypatch) -> EngineUrls:
    for name, value in engine_urls.as_env().items():
        monkeypatch.setenv(name, value)
    return engine_urls


def findings(report: Report, subject: str) -> list[tuple[Level, str]]:
    return [(finding.level, finding.found) for finding in report.findings if finding.subject == subject]


def add_event(url: str, *, state: str, lease_age_seconds: float | None = None) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO event (slug, name, venue_id, state) VALUES ('gala', 'Gala', 1, %s)", [state]
        )
        connection.execute("INSERT INTO event_cursor (event_id) SELECT id FROM event")
        if lease_age_seconds is not None:
            connection.execute(
                "INSERT INTO lease (event_id, worker, renewed_at)"
                " SELECT id, 'host-1', clock_timestamp() - make_interval(secs => %s) FROM event",
                [lease_age_seconds],
            )


def test_where_all_is_well_everything_is_ok(looked_at, tmp_path):
    report = examine(tmp_path / "none")
    assert report.healthy
    subjects = {finding.subject for finding in report.findings}
    assert {"machine", "embedded", "disk", "Postgres", "Redis", "schema", "connections"} <= subjects
    assert not (tmp_path / "none").exists()


def test_where_nothing_runs_it_says_how_to_start(tmp_path, monkeypatch):
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("REDIS_URL", raising=False)
    report = examine(tmp_path / "none")
    assert report.healthy
    assert findings(report, "engines") == [(Level.NOTE, "nothing runs here")]


def test_an_open_event_without_an_allocator_needs_a_hand_now(looked_at, tmp_path):
    add_event(looked_at.database_url, state="open")
    report = examine(tmp_path)
    ((level, found),) = findings(report, "event gala")
    assert level is Level.BAD
    assert "never had an allocator" in found
    assert not report.healthy


def test_an_allocator_that_went_silent_is_seen(looked_at, tmp_path):
    add_event(looked_at.database_url, state="open", lease_age_seconds=600)
    ((level, found),) = findings(examine(tmp_path), "event gala")
    assert (level, re.search(r"6\d\d s ago", found) is not None) == (Level.BAD, True)


def test_requests_that_wait_to_be_decided_are_counted(looked_at, tmp_path, monkeypatch):
    add_event(looked_at.database_url, state="open", lease_age_seconds=0)
    monkeypatch.setattr(doctor, "LAG_REQUESTS_HIGH", 2)
    with redis.Redis.from_url(looked_at.redis_url) as client:
        for number in range(1, 4):
            client.xadd("onsale:{gala}:requests", {"r": "x"}, id=f"{number}-0")
        client.xadd("onsale:{gala}:requests", {POKE: "1"})  # nobody waits for it
        ((level, found),) = findings(examine(tmp_path), "event gala")
        assert level is Level.WARN
        assert "3 not decided" in found
    with psycopg.connect(looked_at.database_url, autocommit=True) as connection:
        connection.execute("UPDATE event_cursor SET arrival = '2-0'")
    assert findings(examine(tmp_path), "event gala") == [
        (Level.OK, "open, batch 0, 1 not decided, by host-1")
    ]


def test_a_lock_wait_names_both_sides_and_the_way_out(looked_at, tmp_path, monkeypatch):
    monkeypatch.setattr(doctor, "LOCK_WAIT_SECONDS_HIGH", 0.0)
    monkeypatch.setattr(doctor, "TRANSACTION_SECONDS_HIGH", 0.0)
    add_event(looked_at.database_url, state="draft")
    with (
        psycopg.connect(looked_at.database_url) as holder,
        psycopg.connect(looked_at.database_url, application_name="waiter") as waiter,
        ThreadPoolExecutor(1) as background,
    ):
        holder.execute("UPDATE event SET name = 'x'")
        waiter.execute("SET lock_timeout = '30s'")
        waiting = background.submit(waiter.execute, "UPDATE event SET name = 'y'")
        with psycopg.connect(looked_at.database_url, autocommit=True) as watcher:
            while watcher.execute(
                "SELECT pg_blocking_pids(%s) = '{}'", [waiter.info.backend_pid]
            ).fetchone() == (True,):
                pass
        report = examine(tmp_path)
        ((level, found),) = findings(report, "lock wait")
        assert level is Level.WARN
        assert "waiter" in found
        assert f"for pid {holder.info.backend_pid}" in found
        assert findings(report, "transaction")
        holder.rollback()
        waiting.result()


def test_text_that_is_ordered_by_a_language_is_said(looked_at, tmp_path, monkeypatch):
    assert not any("language" in found for _, found in findings(examine(tmp_path), "Postgres"))
    monkeypatch.setattr(doctor, "TEXT_BY_CODE", "SELECT false")  # the embedded one knows no language's rules
    said = [level for level, found in findings(examine(tmp_path), "Postgres") if "language" in found]
    assert said == [Level.WARN]


def test_a_database_that_was_not_migrated_is_seen(looked_at, new_database, tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", new_database(migrated=False))
    ((level, found),) = findings(examine(tmp_path), "schema")
    assert (level, "at revision none" in found) == (Level.BAD, True)


def test_engines_that_do_not_answer_are_findings_not_failures(tmp_path, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    report = examine(tmp_path)
    assert [level for level, _ in findings(report, "Postgres") + findings(report, "Redis")] == [Level.BAD] * 2


def test_an_address_that_is_none_is_a_finding_not_a_failure(looked_at, tmp_path, monkeypatch):
    monkeypatch.setenv("REDIS_URL", "localhost:6379")
    report = examine(tmp_path)
    for subject in ("Redis", "events"):
        ((level, found),) = findings(report, subject)
        assert (level, "redis://" in found) == (Level.BAD, True)
    monkeypatch.setenv("DATABASE_URL", "localhost:5432")
    assert findings(examine(tmp_path), "Postgres")[0][0] is Level.BAD


def test_a_disk_that_fills_up_is_said_in_time(tmp_path, monkeypatch):
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.delenv("REDIS_URL", raising=False)
    levels = []
    for free_mib in (100_000, 1_000, 100):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free_mib: SimpleNamespace(free=free * 2**20))
        levels += [level for level, _ in findings(examine(tmp_path), "disk")]
    assert levels == [Level.OK, Level.WARN, Level.BAD]


def test_programs_get_json(capsys):
    finding = Finding(Level.BAD, "disk", "full", "free some space")
    show(Report((finding,)), as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "healthy": False,
        "findings": [{"level": "bad", "subject": "disk", "found": "full", "remedy": "free some space"}],
    }
