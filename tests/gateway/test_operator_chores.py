"""The operators' HTTP tells how chores stand, and which refunds nobody will ever give."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from store.chores import runs
from tests.gateway.test_operators import KEY, app_for, ask

REFUND = """
INSERT INTO event (slug, name, venue_id) VALUES ('gig', 'Gig', 1);
INSERT INTO payment (event_id, hold_id, buyer, provider, intent, currency, amount_minor, fee_minor, tax_minor,
                     charged, quantity, seats, state, succeeded_at, refund_due_minor)
VALUES (1, 65536, 'ann', 'stripe', 'pi_1', 'EUR', 500, 0, 0, '{}', 1, '{}', 'refund_due', now(), 500);
INSERT INTO refund (payment_id, event_id, amount_minor, reason, last_error)
VALUES (1, 1, 400, 'late', 'refused: The card is closed.'), (1, 1, 100, 'late', 'The provider is away.')
"""


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        runs.enlist(connection, [("nap", 10, False)])
        runs.began(connection, "nap", "host:1")
        how: dict[str, Any] = {"done": 7, "error": None, "more": False, "position": None, "jitter": 1.0}
        runs.ended(connection, "nap", "host:1", duration_ms=120, **how)
        yield connection


@pytest.fixture
def get(engine_urls, conn):
    app = app_for(engine_urls)

    def call(path, key=KEY):
        return asyncio.run(ask(app, "GET", path, b"", f"Bearer {key}"))

    return call


def test_how_chores_stand_is_told(get, conn):
    told = get("/v1/operator/chores").json
    [nap] = told["chores"]
    assert (nap["chore"], nap["done"], nap["duration_ms"], nap["trouble"]) == ("nap", 7, 120, None)
    assert told["stuck_refunds"] == []
    conn.execute("UPDATE chore_run SET failures = 3, last_error = 'It is away.'")
    assert "It is away." in get("/v1/operator/chores").json["chores"][0]["trouble"]


def test_refunds_that_need_a_hand_are_told_and_no_others(get, conn):
    for statement in REFUND.split(";"):
        conn.execute(statement)
    [stuck] = get("/v1/operator/chores").json["stuck_refunds"]
    assert (stuck["event"], stuck["intent"], stuck["amount_minor"]) == ("gig", "pi_1", 400)


def test_only_operators_are_told(get):
    assert get("/v1/operator/chores", "wrong").status == 401
