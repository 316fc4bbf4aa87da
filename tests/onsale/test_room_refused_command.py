"""`room refused`: evidence of who was turned away, for people and for scripts."""

from __future__ import annotations

import json

import psycopg
import pytest
from typer.testing import CliRunner

from onsale.commands import event, room
from store.venues.rows import save_venue
from tests.store.room.rooming import PLAN

ROWS = """
INSERT INTO room_refused (event_id, minute, reason, count, addresses) VALUES
(1, '2030-05-01 10:00Z', 'proof_required', 7, '{"aa11": 4, "bb22": 3}'),
(1, '2030-05-01 10:01Z', 'too_many_joins_from_address', 9000, %s),
(2, '2030-05-01 10:01Z', 'proof_required', 55, '{}')
"""
MANY = {f"{number:04x}": 400 + number for number in range(20)}


@pytest.fixture
def conn(engine_urls, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    monkeypatch.setenv("COLUMNS", "200")
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        save_venue(conn, "arena", PLAN)
        yield conn


@pytest.fixture
def run(conn):
    def run(*words):
        result = CliRunner().invoke(room.app, ["refused", *words], catch_exceptions=False)
        return result.exit_code, result.stdout, result.stderr

    for words in (("gig", "--room", "draw"), ("other",)):
        assert CliRunner().invoke(event.app, ["create", *words, "--venue", "arena"]).exit_code == 0
    return run


def test_who_was_turned_away_is_told_by_minute_and_reason(run, conn):
    conn.execute(ROWS, (json.dumps(MANY),))
    code, out, _ = run("gig")
    assert code == 0
    assert "turned away 9,007 attempts" in out
    later, earlier = [line.strip() for line in out.splitlines() if "2030-05-01" in line]
    assert later.split()[:4] == ["2030-05-01", "10:01", "too_many_joins_from_address", "9,000"]
    assert later.endswith("20 or more  0013 419, 0012 418, 0011 417")
    assert earlier.split() == ["2030-05-01", "10:00", "proof_required", "7", "2", "aa11", "4,", "bb22", "3"]


def test_scripts_get_every_address_that_was_kept(run, conn):
    conn.execute(ROWS, (json.dumps(MANY),))
    later, earlier = json.loads(run("gig", "--json")[1])["refused"]
    assert (later["count"], later["addresses"]) == (9000, MANY)
    assert (earlier["reason"], earlier["minute"]) == ("proof_required", "2030-05-01T10:00:00Z")


def test_a_range_and_a_limit_show_less(run, conn):
    conn.execute(ROWS, (json.dumps(MANY),))
    assert "10:00" not in run("gig", "--since", "2030-05-01T12:01+02:00")[1]
    assert "10:01" not in run("gig", "--until", "2030-05-01T12:01+02:00")[1]
    assert "There may be more before" in run("gig", "--limit", "1")[1]
    for wrong in (("--since", "yesterday"), ("--until", "2030-05-01T12:01")):
        code, out, _ = run("gig", *wrong, "--json")
        assert (code, json.loads(out)["code"]) == (1, "invalid_range")


def test_nobody_turned_away_is_said_in_words(run):
    assert run("gig")[:2] == (0, "Nobody was turned away from the waiting room of gig in the last 30 days.\n")
    assert "in that time" in run("gig", "--since", "2030-05-01T10:00Z")[1]
    assert json.loads(run("gig", "--json")[1]) == {"refused": []}
    assert "The event has no waiting room." in run("other")[2]
