"""Paying for everybody: by keyboard, said aloud, at every width, and nothing hides what has the focus."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway
from tests.browser.payers import (
    CARD,
    PAY,
    STATE,
    Choose,
    come_back,
    go_to_pay,
    hold_seat,
    pay_unheard,
    run_out,
)
from tests.browser.test_access import BROKEN, NAMELESS, WIDTHS, press_until

pytestmark = pytest.mark.browser

HIDDEN = """() => {
  const { left, right, top, bottom } = document.activeElement.getBoundingClientRect();
  const over = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  return !document.activeElement.contains(over);
}"""
MOVING = "() => document.getAnimations().filter(({ playState }) => playState === 'running').length"


@pytest.fixture
def fake() -> FakeGateway:
    return FakeGateway(payment="required")


@pytest.fixture
def held(page: Page, choose: Choose) -> Page:
    hold_seat(page, choose)
    return page


def sound(page: Page) -> None:
    """Everything has a name, references hold, and nothing is cut off at any width."""
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(BROKEN) == []
    assert violations(page) == []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 720})
        assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [width, width]


def test_every_state_of_a_payment_is_sound(held: Page, fake: FakeGateway) -> None:
    sound(held)
    held.get_by_label("Where should your tickets go?").fill("nobody")
    held.locator(PAY).click()
    sound(held)
    held.get_by_label("Where should your tickets go?").fill("")
    go_to_pay(held)
    come_back(held, "#decline")
    expect(held.locator(STATE)).to_contain_text("declined")
    sound(held)
    payment = pay_unheard(held, fake)
    sound(held)
    run_out(fake, payment.hold)
    expect(held.locator(CARD)).to_be_visible()
    sound(held)
    fake.paying.settle("late")
    expect(held.locator(CARD)).to_contain_text("We are asking for the same seats again.")
    sound(held)
    fake.paying.settle("succeeded", order="7777777")
    expect(held.locator(".order")).to_be_visible()
    sound(held)


def test_it_is_paid_with_the_keyboard_alone(held: Page, fake: FakeGateway) -> None:
    press_until(held, ".where input")
    held.keyboard.type("ann@example.org")
    press_until(held, PAY)
    held.keyboard.press("Enter")
    held.wait_for_url("**/pay/*")
    fake.paying.provider_settles = False
    press_until(held, "#pay")
    held.keyboard.press("Enter")
    held.wait_for_url("**/e/demo")
    expect(held.locator(STATE)).to_contain_text("We wait for your bank’s word.")
    press_until(held, ".holding .others .link")
    fake.paying.settle("succeeded")
    expect(held.get_by_role("heading", name="Yours")).to_be_focused()
    held.keyboard.press("Tab")
    expect(held.get_by_role("link", name="Tickets")).to_be_focused()


def test_the_button_keeps_the_focus_while_it_asks(held: Page, fake: FakeGateway, tabs: Tabs) -> None:
    fake.paying.refusals = [(503, "provider_away")]
    held.locator(PAY).focus()
    held.keyboard.press("Enter")
    expect(held.locator(PAY)).to_have_text("Asking again…")
    expect(held.locator(PAY)).to_be_focused()
    expect(held.locator("#milestones")).to_have_text(re.compile("does not answer.*Nothing was charged"))
    held.wait_for_url("**/pay/*")
    tabs.wrong.clear()  # browsers write refused calls to the console


def test_what_is_typed_is_not_hidden_by_the_button_that_stays_in_sight(
    tabs: Tabs, fake: FakeGateway, choose: Choose
) -> None:
    page = tabs.open(width=360)
    hold_seat(page, choose)
    where = page.get_by_label("Where should your tickets go?")
    for height in (480, 640, 800):
        page.set_viewport_size({"width": 360, "height": height})
        where.fill("")
        where.evaluate("(input) => input.blur()")
        page.evaluate("scrollTo(0, 0)")
        where.evaluate("(input) => input.focus()")
        assert not page.evaluate(HIDDEN)
        where.fill("nobody")
        where.evaluate("(input) => input.blur()")
        page.evaluate("scrollTo(0, 0)")
        page.locator(PAY).evaluate("(button) => button.click()")
        expect(where).to_be_focused()
        assert not page.evaluate(HIDDEN)
        expect(page.get_by_role("alert")).to_be_in_viewport()


TIME_OVER_BUTTON = """() => {
  const [figures, button] = [".countdown-figures", ".button.main"].map((one) =>
    document.querySelector(`.holding ${one}`).getBoundingClientRect());
  return figures.top > 0 && figures.bottom <= button.top;
}"""


@pytest.mark.parametrize("view", ["Map", "List"])
def test_on_a_phone_the_time_left_is_in_sight_above_the_button_whatever_is_said_first(
    tabs: Tabs, fake: FakeGateway, choose: Choose, view: str
) -> None:
    page = tabs.open(width=360, height=740)
    hold_seat(page, choose)
    page.get_by_role("button", name=view, exact=True).click()
    page.evaluate("scrollTo(0, 0)")
    assert page.evaluate(TIME_OVER_BUTTON)
    go_to_pay(page)
    page.goto(f"{tabs.url}/e/demo")
    page.get_by_role("button", name=view, exact=True).click()
    expect(page.locator(STATE)).to_contain_text("Your payment is not finished.")
    page.evaluate("scrollTo(0, 0)")
    assert page.evaluate(TIME_OVER_BUTTON)


def test_nothing_moves_where_less_motion_is_asked_for(held: Page, fake: FakeGateway) -> None:
    pay_unheard(held, fake)
    assert held.evaluate(MOVING) == 0
    held.emulate_media(reduced_motion="no-preference")
    assert held.evaluate(MOVING) == 1
