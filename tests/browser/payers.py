"""What the tests of paying share: a hold, the way to the provider and back, and time that runs out."""

from __future__ import annotations

import time
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.fake_gateway import FakeGateway
from tests.browser.fake_paying import Payment

Choose = Callable[[Page, int], None]
PAY = ".holding .button.main"
STATE = ".pay-state"
CARD = ".payment"
NOT_FINISHED = "You did not finish paying?"


def hold_seat(page: Page, choose: Choose, seat: int = 0) -> None:
    choose(page, seat)
    page.locator(".choosing .button.main").click()
    expect(page.get_by_role("heading", name="Held for you").first).to_be_visible()


def go_to_pay(page: Page) -> None:
    """From the hold to the provider's page."""
    page.locator(PAY).first.click()
    page.wait_for_url("**/pay/*")


def come_back(page: Page, press: str = "#pay") -> None:
    """The provider sends the buyer back to the event's page."""
    page.locator(press).click()
    page.wait_for_url("**/e/demo")
    page.wait_for_selector("[data-topic]:not([data-topic=''])")


def pay_unheard(page: Page, fake: FakeGateway) -> Payment:
    """Paid, and back before the provider has said a word."""
    fake.paying.provider_settles = False
    go_to_pay(page)
    come_back(page)
    expect(page.locator(STATE)).to_contain_text("We wait for your bank’s word.")
    return fake.paying.payments[-1]


def run_out(fake: FakeGateway, name: str) -> None:
    """The hold's time is over, and the page hears of that end."""
    ends = int(time.time() * 1000) + 1
    fake.holds[name].expires_at = ends
    fake.send_all({"type": "hold", "hold": name, "state": "active", "expires_at": ends})
