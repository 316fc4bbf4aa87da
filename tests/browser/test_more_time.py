"""Who needs longer: warned before their time ends, and given more by one act, to begin and to choose."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import violations
from tests.browser.fake_gateway import FakeGateway
from tests.browser.fake_room import FakeRoom
from tests.browser.test_access import press_until

pytestmark = pytest.mark.browser

MORE = "I need more time"


@pytest.fixture
def room() -> FakeRoom:
    return FakeRoom()


@pytest.fixture
def fake(room: FakeRoom) -> FakeGateway:
    return FakeGateway(state="lobby", room=room)


def called(page: Page, room: FakeRoom) -> dict[str, Any]:
    """The buyer's place, when it is their turn."""
    page.get_by_role("button", name="Join", exact=True).click()
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()
    room.draw(rate=120.0)
    room.admit()
    expect(page.get_by_role("heading", name="It is your turn")).to_be_visible()
    return next(iter(room.places.values()))


def test_who_is_called_is_warned_and_gets_more_time_to_begin(
    page: Page, fake: FakeGateway, room: FakeRoom
) -> None:
    place = called(page, room)
    expect(page.get_by_text("3 minutes more. You can ask 3 times more.")).to_be_visible()
    expect(page.locator(".countdown.soon")).to_have_count(0)
    room.change_places(begin_by=room.now() + 55_000)
    said = page.locator("#milestones")
    expect(said).to_have_text(f"Less than 1 minute to begin. If you need longer, press “{MORE}”.")
    expect(page.locator(".countdown.soon")).to_be_visible()
    page.get_by_role("button", name=MORE).click()
    expect(said).to_have_text("You have more time: 4 minutes. You can ask 2 times more.")
    expect(page.locator(".countdown-figures")).to_have_text(re.compile(r"^3:\d\d$"))
    expect(page.locator(".countdown.soon")).to_have_count(0)
    assert [frame["end"] for frame in fake.asked("more_time")] == [place["begin_by"] - 180_000]


def test_who_chooses_is_warned_of_each_end_and_gets_more_time_by_the_keyboard(
    page: Page, fake: FakeGateway, room: FakeRoom
) -> None:
    called(page, room)
    page.get_by_role("button", name="Choose my seats").click()
    expect(page.get_by_text("8 minutes more. You can ask 3 times more.")).to_be_visible()
    room.change_places(until=room.now() + 110_000, more_left=2, more_seconds=100)
    said = page.locator("#milestones")
    warning = f"Less than 2 minutes to choose your seats. If you need longer, press “{MORE}”."
    expect(said).to_have_text(warning)
    press_until(page, ".longer button")
    page.keyboard.press("Enter")
    expect(said).to_have_text("You have more time: 4 minutes. You can ask once more.")
    room.change_places(until=room.now() + 110_000)
    expect(said).to_have_text(warning)
    page.keyboard.press("Enter")
    expect(said).to_have_text("You have more time: 4 minutes. That was all: more cannot be had.")
    expect(page.get_by_role("button", name=MORE)).to_be_focused()
    page.keyboard.press("Enter")
    assert len(fake.asked("more_time")) == 2
    room.change_places(until=room.now() + 100_000)
    expect(said).to_have_text("Less than 2 minutes to choose your seats.")


def test_an_answer_that_was_cut_is_asked_for_again_by_the_same_end(
    page: Page, fake: FakeGateway, room: FakeRoom
) -> None:
    place = called(page, room)
    end = place["begin_by"]
    room.answering = False
    page.get_by_role("button", name=MORE).click()
    expect(page.get_by_role("button", name="Asking…")).to_be_visible()
    room.more_time(next(iter(room.places)), end)  # it was done, and nobody heard of it
    room.answering = True
    fake.drop_sockets()
    expect(page.locator("#milestones")).to_have_text(
        "You have more time: 6 minutes. You can ask 2 times more."
    )
    expect(page.get_by_role("button", name=MORE)).to_be_visible()
    assert {frame["end"] for frame in fake.asked("more_time")} == {end}
    assert place["begin_by"] == end + 180_000


def test_what_is_refused_says_why(page: Page, room: FakeRoom) -> None:
    called(page, room)
    page.get_by_role("button", name="Choose my seats").click()
    expect(page.locator(".shopping")).to_contain_text("left to choose")
    room.refusing = {"code": "no_more_time", "message": "There is no more time to choose."}
    page.get_by_role("button", name=MORE).click()
    expect(page.locator(".shopping .trouble")).to_have_text(
        "That did not work: There is no more time to choose."
    )


@pytest.mark.parametrize("room", [FakeRoom(more_max=0)])
def test_where_the_organiser_gives_none_nothing_is_offered(page: Page, room: FakeRoom) -> None:
    called(page, room)
    room.change_places(begin_by=room.now() + 55_000)
    expect(page.locator("#milestones")).to_have_text("Less than 1 minute to begin.")
    expect(page.get_by_role("button", name=MORE)).to_have_count(0)
    page.get_by_role("button", name="Choose my seats").click()
    expect(page.locator(".shopping")).to_contain_text("left to choose")
    expect(page.get_by_role("button", name=MORE)).to_have_count(0)


@pytest.mark.parametrize("room", [FakeRoom(begin_seconds=40)])
def test_of_a_short_time_half_is_left_when_it_is_warned_of(page: Page, room: FakeRoom) -> None:
    called(page, room)
    expect(page.locator(".countdown.soon")).to_have_count(0)
    room.change_places(begin_by=room.now() + 19_000)
    expect(page.locator(".countdown.soon")).to_be_visible()


def test_it_is_for_everybody(page: Page, room: FakeRoom) -> None:
    """No violation by axe-core, and nothing cut off sideways, where the time is short."""
    called(page, room)
    for step, short in (("turn", "begin_by"), ("inside", "until")):
        if step == "inside":
            page.get_by_role("button", name="Choose my seats").click()
            expect(page.locator(".shopping")).to_be_visible()
        room.change_places(**{short: room.now() + 50_000})
        expect(page.locator(".soon").first).to_be_visible()
        for width in (360, 1280):
            page.set_viewport_size({"width": width, "height": 740})
            assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [width, width], step
        assert violations(page) == [], step
