"""The operators' HTTP for figures, the settlement and calling off: what is asked, what is answered."""

from __future__ import annotations

import asyncio

import msgspec
import psycopg
import pytest
import redis

from gateway.figures import ShownFigures
from store import events, lookups, sales
from store.errors import Unavailable
from store.figures.project import step
from store.venues.rows import save_venue
from store.wire import decode_news, holds_channel
from store.words import HoldKind
from tests.gateway.rig import scenario
from tests.gateway.test_operators import KEY, app_for, ask
from tests.store.calling_off.calling import SAID, paid_event, sold
from tests.store.test_holds import PLAN

WHY = {"who": SAID.who, "why": SAID.why}


@pytest.fixture
def conn(engine_urls):
    with psycopg.connect(engine_urls.database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def event(conn):
    number = paid_event(conn)
    sold(conn, number)
    return number


@pytest.fixture
def operator(engine_urls, event):
    """Calls the API with the key: `operator("POST", "/cancel", {...})`."""
    app = app_for(engine_urls)

    def call(method, path, body=None):
        raw = b"" if body is None else msgspec.json.encode(body)
        return asyncio.run(ask(app, method, f"/v1/operator/events{path}", raw, f"Bearer {KEY}"))

    return call


def test_figures_and_the_settlement_are_told(operator, conn, event):
    assert operator("GET", "/gig/figures").json["sold"] == 0
    while step(conn, event, PLAN):
        pass
    shown = operator("GET", "/gig/figures").json
    assert (shown["event"], shown["sold"], shown["orders"]["paid"]) == ("gig", 7, 1)
    found = operator("GET", "/gig/settlement").json
    assert (found["balances"], found["orders"]) == (True, 1)
    for path in ("/nothing/figures", "/nothing/settlement", "/nothing/settlement.csv", "/gig/calling-off"):
        assert operator("GET", path).status == 404


def test_who_has_the_figures_as_they_are_is_told_so(engine_urls, conn, event):
    while step(conn, event, PLAN):
        pass
    app, path = app_for(engine_urls), "/v1/operator/events/gig/figures"

    def asked(etag=""):
        return asyncio.run(raw_answer(app, path, etag))

    headers, _ = asked()
    assert headers["cache-control"] == "no-store"
    same, nothing = asked(headers["etag"])
    assert (same[":status"], nothing, same["etag"]) == ("304", "", headers["etag"])
    sales.sell(conn, event, PLAN, [PLAN.seats[90].guid], {}, "bob", HoldKind.BOX_OFFICE, SAID)
    older, there = asked(headers["etag"])
    assert (older[":status"], msgspec.json.decode(there)["age_ms"] >= 0) == ("200", True)
    assert older["etag"] != headers["etag"]


async def raw_answer(app, path, etag=""):
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
        "headers": [(b"authorization", f"Bearer {KEY}".encode()), (b"if-none-match", etag.encode())],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
    }  # fmt: skip
    await app(scope, receive, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    headers[":status"] = str(sent[0]["status"])
    return headers, b"".join(part.get("body", b"") for part in sent[1:]).decode()


def test_an_event_is_canceled_and_each_call_goes_on_and_tells_the_buyers(operator, engine_urls):
    with redis.Redis.from_url(engine_urls.redis_url) as client, client.pubsub() as heard:
        heard.subscribe(holds_channel("gig"))
        heard.get_message(timeout=30)
        first = operator("POST", "/gig/cancel", WHY)
        assert (first.status, first.json["event"], first.json["refunded"]) == (200, "gig", 2)
        news = [decode_news(heard.get_message(timeout=30)["data"]) for _ in range(3)]
    assert {one.buyer for one in news} == {"ann", "bob", "eve"}
    assert operator("POST", "/gig/cancel", WHY).json["done_at"] is not None
    assert operator("GET", "/gig/calling-off").json["left"] == {"holds": 0, "waiting": 0, "orders": 0}
    assert operator("POST", "/gig/cancel", {"who": "Olga"}).status == 400


def test_an_event_is_moved_or_it_is_said_why_not(operator, conn):
    assert operator("POST", "/gig/move", WHY | {"to": "new"}).json["code"] == "unknown_event"
    events.create_event(conn, "new", "The gig", save_venue(conn, "arena", PLAN), PLAN)
    moved = operator("POST", "/gig/move", WHY | {"to": "new"})
    assert (moved.status, moved.json["to"], moved.json["rebooked"]) == (200, "new", 2)
    refused = operator("POST", "/gig/cancel", WHY)
    assert (refused.status, refused.json["code"]) == (409, "event_moved")


@scenario
async def test_pages_read_at_most_once_a_second_however_many_ask(engine_urls, event):
    pool = lookups.open_pool(engine_urls.database_url, size_max=2)
    await pool.open()
    try:
        shown = ShownFigures(pool, event)
        many = await asyncio.gather(*[shown.now() for _ in range(50)])
        assert {one.percent_sold for one in many} == {0.0}
        assert len({id(one.just_booked) for one in many}) == 1
        await asyncio.sleep(0.02)
        assert (await shown.now()).age_ms >= many[0].age_ms + 20
    finally:
        await pool.close()


@scenario
async def test_without_a_database_pages_are_told_to_come_back(engine_urls, event):
    pool = lookups.open_pool(engine_urls.database_url, size_max=1)
    with pytest.raises(Unavailable):
        await ShownFigures(pool, event).now()
