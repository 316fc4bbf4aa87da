"""From a free seat to a ticket, and every way it can end otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from store.venues.make import make
from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway

pytestmark = pytest.mark.browser

Choose = Callable[[Page, int], None]


def hold(page: Page) -> None:
    page.locator(".choosing .button.main").click()


def label(fake: FakeGateway, seat: int) -> str:
    return f"{fake.plan.seats[seat].row}-{fake.plan.seats[seat].number}"


def test_a_seat_is_held_counts_down_and_is_bought(page: Page, fake: FakeGateway, choose: Choose) -> None:
    choose(page, 0)
    expect(page.locator(".choosing .button.main")).to_have_text("Hold 1 seat · €95.00")
    hold(page)
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    expect(page.locator(".countdown-figures")).to_have_text(re.compile(r"^(8:00|7:5\d)$"))
    first = page.locator(".countdown-figures").inner_text()
    expect(page.locator(".countdown-figures")).not_to_have_text(first)
    expect(page.locator("#milestones")).to_contain_text("Yours for now")
    page.get_by_role("button", name="Buy · €95.00").click()
    expect(page.locator(".notice")).to_contain_text("They are yours.")
    expect(page.locator(".orders")).to_contain_text("row A, seat 7")
    assert fake.letters[0] == "s"


def test_somebody_else_was_a_moment_before(page: Page, fake: FakeGateway, choose: Choose) -> None:
    choose(page, 0)
    fake.letters[0] = "h"  # decided, not told yet
    hold(page)
    notice = page.locator(".notice")
    expect(notice).to_contain_text(f"Someone got {label(fake, 0)} a moment before you.")
    expect(page.locator(".picked")).to_have_count(0)
    expect(page.locator("#milestones")).to_contain_text("Someone got")


def test_two_tabs_fight_for_one_seat_and_one_gets_it(tabs: Tabs, fake: FakeGateway, choose: Choose) -> None:
    fake.deciding = False
    one, two = tabs.open(), tabs.open()
    names = {tab.locator(".who b").inner_text() for tab in (one, two)}
    assert len(names) == 2, "each tab is a buyer of its own"
    for tab in (one, two):
        choose(tab, 5)
        hold(tab)
        expect(tab.get_by_role("heading", name="You are in line")).to_be_visible()
    fake.decide_waiting()
    expect(one.get_by_role("heading", name="Held for you")).to_be_visible()
    expect(two.locator(".notice")).to_contain_text("a moment before you")


def test_a_seat_that_goes_while_choosing_leaves_the_choice(
    page: Page, fake: FakeGateway, choose: Choose
) -> None:
    choose(page, 0)
    choose(page, 1)
    fake.mark("h", [0])
    expect(page.locator(".notice")).to_contain_text(f"{label(fake, 0)} was just taken.")
    expect(page.locator(".picked li")).to_have_count(1)


def test_giving_back_frees_the_seat(page: Page, fake: FakeGateway, choose: Choose) -> None:
    choose(page, 0)
    hold(page)
    page.get_by_role("button", name="Give back").click()
    expect(page.locator(".notice")).to_contain_text("Given back.")
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_visible()
    assert fake.letters[0] == "a"


def test_a_hold_ends_when_its_time_is_over(page: Page, fake: FakeGateway, choose: Choose) -> None:
    fake.hold_ttl_seconds = 1
    choose(page, 0)
    hold(page)
    expect(page.locator(".notice")).to_contain_text("Your time ran out.")
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_visible()


def test_buying_too_late_says_so(page: Page, fake: FakeGateway, choose: Choose) -> None:
    choose(page, 0)
    hold(page)
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    fake.refusing_holds = "hold_expired"
    page.locator(".holding .button.main").click()
    expect(page.locator(".notice")).to_contain_text("Your time ran out.")


def test_buying_that_is_refused_can_be_tried_again(page: Page, fake: FakeGateway, choose: Choose) -> None:
    choose(page, 0)
    hold(page)
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    fake.refusing_holds = "token_expired"
    page.locator(".holding .button.main").click()
    expect(page.locator(".notice")).to_contain_text("That was not done.")
    expect(page.locator(".notice")).to_contain_text("as it was before. You can try again.")
    fake.refusing_holds = ""
    page.locator(".holding .button.main").click()
    expect(page.locator(".orders")).to_be_visible()


def test_best_available_gives_seats_side_by_side(page: Page, fake: FakeGateway) -> None:
    page.get_by_role("button", name="Best available").click()
    page.get_by_role("button", name="More: seats").click()
    page.get_by_label("Where").select_option("Circle centre")
    hold(page)
    expect(page.locator(".mine li")).to_have_count(3)
    expect(page.locator(".mine")).to_contain_text("Circle centre")
    assert fake.asked("request")[-1]["best"] == {"quantity": 3, "section": "Circle centre"}


def test_a_refresh_keeps_the_hold_and_the_order(page: Page, fake: FakeGateway, choose: Choose) -> None:
    choose(page, 0)
    hold(page)
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    page.locator(".holding .button.main").click()
    expect(page.locator(".orders")).to_be_visible()
    page.reload()
    expect(page.locator(".orders")).to_contain_text("row A, seat 7")


def test_paying_and_time_do_not_cross_when_the_sale_is_paused(
    page: Page, fake: FakeGateway, choose: Choose
) -> None:
    choose(page, 0)
    hold(page)
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    fake.become("paused")
    expect(page.get_by_text("Your time stands still.")).to_be_visible()
    stands = page.evaluate(
        """async () => {
          const figures = () => document.querySelector(".countdown-figures").textContent;
          const before = figures();
          for (let ticks = 0; ticks < 6; ticks += 1) await new Promise((done) => setTimeout(done, 250));
          return before === figures();
        }"""
    )
    assert stands
    fake.become("open")
    expect(page.get_by_text("Your time stands still.")).to_have_count(0)


class TestHall:
    @pytest.fixture
    def fake(self) -> FakeGateway:
        return FakeGateway(make("hall", 60))

    def test_standing_places_are_asked_for_by_number(self, page: Page, fake: FakeGateway) -> None:
        more = page.get_by_role("button", name="More: Front standing, places")
        more.click()
        more.click()
        hold(page)
        expect(page.locator(".mine")).to_contain_text("2 × Front standing")
        expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
        assert fake.asked("request")[-1]["areas"] == {"pit": 2}


def decision(outcome: str, **result: Any) -> dict[str, Any]:
    return {
        "type": "decision",
        "outcome": outcome,
        "arrival": "1-1",
        "result": {"reason": "raw_code", **result},
    }


ANSWERS: list[tuple[dict[str, Any], str]] = [
    (decision("sold_out"), "Not enough places are left."),
    (decision("limit_reached"), "That would be more than 8 seats."),
    (
        decision("limit_reached", reason="limit", limit=2, category="Gold"),
        "That would be more than 2 seats of Gold.",
    ),
    (
        decision("limit_reached", reason="limit", limit=0, category="Gold"),
        "Gold cannot be bought here.",
    ),
    (
        decision("limit_reached", reason="tour_limit", limit=4, elsewhere=3),
        "You have 3 on other dates of this tour.",
    ),
    (decision("closed"), "The sale was not open when your request arrived."),
    (decision("conflict"), "This was asked before, for other seats."),
    (decision("invalid"), "We could not read this choice."),
    (
        {"type": "not_queued", "reason": "raw_code", "taken": ["stalls-A-7"]},
        "That seat was already gone.",
    ),
    ({"type": "error", "code": "raw_code", "message": "Too many ask at once."}, "Too many ask at once."),
]


def test_every_answer_is_said_in_plain_words(page: Page, fake: FakeGateway, choose: Choose) -> None:
    for seat, (answer, sentence) in enumerate(ANSWERS):
        if page.locator(".picked li").count() == 0:  # some answers leave the choice as it was
            choose(page, seat)
        fake.forced = answer
        hold(page)
        expect(page.locator(".notice"), f"answered with {answer}").to_contain_text(sentence)
        expect(page.get_by_role("heading", name="Choose your seats")).to_be_visible()
        assert "raw_code" not in page.locator("body").inner_text()


@pytest.mark.parametrize(
    ("state", "title"),
    [("lobby", "Not on sale yet"), ("draft", "Not on sale yet"), ("closed", "The sale is over")],
)
def test_an_event_that_does_not_sell_says_so_and_changes_by_itself(
    tabs: Tabs, fake: FakeGateway, state: str, title: str
) -> None:
    fake.state = state
    page = tabs.open()
    expect(page.get_by_role("heading", name=title)).to_be_visible()
    fake.become("open")
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_visible()


def test_a_full_house_says_whether_something_may_come_back(page: Page, fake: FakeGateway) -> None:
    everything = list(range(len(fake.letters)))
    fake.mark("s", everything)
    expect(page.get_by_role("heading", name="Sold out")).to_be_visible()
    fake.mark("h", everything[:37])
    expect(page.get_by_text("37 seats on hold: some may come back.").first).to_be_visible()
    fake.mark("a", [0])
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_visible()
