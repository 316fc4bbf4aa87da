"""`./run backup` and `./run restore`, as people and scripts call them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from onsale.cli import app
from onsale.commands.backup import LOST


@pytest.fixture
def run(monkeypatch, redis_url):
    def run(database_url, *words):
        monkeypatch.setenv("DATABASE_URL", database_url)
        monkeypatch.setenv("REDIS_URL", redis_url)
        monkeypatch.setenv("COLUMNS", "400")
        result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        return result.exit_code, result.stdout, result.stderr

    return run


def test_there_and_back_and_what_is_lost_is_said(run, owner, new_database, tmp_path):
    code, out, _ = run(owner.database_url, "backup", "--to", tmp_path / "b.backup")
    assert code == 0
    assert "checked" in out
    there = new_database()
    code, out, err = run(there, "restore", tmp_path / "b.backup", "--verify")
    assert code == 0
    assert "decided again" in out
    assert LOST in out.replace("\n", " ")
    for said in ("checking the file", "restoring", "verifying"):
        assert said in err


def test_scripts_are_told_in_one_line(run, owner, new_database, tmp_path):
    code, out, err = run(owner.database_url, "backup", "--to", tmp_path, "--json")
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert told["tables"]["hold"] >= 2
    code, out, err = run(new_database(), "restore", told["file"], "--json", "--verify")
    again = json.loads(out)
    assert (code, err, again["wrong"], again["verified"]) == (0, "", {}, True)
    assert again["sha256"] == told["sha256"]


def test_a_ledger_that_does_not_come_out_as_written_is_exit_code_1(run, owner, new_database, tmp_path):
    owner.query_nothing("ALTER TABLE ledger DISABLE TRIGGER USER")
    owner.query_nothing("UPDATE ledger SET outcome = 'held' WHERE buyer = 'bob'")
    run(owner.database_url, "backup", "--to", tmp_path / "b.backup")
    code, _, err = run(new_database(), "restore", tmp_path / "b.backup", "--verify")
    assert code == 1
    assert "was changed after it was written" in err


@pytest.mark.parametrize("words", [("backup", "--to", "/nowhere/at/all"), ("restore", "/nowhere/at/all")])
def test_what_cannot_be_done_is_one_line(run, owner, words):
    code, out, err = run(owner.database_url, *words)
    assert (code, out) == (1, "")
    assert "Traceback" not in err
