"""`./run chores` and `./run doctor` tell how chores stand, and what to do about those that do not."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from onsale.commands import chores as command
from onsale.doctor import examine
from onsale.findings import Level
from store.chores import runs
from store.payments.stuck import REFUSED
from tests.onsale.chores.test_refunds import owed


@pytest.fixture
def run(conn, event, engine_urls, monkeypatch, tmp_path):
    """Runs `chores …` on the test's engines: (exit code, stdout, stderr)."""
    for name, value in engine_urls.as_env().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("ONSALE_DATA_DIR", str(tmp_path))

    def run(*words):
        result = CliRunner().invoke(command.app, words, catch_exceptions=False)
        return result.exit_code, result.stdout, result.stderr

    return run


def fails(conn):
    conn.execute("UPDATE chore_run SET failures = 3, last_error = 'It is away.'")


def refused(conn, event):
    owed(conn, event)
    conn.execute("UPDATE refund SET last_error = %s", (f"{REFUSED}The card is closed.",))


def found(tmp_path, subject):
    return [(one.level, one.found) for one in examine(tmp_path).findings if one.subject.startswith(subject)]


def test_a_chore_runs_when_somebody_says_so_and_is_listed(run):
    assert "No chore has run here yet." in run()[1]
    code, out, _ = run("run", "sweep")
    assert (code, out.startswith("sweep: 0 done in ")) == (0, True)
    code, out, _ = run()
    assert (code, "frees what ran out where nobody attends" in out) == (0, True)


def test_scripts_get_json(run):
    assert json.loads(run("run", "trim", "--json")[1])["done"] == 0
    told = json.loads(run("--json")[1])
    assert [(one["chore"], one["trouble"]) for one in told["chores"]] == [("trim", None)]


@pytest.mark.parametrize(("name", "code"), [("nothing", "chore_not_found")])
def test_what_cannot_be_run_is_one_line_and_exit_code_one(run, name, code):
    assert json.loads(run("run", name, "--json")[1])["code"] == code
    told = run("run", name)
    assert told[0] == 1
    assert "sweep" in told[2]


def test_a_chore_that_fails_is_told_with_exit_code_one(run, conn):
    run("run", "sweep")
    fails(conn)
    code, out, _ = run()
    assert (code, "It is away." in out) == (1, True)


def test_a_refund_that_nobody_will_give_is_told(run, conn, event):
    run("run", "sweep")
    refused(conn, event)
    code, out, _ = run()
    assert (code, "The card is closed." in out, "pi_1" in out) == (1, True, True)


def test_the_doctor_names_what_needs_a_hand(run, conn, event, tmp_path):
    assert found(tmp_path, "chores") == [(Level.NOTE, "none has run here yet")]
    run("run", "sweep")
    assert found(tmp_path, "chores") == [(Level.OK, "all 1 run and none fails")]
    conn.execute("UPDATE chore_run SET failures = 1, last_error = 'once'")
    assert [level for level, _ in found(tmp_path, "chore ")] == [Level.WARN]
    fails(conn)
    [(level, story)] = found(tmp_path, "chore sweep")
    assert (level, "It is away." in story) == (Level.BAD, True)
    ago = "clock_timestamp() - interval '1 hour'"
    conn.execute(f"UPDATE chore_run SET failures = 0, alive_at = {ago}, due_at = {ago}")
    assert found(tmp_path, "chore sweep") == [(Level.BAD, "it did not run when it should have")]
    refused(conn, event)
    [(level, story)] = found(tmp_path, "refund")
    assert (level, "The card is closed." in story) == (Level.BAD, True)
    assert runs.read(conn)[0].trouble is not None
