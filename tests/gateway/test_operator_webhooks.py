"""The operators' HTTP for webhooks."""

from __future__ import annotations

import asyncio

import msgspec
import psycopg
import pytest

from gateway.problems import PROBLEM_TYPE
from store import events
from store.subscribers import edit
from store.venues.make import make
from store.venues.rows import save_venue
from tests.gateway.test_operators import KEY, app_for, ask

SAID = {"who": "Olga", "why": "they asked for it"}
URL = "https://example.org/hook"


@pytest.fixture
def operator(engine_urls):
    app = app_for(engine_urls)
    plan = make("arena", 100)
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        events.create_event(conn, "gig", "The gig", save_venue(conn, "arena", plan), plan)

    def call(method, path, body=None, key=KEY):
        raw = b"" if body is None else msgspec.json.encode(body)
        return asyncio.run(ask(app, method, f"/v1/operator/webhooks{path}", raw, f"Bearer {key}"))

    return call


def test_a_webhook_is_added_shown_rotated_disabled_enabled_tested_and_removed(operator):
    new = SAID | {"url": URL, "event": "gig", "kinds": ["order.paid"], "from_start": True}
    made = operator("POST", "", new)
    assert (made.status, made.headers["location"]) == (201, "/v1/operator/webhooks/1")
    assert made.json["secret"].startswith("whsec_")
    [listed] = operator("GET", "").json["webhooks"]
    assert listed == made.json["subscriber"]
    assert (listed["url"], listed["event"], listed["kinds"]) == (URL, "gig", ["order.paid"])
    rotated = operator("POST", "/1/rotate", SAID | {"overlap_hours": 1})
    assert rotated.json["secret"] != made.json["secret"]
    assert rotated.json["subscriber"]["previous_secret_until"]
    assert operator("POST", "/1/disable", SAID).json["state"] == "disabled"
    assert operator("POST", "/1/enable", SAID).json["state"] == "active"
    test = operator("POST", "/1/test", SAID)
    assert (test.status, test.json) == (202, {"message": "msg_1"})
    assert operator("POST", "/1/replay", SAID | {"message": "msg_1"}).json == {"messages": ["msg_1"]}
    assert operator("POST", "/1/replay", SAID).json == {"messages": []}
    shown = operator("GET", "/1").json
    assert [one["message"] for one in shown["undelivered"]] == ["msg_1"]
    assert shown["log"] == []
    done = [(one["who"], one["why"], one["what"]["change"]) for one in shown["audit"]]
    assert done == [
        ("environment (Olga)", "they asked for it", what)
        for what in ("replay", "test", "enable", "disable", "rotate", "add")
    ]
    assert "whsec_" not in msgspec.json.encode(shown).decode()
    assert operator("POST", "/1/remove", SAID).json == {"id": "1", "state": "removed"}
    assert operator("GET", "").json == {"webhooks": []}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "", SAID | {"url": "http://127.0.0.1/"}, 400, "invalid_url"),
        ("POST", "", SAID | {"url": URL, "kinds": ["x"]}, 400, "unknown_kind"),
        ("POST", "", SAID | {"url": URL, "event": "none"}, 404, "unknown_event"),
        ("POST", "", SAID | {"url": URL, "surprise": 1}, 400, "invalid_body"),
        ("POST", "", {"url": URL, "who": "buyer", "why": "x"}, 400, "who_required"),
        ("POST", "", {"url": URL, "who": "Olga", "why": " "}, 400, "why_required"),
        ("GET", "/9", None, 404, "unknown_subscriber"),
        ("GET", "/x", None, 404, "unknown_subscriber"),
        ("GET", "/99999999999999999999", None, 404, "unknown_subscriber"),
        ("POST", "/9/disable", SAID, 404, "unknown_subscriber"),
        ("POST", "/1/rotate", SAID | {"overlap_hours": 999}, 400, "invalid_overlap"),
        ("POST", "/1/replay", SAID | {"message": "msg_5"}, 404, "unknown_message"),
        ("POST", "/2/replay", SAID, 409, "subscriber_disabled"),
        ("POST", "/2/test", SAID, 409, "subscriber_disabled"),
        ("POST", "/1/remove", SAID | {"why": "x" * 201}, 400, "why_required"),
    ],
)
def test_what_cannot_be_is_a_problem_with_its_code(operator, method, path, body, status, code):
    for _ in range(2):
        operator("POST", "", SAID | {"url": URL})
    operator("POST", "/2/disable", SAID)
    refused = operator(method, path, body)
    assert (refused.status, refused.json["code"]) == (status, code)
    assert refused.headers["content-type"] == PROBLEM_TYPE


def test_there_are_only_so_many(operator, monkeypatch):
    monkeypatch.setattr(edit, "SUBSCRIBERS_MAX", 1)
    operator("POST", "", SAID | {"url": URL})
    refused = operator("POST", "", SAID | {"url": URL})
    assert (refused.status, refused.json["code"]) == (409, "too_many_subscribers")


def test_private_addresses_are_taken_where_that_is_set(operator, monkeypatch):
    monkeypatch.setenv("ONSALE_WEBHOOKS_ALLOW_PRIVATE", "1")
    assert operator("POST", "", SAID | {"url": "http://127.0.0.1:9/"}).status == 201


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("POST", ""), ("GET", "/1")]
    + [("POST", f"/1/{word}") for word in ("rotate", "disable", "enable", "replay", "test", "remove")],
)
def test_nobody_without_the_key_gets_anything(operator, method, path):
    assert operator(method, path, SAID | {"url": URL}, key="wrong").status == 401
