"""From a free seat to money and tickets, and all in between is real: gateways, an allocator, the simulated
provider in a process of its own, and its checkout page. In time, and too late.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import os
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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

EVENTS = f"matins-{os.getpid()}"
"""Each process that runs tests has its own, for channels are the whole server's."""
NUMBERS = itertools.count(1)
IN_TIME = {"hold_ttl_seconds": 480}
RUNS_OUT = {"hold_ttl_seconds": 10, "extensions_max": 0}
"""Long enough to go to the provider and pay there on a busy machine."""
REFUND = RUNS_OUT | {"late_payment": "refund"}
REACQUIRE = RUNS_OUT | {"late_payment": "reacquire"}


def two_seats() -> Plan:
    seats = [Seat(f"A-{n}", 0, "A", str(n), 0, float(n), 1.0) for n in (1, 2)]
    gold = Category("Gold", 4800, "EUR", "#aa8800")
    return number("Chapel", "EUR", [gold], [Section("Stalls")], seats, [], focal=(1.5, 0.0), size=(3.0, 3.0))


@pytest.fixture(scope="module")
def stack(engine_urls_of_module: EngineUrls) -> Iterator[Stack]:
    """One for all of these tests; each has an event of its own on it."""
    with throwaway_stack(
        gateways=2,
        allocators=1,
        payments=True,
        database_url=engine_urls_of_module.database_url,
        redis_url=engine_urls_of_module.redis_url,
        env={"ONSALE_DEMO": "1"},
    ) as running:
        yield running


@dataclass(frozen=True)
class Matins:
    """An event of two seats on that stack."""

    stack: Stack
    slug: str
    id: int

    def column(self, query: str) -> list[Any]:
        """What the query gives, whose %s is the event."""
        with psycopg.connect(self.stack.urls.database_url) as conn:
            return [row[0] for row in conn.execute(query, [self.id]).fetchall()]


@pytest.fixture
def matins(stack: Stack, request: pytest.FixtureRequest) -> Iterator[Matins]:
    """On sale on the terms that the test names, and closed after it."""
    with psycopg.connect(stack.urls.database_url, autocommit=True) as conn:
        plan = two_seats()
        venue = save_venue(conn, "chapel", plan)
        slug = f"{EVENTS}-{next(NUMBERS)}"
        number = events.create_event(conn, slug, "Matins", venue, plan, payment="required", **request.param)
        events.set_state(conn, slug, EventState.OPEN)
        yield Matins(stack, slug, number)
        tell_notices(stack, True)
        events.set_state(conn, slug, EventState.CLOSED)


@pytest.fixture
def buyer(profile: Profile, matins: Matins) -> Iterator[Page]:
    """Somebody who holds both seats."""
    tabs = Tabs(profile, matins.stack.base_url)
    page = tabs.open(f"/e/{matins.slug}")
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


def await_rows(
    page: Page, matins: Matins, query: str, rows: list[Any], meanwhile: Callable[[], None]
) -> None:
    """Until the truth is so."""
    for _ in range(300):
        meanwhile()
        if matins.column(query) == rows:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{query} still gives {matins.column(query)}, not {rows}")


def give_back_what_is_owed(stack: Stack) -> None:
    """As a chore does it, whether one runs here or not: both may, the money goes back once."""

    async def give() -> None:
        provider = Simulated(stack.provider_url, "whsec_" + "A" * 32)
        async with await psycopg.AsyncConnection.connect(stack.urls.database_url, autocommit=True) as conn:
            for due in await refunds.take(conn):
                await refunds.given(conn, due, await provider.give_back(due))
        await provider.close()

    with ThreadPoolExecutor(1) as beside:  # playwright has this thread's loop
        beside.submit(lambda: asyncio.run(give())).result()


def pay_late(page: Page, matins: Matins) -> None:
    """Paid in time, but the provider says so when the hold is over."""
    stack = matins.stack
    to_the_provider(page, stack)
    tell_notices(stack, False)
    page.locator("#pay").click()
    page.wait_for_url(f"{stack.base_url}/e/{matins.slug}*")
    expect(page.locator(STATE)).to_contain_text("We wait for your bank’s word.")
    expect(page.locator(CARD)).to_contain_text("Your time ran out before a payment came.")
    await_rows(page, matins, "SELECT DISTINCT state FROM hold WHERE event_id = %s", ["expired"], lambda: None)


@pytest.mark.parametrize("matins", [IN_TIME], indirect=True, ids=["in time"])
def test_choose_hold_be_declined_pay_and_have_tickets(buyer: Page, matins: Matins, stack: Stack) -> None:
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
    assert matins.column("SELECT state FROM payment WHERE event_id = %s") == ["succeeded"]
    assert matins.column("SELECT state FROM seat WHERE event_id = %s ORDER BY seat_no") == ["sold", "sold"]
    assert matins.column("SELECT count(*) FROM refund WHERE event_id = %s") == [0]
    buyer.get_by_role("link", name="Show your tickets").click()
    expect(buyer.get_by_role("heading", name="Matins")).to_be_visible()
    expect(buyer.get_by_role("img", name="Code of")).to_have_count(2)


@pytest.mark.parametrize("matins", [IN_TIME], indirect=True, ids=["in time"])
def test_who_goes_back_without_paying_still_holds_and_may_pay(buyer: Page, stack: Stack) -> None:
    to_the_provider(buyer, stack)
    buyer.locator("#back").click()
    expect(buyer.locator(STATE)).to_contain_text("We wait for your bank’s word.")
    buyer.get_by_role("button", name="Back to the payment page").click()
    buyer.wait_for_url(f"{stack.provider_url}/pay/*")
    buyer.locator("#pay").click()
    expect(buyer.locator(".order")).to_be_visible()


@pytest.mark.parametrize("matins", [REFUND], indirect=True, ids=["late money goes back"])
def test_who_pays_too_late_gets_all_of_it_back(buyer: Page, matins: Matins, stack: Stack) -> None:
    pay_late(buyer, matins)
    tell_notices(stack, True)
    expect(buyer.locator(CARD)).to_contain_text("Your payment came after your time had run out.")
    expect(buyer.locator(CARD)).to_contain_text("€96.00")
    give = functools.partial(give_back_what_is_owed, stack)
    await_rows(buyer, matins, "SELECT state FROM payment WHERE event_id = %s", ["refunded"], give)
    buyer.reload()
    expect(buyer.locator(CARD)).to_contain_text("€96.00 is on its way back to you.")
    expect(buyer.locator(".order")).to_have_count(0)
    assert matins.column("SELECT state FROM seat WHERE event_id = %s ORDER BY seat_no") == ["available"] * 2


@pytest.mark.parametrize("matins", [REACQUIRE], indirect=True, ids=["late money asks again"])
def test_who_pays_too_late_has_the_same_seats_again_where_they_are_free(
    buyer: Page, matins: Matins, stack: Stack
) -> None:
    pay_late(buyer, matins)
    tell_notices(stack, True)
    expect(buyer.locator(".notice")).to_contain_text("They are yours after all.")
    expect(buyer.locator(".order")).to_contain_text("€96.00")
    (order,) = matins.column("SELECT order_id FROM payment WHERE event_id = %s AND state = 'succeeded'")
    link = buyer.locator(".order").get_by_role("link")
    expect(link).to_have_attribute("href", f"/e/{matins.slug}/tickets/{order}")
    assert matins.column("SELECT state FROM seat WHERE event_id = %s ORDER BY seat_no") == ["sold", "sold"]


@pytest.mark.parametrize("matins", [REACQUIRE], indirect=True, ids=["late money asks again"])
def test_who_pays_too_late_gets_all_of_it_back_where_somebody_else_has_the_seats(
    buyer: Page, matins: Matins, stack: Stack, profile: Profile
) -> None:
    pay_late(buyer, matins)
    other = Tabs(profile, stack.base_urls[1])
    hold_both(other.open(f"/e/{matins.slug}"))
    tell_notices(stack, True)
    expect(buyer.locator(CARD)).to_contain_text("the seats were gone by then")
    expect(buyer.locator(CARD)).to_contain_text("All of it, €96.00, goes back to you.")
    assert matins.column("SELECT reason FROM payment WHERE event_id = %s") == ["seats_gone"]
    assert matins.column("SELECT amount_minor FROM refund WHERE event_id = %s") == [9600]
