"""Buyers see their orders and tickets over HTTP, and nobody else's; what they see, a door accepts."""

from __future__ import annotations

import re

import psycopg
import pytest
import segno

from gateway.settings import SettingNotValid, Settings
from gateway.tickets import qr
from gateway.tickets.qr import code_of
from notifier.tickets import KnownKeys, TicketKeys
from store import audit, sales
from store.settings import EngineUrls
from store.words import HoldKind
from tests.gateway.rig import EVENT, SEATS, scenario
from tests.gateway.tickets.box import TICKET_KEY, beside, box, sold
from tests.store.payments.paying import begun, notice
from tests.store.payments.paying import told as pay
from tests.store.test_holds import HOLD, PLAN, hold
from tests.store.tickets.holding import order

AREA = PLAN.areas[0]


@scenario
async def test_an_order_is_listed_with_what_it_has(engine_urls):
    sold(engine_urls)
    async with box(engine_urls) as ours:
        answer = await ours.ask("GET", "/orders")
        assert answer.headers["cache-control"] == "no-store"
        [one] = answer.json()["orders"]
        assert answer.json()["next"] is None
        assert one.pop("paid_at") > 1_600_000_000_000
        assert one == {
            "order": str(HOLD), "state": "paid", "kind": "buyer", "yours": True, "payment": None,
            "seats": [SEATS[3], SEATS[4]], "areas": {AREA.guid: 2},
        }  # fmt: skip
        assert (await ours.ask("GET", "/orders", buyer="bob")).json() == {"orders": [], "next": None}


@scenario
async def test_orders_come_a_page_at_a_time(engine_urls, monkeypatch):
    event = sold(engine_urls)

    def more(conn):
        for number in range(1, 4):
            order(conn, event, HOLD + number, seats=(10 + number,), places=0)

    beside(engine_urls, more)
    for module in ("store.tickets.reads", "gateway.tickets.orders"):
        monkeypatch.setattr(f"{module}.ORDERS_MAX", 2)
    async with box(engine_urls) as ours:
        first = (await ours.ask("GET", "/orders")).json()
        rest = (await ours.ask("GET", f"/orders?before={first['next']}")).json()
        last = (await ours.ask("GET", f"/orders?before={rest['next']}")).json()
        told = [int(one["order"]) - HOLD for page in (first, rest, last) for one in page["orders"]]
        assert told == [3, 2, 1, 0]
        assert last == {"orders": [], "next": None}


@scenario
async def test_what_was_paid_and_came_back_is_told(engine_urls):
    event = sold(engine_urls)

    def paid(conn):
        conn.execute("UPDATE event SET payment = 'required'")
        hold(conn, event, hold_id=HOLD + 1, seats=(7, 8), places=0)
        payment = begun(conn, event, HOLD + 1)
        pay(conn, notice(payment))
        return payment

    payment = beside(engine_urls, paid)
    async with box(engine_urls) as ours:
        shown = await ours.tickets(order_id=HOLD + 1)
        costs = [ticket["paid_minor"] for ticket in shown["tickets"]]
        assert sum(costs) == payment.amount_minor
        back = await ours.ask("POST", f"/orders/{HOLD + 1}/return", {"tickets": ["8"]})
        assert back.json()["payment"] == {
            "payment": str(payment.id), "state": "succeeded", "currency": payment.currency,
            "amount_minor": payment.amount_minor, "fee_minor": payment.fee_minor,
            "tax_minor": payment.tax_minor, "refunded_minor": 0, "refund_due_minor": costs[1],
        }  # fmt: skip


@scenario
async def test_tickets_have_the_names_of_their_seats_and_tokens_of_ours(engine_urls):
    sold(engine_urls)
    async with box(engine_urls) as ours:
        shown = await ours.tickets()
        assert (shown["event"], shown["venue"]) == ({"slug": EVENT, "name": "The gig"}, PLAN.name)
        assert (shown["returns_allowed"], shown["transfers_allowed"]) == (True, True)
        seat, _, first, second = shown["tickets"]
        there = PLAN.seats[3]
        assert (seat["ticket"], seat["section"]) == ("3", PLAN.sections[there.section].name)
        assert (seat["row"], seat["seat"], seat["area"]) == (there.row, there.number, None)
        assert [(one["ticket"], one["area"], one["place"]) for one in (first, second)] == [
            ("0-1", AREA.name, 1), ("0-2", AREA.name, 2),
        ]  # fmt: skip
        tokens = [one["token"] for one in shown["tickets"]]
        read = [KnownKeys(TicketKeys(TICKET_KEY).public).read(one) for one in tokens]
        assert [(one.event, one.order, one.item.name, one.serial) for one in read] == [
            (EVENT, HOLD, name, 1) for name in ("3", "4", "0-1", "0-2")
        ]
        assert [one["qr"] for one in shown["tickets"]] == [
            {"size": code_of(one).size, "path": code_of(one).path} for one in tokens
        ]
        assert (await ours.tickets())["tickets"] == shown["tickets"], "the same again"


@scenario
async def test_an_order_by_hand_has_tickets_too(engine_urls):
    event = sold(engine_urls)
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        said = audit.said("Olga", "a guest")
        guest = sales.sell(conn, event, PLAN, [SEATS[9]], {}, "ann", HoldKind.COMPLIMENTARY, said)
    async with box(engine_urls) as ours:
        shown = await ours.tickets(order_id=int(guest.hold))
        assert [one["ticket"] for one in shown["tickets"]] == ["9"]
        assert (await ours.check(shown["tickets"][0]["token"]))["kind"] == "complimentary"


@scenario
async def test_what_is_not_ones_own_is_not_there(engine_urls):
    sold(engine_urls)
    async with box(engine_urls) as ours:
        for path in (f"/orders/{HOLD}/tickets", f"/orders/{HOLD + 1}/tickets", f"/orders/{1 << 63}/tickets"):
            answer = await ours.ask("GET", path, buyer="bob")
            assert (answer.status, answer.json()["code"]) == (404, "order_not_found")
        for path in ("/orders", f"/orders/{HOLD}/tickets"):
            answer = await ours.served.http("GET", f"/v1/events/{EVENT}{path}")
            assert (answer.status, answer.json()["code"]) == (401, "token_required")
            missing = await ours.ask("GET", f"/v1/events/nowhere{path}")
            assert (missing.status, missing.json()["code"]) == (404, "event_not_found")


@scenario
async def test_a_gateway_without_a_key_makes_no_tickets_and_says_so(engine_urls):
    sold(engine_urls)
    async with box(engine_urls, ticket_key="") as ours:
        for path in (f"/orders/{HOLD}/tickets", "/v1/tickets/keys"):
            answer = await ours.ask("GET", path)
            assert (answer.status, answer.json()["code"]) == (404, "tickets_off")
        assert (await ours.operator("GET", "/tickets/export")).json()["code"] == "tickets_off"
        assert len((await ours.ask("GET", "/orders")).json()["orders"]) == 1


def test_a_key_that_could_be_guessed_is_refused_at_the_start():
    with pytest.raises(SettingNotValid, match="ONSALE_TICKET_KEY"):
        Settings(engines=EngineUrls("", ""), token_secret="x" * 32, ticket_key="short")


def test_a_drawing_is_the_code_of_its_token():
    """Painted again, run by run, it is module for module what the library made."""
    for text in ("ABC234", "Z" * 170):
        code = code_of(text)
        painted = [[0] * code.size for _ in range(code.size)]
        for x, y, width in re.findall(r"M(\d+) (\d+)h(\d+)v1H\d+z", code.path):
            for at in range(int(x), int(x) + int(width)):
                painted[int(y)][at] += 1
        made = segno.make(text, error="m", mode="alphanumeric", mask=qr.MASK, micro=False, boost_error=False)
        assert painted == [list(row) for row in made.matrix]
