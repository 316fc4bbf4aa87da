"""`webhook`: what an operator types, and what is said back."""

from __future__ import annotations

import json

import psycopg
import pytest
from typer.testing import CliRunner

from onsale.commands import webhook
from store.subscribers import edit

URL = "https://example.org/hook"
SAID = ("--who", "Olga", "--why", "they asked")
SENT = """
INSERT INTO delivery_log (subscriber_id, message, kind, attempt, outcome, status, error, took_ms)
VALUES (1, 'msg_1', 'webhook.test', 1, 'delivered', 204, NULL, 12)
"""


@pytest.fixture
def conn(engine_urls):
    with psycopg.connect(engine_urls.database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def run(engine_urls, monkeypatch):
    """Runs `webhook …` on the test's engines: (exit code, stdout, stderr)."""
    monkeypatch.setenv("DATABASE_URL", engine_urls.database_url)
    monkeypatch.setenv("REDIS_URL", engine_urls.redis_url)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words):
        result = CliRunner().invoke(webhook.app, words, catch_exceptions=False)
        return result.exit_code, result.stdout, result.stderr

    return run


def test_a_webhook_is_added_with_a_secret_told_once_and_listed(run):
    assert "No webhooks yet." in run("list")[1]
    code, out, _ = run("add", URL, "--kind", "order.paid", *SAID)
    assert code == 0
    assert "Webhook 1 is told order.paid of every event." in out
    assert "told only now: whsec_" in out
    assert "whsec_" not in run("list")[1] + run("show", "1")[1] + run("show", "1", "--json")[1]
    assert f"1   {URL}  order.paid of every event  active  0        0" in run("list")[1]
    code, out, _ = run("rotate", "1", "--overlap-hours", "2", *SAID)
    assert (code, "signs too for 2 hours" in out, "whsec_" in out) == (0, True, True)


def test_it_is_disabled_enabled_and_removed_and_says_who_did_it(run):
    run("add", URL, *SAID)
    assert run("disable", "1", *SAID)[:2] == (0, "Webhook 1 is disabled.\n")
    assert "disabled: an operator disabled it" in run("show", "1")[1]
    assert run("enable", "1", *SAID)[:2] == (0, "Webhook 1 is active.\n")
    shown = run("show", "1")[1]
    assert [word for word in ("add", "disable", "enable", "Olga", "they asked") if word not in shown] == []
    assert run("remove", "1", *SAID)[:2] == (0, "Webhook 1 is gone.\n")
    code, _, err = run("show", "1")
    assert (code, "There is no subscriber 1" in err) == (1, True)


def test_dead_letters_are_shown_and_replayed(run, conn):
    run("add", URL, *SAID)
    conn.execute(
        "INSERT INTO delivery (subscriber_id, outbox_id, kind, payload, state, attempts, status, error)"
        " VALUES (1, 7, 'order.paid', '{}', 'dead', 11, 500, 'Internal Server Error')"
    )
    shown = run("show", "1")[1]
    assert "msg_7" in shown
    assert "Internal Server Error" in shown
    assert run("replay", "1", *SAID)[1] == "Messages that are tried again: 1.\n"
    code, out, _ = run("replay", "1", "msg_8", *SAID, "--json")
    assert (code, json.loads(out)["code"]) == (1, "unknown_message")


def test_a_test_says_what_it_was_answered_with(run, conn, monkeypatch):
    run("add", URL, *SAID)
    sent = edit.send_test

    def and_a_relay_sends_it(*what):
        message = sent(*what)
        conn.execute(SENT)
        return message

    monkeypatch.setattr(edit, "send_test", and_a_relay_sends_it)
    assert run("test", "1")[:2] == (0, "msg_1: delivered, 204 after 12 ms\n")


def test_a_test_that_no_relay_sends_says_so(run, monkeypatch):
    monkeypatch.setattr(webhook, "ANSWER_SECONDS_MAX", 0.0)
    run("add", URL, *SAID)
    code, out, _ = run("test", "1")
    assert (code, "./run up starts one" in out) == (1, True)


def test_what_cannot_be_is_one_line_and_exit_code_one(run):
    code, out, err = run("add", "http://127.0.0.1", *SAID)
    assert (code, out) == (1, "")
    assert "Give another one" in err
    code, out, _ = run("add", URL, "--event", "none", *SAID, "--json")
    assert (code, json.loads(out)["code"]) == (1, "unknown_event")
