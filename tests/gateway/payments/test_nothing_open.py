"""While a buyer is at the provider, Postgres knows of nobody: no transaction is open and no lock is held."""

from __future__ import annotations

import asyncio
import threading

import psycopg
import pytest

from gateway.payments import simulated
from tests.gateway.rig import EVENT
from tests.model.clients import Operator

OPEN = """
SELECT pid, state, query FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'onsale gateway'
   AND (xact_start IS NOT NULL OR state <> 'idle')
"""
LOCKS = """
SELECT relation::regclass::text, mode FROM pg_locks JOIN pg_stat_activity USING (pid)
 WHERE pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND application_name = 'onsale gateway'
"""
TOUCHED_BY_OTHERS = "SELECT 1 FROM {} FOR UPDATE NOWAIT"


@pytest.fixture
def asked(monkeypatch):
    """The provider was asked and does not answer until `.go` is set."""

    class Asked:
        there = threading.Event()
        go = threading.Event()

    ask = simulated.Simulated._ask

    async def slow(self, *told, **more):
        Asked.there.set()
        await asyncio.to_thread(Asked.go.wait, 30)
        return await ask(self, *told, **more)

    Asked.there.clear()
    Asked.go.clear()
    monkeypatch.setattr(simulated.Simulated, "_ask", slow)
    return Asked


def nothing_is_open(till):
    """Looks until what the gateway does besides is over, for each such statement is short."""
    till.until(lambda: till.both.query(OPEN) == [] and till.both.query(LOCKS) == [])
    with psycopg.connect(till.both.urls.database_url) as other:
        for table in ("event", "hold", "payment", "seat", "area"):
            other.execute(TOUCHED_BY_OTHERS.format(table))


def test_nothing_is_open_while_the_provider_is_asked(till, asked):
    hold = till.hold()
    answers = []
    buyer = threading.Thread(target=lambda: answers.append(till.begin(hold)))
    buyer.start()
    assert asked.there.wait(30)
    nothing_is_open(till)
    assert Operator(till.http).ask("POST", f"/{EVENT}/pause")[0] == 200  # an operator waits for nobody
    asked.go.set()
    buyer.join()
    assert answers[0][0] == 200


def test_nothing_is_open_while_the_buyer_is_at_the_provider(till):
    hold = till.hold()
    payment = till.begun(hold)
    nothing_is_open(till)
    till.pay(payment, how="/decline")
    till.until_state(hold, "failed")
    nothing_is_open(till)
