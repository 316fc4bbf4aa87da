"""The operators' HTTP for limits and tours; what buyers are told of them."""

from __future__ import annotations

import asyncio

import msgspec
import psycopg
import pytest

from gateway.problems import PROBLEM_TYPE
from store import audit, events, tours
from store.venues.rows import save_venue
from store.words import EventState
from tests.gateway.rig import gateway, scenario
from tests.gateway.test_operators import KEY, app_for, ask
from tests.store.test_limits import BEST, PLAN

SAID = {"who": "Olga", "why": "it goes on tour"}


@pytest.fixture
def venue(database_url):
    with psycopg.connect(database_url, autocommit=True) as conn:
        return save_venue(conn, "hall", PLAN)


@pytest.fixture
def operator(engine_urls, venue):
    app = app_for(engine_urls)

    def call(method, path, body=None):
        raw = b"" if body is None else msgspec.json.encode(body)
        return asyncio.run(ask(app, method, f"/v1/operator{path}", raw, f"Bearer {KEY}"))

    return call


def test_a_tour_is_made_gets_its_dates_and_is_shown(operator):
    made = operator("POST", "/tours", {"slug": "summer", "name": "Summer", "seats_per_buyer_max": 4})
    assert (made.status, made.json["seats_per_buyer_max"]) == (201, 4)
    operator("POST", "/events", {"slug": "gig", "venue": "hall"})
    added = operator("POST", "/tours/summer/events", SAID | {"event": "gig"})
    assert (added.status, added.json["tour"]) == (200, "summer")
    assert operator("POST", "/tours/summer/events", SAID | {"event": "gig"}).json == added.json
    shown = operator("GET", "/tours/summer").json
    assert shown["tour"]["name"] == "Summer"
    assert shown["events"] == [{"slug": "gig", "name": "gig", "state": "draft"}]
    row, _ = operator("GET", "/events/gig/audit").json["audit"]
    assert (row["who"], row["why"], row["what"]["tour"]) == (
        "environment (Olga)",
        "it goes on tour",
        "summer",
    )
    assert [one["slug"] for one in operator("GET", "/tours").json["tours"]] == ["summer"]


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/tours", {"slug": "summer", "seats_per_buyer_max": 2}, 409, "tour_exists"),
        ("/tours", {"slug": "x", "seats_per_buyer_max": 0}, 400, "invalid_event"),
        ("/tours", {"slug": "x", "seats_per_buyer_max": "4"}, 400, "invalid_body"),
        ("/tours", {"slug": "x"}, 400, "invalid_body"),
        ("/tours/winter/events", SAID | {"event": "gig"}, 404, "unknown_tour"),
        ("/tours/summer/events", SAID | {"event": "none"}, 404, "unknown_event"),
        ("/tours/summer/events", SAID | {"event": "gig"}, 409, "event_not_draft"),
        ("/tours/summer/events", {"event": "gig", "who": "expiry", "why": "x"}, 400, "who_required"),
        ("/events", {"slug": "x", "venue": "hall", "limits": {"Paper": 1}}, 400, "invalid_event"),
        ("/events", {"slug": "x", "venue": "hall", "limits": {BEST: -1}}, 400, "invalid_event"),
        ("/events", {"slug": "x", "venue": "hall", "limits": {BEST: "two"}}, 400, "invalid_body"),
        ("/events", {"slug": "x", "venue": "hall", "limits": [1]}, 400, "invalid_body"),
    ],
)
def test_what_cannot_be_is_a_problem_with_its_code(operator, path, body, status, code):
    operator("POST", "/tours", {"slug": "summer", "seats_per_buyer_max": 4})
    operator("POST", "/events", {"slug": "gig", "venue": "hall", "open": True})
    refused = operator("POST", path, body)
    assert (refused.status, refused.json["code"]) == (status, code)
    assert refused.headers["content-type"] == PROBLEM_TYPE


def test_limits_are_made_and_changed(operator):
    new = {"slug": "gig", "venue": "hall", "limits": {BEST: 2}, "open": True}
    assert operator("POST", "/events", new).json["limits"] == {BEST: 2}
    assert operator("PATCH", "/events/gig/policy", {"limits": {BEST: 4}}).json["limits"] == {BEST: 4}
    fixed = operator("PATCH", "/events/gig/policy", {"limits": {}})
    assert (fixed.status, fixed.json["code"]) == (409, "limits_fixed")


@scenario
async def test_buyers_are_told_limits_and_tour(engine_urls, venue):
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        tours.create_tour(conn, "summer", "Summer", 4)
        events.create_event(conn, "gig", "The gig", venue, PLAN, limits={BEST: 2})
        tours.add_event(conn, "summer", "gig", audit.said("Olga", "summer"))
        events.set_state(conn, "gig", EventState.OPEN)
    told = ({BEST: 2}, {"slug": "summer", "name": "Summer", "seats_per_buyer_max": 4})
    async with gateway(engine_urls) as served, served.socket("ann", hello={"event": "gig"}) as ann:
        assert (ann.welcome["event"]["limits"], ann.welcome["event"]["tour"]) == told
        shown = (await served.http("GET", "/v1/events/gig")).json()
        assert (shown["limits"], shown["tour"]) == told
        [listed] = (await served.http("GET", "/v1/events")).json()["events"]
        assert (listed["limits"], listed["tour"]) == told
