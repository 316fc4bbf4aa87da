"""Waiting in line for what comes back: the place, leaving, an offer and what becomes of it."""

from __future__ import annotations

import time
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


def sell_out(fake: FakeGateway, held: int = 37) -> None:
    everything = list(range(len(fake.letters)))
    fake.mark("s", everything[held:])
    fake.mark("h", everything[:held])


def wait_in_line(page: Page, fake: FakeGateway) -> None:
    sell_out(fake)
    page.locator(".sold-out .button.main").click()
    expect(page.locator(".waiting h2")).to_be_visible()


def place(page: Page, words: str) -> None:
    expect(page.locator(".waiting h2")).to_contain_text(f"You wait at number {words}")


def test_a_full_house_leads_to_the_waiting_list(page: Page, fake: FakeGateway) -> None:
    sell_out(fake)
    expect(page.locator(".sold-out")).to_contain_text("37 seats on hold: some may come back.")
    fake.waitlist.before = 13
    page.get_by_role("button", name="More: seats").click()
    page.get_by_role("button", name="Wait for 3 seats").click()
    expect(page.locator(".notice")).to_contain_text("You are number 14 on the waiting list.")
    place(page, "14 of 14")
    expect(page.locator(".waiting")).to_contain_text("For three together")
    expect(page).to_have_title("No. 14 · Nightfall, opening night · seats")
    assert asked(fake) == {"best": {"quantity": 3}, "waitlist": True}
    expect(page.locator(".sold-out .button.main")).to_have_count(0)
    page.get_by_role("button", name="Wait for something else too").click()
    page.get_by_role("button", name="Wait for 3 seats").click()
    expect(page.locator(".waits")).to_have_count(2)


def test_who_is_refused_waits_with_one_press(page: Page, fake: FakeGateway) -> None:
    leave_only(fake, seats_in_row(fake, WHERE, "A")[:3] + seats_in_row(fake, WHERE, "C")[:1])
    wish_for(page, 4, where=WHERE)
    ask(page)
    expect(page.locator(".notice")).to_contain_text("No four together are left in Stalls centre; three are.")
    page.get_by_role("button", name="Wait for it").click()
    place(page, "1 of 1")
    assert asked(fake) == {"best": {"quantity": 4, "section": WHERE}, "waitlist": True}
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_visible()


def test_who_was_a_moment_late_can_wait_for_these_seats(
    page: Page, fake: FakeGateway, choose: Choose
) -> None:
    choose(page, 0)
    fake.letters[0] = "h"  # decided, not told yet
    ask(page)
    page.get_by_role("button", name="Wait for it").click()
    place(page, "1 of 1")
    assert asked(fake) == {"seats": [fake.plan.seats[0].guid], "waitlist": True}


def test_waiting_is_asked_for_together_with_the_seats(page: Page, fake: FakeGateway, choose: Choose) -> None:
    choose(page, 0)
    page.get_by_role("checkbox", name="If that cannot be had, wait for it").check()
    fake.letters[0] = "h"
    ask(page)
    place(page, "1 of 1")
    assert asked(fake)["waitlist"] is True
    choose(page, 1)
    expect(page.get_by_role("checkbox", name="If that cannot be had, wait for it")).not_to_be_checked()


def test_who_hears_at_once_that_nothing_is_left_can_wait(page: Page, fake: FakeGateway) -> None:
    wish_for(page, 2)
    ends = int(time.time() * 1000) + 240_000
    fake.forced = {"type": "not_queued", "reason": "none_left", "on_hold": 37, "held_until": ends}
    ask(page)
    notice = page.locator(".notice")
    expect(notice).to_contain_text("Nothing is left right now. 37 seats on hold: some may come back.")
    expect(notice).to_contain_text("The first of these holds ends in 4 minutes.")
    page.get_by_role("button", name="Wait for it").click()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()  # it came back meanwhile


def test_a_wish_that_nothing_free_answers_can_be_waited_for(page: Page, fake: FakeGateway) -> None:
    leave_only(fake, seats_in_row(fake, "Circle centre", "A"))
    wish_for(page, 3, where=WHERE)
    page.get_by_role("button", name="Wait for 3 seats").click()
    place(page, "1 of 1")


def test_a_full_waiting_list_is_said_plainly(page: Page, fake: FakeGateway) -> None:
    wish_for(page, 2)
    result = {"reason": "none_together", "largest": 0, "waiting_list": "full"}
    fake.forced = {"type": "decision", "outcome": "sold_out", "arrival": "1-1", "result": result}
    ask(page)
    expect(page.locator(".notice")).to_contain_text("The waiting list is full.")


def test_who_waits_for_enough_is_told_so(page: Page, fake: FakeGateway) -> None:
    wish_for(page, 2)
    result = {"reason": "waiting", "limit": 4}
    fake.forced = {"type": "decision", "outcome": "limit_reached", "arrival": "1-1", "result": result}
    ask(page)
    expect(page.locator(".notice")).to_contain_text("You wait for four things already.")


def test_the_place_moves_up_is_said_near_the_front_and_survives_a_reload(
    page: Page, fake: FakeGateway
) -> None:
    fake.waitlist.before, fake.waitlist.after = 40, 79
    wait_in_line(page, fake)
    place(page, "41 of 41")
    fake.waitlist.move_up(2)
    place(page, "3 of 82")
    expect(page.locator(".notice")).to_have_count(0)
    expect(page.locator("#milestones")).to_have_text("You are number 3 of 82 now for two together.")
    page.reload()
    place(page, "3 of 82")
    expect(page.locator(".waiting")).to_contain_text("For two together")


def test_another_tab_of_the_same_buyer_shows_the_list(tabs: Tabs, fake: FakeGateway) -> None:
    fake.demo = False
    one = tabs.open("/e/demo#token=token-of-ann")
    wait_in_line(one, fake)
    other = one.context.new_page()
    other.goto(tabs.url + "/e/demo#token=token-of-ann")
    place(other, "1 of 1")
    expect(other.locator(".waiting")).to_contain_text("For two together")
    other.get_by_role("button", name="Leave the waiting list").click()
    other.get_by_role("button", name="Leave for good").click()
    for tab in (one, other):
        expect(tab.locator(".waiting")).to_have_count(0)
        expect(tab.locator(".notice")).to_contain_text("You are off the waiting list.")


def test_leaving_asks_once(page: Page, fake: FakeGateway) -> None:
    wait_in_line(page, fake)
    page.get_by_role("button", name="Leave the waiting list").click()
    expect(page.get_by_text("You would lose this place.")).to_be_visible()
    page.get_by_role("button", name="Stay").click()
    assert fake.asked("leave") == []
    place(page, "1 of 1")


def test_leaving_survives_a_lost_connection(page: Page, fake: FakeGateway) -> None:
    wait_in_line(page, fake)
    fake.serving = False
    fake.drop_sockets()
    expect(page.get_by_text("Your place on the waiting list is kept. Reconnecting…")).to_be_visible()
    page.get_by_role("button", name="Leave the waiting list").click()
    page.get_by_role("button", name="Leave for good").click()
    fake.serving = True
    expect(page.locator(".waiting")).to_have_count(0)


def test_an_offer_is_shown_said_and_taken(page: Page, fake: FakeGateway) -> None:
    wait_in_line(page, fake)
    fake.waitlist.offer([0, 1])
    expect(page.get_by_role("heading", name="Your turn: this is kept for you")).to_be_visible()
    expect(page).to_have_title("● Your turn! Nightfall, opening night · seats")
    expect(page.locator("#milestones")).to_contain_text("Your turn!")
    expect(page.locator("#milestones")).to_contain_text("to take it.")
    expect(page.locator(".countdown")).to_contain_text("to take it")
    expect(page.locator(".story").first).to_have_text("You waited for two together.")
    expect(page.locator(".holding .mine li")).to_have_count(2)
    expect(page.locator(".waiting")).to_have_count(0)
    page.get_by_role("button", name="Take it · €190.00").click()
    expect(page.locator(".notice")).to_contain_text("They are yours.")
    expect(page).to_have_title("Nightfall, opening night · seats")


def test_an_offer_that_was_not_heard_is_found_in_the_list_and_shown_once(
    page: Page, fake: FakeGateway
) -> None:
    wait_in_line(page, fake)
    fake.waitlist.offer([0, 1], telling=False)
    fake.drop_sockets()
    expect(page.get_by_role("heading", name="Your turn: this is kept for you")).to_have_count(1)
    page.reload()
    expect(page.get_by_role("heading", name="Your turn: this is kept for you")).to_have_count(1)
    page.get_by_role("button", name="No, thank you").click()
    expect(page.locator(".notice")).to_contain_text("go to the next in line.")
    expect(page.get_by_role("heading", name="Your turn")).to_have_count(0)


def test_an_offer_that_is_not_taken_runs_out_and_one_can_wait_again(page: Page, fake: FakeGateway) -> None:
    fake.offer_ttl_seconds = 1
    wait_in_line(page, fake)
    hold = fake.waitlist.offer([0, 1])
    expect(page.locator(".notice")).to_contain_text("The time for your offer ran out.")
    fake.holds[hold].state = "expired"
    fake.on_loop(fake.waitlist.tell_all)  # a late word of it brings nothing back
    page.get_by_role("button", name="Wait for it").click()
    place(page, "1 of 1")


def test_an_offer_that_came_and_went_unseen_is_told(page: Page, fake: FakeGateway) -> None:
    wait_in_line(page, fake)
    hold = fake.waitlist.offer([0, 1], telling=False)
    fake.holds[hold].state = "expired"
    page.reload()
    expect(page.locator(".notice")).to_contain_text("You had an offer while you were away.")
    page.reload()
    expect(page.get_by_role("heading", name="Sold out")).to_be_visible()
    expect(page.locator(".notice")).to_have_count(0)


def test_waiting_and_offers_fit_narrow_screens_and_have_names(tabs: Tabs, fake: FakeGateway) -> None:
    page = tabs.open(width=320, height=640)
    fake.extensions_max = 2

    def check() -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= 320
        assert page.evaluate(NAMELESS) == []
        assert page.evaluate(BROKEN) == []
        assert violations(page) == []

    page.reload()
    fake.waitlist.before = 123_455
    sell_out(fake)
    expect(page.get_by_role("heading", name="Sold out")).to_be_visible()
    check()
    page.locator(".sold-out .button.main").click()
    place(page, "123,456 of 123,456")
    page.get_by_role("button", name="Leave the waiting list").click()
    check()
    fake.waitlist.offer([0, 1])
    expect(page.get_by_role("heading", name="Your turn")).to_be_visible()
    check()
    page.get_by_role("button", name="Give some back").click()
    check()


class TestHall:
    @pytest.fixture
    def fake(self) -> FakeGateway:
        return FakeGateway(make("hall", 60))

    def test_places_of_a_full_area_are_waited_for(self, page: Page, fake: FakeGateway) -> None:
        fake.free[0] = 0
        fake.mark("s", [0])
        expect(page.locator(".place").first).to_contain_text("none left: you would wait")
        for _ in range(3):
            page.get_by_role("button", name="More: Front standing, places").click()
        page.get_by_role("button", name="Wait for 3 places").click()
        place(page, "1 of 1")
        expect(page.locator(".waiting")).to_contain_text("For 3 × Front standing")
        assert asked(fake) == {"areas": {"pit": 3}, "waitlist": True}

    def test_in_a_full_house_seats_or_places_are_waited_for(self, page: Page, fake: FakeGateway) -> None:
        fake.free = [0] * len(fake.free)
        sell_out(fake, 2)
        expect(page.get_by_role("button", name="Wait for 2 seats")).to_be_visible()
        page.get_by_role("button", name="More: Front standing, places").click()
        page.get_by_role("button", name="Wait for 1 place").click()
        place(page, "1 of 1")
        assert asked(fake) == {"areas": {"pit": 1}, "waitlist": True}
