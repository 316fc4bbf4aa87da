"""An address for the mail that says whose turn it is: named when joining or later, told the server alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import violations
from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway
from tests.browser.fake_room import FakeRoom

pytestmark = pytest.mark.browser

REFUSED = {"code": "email_not_valid", "message": "Nobody can be written to at this address."}


@pytest.fixture
def room() -> FakeRoom:
    return FakeRoom()


@pytest.fixture
def fake(room: FakeRoom) -> FakeGateway:
    return FakeGateway(state="lobby", room=room)


def field(page: Page) -> Locator:
    return page.get_by_label("Tell me by mail when it is my turn")


def join(page: Page) -> None:
    page.get_by_role("button", name="Join", exact=True).click()


def test_it_goes_with_the_join_and_is_remembered_nowhere_here(
    page: Page, fake: FakeGateway, room: FakeRoom
) -> None:
    expect(field(page)).to_have_attribute("autocomplete", "email")
    expect(field(page)).to_have_attribute("type", "email")
    field(page).fill(" ann@example.org ")
    join(page)
    expect(page.get_by_text("We write to you when it is your turn.")).to_be_visible()
    assert fake.asked("join") == [{"type": "join", "email": "ann@example.org"}]
    kept = page.evaluate("JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])")
    assert "example.org" not in kept
    page.reload()
    expect(page.get_by_role("button", name="Tell me by mail when it is my turn")).to_be_visible()


def test_who_names_none_joins_without(page: Page, fake: FakeGateway) -> None:
    join(page)
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()
    assert fake.asked("join") == [{"type": "join"}]


def test_what_is_no_address_is_said_at_the_field_and_not_sent(page: Page, fake: FakeGateway) -> None:
    field(page).fill("ann at home")
    join(page)
    expect(field(page)).to_be_focused()
    expect(field(page)).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("alert")).to_have_text(
        "This does not look like an e-mail address. Mend it, or leave it out."
    )
    assert violations(page) == []
    assert fake.asked("join") == []
    field(page).fill("ann@example.org")
    expect(page.get_by_role("alert")).to_have_count(0)
    join(page)
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()


def test_what_the_server_refuses_is_said_at_the_field(page: Page, room: FakeRoom) -> None:
    room.refusing = REFUSED
    field(page).fill("ann@under_score.org")
    join(page)
    expect(page.get_by_role("alert")).to_have_text(
        "That did not work: Nobody can be written to at this address."
    )
    expect(field(page)).to_have_attribute("aria-invalid", "true")
    expect(field(page)).to_have_value("ann@under_score.org")
    field(page).fill("")
    join(page)
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()


def test_who_has_a_place_names_one_or_another_one(page: Page, fake: FakeGateway, room: FakeRoom) -> None:
    join(page)
    page.get_by_role("button", name="Tell me by mail when it is my turn").click()
    expect(field(page)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    assert violations(page) == []
    room.refusing = REFUSED
    field(page).fill("ann@example.org")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Nobody can be written to")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Write to another address")).to_be_focused()
    expect(page.locator("#milestones")).to_have_text("We write to you when it is your turn.")
    room.draw(rate=120.0)
    expect(page.get_by_role("heading", name="You are in line")).to_be_visible()
    page.get_by_role("button", name="Write to another address").click()
    field(page).fill("ann@work.example")
    page.get_by_role("button", name="Write to me there").click()
    expect(page.get_by_text("We write to you when it is your turn.").last).to_be_visible()
    assert list(room.emails.values()) == ["ann@work.example"]
    assert len(room.places) == 1


def test_who_joins_a_line_that_is_there_names_one_too(tabs: Tabs, fake: FakeGateway, room: FakeRoom) -> None:
    fake.state, room.phase, room.policy = "open", "admitting", "fifo"
    page = tabs.open(width=360, height=740)
    field(page).fill("ann@example.org")
    assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [360, 360]
    assert violations(page) == []
    page.get_by_role("button", name="Join the line").click()
    expect(page.get_by_role("heading", name="You are in line")).to_be_visible()
    assert list(room.emails.values()) == ["ann@example.org"]
