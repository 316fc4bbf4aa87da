"""`key` and `audit`: what an operator types, and what is said back."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import psycopg
import pytest
import typer
from typer.testing import CliRunner

from onsale.commands import audit, event, key
from onsale.commands.audit_view import what_of
from store.audit import Audit
from store.operators.words import read_text
from store.venues.make import make
from store.venues.rows import save_venue


@pytest.fixture
def run(engine_urls, monkeypatch):
    """Runs `key …`, `event …` or `audit …` on the test's engines: (exit code, stdout, stderr)."""
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setenv("LOGNAME", "pat")
    with psycopg.connect(engine_urls.database_url) as conn:
        save_venue(conn, "arena", make("arena", 10))

    def run(command, *words):
        alone = typer_of(audit.audit)
        app = {"key": key.app, "event": event.app, "audit": alone}[command]
        result = CliRunner().invoke(app, words, catch_exceptions=False)
        return result.exit_code, result.stdout, result.stderr

    return run


def typer_of(command):
    app = typer.Typer()
    app.command()(command)
    return app


def test_a_key_is_shown_once_alone_on_stdout(run):
    code, out, err = run("key", "create", "anna", "--role", "operator", "--days", "30")
    assert code == 0
    assert read_text(out.strip()) is not None
    assert "anna is an operator until 20" in err
    assert "not shown again" in err
    listed = run("key", "list")[1]
    assert "anna  operator  all     active" in listed
    assert out.strip() not in listed


def test_a_key_is_for_some_events_rotated_and_revoked_by_its_name(run):
    assert run("key", "list")[1].startswith("No keys yet.")
    run("event", "create", "gig", "--venue", "arena")
    made = json.loads(run("key", "create", "Door 1", "--role", "viewer", "--event", "gig", "--json")[1])
    assert (made["key"]["events"], made["key"]["created_by"]) == (["gig"], "pat")
    rotated = json.loads(run("key", "rotate", "door 1", "--grace-seconds", "60", "--json")[1])
    assert rotated["secret"] != made["secret"]
    assert "counts for 60 s more" in run("key", "rotate", "1", "--grace-seconds", "60")[2]
    assert "counts no longer" in run("key", "rotate", "1")[2]
    assert run("key", "revoke", "door 1", "--who", "Olga")[1] == "Door 1 is revoked.\n"
    assert run("key", "list")[1].startswith("No keys yet.")
    [gone] = json.loads(run("key", "list", "--revoked", "--json")[1])
    assert (gone["state"], gone["revoked_by"]) == ("revoked", "Olga")


def test_here_the_last_owner_may_go(run):
    run("key", "create", "anna", "--role", "owner")
    assert run("key", "revoke", "anna")[0] == 0


def test_what_cannot_be_is_one_line_and_exit_code_one(run):
    run("key", "create", "anna", "--role", "viewer")
    for words, told in (
        (("create", "anna", "--role", "viewer"), "There is a key 'anna' already."),
        (("create", "a(b)", "--role", "viewer"), "The name must be"),
        (("create", "bob", "--role", "viewer", "--days", "0"), "expires_in_days must be"),
        (("create", "bob", "--role", "viewer", "--event", "none"), "There is no event 'none'."),
        (("rotate", "nobody"), "There is no key 'nobody'. There are: anna."),
        (("revoke", "99"), "There is no key '99'."),
    ):
        code, out, err = run("key", *words)
        assert (code, out) == (1, "")
        assert told in err
    assert run("key", "create", "bob", "--role", "admin")[0] == 2


def test_the_audit_has_what_was_done_here_by_event_and_by_who(run):
    assert run("audit")[1] == "Nobody has changed anything by hand.\n"
    run("key", "create", "anna", "--role", "viewer")
    run("event", "create", "gig", "--venue", "arena", "--open")
    run("event", "pause", "gig", "--who", "Olga", "--why", "a fire alarm")
    run("event", "set", "gig", "--hold-ttl-seconds", "90")
    out = run("audit")[1]
    for part in (
        "create key: key 1, name anna",
        "create gig",
        "draft → open",
        "open → paused",
        "a fire alarm",
    ):
        assert part in out
    assert out.index("policy: hold_ttl_seconds 90") < out.index("open → paused")
    mine = json.loads(run("audit", "gig", "--who", "Olga", "--json")[1])
    assert [(row["who"], row["event"], row["what"]) for row in mine] == [
        ("Olga", "gig", {"change": "state", "from": "open", "to": "paused"})
    ]
    assert len(json.loads(run("audit", "--limit", "2", "--json")[1])) == 2
    assert run("audit", "none")[0] == 1


def test_a_change_of_whatever_kind_is_told():
    def told(**what):
        return what_of(Audit(1, datetime.now(UTC), "anna", "why", what))

    assert told(change="drain host", host="a" * 80, events=["x", "y"]) == (
        f"drain host: host {'a' * 59}…, events x, y"
    )
    assert told(change="login") == "login"
