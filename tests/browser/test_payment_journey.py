"""From a free seat to money and tickets, and all in between is real: gateways, an allocator, the simulated
provider in a process of its own, and its checkout page. In time, and too late.
"""

from __future__ import annotations

import asyncio
import functools
import os
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from msgspec import json
from playwright.sync_api import Page, expect

from gateway.payments.simulated import Simulated
from onsale.processes import Stack, throwaway_stack
from store import events
from store.payments import refunds
from store.plan import Category, Plan, Seat, Section, number
from store.settings import EngineUrls
from store.venues.rows import save_venue
from store.words import EventState
from tests.browser.conftest import Profile, Tabs
from tests.browser.payers import CARD, PAY, STATE

pytestmark = pytest.mark.browser

EVENT = f"matins-{os.getpid()}"
"""Each process that runs tests has its own, for channels are the whole server's."""
IN_TIME = {"hold_ttl_seconds": 480}
RUNS_OUT = {"hold_ttl_seconds": 10, "extensions_max": 0}
"""Long enough to go to the provider and pay there on a busy machine."""
REFUND = RUNS_OUT | {"late_payment": "refund"}
REACQUIRE = RUNS_OUT | {"late_payment": "reacquire"}


def two_seats() -> Plan:
    seats = [Seat(f"A-{n}", 0, "A", str(n), 0, float(n), 1.0) for n in (1, 2)]
    gold = Category("Gold", 4800, "EUR", "#aa8800")
    return number("Chapel", "EUR", [gold], [Section("Stalls")], seats, [], focal=(1.5, 0.0), size=(3.0, 3.0))


def put_on_sale(terms: dict[str, Any], urls: EngineUrls) -> None:
    with psycopg.connect(urls.database_url, autocommit=True) as conn:
        plan = two_seats()
        venue = save_venue(conn, "chapel", plan)
        events.create_event(conn, EVENT, "Matins", venue, plan, payment="required", **terms)
        events.set_state(conn, EVENT, EventState.OPEN)


@pytest.fixture
def stack(engine_urls: EngineUrls, request: pytest.FixtureRequest) -> Iterator[Stack]:
    """Where the event is on sale on the terms that the test names."""
    with throwaway_stack(
        gateways=2,
        allocators=1,
        payments=True,
        database_url=engine_urls.database_url,
        redis_url=engine_urls.redis_url,
        env={"ONSALE_DEMO": "1"},
        prepare=functools.partial(put_on_sale, request.param),
    ) as running:
        yield running


@pytest.fixture
def buyer(profile: Profile, stack: Stack) -> Iterator[Page]:
    """Somebody who holds both seats."""
    tabs = Tabs(profile, stack.base_url)
    page = tabs.open(f"/e/{EVENT}")
    hold_both(page)
    yield page
    tabs.close()
    assert tabs.wrong == [], "the page wrote errors to the console"


def hold_both(page: Page) -> None:
    page.get_by_role("button", name="Best available").click()
    page.locator(".choosing .button.main").click()
    expect(page.locator(".holding .mine li")).to_have_count(2)


def to_the_provider(page: Page, stack: Stack) -> None:
    expect(page.locator(PAY)).to_contain_text("€96.00")
    page.locator(PAY).click()
    page.wait_for_url(f"{stack.provider_url}/pay/*")
    expect(page.locator("#amount")).to_contain_text("96.00")


def tell_notices(stack: Stack, told: bool) -> None:
    """Whether the provider sends what it has to tell, or keeps it until it may."""
    body = json.encode({"webhooks": told})
    urllib.request.urlopen(urllib.request.Request(f"{stack.provider_url}/control", body)).close()


def column(urls: EngineUrls, query: str) -> list[Any]:
    with psycopg.connect(urls.database_url) as conn:
        return [row[0] for row in conn.execute(query).fetchall()]


def await_rows(
    page: Page, urls: EngineUrls, query: str, rows: list[Any], meanwhile: Callable[[], None]
) -> None:
    """Until the truth is so."""
    for _ in range(300):
        meanwhile()
        if column(urls, query) == rows:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{query} still gives {column(urls, query)}, not {rows}")


def give_back_what_is_owed(stack: Stack, urls: EngineUrls) -> None:
    """As a chore does it, whether one runs here or not: both may, the money goes back once."""

    async def give() -> None:
        provider = Simulated(stack.provider_url, "whsec_" + "A" * 32)
        async with await psycopg.AsyncConnection.connect(urls.database_url, autocommit=True) as connection:
            for due in await refunds.take(connection):
                await refunds.given(connection, due, await provider.give_back(due))
        await provider.close()

    with ThreadPoolExecutor(1) as beside:  # playwright has this thread's loop
        beside.submit(lambda: asyncio.run(give())).result()


def pay_late(page: Page, stack: Stack, urls: EngineUrls) -> None:
    """Paid in time, but the provider says so when the hold is over."""
    to_the_provider(page, stack)
    tell_notices(stack, False)
    page.locator("#pay").click()
    page.wait_for_url(f"{stack.base_url}/e/{EVENT}*")
    expect(page.locator(STATE)).to_contain_text("We wait for your bank’s word.")
    expect(page.locator(CARD)).to_contain_text("Your time ran out before a payment came.")
    await_rows(page, urls, "SELECT DISTINCT state FROM hold", ["expired"], lambda: None)


@pytest.mark.parametrize("stack", [IN_TIME], indirect=True, ids=["in time"])
def test_choose_hold_be_declined_pay_and_have_tickets(
    buyer: Page, stack: Stack, engine_urls: EngineUrls
) -> None:
    to_the_provider(buyer, stack)
    buyer.locator("#decline").click()
    expect(buyer.locator("#state")).to_contain_text("Your card was declined.")
    buyer.locator("#back").click()
    expect(buyer.locator(STATE)).to_contain_text("Your card was declined. Nothing was charged.")
    expect(buyer.locator(STATE)).to_contain_text("Your seats are still yours until")
    to_the_provider(buyer, stack)
    buyer.locator("#pay").click()
    expect(buyer.locator(".notice")).to_contain_text("They are yours.")
    expect(buyer.locator(".order")).to_contain_text("€96.00")
    assert column(engine_urls, "SELECT state FROM payment") == ["succeeded"]
    assert column(engine_urls, "SELECT state FROM seat ORDER BY seat_no") == ["sold", "sold"]
    assert column(engine_urls, "SELECT count(*) FROM refund") == [0]
    buyer.get_by_role("link", name="Show your tickets").click()
    expect(buyer.get_by_role("heading", name="Matins")).to_be_visible()
    expect(buyer.get_by_role("img", name="Code of")).to_have_count(2)


@pytest.mark.parametrize("stack", [IN_TIME], indirect=True, ids=["in time"])
def test_who_goes_back_without_paying_still_holds_and_may_pay(buyer: Page, stack: Stack) -> None:
    to_the_provider(buyer, stack)
    buyer.locator("#back").click()
    expect(buyer.locator(STATE)).to_contain_text("We wait for your bank’s word.")
    buyer.get_by_role("button", name="Back to the payment page").click()
    buyer.wait_for_url(f"{stack.provider_url}/pay/*")
    buyer.locator("#pay").click()
    expect(buyer.locator(".order")).to_be_visible()


@pytest.mark.parametrize("stack", [REFUND], indirect=True, ids=["late money goes back"])
def test_who_pays_too_late_gets_all_of_it_back(buyer: Page, stack: Stack, engine_urls: EngineUrls) -> None:
    pay_late(buyer, stack, engine_urls)
    tell_notices(stack, True)
    expect(buyer.locator(CARD)).to_contain_text("Your payment came after your time had run out.")
    expect(buyer.locator(CARD)).to_contain_text("€96.00")
    give = functools.partial(give_back_what_is_owed, stack, engine_urls)
    await_rows(buyer, engine_urls, "SELECT state FROM payment", ["refunded"], give)
    buyer.reload()
    expect(buyer.locator(CARD)).to_contain_text("€96.00 is on its way back to you.")
    expect(buyer.locator(".order")).to_have_count(0)
    assert column(engine_urls, "SELECT state FROM seat ORDER BY seat_no") == ["available", "available"]


@pytest.mark.parametrize("stack", [REACQUIRE], indirect=True, ids=["late money asks again"])
def test_who_pays_too_late_has_the_same_seats_again_where_they_are_free(
    buyer: Page, stack: Stack, engine_urls: EngineUrls
) -> None:
    pay_late(buyer, stack, engine_urls)
    tell_notices(stack, True)
    expect(buyer.locator(".notice")).to_contain_text("They are yours after all.")
    expect(buyer.locator(".order")).to_contain_text("€96.00")
    (order,) = column(engine_urls, "SELECT order_id FROM payment WHERE state = 'succeeded'")
    link = buyer.locator(".order").get_by_role("link")
    expect(link).to_have_attribute("href", f"/e/{EVENT}/tickets/{order}")
    assert column(engine_urls, "SELECT state FROM seat ORDER BY seat_no") == ["sold", "sold"]


@pytest.mark.parametrize("stack", [REACQUIRE], indirect=True, ids=["late money asks again"])
def test_who_pays_too_late_gets_all_of_it_back_where_somebody_else_has_the_seats(
    buyer: Page, stack: Stack, engine_urls: EngineUrls, profile: Profile
) -> None:
    pay_late(buyer, stack, engine_urls)
    other = Tabs(profile, stack.base_urls[1])
    hold_both(other.open(f"/e/{EVENT}"))
    tell_notices(stack, True)
    expect(buyer.locator(CARD)).to_contain_text("the seats were gone by then")
    expect(buyer.locator(CARD)).to_contain_text("All of it, €96.00, goes back to you.")
    assert column(engine_urls, "SELECT reason FROM payment") == ["seats_gone"]
    assert column(engine_urls, "SELECT amount_minor FROM refund") == [9600]
