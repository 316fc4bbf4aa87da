"""What can be done with a hold besides buying: more time, fewer seats, other seats."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from store.venues.make import make
from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway
from tests.browser.test_wishes import WHERE, ask, asked, wish_for

pytestmark = pytest.mark.browser

Choose = Callable[[Page, int], None]


def hold_four(page: Page) -> None:
    wish_for(page, 4, where=WHERE)
    ask(page)
    expect(page.locator(".holding .mine li")).to_have_count(4)


def test_more_time_is_taken_as_often_as_there_is(page: Page, fake: FakeGateway) -> None:
    fake.extensions_max = 2
    page.reload()
    hold_four(page)
    expect(page.get_by_role("button", name="Take 2 minutes more")).to_contain_text("2 times")
    page.get_by_role("button", name="Take 2 minutes more").click()
    expect(page.locator(".notice")).to_contain_text("You have more time. 10 minutes from now.")
    expect(page.get_by_role("button", name="Take 2 minutes more")).to_contain_text("once")
    page.get_by_role("button", name="I need longer, for accessibility: 4 minutes").click()
    expect(page.locator(".notice")).to_contain_text("14 minutes from now.")
    expect(page.get_by_role("button", name="Take 2 minutes more")).to_have_count(0)
    first, second = fake.asked("extend")
    assert (first.get("accessible"), second["accessible"]) == (None, True)
    assert second["expires_at"] == first["expires_at"] + 120_000


def test_an_end_that_is_another_one_is_learnt_and_asked_from_again(page: Page, fake: FakeGateway) -> None:
    """As after a pause: the server answers with the true end and adds nothing the first time."""
    hold_four(page)
    (hold,) = fake.holds.values()
    hold.expires_at += 500
    page.get_by_role("button", name="Take 2 minutes more").click()
    expect(page.locator(".notice")).to_contain_text("You have more time.")
    known = [frame["expires_at"] for frame in fake.asked("extend")]
    assert known == [hold.expires_at - 120_500, hold.expires_at - 120_000]
    assert hold.extensions == 1


def test_more_time_that_is_refused_is_not_offered_again(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    fake.refusing_holds = "no_extensions_left"
    page.get_by_role("button", name="Take 2 minutes more").click()
    expect(page.locator(".notice")).to_contain_text("There is no more time to add.")
    expect(page.get_by_role("button", name="Take 2 minutes more")).to_have_count(0)
    expect(page.locator(".holding .button.main")).to_be_enabled()


def test_where_the_organiser_gives_no_more_time_none_is_offered(tabs: Tabs, fake: FakeGateway) -> None:
    fake.extensions_max = 0
    page = tabs.open()
    hold_four(page)
    expect(page.locator(".more-time")).to_have_count(0)


def test_the_last_minute_is_said_and_shown(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    expect(page.locator(".soon-text")).to_have_count(0)
    (name,) = fake.holds
    ends = int(time.time() * 1000) + 50_000
    fake.holds[name].expires_at = ends
    fake.send_all({"type": "hold", "hold": name, "state": "active", "expires_at": ends, "ends_soon": True})
    expect(page.locator(".soon-text")).to_have_text("Less than a minute left.")
    expect(page.locator("#milestones")).to_contain_text("You can take more time.")
    page.get_by_role("button", name="Take 2 minutes more").click()
    expect(page.locator(".soon-text")).to_have_count(0)


def test_some_are_given_back_and_the_rest_stays(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    names = page.locator(".holding .mine li b").all_inner_texts()
    page.get_by_role("button", name="Give some back").click()
    expect(page.get_by_role("button", name="Give back", exact=True)).to_be_disabled()
    for name in names[:2]:
        page.get_by_role("checkbox", name=name).check()
    page.get_by_role("button", name="Give 2 back").click()
    expect(page.locator(".notice")).to_contain_text(f"You still hold {names[2]} and {names[3]}.")
    expect(page.locator(".holding .mine li")).to_have_count(2)
    (hold,) = fake.holds.values()
    assert len(hold.seats) == 2
    (frame,) = fake.asked("release")
    assert (len(frame["seats"]), frame["areas"], frame["quantity"]) == (2, {}, 4)
    page.reload()
    expect(page.locator(".holding .mine li")).to_have_count(2)


def test_what_the_organiser_takes_back_is_said(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    (name,) = fake.holds
    names = page.locator(".holding .mine li b").all_inner_texts()
    fake.send_all({"type": "hold", "hold": name, "state": "released", "by": "operator"})
    expect(page.locator(".notice")).to_contain_text(f"The organiser took {names[0]}")
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_visible()


def test_what_is_returned_elsewhere_is_bought_no_longer(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    (name,) = fake.holds
    page.locator(".holding .button.main").click()
    expect(page.locator(".order li")).to_have_count(4)
    link = page.get_by_role("link", name="Show your tickets")
    expect(link).to_have_attribute("href", f"/e/demo/tickets/{name}")
    kept = [fake.plan.seats[seat].guid for seat in fake.holds[name].seats[:1]]
    fake.send_all({"type": "hold", "hold": name, "state": "paid", "seats": kept, "areas": {}})
    expect(page.locator(".order li")).to_have_count(1)
    page.reload()
    expect(page.locator(".order li")).to_have_count(1)
    fake.send_all({"type": "hold", "hold": name, "state": "refunded", "seats": [], "areas": {}})
    expect(page.locator(".order")).to_have_count(0)


def test_all_of_them_is_the_whole_hold_and_none_is_nothing(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    page.get_by_role("button", name="Give some back").click()
    page.get_by_role("button", name="Keep all").click()
    page.get_by_role("button", name="Give some back").click()
    for box in page.locator(".some input").all():
        box.check()
    page.locator(".some").get_by_role("button", name="Give all back").click()
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_visible()
    assert fake.asked("release") == [{"type": "release", "hold": next(iter(fake.holds))}]


def test_a_lost_connection_does_not_give_back_twice(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    fake.serving = False
    fake.drop_sockets()
    page.get_by_role("button", name="Give some back").click()
    page.locator(".some input").first.check()
    page.get_by_role("button", name="Give 1 back").click()
    fake.serving = True
    expect(page.locator(".holding .mine li")).to_have_count(3)
    (hold,) = fake.holds.values()
    assert len(hold.seats) == 3


def test_other_seats_are_had_in_one_step(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    (old,) = fake.holds
    page.get_by_role("button", name="Change seats").click()
    expect(page.get_by_role("heading", name="Choose other seats")).to_be_visible()
    expect(page.locator(".instead")).to_contain_text("Yours until others are had:")
    page.get_by_label("Where", exact=True).select_option("Circle centre")
    page.get_by_role("button", name="Hold instead: 4 seats").click()
    expect(page.get_by_role("heading", name="Held for you")).to_have_count(1)
    expect(page.locator(".holding .mine")).to_contain_text("Circle centre")
    assert asked(fake) == {"best": {"quantity": 4, "section": "Circle centre"}, "move": old}
    assert [hold.state for hold in fake.holds.values()] == ["released", "active"]
    left = {name: hold.expires_at for name, hold in fake.holds.items()}
    assert len(set(left.values())) == 1, "it ends when the old one would have"


def test_one_of_ones_own_seats_can_be_kept_in_a_change(page: Page, fake: FakeGateway, choose: Choose) -> None:
    choose(page, 0)
    choose(page, 1)
    ask(page)
    page.get_by_role("button", name="Change seats").click()
    choose(page, 1)
    choose(page, 2)
    page.get_by_role("button", name="Hold instead: 2 seats").click()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    assert fake.letters[0] == "a"
    held = [hold.seats for hold in fake.holds.values() if hold.state == "active"]
    assert held == [[1, 2]]


def test_what_is_held_stays_when_the_change_fails_and_can_be_gone_back_to(
    page: Page, fake: FakeGateway, choose: Choose
) -> None:
    choose(page, 0)
    ask(page)
    page.get_by_role("button", name="Change seats").click()
    choose(page, 5)
    fake.letters[5] = "h"
    ask(page)
    expect(page.locator(".notice")).to_contain_text("a moment before you")
    expect(page.locator(".instead")).to_be_visible()
    expect(page.get_by_role("button", name="Wait for it")).to_have_count(0)
    page.get_by_role("button", name="Keep these").click()
    expect(page.get_by_role("heading", name="Held for you")).to_be_visible()
    assert [hold.state for hold in fake.holds.values()] == ["active"]


def test_a_hold_that_runs_out_while_others_are_looked_for_ends_the_change(
    page: Page, fake: FakeGateway, choose: Choose
) -> None:
    fake.hold_ttl_seconds = 2
    choose(page, 0)
    ask(page)
    page.get_by_role("button", name="Change seats").click()
    expect(page.locator(".notice")).to_contain_text("Your time ran out.")
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_visible()


def test_another_tab_hears_of_what_was_changed(tabs: Tabs, fake: FakeGateway) -> None:
    fake.demo = False
    one = tabs.open("/e/demo#token=token-of-ann")
    hold_four(one)
    other = one.context.new_page()
    other.goto(tabs.url + "/e/demo")
    expect(other.locator(".holding .mine li")).to_have_count(4)
    one.get_by_role("button", name="Give some back").click()
    one.locator(".some input").first.check()
    one.get_by_role("button", name="Give 1 back").click()
    expect(other.locator(".holding .mine li")).to_have_count(3)
    one.locator(".holding .button.main").click()
    for tab in (one, other):
        expect(tab.locator(".orders")).to_be_visible()


class TestHall:
    @pytest.fixture
    def fake(self) -> FakeGateway:
        return FakeGateway(make("hall", 60))

    def test_places_are_given_back_by_number(self, page: Page, fake: FakeGateway) -> None:
        more = page.get_by_role("button", name="More: Front standing, places")
        for _ in range(3):
            more.click()
        ask(page)
        page.get_by_role("button", name="Give some back").click()
        page.get_by_role("button", name="More: Front standing, back").click()
        page.get_by_role("button", name="Give 1 back").click()
        expect(page.locator(".mine")).to_contain_text("2 × Front standing")
        (hold,) = fake.holds.values()
        assert hold.areas == {0: 2}


def time_back(fake: FakeGateway, lost_seconds: int, left_seconds: int) -> None:
    """As an allocator says it after an outage."""
    (name,) = fake.holds
    ends = int(time.time() * 1000) + left_seconds * 1000
    fake.holds[name].expires_at = ends
    lost_ms = lost_seconds * 1000
    fake.send_all(
        {"type": "hold", "hold": name, "state": "active", "expires_at": ends, "given_back_ms": lost_ms}
    )


def test_after_an_outage_the_page_says_that_the_time_is_back(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    time_back(fake, lost_seconds=40, left_seconds=1_200)
    expect(page.locator(".notice")).to_contain_text(
        "You have the time back. The sale stood still for 40 seconds."
    )
    expect(page.locator(".holding")).to_contain_text("19:5")


def test_what_seemed_over_in_an_outage_is_the_buyers_again(page: Page, fake: FakeGateway) -> None:
    hold_four(page)
    (name,) = fake.holds
    ends = int(time.time() * 1000) + 1_000
    fake.holds[name].expires_at = ends
    fake.send_all({"type": "hold", "hold": name, "state": "active", "expires_at": ends})
    expect(page.locator(".holding")).to_have_count(0)
    time_back(fake, lost_seconds=90, left_seconds=300)
    expect(page.locator(".holding .mine li")).to_have_count(4)
    expect(page.locator(".notice")).to_contain_text("You have the time back.")
    expect(page.locator(".holding .button.main")).to_be_enabled()
