"""The operators' HTTP: guarded by a key, bounded, and each change told to the allocator."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import msgspec
import psycopg
import pytest
import redis
from fastapi import FastAPI, Response

from gateway.callers import Callers
from gateway.operators import access, router
from gateway.problems import PROBLEM_TYPE, body_of, status_of
from gateway.settings import Settings
from store.errors import OnsaleError
from store.settings import EngineUrls
from store.venues.make import make
from store.venues.rows import save_venue
from store.wire import stream_key

KEY = "an-operator-key-for-tests"


class Answer:
    """One HTTP answer, as a client sees it."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.text = body.decode()
        self.json: Any = (
            None if headers.get("content-type", "").startswith("text/") else msgspec.json.decode(body)
        )


def app_for(urls: EngineUrls, key: str = KEY) -> FastAPI:
    app = FastAPI()
    settings = Settings(engines=urls, token_secret="t" * 32, operator_key=key)
    app.state.runtime = SimpleNamespace(settings=settings, callers=Callers(settings, None))
    app.include_router(router)

    @app.exception_handler(OnsaleError)
    async def refuse(_request, error):
        return Response(body_of(error), status_of(error), media_type=PROBLEM_TYPE)

    return app


async def ask(
    app: FastAPI,
    method: str,
    path: str,
    body: bytes = b"",
    authorization: str | None = None,
    query: str = "",
) -> Answer:
    headers = [(b"content-type", b"application/json")]
    if authorization is not None:
        headers.append((b"authorization", authorization.encode()))
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
    }  # fmt: skip
    sent: list[Any] = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    await app(scope, receive, send)
    answered = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], answered, b"".join(part.get("body", b"") for part in sent[1:]))


@pytest.fixture
def operator(engine_urls):
    """Calls the API with the key: `operator("POST", "/events", {...})`."""
    with psycopg.connect(engine_urls.database_url) as conn:
        save_venue(conn, "arena", make("arena", 60, standing=100))
    app = app_for(engine_urls)

    def call(method, path, body=None):
        raw = b"" if body is None else msgspec.json.encode(body)
        return asyncio.run(ask(app, method, f"/v1/operator{path}", raw, f"Bearer {KEY}"))

    return call


@pytest.fixture
def gig(operator):
    assert operator("POST", "/events", {"slug": "gig", "venue": "arena", "open": True}).status == 201


@pytest.mark.parametrize(
    "given", [None, "", "Bearer", "Bearer wrong", f"Basic {KEY}", KEY, f"Bearer {KEY}x", "Bearer ü"]
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/events"), ("POST", "/events/gig/close")])
def test_nobody_gets_in_without_the_key(engine_urls, given, method, path):
    answer = asyncio.run(ask(app_for(engine_urls), method, f"/v1/operator{path}", authorization=given))
    assert answer.status == 401
    assert answer.headers["content-type"] == PROBLEM_TYPE
    assert answer.json["code"] == "operator_key"


def test_without_a_key_set_nobody_gets_in_at_all(engine_urls):
    answer = asyncio.run(ask(app_for(engine_urls, ""), "GET", "/v1/operator/events", authorization="Bearer "))
    assert answer.status == 401
    assert "ONSALE_OPERATOR_KEY" in answer.json["detail"]


def test_an_event_is_made_shown_and_listed(operator):
    made = operator(
        "POST", "/events", {"slug": "gig", "venue": "arena", "name": "The gig", "fast_gate": False}
    )
    assert (made.status, made.headers["location"]) == (201, "/v1/operator/events/gig")
    assert (made.json["state"], made.json["fast_gate"], made.json["name"]) == ("draft", False, "The gig")
    shown = operator("GET", "/events/gig").json
    assert shown["event"] == made.json
    assert shown["seats"] == {"available": 60, "held": 0, "sold": 0, "blocked": 0}
    assert shown["areas"][0]["free"] == 100
    assert shown["undecided"] == 0
    assert operator("GET", "/events").json == {"events": [made.json]}


def test_an_event_goes_through_its_states(operator, gig):
    for step, state in (("pause", "paused"), ("resume", "open"), ("pause", "paused"), ("close", "closed")):
        answer = operator("POST", f"/events/gig/{step}")
        assert (answer.status, answer.json["state"]) == (200, state)
    refused = operator("POST", "/events/gig/open")
    assert (refused.status, refused.json["code"]) == (409, "event_state")


def test_resuming_what_is_not_paused_does_not_open_it(operator):
    operator("POST", "/events", {"slug": "gig", "venue": "arena"})
    refused = operator("POST", "/events/gig/resume")
    assert refused.status == 409
    assert "is draft, not paused" in refused.json["detail"]
    assert operator("GET", "/events/gig").json["event"]["state"] == "draft"


def test_a_policy_changes_only_what_is_named(operator, gig):
    before = operator("GET", "/events/gig").json["event"]
    changed = operator("PATCH", "/events/gig/policy", {"hold_ttl_seconds": 90})
    assert changed.status == 200
    assert changed.json == before | {"hold_ttl_seconds": 90}
    assert operator("PATCH", "/events/gig/policy", {}).json == changed.json


def test_who_changes_a_policy_from_what_they_saw_is_told_what_it_is_now(operator, gig):
    assert operator("PATCH", "/events/gig/policy", {"hold_ttl_seconds": 90, "who": "ann"}).status == 200
    seen = {"hold_ttl_seconds": 480, "starts_at": None}
    refused = operator("PATCH", "/events/gig/policy", {"fast_gate": False, "seen": seen})
    assert (refused.status, refused.json["code"]) == (409, "event_changed")
    assert "hold_ttl_seconds is 90" in refused.json["detail"]
    changed = operator(
        "PATCH", "/events/gig/policy", {"fast_gate": False, "seen": seen | {"hold_ttl_seconds": 90}}
    )
    assert changed.json["fast_gate"] is False
    strange = operator("PATCH", "/events/gig/policy", {"seen": {"state": "open"}})
    assert (strange.status, strange.json["code"]) == (400, "invalid_body")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"hold_ttl_seconds": 0}, "hold_ttl_seconds"),
        ({"limits": {"None": 2}}, "limits"),
        ({"limits": {"A": 20}}, "limits.A"),
    ],
)
def test_a_term_that_cannot_be_is_named(operator, gig, change, field):
    refused = operator("PATCH", "/events/gig/policy", change)
    assert (refused.status, refused.json["code"]) == (400, "invalid_event")
    assert [error["field"] for error in refused.json["errors"]] == [field]
    assert all(error["says"].startswith("must be ") for error in refused.json["errors"])


def test_when_lobby_and_sale_begin_is_said_changed_and_taken_away_until_they_have(operator):
    times = {"lobby_opens_at": "2030-05-01T07:00:00Z", "opens_at": "2030-05-01T08:00:00Z"}
    made = operator("POST", "/events", {"slug": "gig", "venue": "arena"} | times)
    assert (made.status, made.json | times) == (201, made.json)
    assert operator("GET", "/events").json["events"] == [made.json]
    assert operator("GET", "/events/gig").json["event"] == made.json
    sooner = operator("PATCH", "/events/gig/policy", {"lobby_opens_at": "2030-05-01T08:00:00+02:00"})
    assert sooner.json == made.json | {"lobby_opens_at": "2030-05-01T06:00:00Z"}
    wrong = operator("PATCH", "/events/gig/policy", {"opens_at": "2030-05-01T06:00:00Z"})
    assert (wrong.status, wrong.json["code"]) == (400, "invalid_event")
    assert "lobby_opens_at must be before opens_at" in wrong.json["detail"]
    by_hand = operator("PATCH", "/events/gig/policy", {"lobby_opens_at": None})
    assert by_hand.json == made.json | {"lobby_opens_at": None}
    for name in ("opens_at", "starts_at"):
        naive = {"fast_gate": False, "seen": {name: "2030-05-01T08:00:00"}}
        wrong = operator("PATCH", "/events/gig/policy", naive)
        assert (wrong.status, wrong.json["code"]) == (400, "invalid_event")
    wrong = operator("PATCH", "/events/gig/policy", {"opens_at": None, "seen": times})
    assert (wrong.status, wrong.json["code"]) == (409, "event_changed")
    assert operator("PATCH", "/events/gig/policy", {"seen": times | {"lobby_opens_at": None}}).status == 200
    assert operator("POST", "/events/gig/lobby").status == 200
    late = operator("PATCH", "/events/gig/policy", {"lobby_opens_at": times["lobby_opens_at"]})
    assert (late.status, late.json["code"]) == (409, "times_fixed")
    assert operator("PATCH", "/events/gig/policy", {"opens_at": None}).json["opens_at"] is None


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/events/none", None, 404, "unknown_event"),
        ("POST", "/events/none/open", None, 404, "unknown_event"),
        ("POST", "/events", {"slug": "x", "venue": "none"}, 404, "unknown_venue"),
        ("POST", "/events", {"slug": "gig", "venue": "arena"}, 409, "event_exists"),
        ("POST", "/events", {"slug": "A B", "venue": "arena"}, 400, "invalid_event"),
        ("POST", "/events", {"venue": "arena"}, 400, "invalid_body"),
        ("POST", "/events", {"slug": "x", "venue": "arena", "hold_ttl": 5}, 400, "invalid_body"),
        ("POST", "/events", {"slug": "x", "venue": "arena", "opens_at": "soon"}, 400, "invalid_body"),
        ("PATCH", "/events/gig/policy", {"hold_ttl_seconds": 0}, 400, "invalid_event"),
        ("PATCH", "/events/gig/policy", {"hold_ttl_seconds": None}, 400, "invalid_body"),
        ("POST", "/events", {"slug": "x", "venue": "a" * 20_000}, 413, "too_large"),
        ("GET", "/events/a\0b", None, 404, "unknown_event"),
        ("POST", "/events/a\0b/open", None, 404, "unknown_event"),
        ("PATCH", "/events/a\0b/policy", {}, 404, "unknown_event"),
        ("POST", "/events", {"slug": "x", "venue": "a\0b"}, 404, "unknown_venue"),
        ("POST", "/events", {"slug": "x\0", "venue": "arena"}, 400, "invalid_event"),
    ],
)
def test_what_is_wrong_is_said_with_a_stable_code(operator, gig, method, path, body, status, code):
    answer = operator(method, path, body)
    assert (answer.status, answer.json["code"]) == (status, code)
    assert answer.headers["content-type"] == PROBLEM_TYPE


@pytest.mark.parametrize("opens_at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_could_not_be_read_again_is_refused_and_the_list_stays_readable(operator, opens_at):
    refused = operator("POST", "/events", {"slug": "gig", "venue": "arena", "opens_at": opens_at})
    assert (refused.status, refused.json["code"]) == (400, "invalid_event")
    assert operator("GET", "/events").json == {"events": []}


def test_a_refused_creation_leaves_nothing(operator, database_url):
    operator("POST", "/events", {"slug": "gig", "venue": "arena", "hold_ttl_seconds": 0})
    with psycopg.connect(database_url) as conn:
        assert conn.execute(
            "SELECT (SELECT count(*) FROM event), (SELECT count(*) FROM seat)"
        ).fetchone() == (0, 0)


def test_a_change_wakes_the_allocator_but_creates_no_stream(operator, gig, redis_url):
    with redis.Redis.from_url(redis_url) as client:
        assert not client.exists(stream_key("gig"))
        client.xadd(stream_key("gig"), {"c": "1"})
        operator("POST", "/events/gig/pause")
        operator("PATCH", "/events/gig/policy", {"hold_ttl_seconds": 90})
        assert [list(fields) for _, fields in client.xrange(stream_key("gig"))] == [[b"c"], [b"p"], [b"p"]]


def test_requests_that_wait_are_counted_and_pokes_are_not(operator, gig, redis_url):
    with redis.Redis.from_url(redis_url) as client:
        for field in (b"c", b"r", b"p", b"r"):
            client.xadd(stream_key("gig"), {field: b"1"})
        assert operator("GET", "/events/gig").json["undecided"] == 2


def test_a_stream_that_is_away_stops_no_operator(database_url, operator, gig):
    app = app_for(EngineUrls(database_url, "redis://127.0.0.1:1/0"))
    paused = asyncio.run(ask(app, "POST", "/v1/operator/events/gig/pause", authorization=f"Bearer {KEY}"))
    assert paused.json["state"] == "paused"
    shown = asyncio.run(ask(app, "GET", "/v1/operator/events/gig", authorization=f"Bearer {KEY}"))
    assert shown.json["undecided"] is None


def test_a_database_that_is_away_is_said_to_be(redis_url):
    app = app_for(EngineUrls("postgresql://nobody@127.0.0.1:1/none", redis_url))
    answer = asyncio.run(ask(app, "GET", "/v1/operator/events", authorization=f"Bearer {KEY}"))
    assert (answer.status, answer.json["code"]) == (503, "unavailable")


def test_of_too_many_calls_at_once_some_are_told_to_come_back(engine_urls, operator, gig, monkeypatch):
    monkeypatch.setattr(access, "RUNNING_MAX", 1)
    monkeypatch.setattr(access, "WAITING_MAX", 2)
    app = app_for(engine_urls)

    async def all_at_once():
        async with asyncio.TaskGroup() as group:
            asked = [
                group.create_task(ask(app, "GET", "/v1/operator/events", authorization=f"Bearer {KEY}"))
                for _ in range(8)
            ]
        return [task.result() for task in asked]

    answers = asyncio.run(all_at_once())
    refused = [answer for answer in answers if answer.status == 503]
    assert {answer.json["code"] for answer in refused} == {"operators_busy"}
    assert sum(answer.status == 200 for answer in answers) == 3


def test_the_api_pages_describe_every_body(engine_urls):
    paths = app_for(engine_urls).openapi()["paths"]
    for path, method in (("/v1/operator/events", "post"), ("/v1/operator/events/{event}/policy", "patch")):
        schema = paths[path][method]["requestBody"]["content"]["application/json"]["schema"]
        assert "hold_ttl_seconds" in schema["properties"]
