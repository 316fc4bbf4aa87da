"""Confirming needs Postgres alone: with the stream away money makes orders, and the allocator catches up."""

from __future__ import annotations

import json
import urllib.request

import psycopg
import pytest

from onsale.processes import throwaway_stack
from store import events
from store.venues.rows import save_venue
from store.words import EventState
from tests.gateway.payments.till import Till, call
from tests.gateway.rig import EVENT
from tests.model.house import VENUE, house

FACTS = "SELECT kind FROM fact"
SOLD = "SELECT count(*) FROM seat WHERE state = 'sold'"


def ready(urls):
    """An open event where holds are paid for."""
    with psycopg.connect(urls.database_url, autocommit=True) as conn:
        plan = house()
        events.create_event(
            conn, EVENT, "The gig", save_venue(conn, VENUE, plan), plan, payment="required", fast_gate=False
        )
        events.set_state(conn, EVENT, EventState.OPEN)


@pytest.mark.faults
def test_a_hold_is_paid_for_while_valkey_is_stopped_and_the_allocator_catches_up():
    with throwaway_stack(allocators=1, payments=True, prepare=ready, env={"ONSALE_DEMO": "1"}) as stack:
        base = f"{stack.base_url}/v1"
        with psycopg.connect(stack.urls.database_url, autocommit=True) as conn:
            token = call("POST", f"{base}/demo/token", {})[1]["token"]
            head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            wish = head | {"Idempotency-Key": "r1", "Prefer": "wait=20"}
            status, decided = call(
                "POST", f"{base}/events/{EVENT}/requests", {"seats": ["A-0"], "areas": {"floor": 2}}, wish
            )
            assert (status, decided["outcome"]) == (200, "held"), decided
            where = f"{base}/events/{EVENT}/holds/{decided['result']['hold']}/payment"
            Till.until(lambda: conn.execute(FACTS).fetchall() == [])
            stack.kill("valkey")
            status, payment = call("POST", where, {}, head)
            assert status == 200, payment
            assert payment["checkout"]["url"].startswith(stack.provider_url)
            assert call("POST", payment["checkout"]["url"], {})[0] == 200
            Till.until(lambda: call("GET", where, None, head)[1]["state"] == "succeeded")
            assert conn.execute(SOLD).fetchone() == (1,)
            stack.start_again("valkey")
            Till.until(lambda: conn.execute(FACTS).fetchall() == [])
            Till.until(lambda: _map(base)["states"].startswith("s"))
            assert _map(base)["areas"][0] == 3


def _map(base):
    with urllib.request.urlopen(f"{base}/events/{EVENT}/seats") as answer:
        return json.loads(answer.read())
