"""Whatever operators change leaves a row that says who did what: every call of theirs, one after the other.

Who adds a call that changes something adds a step that makes it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import psycopg
import pytest

from store import audit, events
from store.fleet import turn
from store.operators.words import Role
from store.words import OPERATORS_HOLDS
from tests.gateway.operators_rig import EVENTS, KEY, SESSION, make, refusal, served
from tests.gateway.rig import EVENT, SEATS, make_event, scenario
from tests.gateway.test_operator_venues import PLANS
from tests.store.fleet import fleet_rows
from tests.store.test_holds import HOLD, PLAN, hold

WHY = {"why": "tests"}
PRETIX = msgspec.json.decode((PLANS / "pretix_playhouse.json").read_bytes())
FLOOR = PLAN.areas[0].guid
ORDER = str(OPERATORS_HOLDS)
OTHERWISE = {
    ("POST", "/v1/operator/events/{event}/tickets/check"): (
        "who came in is kept with each ticket: when, and by which device"
    ),
    ("POST", "/v1/operator/venues/preview"): "a plan is looked at, and not kept",
    ("POST", "/v1/operator/venues/make/preview"): "a plan is looked at, and not kept",
    ("POST", "/v1/operator/buyers/erase"): (
        "it leaves a row without whom: tests/store/erasure/test_erase.py has the sales it takes"
    ),
}
"""Calls that leave no row, and where it is kept what they did."""


class Step(NamedTuple):
    """A call that changes something, and what its row says changed."""

    method: str
    path: str
    change: str
    body: Any = None
    values: dict[str, str] | None = None
    query: str = ""


def event(word, change, body=None, slug=EVENT, method="POST", **values):
    return Step(method, f"/v1/operator/events/{{event}}{word}", change, body, {"event": slug, **values})


STEPS = [
    Step("POST", "/v1/operator/tours", "create tour", {"slug": "tour", "seats_per_buyer_max": 4}),
    Step("POST", EVENTS, "create event", {"slug": "draft", "venue": "arena"}),
    Step("POST", EVENTS, "create event", {"slug": "other", "venue": "arena"}),
    Step("POST", "/v1/operator/tours/{tour}/events", "join tour", WHY | {"event": "draft"}, {"tour": "tour"}),
    event("/prices", "prices", WHY | {"fee_minor": 100}, "draft", "PUT"),
    event("/room", "make room", WHY, "draft"),
    event("/room", "room", WHY | {"pace": 7}, "draft", "PATCH"),
    event("/room/message", "message", WHY | {"text": "Soon."}, "draft", "PUT"),
    event("/room/look", "look", WHY | {"look": {"accent": "#2f4fc4"}}, "draft", "PUT"),
    event("/room/codes", "codes", WHY | {"label": "fans", "count": 2}, "draft"),
    event("/room/codes/revoke", "revoke codes", WHY | {"label": "fans"}, "draft"),
    event("/lobby", "state", None, "draft"),
    event("/open", "state", WHY, "draft"),
    event("/room/pause", "admission", WHY, "draft"),
    event("/room/resume", "admission", WHY, "draft"),
    event("/room/stop", "admission", WHY, "draft"),
    event("/fleet", "scale", WHY | {"workers": 3}, method="PUT"),
    event("/fleet/move", "move to host", WHY | {"to": "a"}),
    Step("POST", "/v1/operator/fleet/hosts/{host}/drain", "drain host", WHY, {"host": "b"}),
    Step("POST", "/v1/operator/fleet/hosts/{host}/keep", "keep host", WHY, {"host": "b"}),
    event("/rehearsals", "rehearse", {"buyers": 100, "beside_a_sale": True}, "draft"),
    Step("POST", "/v1/operator/venues", "save venue", PRETIX, query="?slug=house&price=50"),
    Step("POST", "/v1/operator/venues/make", "save venue", {"kind": "hall", "seats": 20, "slug": "hall"}),
    Step("POST", "/v1/operator/launches", "launch", {"event": {"slug": "launched"}, "venue": "arena"}),
    event("/policy", "policy", {"hold_ttl_seconds": 90}, method="PATCH"),
    event("/pause", "state"),
    event("/resume", "state"),
    event("/categories", "recategorise", WHY | {"category": "CHEAPEST", "seats": [SEATS[20]]}),
    event("/blocks", "block", WHY | {"seats": SEATS[10:12]}),
    event("/unblock", "unblock", WHY | {"seats": SEATS[10:12]}),
    event("/holds/{hold}/release", "release", WHY, hold=str(HOLD)),
    event("/sales", "sell", WHY | {"to": "ann", "kind": "box_office", "areas": {FLOOR: 1}}),
    event("/orders/{hold}/return", "return", WHY, hold=ORDER),
    event("/close", "state"),
    event("/cancel", "cancel", WHY),
    event("/move", "move", WHY | {"to": "other"}, "draft"),
    Step("POST", "/v1/operator/webhooks", "add webhook", WHY | {"url": "https://example.org/hook"}),
    *(
        Step(
            "POST",
            f"/v1/operator/webhooks/{{subscriber}}/{word}",
            f"{word} webhook",
            body,
            {"subscriber": "1"},
        )
        for word, body in (
            ("disable", WHY),
            ("enable", WHY),
            ("rotate", WHY),
            ("test", WHY),
            ("replay", WHY | {"message": "TEST"}),
            ("remove", WHY),
        )
    ),
    Step("POST", "/v1/operator/keys", "create key", {"name": "bob", "role": "viewer"}),
    Step("POST", "/v1/operator/keys/{key}/rotate", "rotate key", None, {"key": "1"}),
    Step("POST", "/v1/operator/keys/{key}/revoke", "revoke key", None, {"key": "1"}),
]


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@scenario
async def test_every_change_leaves_a_row_that_says_who_did_what(engine_urls, conn):
    number = make_event(engine_urls.database_url)
    hold(conn, number)
    turn.make(conn)
    for name in ("a", "b"):
        fleet_rows.add_host(conn, name, silent_seconds=-3_600)
    cheapest = PLAN.categories[-1].name
    message = ""
    async with served(engine_urls) as call:
        for number, step in enumerate(STEPS):
            told = {"CHEAPEST": cheapest, "TEST": message}
            body = step.body and {name: told.get(str(value), value) for name, value in step.body.items()}
            before = last_of(conn)
            path = step.path.format(**(step.values or {})) + step.query
            answer = await call(step.method, path, KEY, body=body, Idempotency_Key=f"step-{number}")
            assert answer.status < 300, (step, answer.body)
            message = answer.json().get("message", message) if step.change == "test webhook" else message
            rows = [row for row in audit.read_all(conn) if row.id > before]
            assert step.change in [row.what["change"] for row in rows], step
            assert {row.who for row in rows} == {"environment"}, step
        before = last_of(conn)
        cookie, _ = await call.log_in(KEY)
        assert (await call("DELETE", SESSION, cookie=cookie, Origin=call.own)).status == 204
        changes = [row.what["change"] for row in audit.read_all(conn) if row.id > before]
        assert changes == ["logout", "login"]
        made = {(step.method, step.path) for step in STEPS} | {("POST", SESSION), ("DELETE", SESSION)}
        there = {one for one in call.routes() if one[0] != "GET"}
        assert there - made == OTHERWISE.keys(), "a step for each call that changes something"


@scenario
async def test_who_says_who_they_are_stands_behind_their_key(engine_urls, conn):
    make_event(engine_urls.database_url)
    anna = make(conn).secret
    async with served(engine_urls) as call:
        for word, body in (
            ("pause", {"who": "box office 2", "why": "a fire alarm"}),
            ("resume", {"who": " "}),
            ("pause", {"who": "anna"}),
            ("resume", {"who": "x" * 100}),
        ):
            assert (await call("POST", f"{EVENTS}/{EVENT}/{word}", anna, body=body)).status == 200
        rows = (await call("GET", "/v1/operator/audit?who=anna&limit=4", anna)).json()["audit"]
        assert [(row["who"], row["why"]) for row in rows[1:]] == [
            ("anna", "paused the sale"),
            ("anna", "went on after a pause"),
            ("anna (box office 2)", "a fire alarm"),
        ]
        assert (len(rows[0]["who"]), rows[0]["who"][-2:]) == (100, "…)")
        for who in ("allocator", "an\nna", "x" * 101):
            answer = await call("POST", f"{EVENTS}/{EVENT}/pause", anna, body={"who": who})
            assert refusal(answer) == (400, "who_required")


@scenario
async def test_what_was_refused_or_changed_nothing_leaves_no_row(engine_urls, conn):
    make_event(engine_urls.database_url)
    async with served(engine_urls) as call:
        for word, body in (("resume", None), ("open", {}), ("pause", {"seen": "draft"})):
            answer = await call("POST", f"{EVENTS}/{EVENT}/{word}", KEY, body=body)
            assert answer.status == 409
        assert (await call("PATCH", f"{EVENTS}/{EVENT}/policy", KEY, body={})).status == 200
    assert audit.read_all(conn) == []


@scenario
async def test_who_was_slower_is_told_what_it_is_now_and_by_whom(engine_urls, conn):
    make_event(engine_urls.database_url)
    anna, bob = make(conn).secret, make(conn, "bob").secret
    async with served(engine_urls) as call:
        pause, close = f"{EVENTS}/{EVENT}/pause", f"{EVENTS}/{EVENT}/close"
        assert (await call("POST", pause, anna, body={"seen": "open"})).status == 200
        late = await call("POST", close, bob, body={"seen": "open"})
        assert refusal(late) == (409, "event_changed")
        assert "is paused now, not open" in late.json()["detail"]
        assert "by anna" in late.json()["detail"]
        assert events.get_event(conn, EVENT).state == "paused"
        assert (await call("POST", close, bob, body={"seen": "paused"})).status == 200


@scenario
async def test_the_audit_is_read_in_pages_by_event_and_by_who(engine_urls, conn):
    make_event(engine_urls.database_url)
    anna, bob = make(conn).secret, make(conn, "bob").secret
    async with served(engine_urls) as call:
        await call("POST", f"{EVENTS}/{EVENT}/pause", anna)
        await call("POST", f"{EVENTS}/{EVENT}/resume", bob)
        await call("POST", "/v1/operator/tours", bob, body={"slug": "tour", "seats_per_buyer_max": 4})

        async def read(query):
            answer = await call("GET", f"/v1/operator/audit?{query}", anna)
            return [(row["who"], row["event"], row["what"]["change"]) for row in answer.json()["audit"]]

        bobs = [("bob", None, "create tour"), ("bob", EVENT, "state")]
        mine = [("anna", EVENT, "state")]
        assert await read("limit=3") == [*bobs, *mine]
        assert await read("who=bob") == bobs
        assert await read(f"event={EVENT}") == [bobs[1], *mine]
        assert await read(f"event={EVENT}&who=anna") == mine
        newest = last_of(conn)
        assert await read(f"limit=2&before={newest}") == [bobs[1], *mine]
        assert await read("who=bo") == await read("who=b%25") == []
        for query in ("limit=0", "before=0", "who=%00", "limit=1001"):
            assert (await call("GET", f"/v1/operator/audit?{query}", anna)).status == 400
        nowhere = await call("GET", "/v1/operator/audit?event=none", anna)
        assert refusal(nowhere) == (404, "unknown_event")


@scenario
async def test_who_only_looks_on_is_not_told_which_buyer_it_was(engine_urls, conn):
    make_event(engine_urls.database_url)
    anna, vera = make(conn).secret, make(conn, "vera", Role.VIEWER).secret
    sale = {"to": "carl@example.com", "kind": "box_office", "seats": [SEATS[0]], "why": "by phone"}
    async with served(engine_urls) as call:
        sold = await call("POST", f"{EVENTS}/{EVENT}/sales", anna, body=sale)
        assert sold.status == 200, sold.body
        for path in ("/v1/operator/audit", f"{EVENTS}/{EVENT}/audit"):
            told = [
                (await call("GET", path, key)).json()["audit"][0]["what"]["buyer"] for key in (anna, vera)
            ]
            assert told == ["carl@example.com", None]


def last_of(conn):
    return conn.execute("SELECT coalesce(max(id), 0) FROM audit").fetchone()[0]
