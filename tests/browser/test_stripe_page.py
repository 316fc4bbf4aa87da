"""The page where a hold is paid by Stripe: a card is declined and tried again, it is paid; and what it says
when Stripe or the server is away, or the time over. Stripe's script is a stand-in of the tests.
"""

from __future__ import annotations

import json
import re
import time

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser import stub_stripe
from tests.browser.axe import violations
from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway, Running
from tests.browser.payers import CARD, PAY, STATE, Choose, hold_seat
from tests.browser.stub_stripe import CUT, DECLINED, GOOD, NO_MONEY, NUMBER, OVER
from tests.browser.test_access import BROKEN, NAMELESS, WIDTHS, press_until

pytestmark = pytest.mark.browser

BUTTON = ".pay-form .button.main"
TOLD = ".pay-form [role=alert]"


@pytest.fixture
def fake(door: Running) -> FakeGateway:
    return FakeGateway(payment="required", payments=stub_stripe.settings(door.url))


@pytest.fixture
def held(page: Page, choose: Choose) -> Page:
    """A tab whose buyer holds a seat of €95.00, and Stripe answers."""
    stub_stripe.stand_in(page)
    hold_seat(page, choose)
    return page


@pytest.fixture
def paying(held: Page) -> Page:
    """At the page to pay on, with Stripe's form in it."""
    to_the_form(held)
    return held


def to_the_form(page: Page) -> None:
    page.locator(PAY).first.click()
    page.wait_for_url("**/e/demo/pay/*")
    expect(page.get_by_label(NUMBER)).to_be_visible()


def pay(page: Page, number: str) -> None:
    page.get_by_label(NUMBER).fill(number)
    page.locator(BUTTON).click()


def asked(page: Page) -> list[dict[str, object]]:
    told: list[dict[str, object]] = page.evaluate("window.asked")
    return told


def test_a_hold_is_paid_and_becomes_an_order(paying: Page, fake: FakeGateway) -> None:
    expect(paying.get_by_role("heading", name="Nightfall, opening night")).to_be_visible()
    expect(paying.locator(".pay-amount")).to_have_text("€95.00")
    expect(paying.locator(".pay-head")).to_contain_text("1 seat")
    expect(paying.get_by_role("timer")).to_have_text(re.compile(r"Held for you: \d:\d\d left"))
    expect(paying.locator(BUTTON)).to_have_text("Pay €95.00")
    (name,) = fake.holds
    key, form, *_ = asked(paying)
    assert key == {"key": "pk_test_of_the_tests", "options": {"locale": "en"}}
    assert form["clientSecret"] == "pi_12_secret_of_it"
    pay(paying, GOOD)
    paying.wait_for_url("**/e/demo")
    assert "secret" not in paying.url
    expect(paying.locator(STATE)).to_contain_text("We wait for your bank’s word.")
    fake.paying.settle("succeeded")
    expect(paying.locator(".notice")).to_contain_text("They are yours.")
    expect(paying.locator(".order").get_by_role("link")).to_have_attribute("href", f"/e/demo/tickets/{name}")


def test_stripe_is_told_where_to_send_the_buyer_back_to(paying: Page, fake: FakeGateway) -> None:
    pay(paying, CUT)
    expect(paying.locator(TOLD)).to_contain_text("We did not hear how that went.")
    (name,) = fake.holds
    assert asked(paying)[-1] == {
        "confirmed": CUT,
        "return_url": f"{fake.payments.public_url}/e/demo?paid={name}",
    }


def test_a_declined_card_is_said_and_another_is_tried_in_the_same_hold(
    paying: Page, fake: FakeGateway
) -> None:
    pay(paying, DECLINED)
    fake.paying.settle("failed")
    expect(paying.locator(TOLD)).to_have_text(
        "Your card was declined. Nothing was charged, and what you hold is still yours."
        " Try again, or another card."
    )
    pay(paying, NO_MONEY)
    expect(paying.locator(TOLD)).to_contain_text("Your card has insufficient funds. Nothing was charged")
    assert len(fake.paying.begun) == 1
    pay(paying, GOOD)
    paying.wait_for_url("**/e/demo")
    fake.paying.settle("succeeded")
    expect(paying.locator(".order")).to_contain_text("€95.00")


def test_what_is_not_filled_in_is_said(paying: Page) -> None:
    paying.locator(BUTTON).click()
    expect(paying.locator(TOLD)).to_contain_text(
        "Something is not filled in yet. Your card number is incomplete."
    )


def test_where_it_is_not_known_whether_it_was_paid_the_server_says_it(
    paying: Page, fake: FakeGateway
) -> None:
    pay(paying, CUT)
    expect(paying.locator(TOLD)).to_contain_text("Trying again is safe")
    expect(paying.locator(TOLD)).not_to_contain_text("Nothing was charged")
    fake.paying.settle("succeeded")
    paying.wait_for_url("**/e/demo")
    expect(paying.locator(".order")).to_be_visible()


def test_what_stripe_says_is_over_is_told_by_the_events_page(paying: Page, fake: FakeGateway) -> None:
    fake.paying.settle("canceled")
    pay(paying, OVER)
    paying.wait_for_url("**/e/demo")
    expect(paying.locator(STATE)).to_contain_text("That payment was called off.")


def test_two_presses_pay_once(paying: Page) -> None:
    paying.get_by_label(NUMBER).fill("wait")
    paying.locator(BUTTON).dblclick()
    expect(paying.locator(BUTTON)).to_have_text("Paying…")
    paying.get_by_label(NUMBER).press("Enter")
    assert len([one for one in asked(paying) if "confirmed" in one]) == 1
    paying.evaluate("window.go_on()")
    paying.wait_for_url("**/e/demo")


def test_who_goes_back_without_paying_still_holds_and_may_go_on(paying: Page) -> None:
    paying.get_by_role("link", name="Back without paying").click()
    expect(paying.locator(STATE)).to_contain_text("Your payment is not finished.")
    to_the_form(paying)


def test_a_reload_of_the_page_to_pay_on_loses_nothing(paying: Page) -> None:
    paying.reload()
    expect(paying.get_by_label(NUMBER)).to_be_visible()
    expect(paying.get_by_role("timer")).to_contain_text("Held for you:")


def test_the_address_for_tickets_is_there_already(held: Page) -> None:
    held.get_by_label("Where should your tickets go?").fill("ann@example.org")
    to_the_form(held)
    [form] = [one for one in asked(held) if "kind" in one]
    assert form == {"kind": "payment", "defaultValues": {"billingDetails": {"email": "ann@example.org"}}}


def test_when_its_time_is_over_nobody_is_asked_to_pay(paying: Page, fake: FakeGateway) -> None:
    (hold,) = fake.holds.values()
    hold.expires_at = int(time.time() * 1000) - 1_000
    paying.evaluate(
        """() => {
          const key = "onsale:demo", kept = JSON.parse(sessionStorage.getItem(key));
          kept.holds[0].expires_at = Date.now() - 1000;
          sessionStorage.setItem(key, JSON.stringify(kept));
        }"""
    )
    paying.reload()
    expect(paying.locator(".notice")).to_contain_text("Your time seems to be over. Nothing was charged.")
    expect(paying.locator(BUTTON)).to_be_hidden()
    paying.get_by_role("link", name="See how it stands").click()
    expect(paying.locator(CARD)).to_contain_text("Your time ran out before a payment came.")


def test_without_stripe_the_page_says_so_and_loads_it_again(page: Page, choose: Choose, tabs: Tabs) -> None:
    away = [True]

    def answer(route: Route) -> None:
        if away[0]:
            route.abort()
        else:
            route.fulfill(body=stub_stripe.SCRIPT, content_type="text/javascript")

    stub_stripe.stand_in(page, answer)
    hold_seat(page, choose)
    page.locator(PAY).click()
    expect(page.locator(TOLD)).to_contain_text("The form to pay with did not come. Nothing was charged")
    away[0] = False
    page.get_by_role("button", name="Load it again").click()
    expect(page.get_by_label(NUMBER)).to_be_visible()
    expect(page.locator(TOLD)).to_have_text("")
    expect(page.locator(BUTTON)).to_have_text("Pay €95.00")
    assert [said for said in tabs.wrong if "ERR_FAILED" not in said] == []
    tabs.wrong.clear()


def test_a_form_that_stripe_cannot_make_is_said(held: Page) -> None:
    def broken(route: Route) -> None:
        answer = route.fetch()
        told = answer.json()
        told["checkout"]["client_secret"] = "pi_broken_secret"
        route.fulfill(response=answer, body=json.dumps(told))

    held.route("**/v1/events/demo/holds/*/payment", broken)
    held.locator(PAY).click()
    expect(held.locator(TOLD)).to_contain_text("The form to pay with did not come.")


def test_while_the_server_is_away_the_page_waits_and_asks_again(held: Page, tabs: Tabs) -> None:
    away = [True]

    def answer(route: Route) -> None:
        if away[0] and route.request.method == "GET":
            route.fulfill(status=503, body="{}")
        else:
            route.continue_()

    held.route("**/v1/events/demo/holds/*/payment", answer)
    held.locator(PAY).click()
    held.wait_for_url("**/e/demo/pay/*")
    expect(held.locator(".connection")).to_contain_text("This page tries again by itself.")
    away[0] = False
    expect(held.get_by_label(NUMBER)).to_be_visible()
    expect(held.locator(".connection")).to_have_text("")
    tabs.wrong.clear()  # browsers write refused calls to the console


def test_who_is_not_known_or_has_begun_nothing_is_told(tabs: Tabs, page: Page) -> None:
    stub_stripe.stand_in(page)
    page.goto(f"{tabs.url}/e/demo/pay/1234567")
    expect(page.get_by_role("heading")).to_have_text("There is nothing to pay here")
    page.evaluate("sessionStorage.clear()")
    page.reload()
    expect(page.get_by_role("heading")).to_have_text("Come in from the shop’s page")
    page.get_by_role("link", name="To the event").click()
    page.wait_for_url("**/e/demo")
    tabs.wrong.clear()  # browsers write refused calls to the console


def test_a_browser_that_keeps_nothing_pays_beside_the_page_and_is_known_there(
    tabs: Tabs, fake: FakeGateway, choose: Choose
) -> None:
    page = tabs.open(own=True, ready=False)
    page.context.add_init_script(
        "Object.defineProperty(window, 'sessionStorage', { get() { throw new Error('blocked'); } })"
    )
    stub_stripe.stand_in(page.context)
    page.reload()
    page.wait_for_selector("[data-topic]:not([data-topic=''])")
    hold_seat(page, choose)
    page.locator(PAY).click()
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Open the payment page").click()
    expect(opened.value.get_by_label(NUMBER)).to_be_visible()
    assert "token" not in opened.value.url
    pay(opened.value, GOOD)
    fake.paying.settle("succeeded")
    expect(page.locator(".order")).to_be_visible()


def test_it_is_paid_with_the_keyboard_alone_and_the_button_keeps_the_focus(paying: Page) -> None:
    press_until(paying, ".stub input")
    paying.keyboard.type(DECLINED)
    press_until(paying, BUTTON)
    paying.keyboard.press("Enter")
    expect(paying.locator(TOLD)).to_contain_text("declined")
    expect(paying.locator(BUTTON)).to_be_focused()
    paying.keyboard.press("Shift+Tab")
    paying.keyboard.press("Control+A")
    paying.keyboard.type(GOOD)
    paying.keyboard.press("Enter")
    paying.wait_for_url("**/e/demo")


def test_everything_has_a_name_and_nothing_is_cut_off_at_any_width(paying: Page) -> None:
    pay(paying, NO_MONEY)
    expect(paying.locator(TOLD)).to_contain_text("insufficient")
    assert paying.evaluate(NAMELESS) == []
    assert paying.evaluate(BROKEN) == []
    assert violations(paying) == []
    for width in WIDTHS:
        paying.set_viewport_size({"width": width, "height": 640})
        assert paying.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [width, width]


def test_stripes_form_has_the_pages_colours_light_and_dark(paying: Page) -> None:
    [light] = [one["appearance"] for one in asked(paying) if "appearance" in one]
    paying.emulate_media(color_scheme="dark")
    paying.wait_for_function("() => window.asked.some((one) => one.updated)")
    [dark] = [one["updated"]["appearance"] for one in asked(paying) if "updated" in one]  # type: ignore[index]
    assert (light["theme"], dark["theme"]) == ("stripe", "night")  # type: ignore[index]
    assert light["variables"]["colorBackground"] == "rgb(255, 255, 255)"  # type: ignore[index]
    assert dark["variables"]["colorBackground"] == "rgb(27, 30, 37)"


def test_only_stripe_is_asked_outside_and_only_for_its_script(page: Page, choose: Choose, tabs: Tabs) -> None:
    out = stub_stripe.stand_in(page)
    hold_seat(page, choose)
    assert out == [], "the event's page asks nobody outside"
    to_the_form(page)
    assert out == ["https://js.stripe.com/clover/stripe.js"]
    with (
        page.expect_console_message(lambda said: "Content Security Policy" in said.text),
        pytest.raises(Exception, match="Failed to fetch"),
    ):
        page.evaluate("fetch('https://elsewhere.example/')")
    assert len(out) == 1
    assert "violates the following Content Security Policy" in tabs.wrong[0]
    tabs.wrong.clear()
