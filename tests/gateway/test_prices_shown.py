"""Buyers read what a seat costs in all, by category, before they ask."""

from __future__ import annotations

import psycopg
import pytest

from gateway.events import EventRuntime
from store.prices import PriceTerms, of_categories
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
