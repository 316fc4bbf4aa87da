"""Rehearsals over the operators' HTTP: one at a time, beside a sale only where that is said."""

from __future__ import annotations

import asyncio

import msgspec
import psycopg
import pytest

from store import events
from store.rehearsals import rows
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState
from tests.gateway.test_operators import KEY, app_for, ask

PATH = "/v1/operator/events/gala/rehearsals"


@pytest.fixture
def conn(engine_urls):
    plan = make("theatre", 20)
    with psycopg.connect(engine_urls.database_url, autocommit=True) as connection:
        venue = save_venue(connection, "small", plan)
        for slug in ("gala", "other"):
            events.create_event(connection, slug, slug, venue, plan)
        yield connection


@pytest.fixture
def operator(conn, engine_urls):
    app = app_for(engine_urls)

    def call(method, path=PATH, **body):
        raw = msgspec.json.encode(body) if body else b""
        return asyncio.run(ask(app, method, path, raw, f"Bearer {KEY}"))

    return call


def test_a_rehearsal_is_asked_for_followed_and_read(operator, conn):
    asked = operator("POST", buyers=50, sized_for=9_000, who="Olga", why="before the sale")
    assert (asked.status, asked.json["state"], asked.headers["location"]) == (
        202,
        "queued",
        f"{PATH}/{asked.json['id']}",
    )
    taken = rows.take(conn)
    assert taken is not None
    assert (taken.event, taken.buyers, taken.sized_for) == ("gala", 50, 9_000)
    rows.tell(conn, taken.id, "everybody joins", 3, 50)
    seen = operator("GET", asked.headers["location"]).json
    assert (seen["state"], seen["phase"], seen["done"]) == ("running", "everybody joins", 3)
    rows.end(conn, taken.id, result=b'{"sizing":{"pace":7}}')
    [listed] = operator("GET").json["rehearsals"]
    assert (listed["state"], listed["result"]["sizing"]["pace"], listed["who"]) == (
        "done",
        7,
        "environment (Olga)",
    )
    [row] = operator("GET", "/v1/operator/events/gala/audit").json["audit"]
    assert (row["who"], row["what"]["change"]) == ("environment (Olga)", "rehearse")


def test_one_at_a_time_on_the_whole_onsale(operator, conn):
    assert operator("POST", buyers=5).status == 202
    again = operator("POST", "/v1/operator/events/other/rehearsals", buyers=5)
    assert (again.status, again.json["code"]) == (409, "rehearsal_running")
    assert rows.take(conn) is not None
    assert rows.take(conn) is None
    assert operator("POST", buyers=5).json["code"] == "rehearsal_running"


def test_not_while_anything_sells_unless_that_is_said(operator, conn):
    events.set_state(conn, "other", EventState.OPEN)
    refused = operator("POST", buyers=5)
    assert (refused.status, refused.json["code"]) == (409, "sale_running")
    assert "'other'" in refused.json["detail"]
    assert operator("POST", buyers=5, beside_a_sale=True).status == 202


@pytest.mark.parametrize("beside", [False, True])
def test_a_sale_that_opens_before_it_is_begun_goes_first(operator, conn, beside):
    asked = operator("POST", buyers=5, beside_a_sale=beside).json["id"]
    events.set_state(conn, "other", EventState.OPEN)
    assert (rows.take(conn) is not None) is beside
    seen = operator("GET", f"{PATH}/{asked}").json
    assert seen["state"] == ("running" if beside else "failed")
    assert beside or "opened" in seen["error"]


@pytest.mark.parametrize(
    "wish", [{"buyers": 0}, {"buyers": 5_001}, {"buyers": 5, "sized_for": 0}, {"buyer": 3}]
)
def test_what_is_out_of_bounds_is_refused(operator, wish):
    assert operator("POST", **wish).status == 400
    assert operator("GET").json["rehearsals"] == []


def test_unknown_ones_are_not_found(operator):
    assert operator("GET", f"{PATH}/7").json["code"] == "unknown_rehearsal"
    assert operator("GET", "/v1/operator/events/nothing/rehearsals").json["code"] == "unknown_event"


def test_one_whose_runner_is_gone_has_failed_and_the_next_may_begin(operator, conn):
    asked = operator("POST", buyers=5).json["id"]
    taken = rows.take(conn)
    assert taken is not None
    conn.execute("UPDATE rehearsal SET alive_at = alive_at - interval '1 minute'")
    seen = operator("GET", f"{PATH}/{asked}").json
    assert (seen["state"], seen["error"]) == ("failed", "Whoever ran it is gone.")
    assert not rows.alive(conn, taken.id)
    rows.end(conn, taken.id, result=b"{}")
    assert operator("GET", f"{PATH}/{asked}").json["state"] == "failed", "what is over stays as it is"
    assert operator("POST", buyers=5).status == 202
    conn.execute("UPDATE rehearsal SET asked_at = asked_at - interval '5 minutes' WHERE state = 'queued'")
    [newest, _] = operator("GET").json["rehearsals"]
    assert "Nobody runs rehearsals" in newest["error"]
