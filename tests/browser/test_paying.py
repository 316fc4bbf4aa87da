"""Paying for what is held: begun here, done at the provider, and told as the server tells it. Every state."""

from __future__ import annotations

import re

import pytest
from msgspec import structs
from playwright.sync_api import Page, expect

from store.prices import PriceTerms
from store.venues.make import make
from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway
from tests.browser.fake_owning import Hold
from tests.browser.fake_paying import Payment
from tests.browser.payers import (
    CARD,
    NOT_FINISHED,
    PAY,
    STATE,
    Choose,
    come_back,
    go_to_pay,
    hold_seat,
    pay_unheard,
    run_out,
)

pytestmark = pytest.mark.browser

UNTIL = re.compile(r"until \d\d:\d\d\.")


@pytest.fixture
def fake() -> FakeGateway:
    return FakeGateway(payment="required")


@pytest.fixture
def held(page: Page, choose: Choose) -> Page:
    """A tab whose buyer holds a seat of €95.00."""
    hold_seat(page, choose)
    return page


def test_what_is_held_is_paid_at_the_provider_and_becomes_an_order_with_tickets(
    held: Page, fake: FakeGateway
) -> None:
    expect(held.locator(PAY)).to_have_text("Pay €95.00")
    expect(held.get_by_role("button", name="Buy")).to_have_count(0)
    go_to_pay(held)
    come_back(held)
    expect(held.locator(".notice")).to_contain_text("They are yours.")
    order = held.locator(".order")
    expect(order).to_contain_text("row A, seat 7")
    expect(order).to_contain_text("€95.00")
    (name,) = fake.holds
    expect(order.get_by_role("link")).to_have_attribute("href", f"/e/demo/tickets/{name}")
    expect(order.get_by_role("link")).to_have_text(f"Show your tickets → of order {name}")
    expect(held.locator(CARD)).to_have_count(0)
    assert fake.asked("confirm") == []
    held.reload()
    expect(held.locator(".order").get_by_role("link")).to_be_visible()


def test_what_is_paid_and_what_of_it_is_fee_and_tax_is_said_before(
    tabs: Tabs, fake: FakeGateway, choose: Choose
) -> None:
    fake.price_terms = PriceTerms(150, 250, 1_900, tax_included=False)
    page = tabs.open()
    hold_seat(page, choose)
    expect(page.locator(".holding .added")).to_have_text("In this: €3.88 fees and €18.79 tax.")
    expect(page.locator(PAY)).to_have_text("Pay €117.67")


def test_tickets_go_where_the_buyer_says_and_the_page_remembers(
    held: Page, fake: FakeGateway, choose: Choose
) -> None:
    where = held.get_by_label("Where should your tickets go?")
    where.fill("ann@example")
    held.locator(PAY).click()
    expect(held.get_by_role("alert")).to_contain_text("This does not look like an e-mail address.")
    expect(where).to_have_attribute("aria-invalid", "true")
    assert fake.paying.begun == []
    where.fill(" ann@example.org ")
    expect(held.get_by_role("alert")).to_have_count(0)
    where.press("Enter")
    held.wait_for_url("**/pay/*")
    come_back(held)
    ((_, _, body),) = fake.paying.begun
    assert body == {"email": "ann@example.org"}
    hold_seat(held, choose, 3)
    expect(held.get_by_label("Where should your tickets go?")).to_have_value("ann@example.org")


def test_no_address_is_needed(held: Page, fake: FakeGateway) -> None:
    go_to_pay(held)
    ((_, key, body),) = fake.paying.begun
    assert (body, len(key) > 20) == ({}, True)


class TestFree:
    @pytest.fixture
    def fake(self) -> FakeGateway:
        plan = make("theatre", 600, name="Old Theatre")
        free = tuple(structs.replace(category, price_minor=0) for category in plan.categories)
        return FakeGateway(structs.replace(plan, categories=free), payment="required")

    def test_what_costs_nothing_is_had_at_once(self, held: Page, fake: FakeGateway) -> None:
        expect(held.locator(PAY)).to_have_text("Get it · free")
        held.locator(PAY).click()
        expect(held.locator(".notice")).to_contain_text("They are yours.")
        expect(held.locator(".order")).to_contain_text("€0.00")
        assert fake.paying.payments == []


def test_until_the_provider_has_said_it_the_page_says_that_it_waits(held: Page, fake: FakeGateway) -> None:
    pay_unheard(held, fake)
    expect(held.locator(STATE)).to_contain_text(
        "If you paid, it comes here by itself. Your seat is held until"
    )
    expect(held.locator(STATE)).to_contain_text(UNTIL)
    expect(held.locator("#milestones")).to_contain_text("We wait for your bank’s word.")
    expect(held.locator(PAY)).to_have_count(0)
    expect(held.get_by_role("button", name="Give back")).to_have_count(0)
    expect(held.get_by_role("button", name="Change seats")).to_have_count(0)
    fake.paying.settle("succeeded")
    expect(held.locator(".order")).to_be_visible()
    expect(held.locator("#milestones")).to_contain_text("They are yours.")


def test_who_came_back_without_paying_finds_the_way_there_again(held: Page, fake: FakeGateway) -> None:
    pay_unheard(held, fake)
    held.get_by_role("button", name=NOT_FINISHED).click()
    held.wait_for_url("**/pay/*")
    assert [payment.state for payment in fake.paying.payments] == ["created"]
    fake.paying.provider_settles = True
    come_back(held)
    expect(held.locator(".order")).to_be_visible()


def test_a_declined_card_is_tried_again_in_the_same_hold(held: Page, fake: FakeGateway) -> None:
    go_to_pay(held)
    come_back(held, "#decline")
    expect(held.locator(STATE)).to_contain_text(
        "Your card was declined. Nothing was charged. Your seat is still yours until"
    )
    expect(held.locator(STATE)).to_contain_text(UNTIL)
    expect(held.locator("#milestones")).to_contain_text("Your card was declined.")
    expect(held.locator(PAY)).to_have_text("Try again · €95.00")
    go_to_pay(held)
    come_back(held, "#decline")
    expect(held.locator(STATE)).to_contain_text("Your card was declined again.")
    go_to_pay(held)
    come_back(held)
    expect(held.locator(".order")).to_be_visible()
    assert len({key for _, key, _ in fake.paying.begun}) == 3, "each is asked for by a key of its own"


def test_after_another_try_the_card_is_not_said_to_be_declined_before_the_provider_says_so(
    held: Page, fake: FakeGateway
) -> None:
    go_to_pay(held)
    come_back(held, "#decline")
    expect(held.locator(STATE)).to_contain_text("declined")
    pay_unheard(held, fake)
    fake.paying.settle("failed")
    expect(held.locator(STATE)).to_contain_text("Your card was declined again.")


def test_a_payment_that_was_called_off_can_be_begun_anew(held: Page, fake: FakeGateway) -> None:
    pay_unheard(held, fake)
    fake.paying.settle("canceled")
    expect(held.locator(STATE)).to_contain_text("That payment was called off. Nothing was charged.")
    go_to_pay(held)
    come_back(held)
    expect(held.locator(STATE)).to_contain_text("We wait for your bank’s word.")
    assert [payment.state for payment in fake.paying.payments] == ["canceled", "created"]


def test_time_that_runs_out_while_paying_is_told_as_it_is_known(held: Page, fake: FakeGateway) -> None:
    payment = pay_unheard(held, fake)
    run_out(fake, payment.hold)
    card = held.locator(CARD)
    expect(card).to_contain_text("Your time ran out before a payment came.")
    expect(card).to_contain_text("It was for A-7.")
    expect(held.locator("#milestones")).to_contain_text("Your time ran out before a payment came.")
    assert "Nothing was" not in held.locator("body").inner_text(), "the money may be on its way"
    fake.paying.settle("canceled")
    expect(card.get_by_role("heading")).to_have_text("Your time ran out before you paid.")
    expect(card).to_contain_text("Nothing was charged.")
    card.get_by_role("button", name="I have read this").click()
    expect(card).to_have_count(0)
    held.reload()
    expect(held.get_by_role("heading", name="Choose your seats")).to_be_visible()
    expect(card).to_have_count(0)


def test_time_that_runs_out_before_anything_was_begun_is_told_as_ever(held: Page, fake: FakeGateway) -> None:
    (name,) = fake.holds
    run_out(fake, name)
    expect(held.locator(".notice")).to_contain_text("Your time ran out.")
    expect(held.locator(".notice")).to_contain_text("Nothing was paid.")
    expect(held.locator(CARD)).to_have_count(0)


def late(page: Page, fake: FakeGateway) -> Payment:
    payment = pay_unheard(page, fake)
    run_out(fake, payment.hold)
    expect(page.locator(CARD)).to_be_visible()
    return payment


class TestAskedForAgain:
    @pytest.fixture
    def fake(self) -> FakeGateway:
        return FakeGateway(payment="required", late_payment="reacquire")

    def test_money_that_comes_late_asks_for_the_same_seats_and_may_get_them(
        self, held: Page, fake: FakeGateway
    ) -> None:
        late(held, fake)
        expect(held.locator(CARD)).to_contain_text("Did you pay? Then we ask for the same seats again")
        fake.paying.settle("late")
        expect(held.locator(CARD)).to_contain_text("Your payment came after your time had run out.")
        expect(held.locator(CARD)).to_contain_text("We are asking for the same seats again.")
        expect(held.locator("#milestones")).to_contain_text("We are asking for the same seats again.")
        fake.paying.settle("succeeded", order="7777777")
        expect(held.locator(".notice")).to_contain_text("They are yours after all. A-7.")
        expect(held.locator(".order")).to_contain_text("row A, seat 7")
        expect(held.get_by_role("link", name="Tickets")).to_have_attribute("href", "/e/demo/tickets/7777777")
        expect(held.locator(CARD)).to_have_count(0)
        held.reload()
        expect(held.locator(".order")).to_contain_text("row A, seat 7")

    def test_where_they_are_gone_all_of_it_goes_back(self, held: Page, fake: FakeGateway) -> None:
        late(held, fake)
        fake.paying.settle("late")
        fake.paying.settle("refund_due", reason="seats_gone")
        expect(held.locator(CARD)).to_contain_text("the seats were gone by then")
        expect(held.locator(CARD)).to_contain_text("All of it, €95.00, goes back to you.")


WHY = [
    ("late", "Your payment came after your time had run out."),
    ("seats_gone", "and the seats were gone by then"),
    ("hold_released", "after you had given the seats back"),
    ("hold_changed", "Your seats had changed by the time your payment came"),
    ("order_refunded", "The organiser had taken this order back before your payment came."),
    ("taken_back", "The organiser took this order back."),
    ("a_reason_of_tomorrow", "This order was called off."),
]


def test_money_that_goes_back_says_why_and_then_that_it_went(held: Page, fake: FakeGateway) -> None:
    payment = late(held, fake)
    card = held.locator(CARD)
    for reason, sentence in WHY:
        payment.state, payment.reason = "canceled", None
        fake.paying.settle("refund_due", reason=reason)
        expect(card).to_contain_text(sentence)
        expect(card).to_contain_text("All of it, €95.00, goes back to you. You need not do anything.")
        assert reason == "late" or reason not in card.inner_text()
    card.get_by_role("button", name="I have read this").click()
    expect(card).to_have_count(0)
    fake.paying.settle("refunded")
    expect(card).to_contain_text("€95.00 is on its way back to you.")
    expect(held.locator("#milestones")).to_contain_text("€95.00 is on its way back to you.")


def test_seats_paid_for_twice_stay_and_the_second_payment_goes_back(held: Page, fake: FakeGateway) -> None:
    go_to_pay(held)
    come_back(held)
    expect(held.locator(".order")).to_be_visible()
    first = fake.paying.payments[0]
    second = Payment(11, first.hold, first.buyer, first.amount_minor, 0, 0, first.back, state="canceled")
    fake.paying.payments.insert(0, second)
    fake.paying.settle("refund_due", second, reason="paid_twice")
    expect(held.locator(CARD)).to_contain_text("These seats were paid for twice. They stay yours.")
    expect(held.locator(CARD)).to_contain_text("The second payment, €95.00, goes back to you.")
    expect(held.locator(".order")).to_contain_text("row A, seat 7")


def test_what_goes_back_of_an_order_of_which_a_part_was_taken_back_is_said(
    held: Page, fake: FakeGateway
) -> None:
    go_to_pay(held)
    come_back(held)
    order = held.locator(".order")
    expect(order).to_be_visible()
    fake.paying.settle("succeeded", refund_due_minor=2_500)
    expect(order).to_contain_text("€25.00 of it goes back to you.")
    fake.paying.settle("succeeded", refund_due_minor=0, refunded_minor=2_500)
    expect(order).to_contain_text("€25.00 of it is on its way back to you.")


def test_several_holds_are_paid_one_by_one(held: Page, fake: FakeGateway) -> None:
    (first,) = fake.holds.values()
    ends = first.expires_at + 60_000
    fake.holds["131072"] = Hold(first.buyer, [3], {}, ends)
    also = {"hold": "131072", "seats": [fake.plan.seats[3].guid], "areas": {}, "expires_at": ends}
    fake.send_all({"type": "hold", "state": "active", **also})
    expect(held.locator(PAY)).to_have_count(2)
    pay_unheard(held, fake)
    expect(held.locator(PAY)).to_have_text("Pay €95.00")
    go_to_pay(held)
    come_back(held)
    expect(held.locator(STATE)).to_have_count(2)
    for count, payment in enumerate(fake.paying.payments, 1):
        fake.paying.settle("succeeded", payment)
        expect(held.locator(".order")).to_have_count(count)
    assert len({payment.hold for payment in fake.paying.payments}) == 2
