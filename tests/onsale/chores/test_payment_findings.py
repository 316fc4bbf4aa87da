"""What the doctor says about paying: in a gateway's environment, in the chores', where `./run up` runs."""

from __future__ import annotations

import logging
import sys
import threading

import pytest

from onsale.chores import __main__ as process
from onsale.doctor import examine
from onsale.engines import DataDir
from onsale.findings import Level
from onsale.payment_findings import payments
from tests.store.payments.paying import begun
from tests.store.test_holds import hold

TOKEN = {"ONSALE_TOKEN_SECRET": "0" * 64}
SIMULATED = {
    "ONSALE_PAYMENT_PROVIDER": "simulated",
    "ONSALE_SIMULATED_URL": "http://127.0.0.1:9",
    "ONSALE_SIMULATED_SECRET": "whsec_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA=",
    "ONSALE_PUBLIC_URL": "http://shop.example",
}
STRIPE = {
    "ONSALE_PAYMENT_PROVIDER": "stripe",
    "ONSALE_STRIPE_KEY": "rk_test_1",
    "ONSALE_STRIPE_WEBHOOK_SECRET": "whsec_1",
    "ONSALE_STRIPE_PUBLISHABLE_KEY": "pk_test_1",
    "ONSALE_PUBLIC_URL": "http://shop.example",
}


@pytest.fixture
def found(conn, event):
    """What is found in an environment: (level, subject, found) each."""

    def look(environ, runs=None):
        return [(one.level, one.subject, one.found) for one in payments(conn, environ, runs)]

    return look


@pytest.mark.parametrize(("state", "level"), [("open", Level.BAD), ("lobby", Level.WARN)])
def test_an_event_for_money_and_nobody_to_pay_needs_a_hand(conn, found, state, level):
    conn.execute("UPDATE event SET state = %s", [state])
    [(how_bad, subject, story)] = found({})
    assert (how_bad, subject) == (level, "payments")
    assert story.startswith("gig: money is asked for and no payment provider is configured")
    assert found({}, "") == found({}), "where ./run up runs with nobody to pay"
    for change in ("state = 'closed'", "state = 'open', payment = 'none'"):
        conn.execute(f"UPDATE event SET {change}")
        assert found({}) == []


def test_events_without_end_are_named_in_part(conn, found):
    for number in range(8):
        conn.execute(
            "INSERT INTO event (slug, name, venue_id, state, payment)"
            " VALUES (%s, 'x', 1, 'open', 'required')",
            [f"e{number}"],
        )
    [(_, _, story)] = found({})
    assert story.startswith("e7, e6, e5, e4, e3 and 4 more: ")


def test_a_provider_is_named_and_one_that_takes_no_money_too(found):
    assert found(STRIPE) == [(Level.OK, "payments", "by stripe")]
    [(level, _, story)] = found(SIMULATED)
    assert (level, "no money moves" in story) == (Level.NOTE, True)
    assert found({}, "simulated") == found(SIMULATED)


def test_stripe_without_its_publishable_key_has_no_page(found):
    [_, (level, _, story)] = found(STRIPE | {"ONSALE_STRIPE_PUBLISHABLE_KEY": ""})
    assert (level, "PUBLISHABLE_KEY" in story) == (Level.WARN, True)


def test_payments_of_a_provider_that_is_not_known_here_are_seen(conn, event, found):
    hold(conn, event)
    begun(conn, event)
    assert found(SIMULATED)[1:] == []
    [_, (level, _, story)] = found(STRIPE)
    assert (level, "with simulated are under way" in story) == (Level.BAD, True)
    assert [level for level, _, _ in found({})] == [Level.BAD, Level.BAD]


def test_settings_that_no_gateway_starts_with_are_said(found):
    [(level, _, story)] = found(STRIPE | {"ONSALE_STRIPE_KEY": ""})
    assert (level, "set ONSALE_STRIPE_KEY as well" in story) == (Level.BAD, True)


@pytest.mark.parametrize(
    ("key", "level"),
    [
        ({}, Level.WARN),
        ({"ONSALE_TICKET_KEY": "short"}, Level.BAD),
        ({"ONSALE_TICKET_KEY": "a" * 64}, Level.OK),
    ],
)
def test_a_gateway_without_a_key_for_tickets_is_seen(found, key, level):
    told = found(SIMULATED | TOKEN | key)
    assert [one for one, subject, _ in told if subject == "tickets"] == [level]
    assert "tickets" not in [subject for _, subject, _ in found(SIMULATED | key)], "chores sign none"


def test_the_doctor_asks_the_environment_or_what_runs_here(
    conn,
    event,
    engine_urls,
    monkeypatch,
    tmp_path,
):
    for name, value in (engine_urls.as_env() | SIMULATED).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("ONSALE_PAYMENT_PROVIDER")

    def told():
        return [one.found for one in examine(tmp_path).findings if one.subject == "payments"]

    assert "no payment provider" in told()[0]
    DataDir(tmp_path).announce(engine_urls, base_url="http://127.0.0.1:8000", payment_provider="simulated")
    [story] = told()
    assert story.startswith("simulated")


@pytest.fixture
def as_a_process(monkeypatch):
    """What a process sets up for all of itself, and this one is not it."""
    root = logging.getLogger()
    level = root.level
    monkeypatch.setattr(root, "handlers", [])
    for of in (sys, threading):
        monkeypatch.setattr(of, "excepthook", of.excepthook)
    yield
    root.setLevel(level)
    logging.captureWarnings(False)


def test_chores_do_not_start_with_settings_that_no_gateway_has(
    engine_urls, monkeypatch, capsys, as_a_process
):
    for name, value in (engine_urls.as_env() | STRIPE | {"ONSALE_STRIPE_WEBHOOK_SECRET": ""}).items():
        monkeypatch.setenv(name, value)

    def begin(_settings):
        raise AssertionError("the chores began")

    monkeypatch.setattr(process, "Planner", begin)
    assert process.main() == 2
    assert "set ONSALE_STRIPE_WEBHOOK_SECRET as well" in capsys.readouterr().err
