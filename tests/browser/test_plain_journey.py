"""The waiting room by forms alone, and all of it is real: gateway, owner, ballot, the simulated provider. In
a browser that runs no scripts, by keyboard; and what each of its pages is on a phone and to a screen reader.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from onsale.processes import Stack
from store.plan import Category, Plan, Seat, Section, number
from store.room import operating
from store.room.words import Admission, Proof, RoomTerms
from store.words import EventState
from tests.browser.axe import violations
from tests.browser.conftest import Profile, Tabs
from tests.browser.live_stack import SAID, LiveEvent, heading, live_event
from tests.browser.test_room_journey import renewed, shown

pytestmark = pytest.mark.browser

STALLS, BALCONY = "Stalls, left of the aisle", "Balcony"
WIDTHS = (360, 768, 1280)


def small_house() -> Plan:
    """Two rows of six: Gold in the stalls, one seat of them for a wheelchair, and Silver above."""
    seats = [
        Seat(f"{row}-{n}", section, row, str(n), section, float(n), 1.0 + section, row == "A" and n == 6)
        for section, row in enumerate("AB")
        for n in range(1, 7)
    ]
    prices = [Category("Gold", 4800, "EUR", "#aa8800"), Category("Silver", 2400, "EUR", "#888888")]
    sections = [Section(STALLS), Section(BALCONY)]
    return number("Playhouse", "EUR", prices, sections, seats, [], focal=(3.5, 0.0), size=(8.0, 4.0))


@pytest.fixture
def matinee(stack: Stack, request: pytest.FixtureRequest) -> Iterator[LiveEvent]:
    """In its lobby, with a ballot; the test names what else."""
    room = RoomTerms(**{"ballot": True, "pace": 6_000, **getattr(request, "param", {})})
    title = "The matinée of all matinées"
    with live_event(stack, "Matinee", small_house(), room=room, title=title, payment="required") as there:
        yield there


def line_of(event: LiveEvent) -> str:
    return f"{event.path}/line"


def press(page: Page, name: str) -> None:
    """By keyboard: to the button, link or summary of that name, and Enter."""
    wanted = page.get_by_text(name, exact=True)
    for _ in range(40):
        page.keyboard.press("Tab")
        if wanted.and_(page.locator(":focus")).count():
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"{name!r} cannot be reached by Tab: {page.locator('main').inner_text()}")


def reach(page: Page, label: str) -> None:
    """By keyboard: the field with that label."""
    wanted = page.get_by_label(label, exact=True)
    for _ in range(40):
        page.keyboard.press("Tab")
        if wanted.and_(page.locator(":focus")).count():
            return
    raise AssertionError(f"{label!r} cannot be reached by Tab")


def test_a_ballot_without_scripts_and_with_the_keyboard_alone(
    profile: Profile, stack: Stack, matinee: LiveEvent
) -> None:
    tabs = Tabs(profile, stack.base_url)
    page = tabs.open(matinee.path, ready=False, own=True, java_script_enabled=False, width=360, height=740)
    page.wait_for_url(f"**{line_of(matinee)}*")
    reach(page, "Mail address, if you like")
    page.keyboard.type("ann@example.org")
    press(page, "Join")
    heading(page, "You are in")
    press(page, "File my wish")
    heading(page, "What would you like?")
    reach(page, "How many seats")
    page.keyboard.type("3")
    reach(page, "Where")
    page.keyboard.type("Stalls")
    reach(page, "Anywhere else in the house")
    page.keyboard.press("Space")
    press(page, "File my wish")
    heading(page, "Your wish is filed")
    tries = page.locator(".tries li")
    expect(tries).to_have_text([f"3 together in {STALLS}", "3 together anywhere"])
    press(page, "Change my wish")
    reach(page, "How many seats")
    page.keyboard.type("2")
    press(page, "Change my wish")
    expect(tries).to_have_text([f"2 together in {STALLS}", "2 together anywhere"])

    matinee.become(EventState.OPEN)
    renewed(page, "Held for you")
    expect(page.locator(".mine li")).to_contain_text([f"{STALLS} A", f"{STALLS} A"])
    press(page, "Pay")
    press(page, "Pay")
    page.wait_for_url(f"{stack.provider_url}/pay/*")
    page.locator("#pay").click()
    renewed(page, "They are yours.")
    assert matinee.column("SELECT email FROM place WHERE event_id = %s") == ["ann@example.org"]
    tabs.close()


def look(page: Page, what: str) -> None:
    """Nobody is shut out of this page: it fits, axe finds nothing, and it runs no script."""
    assert page.locator("script").count() == 0
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 740})
        wide = page.evaluate("[innerWidth, document.documentElement.scrollWidth]")
        assert wide == [width, width], f"{what} at {width}"
    assert violations(page) == [], what


@pytest.mark.parametrize("matinee", [{"proof": Proof.ALWAYS}], indirect=True)
def test_each_plain_page_fits_and_is_read_by_everybody(
    profile: Profile, stack: Stack, matinee: LiveEvent
) -> None:
    conn, slug = matinee.conn, matinee.slug
    tabs = Tabs(profile, stack.base_url)
    page = tabs.open(line_of(matinee), ready=False, own=True)
    look(page, "a room that asks for proofs")
    page.get_by_role("button", name="Begin to wait").click()
    look(page, "waiting to join")
    expect(page.get_by_text("Your wait is over.")).to_be_visible()  # by itself
    look(page, "the wait is over")
    page.get_by_text("I have a code").click()
    page.get_by_label("Your code").fill("7K2M-Q9RT-X4WD-WRON")
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_role("alert")).to_contain_text("That did not work: ")
    look(page, "a wrong code")
    operating.change(conn, slug, SAID, proof=Proof.OFF)  # and so nobody waits a second time
    page.goto(stack.base_url + line_of(matinee))
    shown(page, page.get_by_role("button", name="Join"))
    page.get_by_role("button", name="Join").click()
    heading(page, "You are in")
    look(page, "in the lobby")
    for link, title in (
        ("I have a code", "I have a code"),
        ("Tell me by mail when it is my turn", "Tell me by mail when it is my turn"),
        ("Leave the line", "Leave the line"),
        ("File my wish", "What would you like?"),
    ):
        page.get_by_role("link", name=link).click()
        heading(page, title)
        look(page, title)
        if link != "File my wish":
            page.get_by_role("link", name="Stay" if link == "Leave the line" else "Back").click()
    page.get_by_label("How many seats").select_option("7")
    page.get_by_role("button", name="File my wish").click()
    heading(page, "Your wish is filed")
    look(page, "a wish")

    operating.admit(conn, slug, Admission.PAUSED, SAID)
    operating.say(conn, slug, "The band is late; we go on at a quarter past.", SAID)
    matinee.become(EventState.OPEN)
    shown(page, page.get_by_text("Your wish could not be had"))
    expect(page.get_by_text("Not enough that fit are left together.")).to_be_visible()
    heading(page, "The line stands still")
    look(page, "a line that stands still")
    operating.admit(conn, slug, Admission.RUNNING, SAID)
    renewed(page, "It is your turn")
    look(page, "their turn")
    page.get_by_role("button", name="Choose my seats").click()
    look(page, "choosing")
    page.get_by_label("Where", exact=True).select_option(BALCONY)
    page.get_by_label("Wheelchair places among them").select_option("1")
    page.get_by_role("button", name="Hold").click()
    renewed(page, "Nothing is held for you")
    look(page, "nothing")
    page.get_by_role("button", name="Choose again").click()
    page.get_by_label("How many seats").select_option("2")
    page.get_by_role("button", name="Hold").click()
    renewed(page, "Held for you")
    look(page, "held")
    page.get_by_role("button", name="Give back").click()
    heading(page, "Choose my seats")
    tabs.close()
