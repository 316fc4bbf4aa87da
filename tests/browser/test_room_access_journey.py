"""The real waiting room for everybody: from the lobby to the tickets by keyboard alone, at every width, light
and dark; and what a screen reader hears in a line that moves.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from onsale.processes import Stack
from store.room import operating
from store.room.words import Admission, RoomTerms
from store.words import EventState
from tests.browser.axe import good_for_everybody
from tests.browser.conftest import Profile, Tabs
from tests.browser.live_stack import SAID, LiveEvent, live_event, rows_of
from tests.browser.payers import PAY
from tests.browser.test_access import press_until

pytestmark = pytest.mark.browser

CROWD = 40

_WATCH_FOCUS = """() => {
  window.lost = [];
  let had = false;
  const look = () => {
    const has = document.activeElement !== document.body;
    if (had && !has) window.lost.push(document.querySelector("main").innerText.slice(0, 80));
    had = has;
    requestAnimationFrame(look);
  };
  look();
}"""

_RING = """() => {
  const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
  return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
}"""

_HEARD = """() => {
  window.heard = [];
  window.steps = [];
  const follow = (selector, into) => {
    const text = () => document.querySelector(selector)?.textContent;
    let last = text();
    return () => {
      const now = text();
      if (now !== last && now) into.push(now);
      last = now;
    };
  };
  const all = [follow("#milestones", window.heard), follow(".line-card > .large", window.steps)];
  const watched = { childList: true, characterData: true, subtree: true };
  new MutationObserver(() => all.forEach((one) => one())).observe(document.body, watched);
}"""


@pytest.fixture
def lauds(stack: Stack) -> Iterator[LiveEvent]:
    """Two seats, and a crowd in the lobby that is let in four a second."""
    terms = RoomTerms(pace=240)
    with live_event(stack, "Lauds", rows_of(2), room=terms, crowd=CROWD, payment="required") as there:
        yield there


@pytest.fixture
def page(profile: Profile, stack: Stack, lauds: LiveEvent) -> Iterator[Page]:
    tabs = Tabs(profile, stack.base_url)
    yield tabs.open(lauds.path)
    tabs.close()
    assert tabs.wrong == [], "the page wrote errors to the console"


def stage(page: Page, title: str, *, focused: bool = True) -> None:
    """The page came there by itself or by a key; the focus came along, and all is well for everybody."""
    there = page.get_by_role("heading", name=title, exact=True)
    if focused:
        expect(there).to_be_focused()
    else:
        expect(there).to_be_visible()
    good_for_everybody(page, title)


def press(page: Page, selector: str) -> None:
    """Goes there by Tab, sees where it is, and presses it."""
    press_until(page, selector)
    assert page.evaluate(_RING), f"{selector} shows that it has the focus"
    page.keyboard.press("Enter")


def lost(page: Page) -> list[str]:
    """Where the focus fell back to the page's beginning."""
    found: list[str] = page.evaluate("window.lost")
    return found


def test_from_the_lobby_to_the_tickets_by_keyboard_alone(page: Page, stack: Stack, lauds: LiveEvent) -> None:
    page.evaluate(_WATCH_FOCUS)
    stage(page, "The sale begins soon", focused=False)
    press(page, ".join .button.main")
    stage(page, "You are in")
    operating.admit(lauds.conn, lauds.slug, Admission.PAUSED, SAID)
    lauds.become(EventState.OPEN)
    stage(page, "The line stands still")
    operating.admit(lauds.conn, lauds.slug, Admission.RUNNING, SAID)
    stage(page, "It is your turn")
    press(page, ".begin")
    stage(page, "Choose your seats")
    press_until(page, "canvas", "Shift+Tab")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
    expect(page.locator(".picked li")).to_have_count(2)
    press(page, ".choosing .button.main")
    stage(page, "Held for you")
    assert lost(page) == []
    press(page, PAY)
    page.wait_for_url(f"{stack.provider_url}/pay/*")
    press(page, "#pay")
    expect(page.locator(".order")).to_contain_text("€96.00")
    good_for_everybody(page, "paid")
    press(page, ".order a")
    expect(page.get_by_role("img", name="Code of")).to_have_count(2)
    good_for_everybody(page, "tickets")


def test_in_a_line_that_moves_milestones_are_heard_and_not_each_step(page: Page, lauds: LiveEvent) -> None:
    operating.admit(lauds.conn, lauds.slug, Admission.PAUSED, SAID)
    lauds.become(EventState.OPEN)
    page.get_by_role("button", name="Join the line").click()
    expect(page.locator(".place-figures")).to_have_text(str(CROWD + 1))
    page.evaluate(_HEARD)
    operating.admit(lauds.conn, lauds.slug, Admission.RUNNING, SAID)
    expect(page.get_by_role("heading", name="It is your turn")).to_be_focused()
    heard, steps = page.evaluate("[window.heard, window.steps]")
    assert len(steps) >= len(heard), "it was not said more often than the line moved"
    assert len(set(heard)) == len(heard) <= 4, "that it moves, the half, ten, three"
    assert heard[0] == "The line moves again."
    expect(page.locator("#alerts")).to_have_text("It is your turn. You have 3 minutes to begin.")
