"""What is paid in all is shown before anybody asks and in the hold; and what of it is fee and tax."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from store.plan import Plan
from store.prices import Price, PriceTerms, price_of
from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway

pytestmark = pytest.mark.browser
TERMS = PriceTerms(150, 250, 1_900, tax_included=False)


@pytest.fixture
def fake() -> FakeGateway:
    return FakeGateway(price_terms=TERMS)


def euros(minor: int) -> str:
    return f"€{minor / 100:.2f}"


def cost_of(plan: Plan, *seats: int) -> Price:
    """What these seats (by number) cost together: each part the sum of theirs."""
    each = [price_of(plan.categories[plan.seats[seat].category].price_minor, TERMS) for seat in seats]
    return Price(
        sum(one.price_minor for one in each),
        sum(one.fee_minor for one in each),
        sum(one.tax_minor for one in each),
        sum(one.total_minor for one in each),
    )


def test_fees_and_tax_are_in_every_price_and_told_before_holding_and_in_the_hold(
    page: Page, fake: FakeGateway, choose: Callable[[Page, int], None]
) -> None:
    cost = cost_of(fake.plan, 0, 1)
    assert cost.total_minor == cost.price_minor + cost.fee_minor + cost.tax_minor
    for seat in (0, 1):
        choose(page, seat)
    parts = f"In this: {euros(cost.fee_minor)} fees and {euros(cost.tax_minor)} tax."
    expect(page.locator(".choosing .added")).to_have_text(parts)
    expect(page.locator(".choosing .total")).to_contain_text(euros(cost.total_minor))
    button = page.locator(".choosing .button.main")
    expect(button).to_have_text(f"Hold 2 seats · {euros(cost.total_minor)}")
    button.click()
    expect(page.locator(".holding .added")).to_have_text(parts)
    expect(page.get_by_role("button", name=f"Buy · {euros(cost.total_minor)}")).to_be_visible()


def test_best_available_says_what_is_paid_in_all(page: Page, fake: FakeGateway) -> None:
    page.get_by_role("button", name="Best available").click()
    least, most = (
        euros(2 * cost_of(fake.plan, seat).total_minor)
        for seat in sorted(
            range(len(fake.plan.seats)),
            key=lambda seat: fake.plan.categories[fake.plan.seats[seat].category].price_minor,
        )[:: len(fake.plan.seats) - 1]
    )
    assert least != most
    expect(page.locator(".choosing .total")).to_contain_text(f"from {least}")
    expect(page.locator(".choosing .added")).to_have_text("Fees and tax are in the price.")


def test_what_is_settled_while_somebody_waits_is_shown_when_the_sale_opens(
    page: Page, fake: FakeGateway
) -> None:
    legend = page.locator(".legend .money").first
    before = cost_of(fake.plan, 0).total_minor
    expect(legend).to_have_text(euros(before))
    fake.price_terms = PriceTerms(1_000)
    fake.become("paused")
    fake.become("open")
    category = fake.plan.categories[fake.plan.seats[0].category]
    expect(legend).to_have_text(euros(category.price_minor + 1_000))


def test_seats_that_are_moved_to_another_category_cost_what_it_costs_and_a_hold_what_it_did(
    page: Page, fake: FakeGateway, choose: Callable[[Page, int], None]
) -> None:
    was = fake.plan.seats[0].category
    other = next(number for number in range(len(fake.plan.categories)) if number != was)
    before = cost_of(fake.plan, 0)
    choose(page, 0)
    page.locator(".choosing .button.main").click()
    buy = page.get_by_role("button", name=f"Buy · {euros(before.total_minor)}")
    expect(buy).to_be_visible()
    fake.recategorise([0, 1], other)
    after = cost_of(fake.plan, 1)
    assert after.total_minor != before.total_minor
    free, name = fake.plan.seats[1], fake.plan.categories[other].name
    seat = f"{fake.plan.sections[free.section].name}, row {free.row}, seat {free.number}"
    button = page.get_by_role("button", name=f"{seat}, {name}, {euros(after.total_minor)}, free")
    expect(button).to_be_visible()
    expect(page.locator(".holding .mine .money")).to_have_text(euros(before.total_minor))
    expect(buy).to_be_visible()
    page.reload()
    expect(buy).to_be_visible()


def test_who_was_away_when_seats_were_moved_reads_them_when_they_come_back(
    page: Page, fake: FakeGateway, choose: Callable[[Page, int], None]
) -> None:
    choose(page, 1)
    total = page.locator(".choosing .total")
    expect(total).to_contain_text(euros(cost_of(fake.plan, 1).total_minor))
    was = fake.plan.seats[1].category
    fake.recategorise([1], next(n for n in range(len(fake.plan.categories)) if n != was), telling=False)
    fake.drop_sockets()
    expect(total).to_contain_text(euros(cost_of(fake.plan, 1).total_minor))


@pytest.mark.parametrize(("state", "read"), [("draft", "/plan"), ("lobby", "/prices")])
def test_who_waits_for_the_sale_reads_what_was_settled_not_all_in_one_moment(
    tabs: Tabs, fake: FakeGateway, state: str, read: str
) -> None:
    fake.state = state
    page = tabs.open(own=True)
    page.clock.install()
    page.reload()
    expect(page.get_by_role("heading", name="Not on sale yet")).to_be_visible()
    page.evaluate("() => { window.stays = true; Math.random = () => 0.5; }")
    reads: list[str] = []
    page.on("request", lambda request: reads.append(request.url))
    fake.price_terms = PriceTerms(1_000)
    fake.become("open")
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_visible()
    page.clock.run_for(500)
    assert [url for url in reads if url.endswith(read)] == []
    page.clock.run_for(2_000)
    category = fake.plan.categories[fake.plan.seats[0].category]
    expect(page.locator(".legend .money").first).to_have_text(euros(category.price_minor + 1_000))
    assert [url for url in reads if url.endswith(read)] != []
    assert page.evaluate("() => window.stays"), "the page was not loaded anew"
