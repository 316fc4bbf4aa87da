"""The operators' HTTP for waiting rooms: each call, its refusals, and that gateways hear of changes."""

from __future__ import annotations

import asyncio

import msgspec
import psycopg
import pytest
import redis

from gateway.problems import PROBLEM_TYPE
from store.room import codes
from store.room.news import encode, room_channel
from store.venues.rows import save_venue
from tests.gateway.rig import EVENT
from tests.gateway.test_operators import KEY, app_for, ask
from tests.store.room.rooming import PLAN, join

SAID = {"who": "Olga", "why": "the sale of the year"}
ROOM = f"/events/{EVENT}/room"


@pytest.fixture
def operator(engine_urls):
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        save_venue(conn, "arena", PLAN)
    app = app_for(engine_urls)

    def call(method, path, body=None):
        raw = b"" if body is None else msgspec.json.encode(body)
        return asyncio.run(ask(app, method, f"/v1/operator{path}", raw, f"Bearer {KEY}"))

    assert call("POST", "/events", {"slug": EVENT, "venue": "arena"}).status == 201
    return call


@pytest.fixture
def room(operator):
    assert operator("POST", ROOM, SAID).status == 201


def test_a_room_is_made_and_shown_without_its_seed(operator, engine_urls):
    made = operator("POST", ROOM, SAID | {"pace": 200, "ballot": True, "shopping_max": None})
    assert (made.status, made.headers["location"]) == (201, f"/v1/operator{ROOM}")
    assert made.json["terms"]["pace"] == 200
    with psycopg.connect(engine_urls.database_url) as conn:
        [(seed,)] = conn.execute("SELECT encode(seed, 'hex') FROM room").fetchall()
    assert operator("POST", f"/events/{EVENT}/lobby").json["state"] == "lobby"
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        join(conn, 1, "ann", "bob")
    shown = operator("GET", ROOM)
    assert (shown.status, shown.json["places"]) == (200, {"ordinary": {"waiting": 2}, "priority": {}})
    assert shown.json["room"] == made.json | {"state": "lobby", "joined": 2}
    assert seed not in made.text + shown.text
    _, row, _ = operator("GET", f"/events/{EVENT}/audit").json["audit"]
    assert (row["who"], row["what"]["change"], row["what"]["terms"]["pace"]) == (
        "environment (Olga)",
        "make room",
        200,
    )


def test_terms_are_changed_by_name_and_limits_lifted(operator, room):
    changed = operator("PATCH", ROOM, SAID | {"pace": 5, "shopping_max": 40, "edition": 0}).json
    assert (changed["terms"]["pace"], changed["edition"]) == (5, 1)
    lifted = operator("PATCH", ROOM, SAID | {"pace": None}).json["terms"]
    assert (lifted["pace"], lifted["shopping_max"]) == (None, 40)


def test_admission_is_paused_resumed_and_stopped(operator, room):
    for word, becomes in (("pause", "paused"), ("resume", "running"), ("stop", "stopped")):
        changed = operator("POST", f"{ROOM}/{word}", SAID)
        assert (changed.status, changed.json["admission"]) == (200, becomes)
        again = operator("POST", f"{ROOM}/{word}", SAID)
        assert (again.status, again.json["code"]) == (409, "admission_state")


def test_a_message_is_told_and_taken_back(operator, room):
    assert operator("PUT", f"{ROOM}/message", SAID | {"text": "Soon"}).json["message"] == "Soon"
    assert operator("PUT", f"{ROOM}/message", SAID | {"text": None}).json["message"] is None


def test_a_look_is_given_whole(operator, engine_urls, room):
    look = {"accent": "#2f4fc4", "texts": {"lobby.title": "Soon"}}
    assert operator("PUT", f"{ROOM}/look", SAID | {"look": look}).json["edition"] == 1
    with psycopg.connect(engine_urls.database_url) as conn:
        assert conn.execute("SELECT look FROM room").fetchall() == [(look,)]
    shown = operator("GET", ROOM).json
    assert (shown["look"], shown["room"]["edition"]) == (look, 1), "who changes it from there says which"


def test_codes_are_told_once(operator, room):
    made = operator("POST", f"{ROOM}/codes", SAID | {"label": "fans", "count": 3, "uses": 2})
    assert (made.status, made.json["label"], made.json["uses"]) == (201, "fans", 2)
    assert len({codes.typed(code).sha256 for code in made.json["codes"]}) == 3
    assert made.headers["cache-control"] == "no-store"
    shown = operator("GET", ROOM)
    none = {"uses": 0, "revoked": 0, "uses_revoked": 0}
    assert shown.json["codes"] == [{"label": "fans", "codes": 3, "uses_max": 6} | none]
    assert not any(code in shown.text for code in made.json["codes"])


def test_codes_are_revoked_by_label_or_one_by_one(operator, room):
    made = operator("POST", f"{ROOM}/codes", SAID | {"label": "fans", "count": 3}).json["codes"]
    one = operator("POST", f"{ROOM}/codes/revoke", SAID | {"codes": made[:1]})
    assert (one.status, one.json) == (200, {"revoked": [{"label": "fans", "codes": 1, "uses": 1}]})
    rest = operator("POST", f"{ROOM}/codes/revoke", SAID | {"label": "fans"})
    assert rest.json == {"revoked": [{"label": "fans", "codes": 2, "uses": 2}]}
    assert operator("GET", ROOM).json["codes"][0]["revoked"] == 3
    [row, *_] = operator("GET", f"/events/{EVENT}/audit").json["audit"]
    assert (row["who"], row["why"], row["what"]["change"]) == (
        "environment (Olga)",
        SAID["why"],
        "revoke codes",
    )
    assert not any(code in str(row) for code in made)


def test_each_change_is_told_to_gateways_at_once(operator, engine_urls, room):
    with redis.Redis.from_url(engine_urls.redis_url) as client, client.pubsub() as pubsub:
        pubsub.subscribe(room_channel(EVENT))
        assert pubsub.get_message(timeout=10)
        operator("PATCH", ROOM, SAID | {"pace": 5})
        operator("POST", f"{ROOM}/pause", SAID)
        operator("PUT", f"{ROOM}/message", SAID | {"text": "Soon"})
        heard = [pubsub.get_message(timeout=10)["data"] for _ in range(3)]
    assert heard == [encode(1), encode(2), encode(3)]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("POST", "ROOM", SAID, 409, "room_exists"),
        ("POST", "/events/none/room", SAID, 404, "unknown_event"),
        ("GET", "/events/none/room", None, 404, "unknown_event"),
        ("PATCH", "ROOM", SAID | {"pace": 0}, 400, "invalid_room"),
        ("PATCH", "ROOM", SAID | {"pace": "5"}, 400, "invalid_body"),
        ("PATCH", "ROOM", SAID | {"paces": 5}, 400, "invalid_body"),
        ("PATCH", "ROOM", SAID, 400, "invalid_room"),
        ("PATCH", "ROOM", SAID | {"pace": 5, "edition": 7}, 409, "room_changed"),
        ("PATCH", "ROOM", {"pace": 5, "who": "expiry", "why": "x"}, 400, "who_required"),
        ("POST", "ROOM/pause", {"who": "Olga", "why": " "}, 400, "why_required"),
        ("POST", "ROOM/resume", SAID, 409, "admission_state"),
        ("PUT", "ROOM/message", SAID | {"text": " "}, 400, "invalid_message"),
        ("PUT", "ROOM/message", SAID, 400, "invalid_body"),
        ("PUT", "ROOM/message", SAID | {"text": "x", "edition": 3}, 409, "room_changed"),
        ("PUT", "ROOM/look", SAID | {"look": {"accent": "red"}}, 400, "invalid_look"),
        ("PUT", "ROOM/look", SAID | {"look": {"colour": "#2f4fc4"}}, 400, "invalid_body"),
        ("POST", "ROOM/codes", SAID | {"label": "fans", "count": 0}, 400, "invalid_codes"),
        ("POST", "ROOM/codes", SAID, 400, "invalid_body"),
        ("POST", "ROOM/codes/revoke", SAID, 400, "invalid_codes"),
        ("POST", "ROOM/codes/revoke", SAID | {"codes": ["my code"]}, 400, "code_not_valid"),
        ("POST", "ROOM/codes/revoke", SAID | {"codes": ["0000-0000-0000-0000"]}, 404, "unknown_code"),
        ("POST", "ROOM/codes/revoke", SAID | {"label": "none"}, 404, "unknown_label"),
        ("POST", "/events/none/room/codes", SAID | {"label": "fans"}, 404, "unknown_event"),
    ],
)
def test_what_cannot_be_is_a_problem_with_its_code(operator, room, method, path, body, status, code):
    refused = operator(method, path.replace("ROOM", ROOM), body)
    assert (refused.status, refused.json["code"]) == (status, code)
    assert refused.headers["content-type"] == PROBLEM_TYPE


def test_a_term_that_cannot_be_is_named(operator, room):
    for change, field in (({"pace": 0}, "pace"), ({"policy": "fifo", "ballot": True}, "ballot")):
        refused = operator("PATCH", ROOM, SAID | change)
        assert (refused.status, refused.json["code"]) == (400, "invalid_room")
        assert [error["field"] for error in refused.json["errors"]] == [field]


def test_what_buyers_joined_for_stays(operator, room):
    operator("POST", f"/events/{EVENT}/lobby")
    refused = operator("PATCH", ROOM, SAID | {"policy": "fifo"})
    assert (refused.status, refused.json["code"]) == (409, "room_settled")
    rows = operator("GET", f"/events/{EVENT}/audit").json["audit"]
    assert "room" not in [row["what"]["change"] for row in rows]


def test_nobody_gets_in_without_the_key(engine_urls):
    for method, path in (("GET", ROOM), ("POST", f"{ROOM}/codes"), ("PUT", f"{ROOM}/message")):
        answer = asyncio.run(ask(app_for(engine_urls), method, f"/v1/operator{path}"))
        assert (answer.status, answer.json["code"]) == (401, "operator_key")
