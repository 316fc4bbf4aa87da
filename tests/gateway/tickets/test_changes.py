"""Buyers return and give away over HTTP: once however often, told to those it concerns, refused by a code."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.operators.access import RUNNING_MAX, WAITING_MAX
from store.stream.port import POKE
from store.wire import stream_key
from tests.gateway.rig import EVENT, SEATS, scenario
from tests.gateway.tickets.box import box, set_terms, sold
from tests.store.test_holds import HOLD, PLAN

FLOOR = PLAN.areas[0].guid
RETURN = f"/orders/{HOLD}/return"


@scenario
async def test_some_tickets_are_returned_and_then_the_rest(engine_urls):
    sold(engine_urls)
    async with box(engine_urls) as ours:
        for _ in range(2):
            part = await ours.ask("POST", RETURN, {"tickets": ["3", "0-1"]})
            assert part.status == 200
            left = part.json()
            assert (left["state"], left["seats"], left["areas"]) == ("paid", [SEATS[4]], {FLOOR: 1})
        assert [one["ticket"] for one in (await ours.tickets())["tickets"]] == ["4", "0-2"]
        for _ in range(2):
            whole = (await ours.ask("POST", RETURN)).json()
            assert (whole["state"], whole["seats"], whole["areas"]) == ("refunded", [], {})
        assert (await ours.tickets())["tickets"] == []


@scenario
async def test_a_return_wakes_the_allocator_and_is_told_to_the_buyers_sockets(engine_urls):
    sold(engine_urls)
    async with box(engine_urls) as ours, ours.served.socket() as mine, ours.served.socket("bob") as other:
        client = ours.served.runtime.redis
        await client.xadd(stream_key(EVENT), {"c": "1"}, id="1-1")
        await ours.ask("POST", RETURN, {"tickets": ["3"]})
        frame = await mine.receive("hold")
        assert (frame["state"], frame["seats"], frame["areas"]) == ("paid", [SEATS[4]], {FLOOR: 2})
        await ours.ask("POST", RETURN)
        assert (await mine.receive("hold"))["state"] == "refunded"
        await other.nothing_for(0.05)
        there: Any = await client.xrange(stream_key(EVENT))
        pokes = [fields for _, fields in there if POKE in fields]
        assert len(pokes) == 2


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"tickets": ["7"]}, 404, "ticket_not_found"),
        ({"tickets": ["0-3"]}, 404, "ticket_not_found"),
        ({"tickets": []}, 400, "bad_body"),
        ({"tickets": ["x"]}, 400, "bad_body"),
        ({"seats": ["3"]}, 400, "bad_body"),
        ({"tickets": ["1"] * 1001}, 400, "bad_body"),
        (b"[", 400, "bad_body"),
        (b" " * 20_000, 413, "body_too_large"),
    ],
)
@scenario
async def test_a_return_that_cannot_be_is_refused_and_nothing_is_returned(engine_urls, body, status, code):
    sold(engine_urls)
    async with box(engine_urls) as ours:
        answer = await ours.ask("POST", RETURN, body)
        assert (answer.status, answer.json()["code"]) == (status, code)
        assert len((await ours.tickets())["tickets"]) == 4


@scenario
async def test_what_the_organiser_does_not_allow_is_refused(engine_urls):
    sold(engine_urls, returns_allowed=False, transfers_allowed=False)
    async with box(engine_urls) as ours:
        refused = await ours.ask("POST", RETURN)
        assert (refused.status, refused.json()["code"]) == (409, "returns_not_allowed")
        refused = await ours.ask("POST", f"/orders/{HOLD}/tickets/3/transfer")
        assert (refused.status, refused.json()["code"]) == (409, "transfers_not_allowed")
        shown = await ours.tickets()
        assert (shown["returns_allowed"], shown["transfers_allowed"]) == (False, False)
        set_terms(engine_urls, returns_allowed=True, transfers_allowed=True)
        assert (await ours.ask("POST", f"/orders/{HOLD}/tickets/3/transfer")).status == 200


@scenario
async def test_a_ticket_that_was_given_is_its_new_holders_alone(engine_urls):
    sold(engine_urls)
    async with box(engine_urls) as ours:
        before = {one["ticket"]: one["token"] for one in (await ours.tickets())["tickets"]}
        path = f"/orders/{HOLD}/tickets/3/transfer"
        offered = [(await ours.ask("POST", path)).json() for _ in range(2)]
        assert offered[0] == offered[1] == {"order": str(HOLD), "ticket": "3", "code": offered[0]["code"]}
        assert (await ours.tickets())["tickets"][0]["offer"] == offered[0]["code"]
        for _ in range(2):
            claimed = await ours.ask("POST", "/v1/tickets/claim", {"code": offered[0]["code"]}, buyer="bob")
            assert claimed.json() == {"event": EVENT, "order": str(HOLD), "ticket": "3"}
        late = await ours.ask("POST", "/v1/tickets/claim", {"code": offered[0]["code"]}, buyer="carl")
        assert (late.status, late.json()["code"]) == (409, "code_claimed")
        mine, theirs = await ours.tickets(), await ours.tickets("bob")
        assert [one["yours"] for one in mine["tickets"]] == [False, True, True, True]
        assert (mine["tickets"][0]["token"], mine["tickets"][0]["qr"]) == (None, None)
        [got] = theirs["tickets"]
        assert (got["yours"], theirs["yours"], theirs["payment"]) == (True, False, None)
        assert got["token"] != before["3"]
        assert (await ours.check(before["3"]))["result"] == "revoked"
        assert (await ours.check(got["token"]))["result"] == "valid"
        listed = (await ours.ask("GET", "/orders", buyer="bob")).json()["orders"]
        assert [(one["yours"], one["seats"], one["areas"]) for one in listed] == [(False, [SEATS[3]], {})]


@scenario
async def test_an_offer_is_taken_back(engine_urls):
    sold(engine_urls)
    async with box(engine_urls) as ours:
        code = (await ours.ask("POST", f"/orders/{HOLD}/tickets/3/transfer")).json()["code"]
        for _ in range(2):
            answer = await ours.ask("POST", f"/orders/{HOLD}/tickets/3/withdraw")
            assert answer.json() == {"order": str(HOLD), "ticket": "3", "code": None}
        late = await ours.ask("POST", "/v1/tickets/claim", {"code": code}, buyer="bob")
        assert (late.status, late.json()["code"]) == (404, "code_not_found")


@pytest.mark.parametrize("code", ["", "A" * 65, "abc", "A\n", "a b", 7])
@scenario
async def test_what_is_no_code_is_refused(engine_urls, code):
    sold(engine_urls)
    async with box(engine_urls) as ours:
        answer = await ours.ask("POST", "/v1/tickets/claim", {"code": code})
        assert (answer.status, answer.json()["code"]) == (400, "bad_body")


@scenario
async def test_nobody_does_anything_with_what_is_not_theirs(engine_urls):
    sold(engine_urls)
    async with box(engine_urls) as ours:
        for path in (RETURN, f"/orders/{HOLD}/tickets/3/transfer", f"/orders/{HOLD}/tickets/3/withdraw"):
            answer = await ours.ask("POST", path, buyer="bob")
            assert answer.status == 404
            assert answer.json()["code"] in ("order_not_found", "ticket_not_found")
            nobody = await ours.served.http("POST", f"/v1/events/{EVENT}{path}")
            assert nobody.json()["code"] == "token_required"
        nobody = await ours.served.http("POST", "/v1/tickets/claim", body={"code": "A"})
        assert nobody.json()["code"] == "token_required"


@scenario
async def test_too_many_returns_at_once_are_told_to_come_back(engine_urls):
    sold(engine_urls)
    async with box(engine_urls) as ours:
        await ours.tickets()
        room = ours.served.app.api.state.tickets_room
        room._returning._under_way = RUNNING_MAX + WAITING_MAX
        answer = await ours.ask("POST", RETURN)
        assert (answer.status, answer.json()["code"]) == (503, "too_many_returns")
        assert answer.headers["retry-after"]
