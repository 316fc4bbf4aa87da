"""Whose turn has come while they look elsewhere: told by the browser where they asked for it, and in any case
by the title of the tab. What the browser would show is written down instead.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway
from tests.browser.fake_room import FakeRoom

pytestmark = pytest.mark.browser

TELL = "Tell me when it is my turn"
TITLE = "● Your turn! Nightfall, opening night · seats"
AWAY = "sessionStorage.away = 'yes'"

_DESK = """
(() => {
  window.told = [];
  window.Notification = class {
    static get permission() { return sessionStorage.permission ?? "PERMISSION"; }
    static async requestPermission() { return (sessionStorage.permission = "ANSWER"); }
    constructor(title, given) {
      if (ONLY_INSTALLED) throw new TypeError("Illegal constructor");
      window.told.push({ title, ...given });
    }
    close() {}
  };
  Object.defineProperty(document, "hidden", { get: () => sessionStorage.away === "yes" });
})();
"""


@pytest.fixture
def room() -> FakeRoom:
    return FakeRoom()


@pytest.fixture
def fake(room: FakeRoom) -> FakeGateway:
    return FakeGateway(state="lobby", room=room)


def in_line(
    tabs: Tabs, room: FakeRoom, *, was: str = "default", answer: str = "granted", installed: bool = False
) -> Page:
    """A page in line, in a browser that gave this permission before, and gives that one when it is asked."""
    given = (("PERMISSION", was), ("ANSWER", answer), ("ONLY_INSTALLED", str(installed).lower()))
    script = _DESK
    for name, value in given:
        script = script.replace(name, value)
    page = tabs.open("/", own=True, ready=False)
    page.add_init_script(script)
    page.goto(f"{tabs.url}/e/demo")
    page.get_by_role("button", name="Join", exact=True).click()
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()
    room.draw(rate=120.0)
    expect(page).to_have_title("No. 1,204 · Nightfall, opening night · seats")
    return page


def told(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate("window.told")
    return found


def test_who_asked_for_it_is_told_once_while_they_look_elsewhere(tabs: Tabs, room: FakeRoom) -> None:
    page = in_line(tabs, room)
    page.get_by_role("button", name=TELL).click()
    expect(page.get_by_text("Your browser tells you, also while you look at another tab.")).to_be_visible()
    page.evaluate(AWAY)
    room.tell(serving=600)
    room.admit()
    expect(page).to_have_title(TITLE)
    room.tell(message="Good evening.")
    expect(page.locator(".room-message")).to_be_visible()
    body = "It is your turn. Begin now: your place is kept for 3 minutes."
    assert told(page) == [
        {"title": "Nightfall, opening night", "body": body, "tag": "onsale-turn", "silent": True}
    ]
    page.reload()
    expect(page.get_by_role("heading", name="It is your turn")).to_be_visible()
    assert told(page) == [], "this was told before"


def test_who_looks_at_the_page_is_not_told_by_the_browser(tabs: Tabs, room: FakeRoom) -> None:
    page = in_line(tabs, room, was="granted")
    expect(page.get_by_text("Your browser tells you")).to_be_visible()
    room.admit()
    expect(page).to_have_title(TITLE)
    assert told(page) == []


@pytest.mark.parametrize(("was", "installed"), [("denied", False), ("granted", True)])
def test_where_the_browser_does_not_the_title_says_it(
    tabs: Tabs, fake: FakeGateway, room: FakeRoom, was: str, installed: bool
) -> None:
    page = in_line(tabs, room, was=was, installed=installed)
    page.evaluate(AWAY)
    room.admit()
    expect(page).to_have_title(TITLE)
    expect(page.locator("#alerts")).to_have_text("It is your turn. You have 3 minutes to begin.")
    assert told(page) == []
    page.get_by_role("button", name="Choose my seats").click()
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_visible()


def test_who_refuses_is_told_what_says_it_instead_and_keeps_the_focus(tabs: Tabs, room: FakeRoom) -> None:
    page = in_line(tabs, room, answer="denied")
    page.get_by_role("button", name=TELL).focus()
    page.keyboard.press("Enter")
    said = page.get_by_text("Your browser does not allow it. The title of this tab says it, too.")
    expect(said).to_be_focused()


def test_the_permission_is_the_browsers_own(tabs: Tabs) -> None:
    page = tabs.open(own=True, permissions=["notifications"])
    page.get_by_role("button", name="Join", exact=True).click()
    expect(page.get_by_text("Your browser tells you, also while you look at another tab.")).to_be_visible()
