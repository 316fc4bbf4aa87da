"""Who is refused is offered what is free instead, and gets it with one press."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from store.venues.make import make
from tests.browser.axe import violations
from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway
from tests.browser.test_access import BROKEN, NAMELESS
from tests.browser.test_wishes import WHERE, ask, asked, leave_only, seats_in_row, wish_for

pytestmark = pytest.mark.browser

Choose = Callable[[Page, int], None]


def lose_two(page: Page, fake: FakeGateway, choose: Choose) -> list[list[str]]:
    """Two seats are asked for and gone; the groups that the answer names instead."""
    for seat in (0, 1):
        choose(page, seat)
    page.get_by_role("button", name="Map", exact=True).click()
    fake.letters[0] = "h"  # decided, not told yet
    ask(page)
    expect(page.locator(".offer")).to_have_count(3)
    (answer,) = fake.decisions.values()
    groups: list[list[str]] = answer["result"]["instead"]
    return groups


def test_groups_that_are_free_instead_are_asked_for_by_keyboard(
    page: Page, fake: FakeGateway, choose: Choose
) -> None:
    groups = lose_two(page, fake, choose)
    expect(page.locator(".notice")).to_contain_text("These three were free just now:")
    first, second, _ = page.locator(".offer").all()
    expect(first).to_be_focused()
    seat = fake.plan.seats[fake.numbers[groups[1][0]]]
    expect(second).to_contain_text(f"{seat.row} {seat.number}, ")
    expect(second).to_contain_text("Stalls centre · €190.00")
    expect(page.locator("#milestones")).to_contain_text(f"2: Stalls centre, row {seat.row}, seats")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Held for you")).to_be_focused()
    assert asked(fake) == {"seats": groups[1]}


def test_of_an_offered_group_all_seats_are_chosen_at_once(
    page: Page, fake: FakeGateway, choose: Choose
) -> None:
    groups = lose_two(page, fake, choose)
    page.get_by_role("button", name="List", exact=True).click()
    page.get_by_role("button", name="offered to you as 1").first.click()
    expect(page.locator(".picked li")).to_have_count(2)
    ask(page)
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    assert asked(fake) == {"seats": groups[0]}


def test_an_offer_that_goes_meanwhile_is_not_offered_any_longer(
    page: Page, fake: FakeGateway, choose: Choose
) -> None:
    groups = lose_two(page, fake, choose)
    fake.mark("h", [fake.numbers[groups[0][0]]])
    expect(page.locator(".offer")).to_have_count(2)
    fake.mark("s", [fake.numbers[group[0]] for group in groups[1:]])
    expect(page.locator(".offer")).to_have_count(0)
    expect(page.locator(".notice")).to_contain_text("What was free instead is gone by now.")


def test_who_is_refused_at_the_gate_is_offered_what_the_map_shows(
    page: Page, fake: FakeGateway, choose: Choose
) -> None:
    choose(page, 0)
    guid = fake.plan.seats[0].guid
    fake.forced = {"type": "not_queued", "reason": "gone", "taken": [guid]}
    ask(page)
    expect(page.locator(".notice")).to_contain_text("That seat was already gone.")
    page.locator(".offer").first.click()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    (got,) = asked(fake)["seats"]
    there, named = fake.plan.seats[fake.numbers[got]], fake.plan.seats[0]
    assert got != guid
    assert (there.section, there.category) == (named.section, named.category)


def test_a_party_too_large_is_told_the_largest_and_asks_for_it(page: Page, fake: FakeGateway) -> None:
    leave_only(fake, seats_in_row(fake, WHERE, "A")[:3] + seats_in_row(fake, WHERE, "C")[:1])
    wish_for(page, 4, where=WHERE)
    ask(page)
    expect(page.locator(".notice")).to_contain_text("No four together are left in Stalls centre; three are.")
    page.get_by_role("button", name="Ask for Three together in Stalls centre").click()
    expect(page.locator(".story")).to_have_text("Together in row A.")
    assert asked(fake) == {"best": {"quantity": 3, "section": WHERE}}


def test_who_finds_nothing_in_a_section_is_led_to_the_rest_of_the_house(
    page: Page, fake: FakeGateway
) -> None:
    here = seats_in_row(fake, WHERE, "A")
    leave_only(fake, [*seats_in_row(fake, "Circle centre", "A"), here[0], here[2], here[4]])
    wish_for(page, 3, where=WHERE)
    ask(page)
    expect(page.locator(".notice")).to_contain_text("No three together are left in Stalls centre; one is.")
    page.get_by_role("button", name="Ask for Three together anywhere in the house").click()
    expect(page.locator(".story")).to_have_text("Together in row A.")
    assert asked(fake) == {"best": {"quantity": 3}}


def test_what_no_free_seat_can_answer_is_not_asked_for(page: Page, fake: FakeGateway) -> None:
    leave_only(fake, seats_in_row(fake, "Circle centre", "A"))
    wish_for(page, 3, where=WHERE)
    expect(page.get_by_text("Not enough free with these wishes")).to_be_visible()
    expect(page.locator(".choosing .button.main")).to_be_disabled()
    page.get_by_role("checkbox", name="Anywhere else in the house").check()
    ask(page)
    expect(page.locator(".story")).to_contain_text("Your second choice: three together anywhere.")


def test_wishes_and_offers_fit_narrow_screens_and_have_names(tabs: Tabs, fake: FakeGateway) -> None:
    page = tabs.open(width=320, height=640)

    def check() -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        assert page.evaluate(NAMELESS) == []
        assert page.evaluate(BROKEN) == []
        assert violations(page) == []

    leave_only(fake, seats_in_row(fake, WHERE, "A")[:3] + seats_in_row(fake, WHERE, "C")[:2])
    ticks = ("Anywhere else in the house", "Apart, as near as possible")
    wish_for(page, 5, where=WHERE, ticks=ticks)
    page.get_by_role("combobox", name="Price").select_option("range")
    check()
    for tick in ticks:
        page.get_by_role("checkbox", name=tick).uncheck()
    page.get_by_role("combobox", name="To").select_option("9500")
    ask(page)
    expect(page.locator(".offer")).to_have_count(1)
    expect(page.locator(".offer")).to_be_in_viewport()
    check()


class TestHall:
    @pytest.fixture
    def fake(self) -> FakeGateway:
        return FakeGateway(make("hall", 60))

    def test_places_that_are_left_are_offered(self, page: Page, fake: FakeGateway) -> None:
        more = page.get_by_role("button", name="More: Front standing, places")
        for _ in range(3):
            more.click()
        fake.free[0] = 2
        ask(page)
        expect(page.locator(".notice")).to_contain_text("Only 2 places are left in Front standing.")
        page.get_by_role("button", name="Ask for 2 places in Front standing, €190.00").click()
        expect(page.locator(".mine")).to_contain_text("2 × Front standing")
        assert asked(fake) == {"areas": {"pit": 2}}
