"""`fleet` and `scale`: what is typed, what is printed, what is refused."""

from __future__ import annotations

import json

import psycopg
import pytest
import typer
from typer.testing import CliRunner

from onsale.commands import fleet
from store.fleet import turn
from tests.store.fleet import fleet_rows as rows

WHY = ("--why", "the sale of the year", "--who", "Olga")


@pytest.fixture
def conn(engine_urls, monkeypatch):
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    monkeypatch.setenv("COLUMNS", "200")
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        turn.make(conn)
        yield conn


@pytest.fixture
def run(conn):
    """Runs `fleet …` or `scale …` on the test's engines: (exit code, stdout, stderr)."""
    scaling = typer.Typer()
    scaling.command()(fleet.scale)

    def run(command, *words):
        app = {"fleet": fleet.app, "scale": scaling}[command]
        result = CliRunner().invoke(app, words, catch_exceptions=False)
        return result.exit_code, result.stdout, result.stderr

    return run


@pytest.fixture
def gala(conn):
    event = rows.add_event(conn, "gala")
    rows.add_host(conn, "a")
    rows.add_host(conn, "b", 2)
    worker, standby = rows.add_worker(conn, "a"), rows.add_worker(conn, "b")
    rows.assign(conn, event, worker, preferred=True)
    rows.assign(conn, event, standby, warm=False)
    rows.own(conn, event, worker)
    rows.load(conn, event, arrivals=812, undecided=12_345)
    return event


def test_where_nothing_is_it_says_what_to_do(run):
    code, out, _ = run("fleet")
    assert (code, "./run worker --slots" in out) == (0, True)


def test_who_runs_what_is_shown(run, conn, gala):
    rows.add_worker(conn, "b", silent_seconds=None)
    conn.execute("UPDATE fleet_host SET draining_at = now(), memory_bytes = 5e8, memory_bytes_max = 8e9")
    code, out, _ = run("fleet")
    assert code == 0
    for words in (
        "1 of 4",
        "draining, last resort",
        "500 MB of 8,000 MB",
        "starting",
        "1: gala",
        "cold, 2",
        "b (not warm)",
    ):
        assert words in out, words
    for words in ("12,345", "812", "open"):
        assert words in out, words
    told = json.loads(run("fleet", "--json")[1])
    assert [host["name"] for host in told["hosts"]] == ["a", "b"]
    assert told["events"][0]["load"]["undecided"] == 12_345


def test_it_is_shown_anew_until_it_is_stopped(run, gala, monkeypatch):
    turns = []

    def interrupted(seconds):
        turns.append(seconds)
        if len(turns) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("onsale.commands.fleet.time.sleep", interrupted)
    code, out, _ = run("fleet", "--watch")
    assert (code, len(turns)) == (0, 2)
    assert "gala" in out


def test_an_event_is_scaled(run, gala):
    code, out, _ = run("scale", "gala", "--workers", "3", "--mode", "hot", *WHY)
    assert (code, out) == (0, "gala is to have 3 workers, of its own (edition 1).\n")
    code, out, _ = run("scale", "gala", "--workers", "1", "--mode", "auto", *WHY, "--json")
    assert json.loads(out) == {"event": "gala", "mode": "auto", "workers": 1, "hot": True, "edition": 2}
    code, out, _ = run("scale", "gala", "--workers", "4", "--edition", "1", *WHY, "--json")
    assert (code, json.loads(out)["code"]) == (1, "fleet_changed")
    for workers in ("-1", "10000"):
        code, _, err = run("scale", "gala", "--workers", workers, *WHY)
        assert (code, "1 to 8 workers" in err) == (1, True)
    assert run("scale", "gala", "--workers", "2", "--mode", "warm", *WHY)[0] == 2
    assert run("scale", "gala", "--workers", "2")[0] == 2, "say why"


def test_an_event_is_moved_a_host_drained_and_kept_and_the_log_says_why(run, gala):
    assert run("fleet", "move", "gala", "--to", "b", *WHY)[:2] == (
        0,
        "gala goes to b: it is handed over once the worker there is warm.\n",
    )
    assert "Events leave a" in run("fleet", "drain", "a", *WHY)[1]
    code, _, err = run("fleet", "drain", "b", *WHY)
    assert (code, "the last host" in err) == (1, True)
    assert run("fleet", "keep", "a", "--who", "Olga")[:2] == (0, "a takes events.\n")
    out = run("fleet", "log")[1]
    for words in ("moved", "draining", "kept", "Olga", "the sale of the year"):
        assert words in out
    told = json.loads(run("fleet", "log", "--event", "gala", "--json")[1])
    assert [row["what"] for row in told] == ["moved"]
    code, out, _ = run("fleet", "log", "--event", "nope", "--json")
    assert (code, json.loads(out)["code"]) == (1, "unknown_event")
