"""Doors: in once, by what counts; with what is exported a door that is cut off says the same."""

from __future__ import annotations

import msgspec
import psycopg
import pytest

from notifier.tickets import KnownKeys, PublicKey, Revocations, Said, Ticket, TicketKeys, judge
from store import audit, sales
from store.tickets.items import Item
from store.tickets.revoked import Revoked
from tests.gateway.rig import EVENT, scenario
from tests.gateway.tickets.box import TICKET_KEY, box, sold
from tests.store.test_holds import HOLD, PLAN

SAID = audit.said("Olga", "a broken seat")


@scenario
async def test_a_ticket_lets_in_once_and_says_where_to(engine_urls):
    sold(engine_urls)
    async with box(engine_urls) as ours:
        seat, _, place, _ = [one["token"] for one in (await ours.tickets())["tickets"]]
        first = await ours.check(seat)
        assert (first["result"], first["again"], first["device"]) == ("valid", False, "north")
        assert (first["order"], first["ticket"]["seat"]) == (str(HOLD), PLAN.seats[3].number)
        again = await ours.check(f" {seat.lower()} ")
        assert (again["result"], again["again"], again["checked_at"]) == ("valid", True, first["checked_at"])
        other = await ours.check(seat, "south")
        assert (other["result"], other["device"]) == ("checked_in_before", "north")
        assert (await ours.check(place))["ticket"]["area"] == PLAN.areas[0].name
        assert (await ours.tickets())["tickets"][0]["checked_at"] == first["checked_at"]


@scenario
async def test_what_is_not_of_this_event_or_not_ours_is_told_apart(engine_urls):
    sold(engine_urls)
    keys = TicketKeys(TICKET_KEY)
    async with box(engine_urls) as ours:
        elsewhere = await ours.check(keys.sign(Ticket("another", HOLD, Item(-1, 3))))
        assert (elsewhere["result"], elsewhere["event"]) == ("not_of_this_event", "another")
        forged = await ours.check(
            TicketKeys("another key than that of the tests").sign(Ticket(EVENT, HOLD, Item(-1, 3)))
        )
        assert (forged["result"], forged["ticket"]) == ("not_valid", None)
        assert (await ours.check("hello"))["result"] == "not_valid"
        nowhere = await ours.check(keys.sign(Ticket(EVENT, HOLD, Item(-1, 10**8))))
        assert (nowhere["result"], nowhere["ticket"]) == ("revoked", None)
        assert (await ours.check((await ours.tickets())["tickets"][0]["token"]))["result"] == "valid"


@scenario
async def test_a_refund_revokes(engine_urls):
    event = sold(engine_urls)
    async with box(engine_urls) as ours:
        tokens = [one["token"] for one in (await ours.tickets())["tickets"]]
        with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
            sales.take_back(conn, event, PLAN, HOLD, SAID)
        assert {(await ours.check(one))["result"] for one in tokens} == {"revoked"}


@pytest.mark.parametrize(
    "body",
    [{}, {"token": "A"}, {"device": "a"}, {"token": "", "device": "a"}, {"token": "A" * 301, "device": "a"},
     {"token": "A", "device": ""}, {"token": "A", "device": "a\n"}, {"token": "A", "device": "ü"}],
)  # fmt: skip
@scenario
async def test_a_check_that_cannot_be_understood_is_refused(engine_urls, body):
    sold(engine_urls)
    async with box(engine_urls) as ours:
        answer = await ours.operator("POST", "/tickets/check", body)
        assert (answer.status, answer.json()["code"]) == (400, "invalid_body")


@scenario
async def test_doors_have_the_operator_key(engine_urls):
    sold(engine_urls)
    async with box(engine_urls) as ours:
        for method, path in (("POST", "/tickets/check"), ("GET", "/tickets/export")):
            answer = await ours.ask(
                method, f"/v1/operator/events/{EVENT}{path}", {"token": "A", "device": "a"}
            )
            assert (answer.status, answer.json()["code"]) == (401, "operator_key")
        answer = await ours.operator("GET", "/tickets/export", event="nowhere")
        assert (answer.status, answer.json()["code"]) == (404, "event_not_found")


@scenario
async def test_keys_are_for_everybody_and_those_before_stay_known(engine_urls):
    sold(engine_urls)
    async with box(engine_urls) as ours:
        old = (await ours.tickets())["tickets"][0]["token"]
    new = "the next ticket key that these tests use"
    async with box(engine_urls, ticket_key=f"{new},{TICKET_KEY}") as ours:
        published = (await ours.served.http("GET", "/v1/tickets/keys")).json()["keys"]
        assert len(published) == 2
        known = KnownKeys.of_published(msgspec.convert(published, list[PublicKey]))
        now = (await ours.tickets())["tickets"][0]["token"]
        assert now != old
        assert known.read(now) == known.read(old)
        assert (await ours.check(old))["result"] == "valid"


@scenario
async def test_what_is_exported_tells_a_door_that_is_cut_off(engine_urls, monkeypatch):
    sold(engine_urls)
    for module in ("store.tickets.revoked", "gateway.tickets.doors"):
        monkeypatch.setattr(f"{module}.REVOKED_MAX", 1)
    async with box(engine_urls) as ours:
        before = {one["ticket"]: one["token"] for one in (await ours.tickets())["tickets"]}
        await ours.give("3")
        await ours.ask("POST", f"/orders/{HOLD}/return", {"tickets": ["0-1"]})
        page = (await ours.operator("GET", "/tickets/export")).json()
        pages = page["revoked"]
        while page["next"] is not None:
            page = (await ours.operator("GET", f"/tickets/export?after={page['next']}")).json()
            pages += page["revoked"]
        assert pages == [
            {"order": str(HOLD), "ticket": "3", "below": 2},
            {"order": str(HOLD), "ticket": "0-1"},
        ]
        known = KnownKeys.of_published(msgspec.convert(page["keys"], list[PublicKey]))
        revoked = Revocations(msgspec.convert(pages, list[Revoked]))
        said = {name: judge(one, known, event=EVENT, revoked=revoked).said for name, one in before.items()}
        assert said == {"3": Said.REVOKED, "4": Said.VALID, "0-1": Said.REVOKED, "0-2": Said.VALID}
        theirs = (await ours.tickets("bob"))["tickets"][0]["token"]
        assert judge(theirs, known, event=EVENT, revoked=revoked).said is Said.VALID
        bad = await ours.operator("GET", "/tickets/export?after=x")
        assert (bad.status, bad.json()["code"]) == (400, "invalid_after")
