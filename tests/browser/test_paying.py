"""Paying for what is held: begun here, done at the provider, and told as the server tells it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway

pytestmark = pytest.mark.browser

Choose = Callable[[Page, int], None]
PAY = ".holding .button.main"
STATE = ".pay-state"


@pytest.fixture
def fake() -> FakeGateway:
    return FakeGateway(payment="required")


@pytest.fixture
def held(page: Page, choose: Choose) -> Page:
    hold_one(page, choose)
    return page


def hold_one(page: Page, choose: Choose, seat: int = 0) -> None:
    choose(page, seat)
    page.locator(".choosing .button.main").click()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()


def go_to_pay(page: Page) -> None:
    page.locator(PAY).click()
    page.wait_for_url("**/pay/*")


def test_what_is_held_is_paid_at_the_provider_and_becomes_an_order_with_tickets(
    held: Page, fake: FakeGateway
) -> None:
    expect(held.locator(PAY)).to_have_text("Pay €95.00")
    go_to_pay(held)
    held.locator("#pay").click()
    expect(held.locator(".notice")).to_contain_text("They are yours.")
    order = held.locator(".order")
    expect(order).to_contain_text("row A, seat 7")
    expect(order).to_contain_text("€95.00")
    (name,) = fake.holds
    expect(order.get_by_role("link")).to_have_attribute("href", f"/e/demo/tickets/{name}")
    assert "paid=" not in held.url
