"""The operators' HTTP for sales by hand: once however often, what is refused is named, each change wakes."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import redis

from gateway.problems import PROBLEM_TYPE
from store.wire import HoldNews, decode_news, holds_channel, stream_key
from store.words import OPERATORS_HOLDS
from tests.gateway import test_operator_seats
from tests.gateway.test_operator_seats import FLOOR, GUID, SAID
from tests.gateway.test_operators import app_for, ask
from tests.store.test_holds import HOLD, PLAN, hold

conn, event, operator = test_operator_seats.conn, test_operator_seats.event, test_operator_seats.operator
SALE = SAID | {"to": "ann", "kind": "box_office"}
ORDER = str(OPERATORS_HOLDS)


def test_a_sale_is_an_order_of_its_buyer_once_however_often_it_is_asked_for(operator):
    for _ in range(2):
        made = operator("POST", "/sales", SALE | {"seats": GUID[:2], "areas": {FLOOR: 5}})
        assert (made.status, made.json) == (
            200,
            {
                "hold": ORDER,
                "state": "paid",
                "buyer": "ann",
                "kind": "box_office",
                "seats": GUID[:2],
                "areas": {FLOOR: 5},
            },
        )
    shown = operator("GET", "").json
    assert (shown["seats"]["sold"], shown["areas"][0]["sold"]) == (2, 5)
    assert [row["what"]["change"] for row in operator("GET", "/audit").json["audit"]] == ["sell"]
    assert operator("POST", "/sales", SALE | {"areas": {FLOOR: 5}, "reference": "2"}).json["hold"] != ORDER


def test_an_order_is_taken_back_in_part_and_whole(operator):
    operator("POST", "/sales", SALE | {"seats": GUID[:2], "areas": {FLOOR: 5}})
    part = operator("POST", f"/orders/{ORDER}/return", SAID | {"areas": {FLOOR: 2}, "quantity": 7})
    assert (part.status, part.json["state"], part.json["areas"]) == (200, "paid", {FLOOR: 3})
    again = operator("POST", f"/orders/{ORDER}/return", SAID | {"areas": {FLOOR: 2}, "quantity": 7})
    assert (again.status, again.json["code"]) == (409, "order_changed")
    for _ in range(2):
        whole = operator("POST", f"/orders/{ORDER}/return", SAID | {"block": True})
        assert (whole.status, whole.json["state"], whole.json["seats"]) == (200, "refunded", [])
    shown = operator("GET", "").json
    assert (shown["seats"]["blocked"], shown["areas"][0]["blocked"]) == (2, 3)
    assert [row["what"]["change"] for row in operator("GET", "/audit").json["audit"]] == [
        "return",
        "return",
        "sell",
    ]


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/sales", SALE | {"seats": [GUID[3]]}, 409, "seats_not_free"),
        ("/sales", SALE | {"areas": {FLOOR: 49}}, 409, "places_not_free"),
        ("/sales", SALE | {"areas": {FLOOR: 10**20}}, 400, "too_many_asked"),
        ("/sales", SALE | {"seats": ["nowhere"]}, 404, "unknown_seat"),
        ("/sales", SALE | {"seats": [GUID[1]], "to": ""}, 400, "buyer_required"),
        ("/sales", SALE | {"seats": [GUID[1]], "kind": "buyer"}, 400, "invalid_body"),
        ("/sales", SALE | {"seats": [GUID[1]], "why": ""}, 400, "why_required"),
        ("/sales", SALE, 400, "nothing_asked"),
        (f"/orders/{HOLD}/return", SAID, 409, "not_an_order"),
        (f"/orders/{ORDER}/return", SAID, 404, "hold_not_found"),
        ("/orders/x/return", SAID, 404, "hold_not_found"),
        (f"/orders/{HOLD}/return", SAID | {"areas": {FLOOR: 1}}, 400, "quantity_required"),
        (f"/orders/{HOLD}/return", SAID | {"who": "buyer"}, 400, "who_required"),
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


@pytest.mark.parametrize("path", ["/sales", f"/orders/{ORDER}/return"])
def test_an_event_that_is_not_there_and_a_missing_key_are_told(operator, engine_urls, path):
    body = SALE | {"seats": [GUID[1]]} if path == "/sales" else SAID
    unknown = operator("POST", path, body, slug="none")
    assert (unknown.status, unknown.json["code"]) == (404, "unknown_event")
    keyless = asyncio.run(ask(app_for(engine_urls), "POST", f"/v1/operator/events/gig{path}"))
    assert keyless.status == 401


def test_each_sale_and_return_wakes_the_allocator(operator, redis_url):
    with redis.Redis.from_url(redis_url) as client:
        client.xadd(stream_key("gig"), {"c": "1"})
        operator("POST", "/sales", SALE | {"seats": GUID[:2]})
        operator("POST", f"/orders/{ORDER}/return", SAID)
        operator("POST", "/sales", SALE | {"seats": ["nowhere"]})
        fields = [list(entry) for _, entry in client.xrange(stream_key("gig"))]
    assert fields == [[b"c"], [b"p"], [b"p"]]


def test_the_api_pages_describe_who_why_and_to_whom(engine_urls):
    paths = app_for(engine_urls).openapi()["paths"]
    operation = paths["/v1/operator/events/{event}/sales"]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    assert {"why", "to", "kind"} == set(schema["required"])
    assert schema["properties"]["kind"]["enum"] == ["box_office", "complimentary"]


def test_prices_are_settled_before_the_sale_and_shown_to_everybody(engine_urls, conn, event, operator):
    made = operator("GET", "/prices").json
    assert made["terms"] == {
        "fee_minor": 0,
        "fee_basis_points": 0,
        "tax_basis_points": 0,
        "tax_included": True,
    }
    refused = operator("PUT", "/prices", SAID | {"fee_minor": 150})
    assert (refused.status, refused.json["code"]) == (409, "prices_fixed")
    conn.execute("UPDATE event SET state = 'draft'")
    body = SAID | {"fee_minor": 150, "tax_basis_points": 700, "tax_included": False}
    settled = operator("PUT", "/prices", body)
    assert settled.status == 200
    shown = operator("GET", "/prices").json
    assert settled.json == operator("GET", "").json["prices"]
    assert settled.json.items() <= shown.items()
    each = settled.json["categories"][0]
    assert each["total_minor"] == each["price_minor"] + each["fee_minor"] + each["tax_minor"]
    assert operator("GET", "/audit").json["audit"][0]["what"]["fee_minor"] == 150
    for wrong in ({"fee_minor": -1}, {"fee": 1}, {"tax_basis_points": 10_001}):
        answer = operator("PUT", "/prices", SAID | wrong)
        assert (answer.status, answer.json["code"]) == (400, "invalid_body")
    assert operator("PUT", "/prices", SAID | {"why": ""}).json["code"] == "why_required"
    slower = operator("PUT", "/prices", SAID | {"fee_minor": 200, "seen": made["terms"]})
    assert (slower.status, slower.json["code"]) == (409, "prices_changed")
    assert operator("PUT", "/prices", SAID | {"fee_minor": 200, "seen": shown["terms"]}).status == 200


def test_prices_say_which_seats_have_them_and_what_can_still_be_changed(conn, operator):
    def shown() -> dict[str, Any]:
        told: dict[str, Any] = operator("GET", "/prices").json
        return told

    def how(told: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(told[name] for name in ("state", "fees_settled", "may_move", "version", "taken_in"))

    conn.execute("UPDATE event SET state = 'draft'")
    draft = shown()
    assert how(draft) == ("draft", False, "free", 0, True)
    assert draft["seat_categories"] == [seat.category for seat in PLAN.seats]
    assert draft["area_categories"] == [area.category for area in PLAN.areas]
    assert [(one["guid"], one["free"]) for one in draft["areas"]] == [(FLOOR, PLAN.areas[0].capacity)]
    last = len(PLAN.categories) - 1
    body = SAID | {"category": PLAN.categories[last].name, "seats": GUID[:1]}
    assert operator("POST", "/categories", body | {"seen": draft["plan"]}).status == 200
    slower = operator("POST", "/categories", body | {"seats": GUID[1:2], "seen": draft["plan"]})
    assert (slower.status, slower.json["code"]) == (409, "plan_changed")
    assert shown()["seat_categories"][:2] == [last, PLAN.seats[1].category]
    assert operator("POST", "/categories", body | {"seen": "5"}).json["code"] == "invalid_body"
    operator("PATCH", "/policy", {"limits": {PLAN.categories[0].name: 1}})
    assert shown()["limited"] == []
    conn.execute("UPDATE event SET state = 'open', limits = '{}'")
    operator("POST", "/categories", body | {"seats": GUID[1:2], "seen": shown()["plan"]})
    assert how(shown()) == ("open", True, "any", 1, False)
    assert shown()["seat_categories"][:2] == [last, last]
    conn.execute("UPDATE event_plan SET ledger_at = 65536 WHERE version = 1")
    conn.execute("UPDATE event SET limits = %s", (f'{{"{PLAN.categories[0].name}": 1}}',))
    assert (shown()["taken_in"], shown()["limited"]) == (True, [PLAN.categories[0].name])
    conn.execute("UPDATE event SET state = 'closed'")
    assert how(shown()) == ("closed", True, "none", 1, True)
    assert operator("GET", "/prices", slug="none").status == 404


def test_categories_are_moved_before_the_sale_and_while_it_runs(operator, conn, redis_url):
    body: dict[str, Any] = SAID | {"category": "Floor", "seats": GUID[:2]}
    refused = operator("POST", "/categories", body)
    assert (refused.status, refused.json["code"]) == (404, "unknown_category")
    body["category"] = PLAN.categories[-1].name
    told = {"category": body["category"], "seats": GUID[:2], "areas": []}
    conn.execute("UPDATE event SET state = 'draft'")
    for _ in range(2):
        moved = operator("POST", "/categories", body)
        assert (moved.status, moved.json) == (200, told | {"version": 0})
    conn.execute("UPDATE event SET state = 'open'")
    body = body | {"seats": GUID[2:3], "version": 0}
    with redis.Redis.from_url(redis_url) as client:
        client.xadd(stream_key("gig"), {"p": "1"})
        moved = operator("POST", "/categories", body)
        assert (moved.status, moved.json) == (200, told | {"seats": GUID[2:3], "version": 1})
        assert client.xlen(stream_key("gig")) == 2
    refused = operator("POST", "/categories", body | {"seats": GUID[3:4]})
    assert (refused.status, refused.json["code"]) == (409, "plan_changed")
    conn.execute("UPDATE event SET state = 'closed'")
    refused = operator("POST", "/categories", SAID | {"category": body["category"], "seats": GUID[3:4]})
    assert (refused.status, refused.json["code"]) == (409, "categories_fixed")
    rows = operator("GET", "/audit").json["audit"]
    assert [row["what"].get("version") for row in rows if row["what"]["change"] == "recategorise"] == [
        1,
        None,
    ]


def test_the_buyers_sockets_hear_what_is_left_of_an_order(operator, redis_url):
    mine = f"ann-{os.getpid()}"  # channels are the whole server's
    operator("POST", "/sales", SALE | {"seats": GUID[:2], "to": mine})
    with heard_of(mine, redis_url) as news_of_mine:
        for part, state in ({"seats": GUID[:1]}, "paid"), ({}, "refunded"):
            operator("POST", f"/orders/{ORDER}/return", SAID | part)
            news = next(news_of_mine)
            left = GUID[1:2] if part else []
            told = {
                "type": "hold",
                "hold": ORDER,
                "state": state,
                "seats": left,
                "areas": {},
                "by": "operator",
            }
            assert (news.gateway, msgspec.json.decode(news.frame)) == ("", told | {"by": "operator"})


@pytest.mark.parametrize(("before", "after"), [("active", "released"), ("expired", "expired")])
def test_the_buyers_sockets_hear_that_a_hold_was_taken_away(operator, conn, event, redis_url, before, after):
    mine = f"ann-{os.getpid()}"
    hold(conn, event)
    conn.execute("UPDATE hold SET buyer = %s, state = %s", (mine, before))
    with heard_of(mine, redis_url) as news_of_mine:
        operator("POST", f"/holds/{HOLD}/release", SAID)
        told = msgspec.json.decode(next(news_of_mine).frame)
    by = {"by": "operator"} if after == "released" else {}
    assert told == {"type": "hold", "hold": str(HOLD), "state": after, **by}


@contextlib.contextmanager
def heard_of(buyer: str, redis_url: str) -> Iterator[Iterator[HoldNews]]:
    """What is published from now on about holds of this buyer; other tests publish on the same channel."""
    with (
        redis.Redis.from_url(redis_url) as client,
        client.pubsub(ignore_subscribe_messages=True) as listening,
    ):
        listening.subscribe(holds_channel("gig"))
        listening.get_message(timeout=30)  # that it is subscribed

        def news() -> Iterator[HoldNews]:
            while True:
                message = listening.get_message(timeout=30)
                assert message is not None, "nothing was published"
                found = decode_news(message["data"])
                if found.buyer == buyer:
                    yield found

        yield news()
