"""Paying survives what happens to pages and networks: lost answers, providers that are away, reloads, other
tabs, the way back, impatient fingers, browsers that keep nothing. Nothing is begun twice.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Request, Route, expect

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
from tests.browser.test_holds_truth import away

pytestmark = pytest.mark.browser

FAILED = "Failed to load resource"


@pytest.fixture
def fake() -> FakeGateway:
    return FakeGateway(payment="required")


@pytest.fixture
def held(page: Page, choose: Choose) -> Page:
    hold_seat(page, choose)
    return page


def only_failed_loads(tabs: Tabs) -> None:
    """Browsers write every refused call to the console; nothing else was written."""
    assert all(FAILED in said for said in tabs.wrong), tabs.wrong
    tabs.wrong.clear()


def keys(fake: FakeGateway) -> set[str]:
    return {key for _, key, _ in fake.paying.begun}


def test_two_presses_begin_one_payment(held: Page, fake: FakeGateway) -> None:
    held.locator(PAY).evaluate("(button) => { button.click(); button.click(); button.click(); }")
    held.wait_for_url("**/pay/*")
    assert len(fake.paying.begun) == 1


def test_an_answer_that_is_lost_is_asked_for_again_with_the_same_key(
    held: Page, fake: FakeGateway, tabs: Tabs
) -> None:
    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    held.route("**/payment", lose, times=2)
    held.locator(PAY).click()
    expect(held.locator(STATE)).to_contain_text(
        "We did not hear whether you can pay now. Nothing was charged."
    )
    expect(held.locator(PAY)).to_have_attribute("aria-disabled", "true")
    held.wait_for_url("**/pay/*")
    assert (len(fake.paying.begun), len(keys(fake)), len(fake.paying.payments)) == (3, 1, 1)
    only_failed_loads(tabs)


def test_what_was_not_answered_before_a_reload_is_asked_again_and_nobody_is_sent_away(
    held: Page, fake: FakeGateway, tabs: Tabs
) -> None:
    fake.paying.refusals = [(503, "provider_away")] * 3
    held.locator(PAY).click()
    expect(held.locator(STATE)).to_contain_text("The payment service does not answer.")
    held.reload()
    expect(held.locator(PAY)).to_have_text("Go on to pay €95.00")
    assert (held.url.endswith("/e/demo"), len(keys(fake))) == (True, 1)
    only_failed_loads(tabs)


def test_a_provider_that_is_away_is_asked_again_for_a_while_and_then_when_the_buyer_says(
    tabs: Tabs, fake: FakeGateway, choose: Choose
) -> None:
    page = tabs.open(own=True)
    page.clock.install()
    hold_seat(page, choose)
    fake.paying.refusals = [(503, "provider_away")] * 5
    page.locator(PAY).click()
    state = page.locator(STATE)
    expect(state).to_contain_text("The payment service does not answer. Nothing was charged.")
    expect(state).to_contain_text("We try again by ourselves.")
    expect(page.locator("#milestones")).to_contain_text("The payment service does not answer.")
    expect(page.locator(PAY)).to_have_text("Asking again…")
    for tries in range(2, 6):
        page.clock.run_for(20_000)
        fake.paying.wait_begun(tries)
    expect(state).to_contain_text("You can try again.")
    page.clock.run_for(60_000)
    assert len(fake.paying.begun) == 5, "not for ever"
    page.locator(PAY).click()
    page.wait_for_url("**/pay/*")
    assert len(keys(fake)) == 1
    only_failed_loads(tabs)


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (409, "hold_expired", "Your time ran out."),
        (409, "hold_released", "Given back."),
        (404, "hold_not_found", "not held for you any more"),
        (401, "token_expired", "Your sign-in has ended. Nothing was charged."),
        (
            400,
            "raw_code",
            "You cannot pay just now. No. Nothing was charged, and what you hold is as it was.",
        ),
    ],
)
def test_what_cannot_be_begun_says_why(
    held: Page, fake: FakeGateway, tabs: Tabs, status: int, code: str, sentence: str
) -> None:
    fake.paying.refusals = [(status, code)]
    held.locator(PAY).click()
    expect(held.locator(".notice")).to_contain_text(sentence)
    expect(held.locator(CARD)).to_have_count(0)
    assert "raw_code" not in held.locator("body").inner_text()
    only_failed_loads(tabs)


def test_a_key_that_is_under_way_is_waited_for(held: Page, fake: FakeGateway, tabs: Tabs) -> None:
    fake.paying.refusals = [(409, "request_under_way")]
    held.locator(PAY).click()
    held.wait_for_url("**/pay/*")
    assert (len(fake.paying.begun), len(keys(fake))) == (2, 1)
    only_failed_loads(tabs)


def test_another_price_than_the_one_shown_is_said_before_anybody_goes_to_pay_it(
    held: Page, fake: FakeGateway
) -> None:
    fake.paying.addition_minor = 250
    held.locator(PAY).click()
    expect(held.locator(STATE)).to_contain_text("It costs €97.50 in all.")
    expect(held.locator(PAY)).to_have_text("Pay €97.50")
    assert held.url.endswith("/e/demo")
    go_to_pay(held)


def test_the_way_back_from_the_provider_leads_to_the_hold_and_there_again(
    held: Page, fake: FakeGateway
) -> None:
    go_to_pay(held)
    held.go_back()
    expect(held.locator(STATE)).to_contain_text("Your payment is not finished.")
    expect(held.locator(PAY)).to_have_text("Go on to pay €95.00")
    expect(held.locator(PAY)).to_have_attribute("aria-disabled", "false")
    go_to_pay(held)
    come_back(held)
    expect(held.locator(".order")).to_be_visible()
    assert len(fake.paying.payments) == 1


def test_who_paid_and_went_back_by_the_button_learns_it_too(held: Page, fake: FakeGateway) -> None:
    go_to_pay(held)
    fake.paying.telling = False
    fake.paying.settle("succeeded")
    held.go_back()
    expect(held.locator(".order")).to_be_visible()


def test_a_reload_at_the_provider_and_one_on_return_change_nothing(held: Page, fake: FakeGateway) -> None:
    go_to_pay(held)
    held.reload()
    fake.paying.provider_settles = False
    come_back(held)
    held.reload()
    expect(held.locator(STATE)).to_contain_text("We wait for your bank’s word.")
    fake.paying.settle("succeeded")
    expect(held.locator(".order")).to_be_visible()


def test_frames_that_are_lost_lose_nothing(held: Page, fake: FakeGateway) -> None:
    fake.paying.telling = False
    pay_unheard(held, fake)
    fake.paying.settle("succeeded")
    expect(held.locator(".order")).to_be_visible()


def test_without_a_socket_the_outcome_is_read(held: Page, fake: FakeGateway) -> None:
    pay_unheard(held, fake)

    def meanwhile() -> None:
        fake.paying.settle("succeeded")
        expect(held.locator(".order")).to_be_visible()

    away(held, fake, meanwhile)


ANSWERED_MAX = 1_000
"""So often the browser is asked whether an answer has come."""


def test_it_is_asked_for_ever_more_seldom_and_not_for_ever(
    tabs: Tabs, fake: FakeGateway, choose: Choose
) -> None:
    fake.hold_ttl_seconds = 36_000
    fake.paying.telling = False
    page = tabs.open(own=True)
    page.clock.install()
    hold_seat(page, choose)
    pay_unheard(page, fake)
    looks: list[Request] = []
    over: list[Request] = []
    page.on("request", lambda one: looks.append(one) if one.url.endswith("/payment") else None)

    def ends(one: Request) -> None:
        over.append(one)

    page.on("requestfinished", ends)
    page.on("requestfailed", ends)

    def passes(milliseconds: int) -> None:
        """Of the page's time; what it asks meanwhile is answered in no time of its own."""
        page.clock.run_for(milliseconds)
        for _ in range(ANSWERED_MAX):
            if not looks or looks[-1] in over:
                break
            page.evaluate("() => 0")  # lets what the browser told be heard

    for _ in range(40):
        passes(3_000)
    assert 8 <= len(looks) < 30, "each about 10 seconds after some"
    for _ in range(120):
        passes(16_000)
    expect(page.get_by_role("button", name="Ask again")).to_be_visible()
    most = fake.paying.looked
    assert 70 <= most < 90, "about 80 after the last thing that happened: a look under way makes none"
    page.clock.run_for(600_000)
    assert fake.paying.looked == most
    expect(page.locator(STATE)).to_contain_text("it takes longer than usual")
    fake.paying.settle("succeeded")
    page.get_by_role("button", name="Ask again").click()
    expect(page.locator(".order")).to_be_visible()


AGAIN_WITHIN_MS = 1_000
"""The first time that something is asked again."""
STRANGE = ["", '{"payment":"1', "<h1>Sign in to this network</h1>", "[]", "null", "{}"]


def answer_strangely(page: Page, body: str, times: int) -> list[Route]:
    """The next so many asked of the payment are answered so; which were, by and by."""
    answered: list[Route] = []

    def answer(route: Route) -> None:
        answered.append(route)
        route.fulfill(status=200, body=body)

    page.route("**/payment", answer, times=times)
    return answered


def test_half_an_answer_or_somebody_elses_is_none(tabs: Tabs, fake: FakeGateway, choose: Choose) -> None:
    """Each is an answer to the asking to begin, and then to two looks on return."""
    fake.paying.telling = False
    fake.paying.provider_settles = False
    page = tabs.open(own=True)
    page.clock.install()
    hold_seat(page, choose)
    state = page.locator(STATE)
    again = page.get_by_role("button", name="Back to the payment page")
    for body in STRANGE:
        answer_strangely(page, body, times=1)
        page.locator(PAY).or_(again).click()
        expect(state).to_contain_text("We did not hear whether you can pay now.")
        page.clock.run_for(AGAIN_WITHIN_MS)
        page.wait_for_url("**/pay/*")
        looks = answer_strangely(page, body, times=2)
        come_back(page)
        for _ in range(60):
            if len(looks) == 2:
                break
            page.clock.run_for(1_000)
        assert len(looks) == 2
        expect(state).to_contain_text("We wait for your bank’s word.")
    fake.paying.settle("succeeded")
    page.clock.run_for(60_000)
    expect(page.locator(".order")).to_be_visible()


def test_another_tab_of_the_buyer_shows_the_same(tabs: Tabs, fake: FakeGateway, choose: Choose) -> None:
    fake.demo = False
    one = tabs.open("/e/demo#token=token-of-ann")
    hold_seat(one, choose)
    other = tabs.open("/e/demo#token=token-of-ann")
    expect(other.locator(PAY)).to_have_text("Pay €95.00")
    go_to_pay(one)
    come_back(one)
    for page in (one, other):
        expect(page.locator(".order").get_by_role("link")).to_be_visible()


def test_a_tab_that_was_closed_at_the_provider_loses_nothing(
    tabs: Tabs, fake: FakeGateway, choose: Choose
) -> None:
    fake.demo = False
    page = tabs.open("/e/demo#token=token-of-ann")
    hold_seat(page, choose)
    go_to_pay(page)
    page.close()
    fake.paying.settle("succeeded")
    again = tabs.open("/e/demo#token=token-of-ann")
    expect(again.locator(".order").get_by_role("link")).to_be_visible()


def test_what_was_paid_late_while_nobody_looked_is_told_on_return(
    tabs: Tabs, fake: FakeGateway, choose: Choose
) -> None:
    page = tabs.open()
    hold_seat(page, choose)
    go_to_pay(page)
    (name,) = fake.holds
    fake.holds[name].expires_at = 1
    fake.paying.settle("refund_due", reason="late")
    fake.paying.provider_settles = False
    come_back(page)
    expect(page.locator(CARD)).to_contain_text("Your payment came after your time had run out.")
    expect(page.locator(CARD)).to_contain_text("All of it, €95.00, goes back to you.")
    expect(page.locator(".holding")).to_have_count(0)


def test_a_hold_that_got_its_time_back_can_be_paid_on(held: Page, fake: FakeGateway) -> None:
    payment = pay_unheard(held, fake)
    run_out(fake, payment.hold)
    expect(held.locator(CARD)).to_contain_text("Your time ran out")
    hold = fake.holds[payment.hold]
    hold.expires_at += 300_000
    back = {"hold": payment.hold, "state": "active", "expires_at": hold.expires_at, "given_back_ms": 300_000}
    fake.send_all({"type": "hold", **back})
    expect(held.locator(STATE)).to_contain_text("We wait for your bank’s word.")
    expect(held.locator(CARD)).to_have_count(0)


def test_a_word_that_was_long_on_its_way_takes_nothing_back(held: Page, fake: FakeGateway) -> None:
    payment = pay_unheard(held, fake)
    run_out(fake, payment.hold)
    fake.paying.settle("refund_due", reason="late")
    expect(held.locator(CARD)).to_contain_text("You need not do anything.")
    payment.state, payment.reason = "created", None  # a gateway that reads from a replica lags
    old = {"payment": str(payment.number), "hold": payment.hold, "state": "created", "reason": None}
    fake.send_all({"type": "payment", **old})
    fake.send_all({"type": "event", "state": "paused"})
    expect(held.locator("#milestones")).to_contain_text("paused")
    expect(held.locator(CARD)).to_contain_text("You need not do anything.")


def test_an_event_that_wants_money_by_now_is_paid_without_another_press(
    tabs: Tabs, fake: FakeGateway, choose: Choose
) -> None:
    fake.payment = "none"
    page = tabs.open()
    hold_seat(page, choose)
    fake.payment = "required"
    page.get_by_role("button", name="Buy · €95.00").click()
    page.wait_for_url("**/pay/*")


def test_an_event_that_wants_none_any_more_is_bought(held: Page, fake: FakeGateway, tabs: Tabs) -> None:
    fake.payment = "none"
    held.locator(PAY).click()
    expect(held.locator(".order")).to_be_visible()
    assert len(fake.asked("confirm")) == 1
    only_failed_loads(tabs)


NO_STORAGE = """for (const name of ["sessionStorage", "localStorage"])
  Object.defineProperty(window, name, { get() { throw new DOMException("refused", "SecurityError"); } });"""


def test_where_the_browser_keeps_nothing_the_provider_opens_beside_and_this_page_stays(
    tabs: Tabs, fake: FakeGateway, choose: Choose
) -> None:
    page = tabs.open(ready=False, own=True)
    page.context.add_init_script(NO_STORAGE)
    page.reload()
    hold_seat(page, choose)
    page.locator(PAY).click()
    link = page.get_by_role("link", name="Open the payment page")
    expect(page.get_by_text("Leave this one open")).to_be_visible()
    with page.context.expect_page() as opened:
        link.click()
    beside = opened.value
    beside.wait_for_url("**/pay/*")
    beside.locator("#pay").click()
    expect(page.locator(".order").get_by_role("link")).to_be_visible()
    beside.wait_for_url("**/e/demo")
    expect(beside.locator(CARD)).to_contain_text("We do not find your payment here.")
    expect(beside.locator(CARD)).to_contain_text("Look at the page you paid from")


def test_who_comes_back_without_being_known_is_told_that_nothing_is_lost(
    tabs: Tabs, fake: FakeGateway
) -> None:
    fake.demo = False
    page = tabs.open("/e/demo?paid=65536", ready=False)
    expect(page.get_by_role("heading", name="Come in from the shop’s page")).to_be_visible()
    expect(page.get_by_text("If you paid just now, nothing is lost")).to_be_visible()


def test_an_address_that_says_nonsense_says_nothing(tabs: Tabs, fake: FakeGateway) -> None:
    page = tabs.open()
    for paid in ("", "x", "1e9", "%3Cscript%3E", "9" * 30):
        page.goto(f"{tabs.url}/e/demo?paid={paid}&from=mail")
        page.wait_for_selector("[data-topic]:not([data-topic=''])")
        expect(page.get_by_role("heading", name="Choose your seats")).to_be_visible()
        expect(page.locator(CARD)).to_have_count(0)
        assert page.url.endswith("/e/demo?from=mail")
    assert fake.paying.looked == 0


def test_only_a_page_is_gone_to(held: Page, fake: FakeGateway) -> None:
    for address in ("javascript:window.ran = 1", "data:text/html,hello", "nowhere", ""):
        fake.paying.checkout_url = address
        held.locator(PAY).click()
        expect(held.locator(STATE)).to_contain_text("The payment page is not there yet.")
        expect(held.locator(PAY)).to_have_text("Try again · €95.00")
        assert held.evaluate("() => window.ran") is None
    fake.paying.checkout_url = None
    go_to_pay(held)
