"""From a free seat to money and tickets, and all in between is real: gateways, an allocator, the simulated
provider in a process of its own, and its checkout page. In time, and too late.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from playwright.sync_api import Page, expect

from gateway.payments.simulated import Simulated
from onsale.processes import Stack
from store.payments import refunds
from tests.browser.conftest import Profile, Tabs
from tests.browser.live_stack import LiveEvent, hold_two, live_event, rows_of, tell_notices
from tests.browser.payers import CARD, PAY, STATE

pytestmark = pytest.mark.browser

IN_TIME = {"hold_ttl_seconds": 480}
REFUND = IN_TIME | {"extensions_max": 0, "late_payment": "refund"}
REACQUIRE = IN_TIME | {"extensions_max": 0, "late_payment": "reacquire"}


@pytest.fixture
def matins(stack: Stack, request: pytest.FixtureRequest) -> Iterator[LiveEvent]:
    """Two seats on sale, on the terms that the test names."""
    with live_event(stack, "Matins", rows_of(2), payment="required", **request.param) as there:
        yield there


@pytest.fixture
def buyer(profile: Profile, matins: LiveEvent) -> Iterator[Page]:
    """Somebody who holds both seats."""
    tabs = Tabs(profile, matins.stack.base_url)
    page = tabs.open(matins.path)
    hold_two(page)
    yield page
    tabs.close()
    assert tabs.wrong == [], "the page wrote errors to the console"


def to_the_provider(page: Page, stack: Stack) -> None:
    expect(page.locator(PAY)).to_contain_text("€96.00")
    page.locator(PAY).click()
    page.wait_for_url(f"{stack.provider_url}/pay/*")
    expect(page.locator("#amount")).to_contain_text("96.00")


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


def pay_late(page: Page, matins: LiveEvent) -> None:
    """Paid in time, but the provider says so when the hold is over."""
    stack = matins.stack
    to_the_provider(page, stack)
    tell_notices(stack, False)
    page.locator("#pay").click()
    page.wait_for_url(f"{stack.base_url}/e/{matins.slug}*")
    expect(page.locator(STATE)).to_contain_text("We wait for your bank’s word.")
    matins.run_out(page)
    expect(page.locator(CARD)).to_contain_text("Your time ran out before a payment came.")
    matins.await_column(page, "SELECT DISTINCT state FROM hold WHERE event_id = %s", ["expired"])


@pytest.mark.parametrize("matins", [IN_TIME], indirect=True, ids=["in time"])
def test_choose_hold_be_declined_pay_and_have_tickets(buyer: Page, matins: LiveEvent, stack: Stack) -> None:
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
def test_who_pays_too_late_gets_all_of_it_back(buyer: Page, matins: LiveEvent, stack: Stack) -> None:
    pay_late(buyer, matins)
    tell_notices(stack, True)
    expect(buyer.locator(CARD)).to_contain_text("Your payment came after your time had run out.")
    expect(buyer.locator(CARD)).to_contain_text("€96.00")
    give = functools.partial(give_back_what_is_owed, stack)
    matins.await_column(buyer, "SELECT state FROM payment WHERE event_id = %s", ["refunded"], give)
    buyer.reload()
    expect(buyer.locator(CARD)).to_contain_text("€96.00 is on its way back to you.")
    expect(buyer.locator(".order")).to_have_count(0)
    assert matins.column("SELECT state FROM seat WHERE event_id = %s ORDER BY seat_no") == ["available"] * 2


@pytest.mark.parametrize("matins", [REACQUIRE], indirect=True, ids=["late money asks again"])
def test_who_pays_too_late_has_the_same_seats_again_where_they_are_free(
    buyer: Page, matins: LiveEvent, stack: Stack
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
    buyer: Page, matins: LiveEvent, stack: Stack, profile: Profile
) -> None:
    pay_late(buyer, matins)
    other = Tabs(profile, stack.base_urls[1])
    hold_two(other.open(matins.path))
    tell_notices(stack, True)
    expect(buyer.locator(CARD)).to_contain_text("the seats were gone by then")
    expect(buyer.locator(CARD)).to_contain_text("All of it, €96.00, goes back to you.")
    assert matins.column("SELECT reason FROM payment WHERE event_id = %s") == ["seats_gone"]
    assert matins.column("SELECT amount_minor FROM refund WHERE event_id = %s") == [9600]
