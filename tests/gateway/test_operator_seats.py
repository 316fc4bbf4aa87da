"""The operators' HTTP for seats: who and why are asked for, what is refused is named, each change wakes."""

from __future__ import annotations

import asyncio

import msgspec
import psycopg
import pytest
import redis

from gateway.problems import PROBLEM_TYPE
from store import events
from store.venues.rows import save_venue
from store.wire import stream_key
from store.words import EventState
from tests.gateway.test_operators import KEY, app_for, ask
from tests.store.test_holds import HOLD, PLAN, hold

SAID = {"who": "Olga", "why": "a broken chair"}
GUID = [seat.guid for seat in PLAN.seats]
FLOOR = PLAN.areas[0].guid


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def event(conn):
    number = events.create_event(conn, "gig", "The gig", save_venue(conn, "arena", PLAN), PLAN)
    events.set_state(conn, "gig", EventState.OPEN)
    return number


@pytest.fixture
def operator(engine_urls, event):
    """Calls the API with the key: `operator("POST", "/blocks", {...})` of the event."""
    app = app_for(engine_urls)

    def call(method, path, body=None, slug="gig"):
        raw = b"" if body is None else msgspec.json.encode(body)
        path, _, query = path.partition("?")
        there = f"/v1/operator/events/{slug}{path}"
        return asyncio.run(ask(app, method, there, raw, f"Bearer {KEY}", query=query))

    return call


def test_what_is_blocked_is_shown_and_kept_with_who_and_why(operator):
    made = operator("POST", "/blocks", SAID | {"seats": GUID[:2], "areas": {FLOOR: 5}})
    assert (made.status, made.json["who"], made.json["why"]) == (
        200,
        "environment (Olga)",
        "a broken chair",
    )
    assert made.json["what"] == {"change": "block", "seats": GUID[:2], "areas": {FLOOR: 5}}
    shown = operator("GET", "").json
    assert (shown["seats"]["blocked"], shown["areas"][0]["blocked"]) == (2, 5)
    undone = operator("POST", "/unblock", SAID | {"seats": GUID[1:2]})
    assert undone.json["what"] == {"change": "unblock", "seats": GUID[1:2], "areas": {}}
    assert operator("GET", "").json["seats"]["blocked"] == 1
    assert operator("GET", "/audit").json == {"audit": [undone.json, made.json]}


def test_audit_is_read_in_pages(operator):
    rows = [operator("POST", "/blocks", SAID | {"seats": [guid]}).json for guid in GUID[:3]]
    assert operator("GET", "/audit?limit=2").json["audit"] == rows[:0:-1]
    assert operator("GET", f"/audit?before={rows[1]['id']}").json["audit"] == rows[:1]


def test_a_hold_is_taken_from_its_buyer_once(operator, conn, event):
    hold(conn, event)
    for _ in range(2):
        released = operator("POST", f"/holds/{HOLD}/release", SAID)
        assert (released.status, released.json) == (200, {"hold": str(HOLD), "state": "released"})
    audited = operator("GET", "/audit").json["audit"]
    assert [row["what"]["buyer"] for row in audited] == ["ann"]


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/blocks", SAID | {"seats": [GUID[3]]}, 409, "seats_not_free"),
        ("/blocks", SAID | {"areas": {FLOOR: 49}}, 409, "places_not_free"),
        ("/unblock", SAID | {"seats": [GUID[1]]}, 409, "seats_not_blocked"),
        ("/unblock", SAID | {"areas": {FLOOR: 1}}, 409, "places_not_blocked"),
        ("/blocks", SAID | {"seats": ["nowhere"]}, 404, "unknown_seat"),
        ("/blocks", SAID | {"areas": {"nowhere": 1}}, 404, "unknown_area"),
        ("/blocks", SAID | {"areas": {FLOOR: 0}}, 400, "invalid_places"),
        ("/blocks", SAID | {"areas": {FLOOR: 10**20}}, 409, "places_not_free"),
        ("/blocks", SAID, 400, "nothing_asked"),
        ("/blocks", {"who": "Olga", "seats": [GUID[1]]}, 400, "invalid_body"),
        ("/blocks", SAID | {"why": " ", "seats": [GUID[1]]}, 400, "why_required"),
        ("/blocks", SAID | {"who": "allocator", "seats": [GUID[1]]}, 400, "who_required"),
        ("/blocks", SAID | {"seat": [GUID[1]]}, 400, "invalid_body"),
        ("/blocks", SAID | {"seats": ["x" * 60_000]}, 404, "unknown_seat"),
        ("/blocks", SAID | {"seats": ["x" * 62_000]}, 413, "too_large"),
        (f"/holds/{HOLD}/release", SAID | {"why": "x" * 20_000}, 413, "too_large"),
        ("/holds/77/release", SAID, 404, "hold_not_found"),
        ("/holds/x/release", SAID, 404, "hold_not_found"),
        ("/holds/99999999999999999999/release", SAID, 404, "hold_not_found"),
        (f"/holds/{HOLD}/release", {"who": "Olga", "why": ""}, 400, "why_required"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_changed(operator, conn, event, path, body, status, code):
    hold(conn, event)
    before = operator("GET", "").json
    answer = operator("POST", path, body)
    assert (answer.status, answer.json["code"]) == (status, code)
    assert answer.headers["content-type"] == PROBLEM_TYPE
    after = operator("GET", "").json
    assert (after["seats"], after["areas"]) == (before["seats"], before["areas"])
    assert operator("GET", "/audit").json == {"audit": []}


def test_an_order_is_not_released(operator, conn, event):
    hold(conn, event)
    conn.execute("UPDATE hold SET state = 'paid', paid_at = now()")
    refused = operator("POST", f"/holds/{HOLD}/release", SAID)
    assert (refused.status, refused.json["code"]) == (409, "hold_paid")


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/blocks"), ("POST", "/unblock"), ("POST", "/holds/1/release"), ("GET", "/audit")],
)
def test_an_event_that_is_not_there_and_a_missing_key_are_told(operator, engine_urls, method, path):
    body = SAID | {"seats": [GUID[1]]} if "hold" not in path else SAID
    unknown = operator(method, path, body, slug="none")
    assert (unknown.status, unknown.json["code"]) == (404, "unknown_event")
    keyless = asyncio.run(ask(app_for(engine_urls), method, f"/v1/operator/events/gig{path}"))
    assert keyless.status == 401


def test_each_change_wakes_the_allocator_and_a_refused_one_does_not(operator, conn, event, redis_url):
    hold(conn, event)
    with redis.Redis.from_url(redis_url) as client:
        client.xadd(stream_key("gig"), {"c": "1"})
        operator("POST", "/blocks", SAID | {"seats": GUID[:2]})
        operator("POST", "/unblock", SAID | {"seats": GUID[:1]})
        operator("POST", f"/holds/{HOLD}/release", SAID)
        operator("POST", "/unblock", SAID | {"seats": GUID[:1]})
        fields = [list(entry) for _, entry in client.xrange(stream_key("gig"))]
    assert fields == [[b"c"], [b"p"], [b"p"], [b"p"]]


def test_the_api_pages_describe_who_and_why(engine_urls):
    paths = app_for(engine_urls).openapi()["paths"]
    for path in ("blocks", "unblock", "holds/{hold}/release"):
        operation = paths[f"/v1/operator/events/{{event}}/{path}"]["post"]
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        assert "who" in schema["properties"]
        assert "why" in schema["required"]
        assert schema["properties"]["why"]["maxLength"] == 200
