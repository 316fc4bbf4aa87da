"""The operators' HTTP for the fleet: what is told, what is changed, what is refused and why."""

from __future__ import annotations

import asyncio

import msgspec
import psycopg
import pytest

from gateway.problems import PROBLEM_TYPE
from store.fleet import turn
from tests.gateway.test_operators import KEY, app_for, ask
from tests.store.fleet import fleet_rows as rows

SAID = {"who": "Olga", "why": "the sale of the year"}
GALA = "/events/gala/fleet"


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as conn:
        turn.make(conn)
        gala = rows.add_event(conn, "gala")
        rows.add_host(conn, "a")
        rows.add_host(conn, "b", 1)
        worker = rows.add_worker(conn, "a")
        rows.assign(conn, gala, worker, preferred=True)
        rows.own(conn, gala, worker)
        yield conn


@pytest.fixture
def operator(engine_urls, conn):
    app = app_for(engine_urls)

    def call(method, path, body=None, *, query="", key=KEY):
        raw = b"" if body is None else msgspec.json.encode(body)
        return asyncio.run(ask(app, method, f"/v1/operator{path}", raw, f"Bearer {key}", query))

    return call


def test_the_fleet_is_told(operator):
    told = operator("GET", "/fleet").json
    assert set(told) == {"hosts", "events", "short"}
    assert set(told["hosts"][0]) == {
        "name", "slots", "used", "process", "version", "joined_at", "seen_at", "alive", "draining",
        "last_resort", "memory_bytes", "memory_bytes_max", "load", "workers",
    }  # fmt: skip
    [event] = told["events"]
    assert (event["event"], event["state"], event["mode"], event["hot"]) == ("gala", "open", "auto", False)
    assert event["owner"]["host"] == "a"
    assert (event["standbys"], event["load"], told["short"]) == ([], None, None)


def test_an_event_is_scaled_with_who_and_why(operator):
    scaled = operator("PUT", GALA, SAID | {"workers": 3, "mode": "hot", "edition": 0})
    assert scaled.json == {"event": "gala", "workers": 3, "mode": "hot", "hot": True, "edition": 1}
    operator("PUT", GALA, {"workers": 1, "why": "quiet"})
    assert operator("GET", "/fleet").json["events"][0]["edition"] == 2
    log = operator("GET", "/fleet/log").json["log"]
    assert [(one["who"], one["why"], one["event"]) for one in log] == [
        ("environment", "quiet", "gala"),
        ("environment (Olga)", "the sale of the year", "gala"),
    ]
    assert len(operator("GET", "/events/gala/audit").json["audit"]) == 2


def test_an_event_is_moved_and_a_host_drained_and_kept(operator):
    moved = operator("POST", f"{GALA}/move", SAID | {"to": "b"})
    assert (moved.status, moved.json["host"], moved.json["hot"]) == (200, "b", True)
    drained = operator("POST", "/fleet/hosts/a/drain", SAID)
    assert (drained.status, drained.json) == (200, {"host": "a", "draining": True})
    assert [host["draining"] for host in operator("GET", "/fleet").json["hosts"]] == [True, False]
    assert operator("POST", "/fleet/hosts/a/keep", SAID).json == {"host": "a", "draining": False}
    log = operator("GET", "/fleet/log", query="host=a&limit=1").json["log"]
    assert [one["what"] for one in log] == ["kept"]
    older = operator("GET", "/fleet/log", query=f"event=gala&before={log[0]['id']}").json["log"]
    assert [one["what"] for one in older] == ["moved"]


def test_each_refusal_has_its_code_and_changes_nothing(operator, conn):
    rows.add_host(conn, "drains", draining=True)
    rows.add_host(conn, "gone", silent_seconds=60)
    rows.add_worker(conn, "b")
    rows.add_event(conn, "draft", None)
    operator("PUT", GALA, SAID | {"workers": 2, "mode": "hot"})
    conn.execute("UPDATE fleet_worker SET stop_at = clock_timestamp() WHERE host = 'b'")
    before = operator("GET", "/fleet/log").text
    for status, code, method, path, body in (
        (404, "unknown_event", "PUT", "/events/nope/fleet", SAID | {"workers": 2}),
        (400, "invalid_workers", "PUT", GALA, SAID | {"workers": -1}),
        (400, "invalid_workers", "PUT", GALA, SAID | {"workers": 10_000}),
        (400, "invalid_body", "PUT", GALA, SAID | {"workers": 2, "mode": "warm"}),
        (400, "invalid_body", "PUT", GALA, SAID | {"workers": "many"}),
        (400, "invalid_body", "PUT", GALA, {"workers": 2}),
        (400, "why_required", "PUT", GALA, {"workers": 2, "why": " "}),
        (400, "who_required", "PUT", GALA, {"workers": 2, "why": "x", "who": "an\nna"}),
        (409, "fleet_changed", "PUT", GALA, SAID | {"workers": 4, "edition": 0}),
        (404, "unknown_event", "POST", "/events/nope/fleet/move", SAID | {"to": "a"}),
        (404, "host_not_found", "POST", f"{GALA}/move", SAID | {"to": "nope"}),
        (409, "host_draining", "POST", f"{GALA}/move", SAID | {"to": "drains"}),
        (409, "host_gone", "POST", f"{GALA}/move", SAID | {"to": "gone"}),
        (409, "host_full", "POST", f"{GALA}/move", SAID | {"to": "b"}),
        (409, "event_not_on_sale", "POST", "/events/draft/fleet/move", SAID | {"to": "a"}),
        (404, "host_not_found", "POST", "/fleet/hosts/nope/drain", SAID),
        (404, "host_not_found", "POST", "/fleet/hosts/nope/keep", SAID),
    ):
        answer = operator(method, path, body)
        assert (answer.status, answer.json["code"]) == (status, code), answer.text
        assert answer.headers["content-type"] == PROBLEM_TYPE
    assert operator("POST", "/fleet/hosts/b/drain", SAID).status == 200
    last = operator("POST", "/fleet/hosts/a/drain", SAID)
    assert (last.status, last.json["code"]) == (409, "last_host")
    told = operator("GET", "/fleet/log").json["log"]
    assert msgspec.json.encode({"log": told[1:]}).decode() == before


def test_who_saw_something_else_is_told_what_it_is_now(operator):
    operator("PUT", GALA, SAID | {"workers": 3})
    refused = operator("PUT", GALA, SAID | {"workers": 4, "edition": 0})
    assert "gala has 3 workers, mode auto, in edition 1" in refused.json["detail"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/fleet"),
        ("GET", "/fleet/log"),
        ("PUT", GALA),
        ("POST", f"{GALA}/move"),
        ("POST", "/fleet/hosts/a/drain"),
        ("POST", "/fleet/hosts/a/keep"),
    ],
)
def test_nobody_gets_in_without_a_key(operator, method, path):
    assert operator(method, path, {}, key="wrong").status == 401
