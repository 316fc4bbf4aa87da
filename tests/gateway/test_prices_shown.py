"""Buyers read what a seat costs in all, by category, before they ask."""

from __future__ import annotations

import psycopg
import pytest

from gateway.events import EventRuntime
from gateway.stock import SOLD, Stock
from store import audit, events
from store.categories import with_category
from store.prices import PriceTerms, of_categories
from store.recategorise import recategorise
from store.wire import Delta
from store.words import Best, EventState, Want
from tests.allocator.house import plan_of
from tests.gateway.rig import EVENT, gateway, make_event, scenario, until

TERMS = PriceTerms(150, 250, 1_900, tax_included=False)


@pytest.fixture
def event(database_url):
    return make_event(database_url)


def settle(database_url, event):
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("INSERT INTO event_price VALUES (%s, 150, 250, 1900, false)", (event,))


@scenario
async def test_an_event_says_its_fees_and_tax_and_what_each_category_costs(engine_urls, event):
    settle(engine_urls.database_url, event)
    async with gateway(engine_urls) as served:
        shown = await served.http("GET", f"/v1/events/{EVENT}")
        assert shown.json()["prices"] == {
            "fee_minor": 150,
            "fee_basis_points": 250,
            "tax_basis_points": 1900,
            "tax_included": False,
        }
        prices = await served.http("GET", f"/v1/events/{EVENT}/prices")
        assert prices.status == 200
        runtime = await served.runtime.events.get(EVENT)
        told = [(one["category"], one["total_minor"]) for one in prices.json()["categories"]]
        each = of_categories(runtime.plan.categories, TERMS)
        assert told == [(one.category, one.total_minor) for one in each]
        missing = await served.http("GET", "/v1/events/none/prices")
        assert missing.status == 404


@scenario
async def test_what_is_settled_later_is_shown_soon(engine_urls, event, monkeypatch):
    monkeypatch.setattr("gateway.events.ROW_SECONDS", 0.01)
    async with gateway(engine_urls) as served:
        path = f"/v1/events/{EVENT}/prices"
        before = (await served.http("GET", path)).json()["terms"]
        assert before["fee_minor"] == 0
        settle(engine_urls.database_url, event)
        runtime: EventRuntime = await served.runtime.events.get(EVENT)
        await until(lambda: runtime.row.price_terms == TERMS)
        assert (await served.http("GET", path)).json()["terms"]["fee_minor"] == 150


@scenario
async def test_a_draft_whose_categories_were_moved_is_shown_so_soon(engine_urls, database_url, monkeypatch):
    monkeypatch.setattr("gateway.events.ROW_SECONDS", 0.01)
    make_event(database_url, state=EventState.DRAFT)
    path = f"/v1/events/{EVENT}/plan"
    async with gateway(engine_urls) as served:
        before = await served.http("GET", path)
        assert before.headers["cache-control"] == "public, no-cache"
        runtime = await served.runtime.events.get(EVENT)
        seat, names = runtime.plan.seats[0], [one.name for one in runtime.plan.categories]
        other = names[seat.category - 1]
        with psycopg.connect(database_url, autocommit=True) as conn:
            recategorise(conn, EVENT, other, [seat.guid], [], audit.said("Olga", "the pillar"))
        await until(lambda: runtime.plan.seats[0].category == names.index(other))
        after = await served.http("GET", path, headers={"If-None-Match": before.headers["etag"]})
        assert after.status == 200
        assert after.json()["seats"][0][4] == names.index(other)
        with psycopg.connect(database_url, autocommit=True) as conn:
            events.set_state(conn, EVENT, EventState.OPEN)
        await until(lambda: runtime.row.state is EventState.OPEN)


@scenario
async def test_what_is_left_of_a_category_counts_the_seats_that_were_moved_into_it(
    engine_urls, database_url, monkeypatch
):
    monkeypatch.setattr("gateway.events.ROW_SECONDS", 0.01)
    make_event(database_url, state=EventState.DRAFT)
    async with gateway(engine_urls) as served:
        runtime = await served.runtime.events.get(EVENT)
        seat, names = runtime.plan.seats[0], [one.name for one in runtime.plan.categories]
        other = seat.category - 1
        with psycopg.connect(database_url, autocommit=True) as conn:
            gone = [no for no, one in enumerate(runtime.plan.seats) if one.category == other % len(names)]
            conn.execute("UPDATE seat SET state = 'blocked' WHERE seat_no = ANY (%s)", (gone,))
            wanted = Want(best=Best(1, category=names[other]))
            runtime._reload()
            await until(lambda: runtime.seats.none_left(wanted, 0) is not None)
            recategorise(conn, EVENT, names[other], [seat.guid], [], audit.said("Olga", "the pillar"))
        await until(lambda: runtime.seats.none_left(wanted, 0) is None)


@scenario
async def test_a_move_while_the_event_sells_is_shown_once_a_batch_took_it_in(engine_urls, event, monkeypatch):
    monkeypatch.setattr("gateway.events.ROW_SECONDS", 3_600)
    path = f"/v1/events/{EVENT}/plan"
    async with gateway(engine_urls) as served, served.socket("ann") as ann:
        runtime: EventRuntime = await served.runtime.events.get(EVENT)
        await until(lambda: runtime.following and runtime._reloading is None)
        before = await served.http("GET", path)
        assert before.headers["cache-control"] == "public, no-cache"
        assert before.headers["etag"] == f'"{ann.welcome["event"]["plan"]}"'
        seat, names = runtime.plan.seats[0], [one.name for one in runtime.plan.categories]
        other = (seat.category + 1) % len(names)
        gone = [no for no, one in enumerate(runtime.plan.seats) if one.category == other]
        with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
            conn.execute("UPDATE seat SET state = 'blocked' WHERE seat_no = ANY (%s)", (gone,))
            runtime._reload()
            wanted = Want(best=Best(1, category=names[other]))
            await until(lambda: runtime.seats.none_left(wanted, 0) is not None)
            recategorise(conn, EVENT, names[other], [seat.guid], [], audit.said("Olga", "the pillar"))
            await runtime._read_row()
            known = {"If-None-Match": before.headers["etag"]}
            assert (await served.http("GET", path, headers=known)).status == 304
            conn.execute("UPDATE event_plan SET ledger_at = 65537")
        letters = bytes(runtime.seats.letters)
        runtime.changed(Delta(runtime.watch.batch_no + 1, 1, [], [], [], [], plan=True))
        assert await ann.receive("plan") == {"type": "plan"}
        assert bytes(runtime.seats.letters) == letters
        assert runtime.seats.none_left(wanted, 0) is None
        after = await served.http("GET", path, headers=known)
        assert (after.status, after.json()["seats"][0][4]) == (200, other)
        prices = (await served.http("GET", f"/v1/events/{EVENT}/prices")).json()
        assert prices["moved"] == [{"before": "65537", "seats": [[0, seat.category]], "areas": []}]


def test_the_map_of_another_plan_has_the_same_seats_held_until_the_same_time():
    house = plan_of(rows=2, seats_a_row=2)
    stock = Stock(house)
    stock.load(b"hsba", [(0, 77)], [(0, 5_000_000)])
    under = stock.under(with_category(house, 1, [0], []))
    assert (under.letters, under.held_until) == (stock.letters, stock.held_until)
    assert under.soonest_place(0) == stock.soonest_place(0) == 5_000_000
    under.turn([3], SOLD)
    assert under.left_of(Best(1, category="Silver")) == (False, 1, 77)
