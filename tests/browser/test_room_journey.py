"""Through the waiting room to tickets, and all of it is real: gateways, the owner who draws and admits, the
simulated provider. On the way the page is reloaded, its gateway is killed, and another device goes on.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from onsale.processes import Stack
from store.room import operating
from store.room.words import Admission, RoomTerms
from store.words import EventState
from tests.browser.conftest import Profile, Tabs
from tests.browser.live_stack import (
    SAID,
    SOON_TRUE_MAX,
    LiveEvent,
    heading,
    hold_two,
    live_event,
    rows_of,
)
from tests.browser.payers import PAY

pytestmark = pytest.mark.browser

CROWD = 40
"""Who joined too; some are drawn before the buyer of these tests and some behind."""


@pytest.fixture
def vespers(stack: Stack) -> Iterator[LiveEvent]:
    """Two seats, and a crowd in the lobby."""
    terms = RoomTerms(pace=6_000)
    with live_event(stack, "Vespers", rows_of(2), room=terms, crowd=CROWD, payment="required") as there:
        yield there


def position(page: Page) -> str:
    return page.locator(".place-figures").inner_text()


def test_lobby_draw_line_turn_seats_paid_and_tickets(
    profile: Profile, stack: Stack, vespers: LiveEvent
) -> None:
    conn, slug = vespers.conn, vespers.slug
    here = Tabs(profile, stack.base_url)
    page = here.open(vespers.path)
    heading(page, "The sale begins soon")
    page.get_by_role("button", name="Join", exact=True).click()
    heading(page, "You are in")
    page.reload()
    heading(page, "You are in")

    operating.admit(conn, slug, Admission.PAUSED, SAID)
    vespers.become(EventState.OPEN)
    heading(page, "The line stands still")
    stands = position(page)
    operating.say(conn, slug, "We go on in a minute.", SAID)
    expect(page.locator(".room-message")).to_contain_text("We go on in a minute.")

    stack.kill("gateway-1")
    stack.start_again("gateway-1")
    operating.say(conn, slug, "Here we are again.", SAID)
    expect(page.locator(".room-message")).to_contain_text("Here we are again.")
    assert position(page) == stands
    page.reload()
    heading(page, "The line stands still")
    assert position(page) == stands

    elsewhere = Tabs(profile, stack.base_url)
    phone = elsewhere.open(resume_link(page).removeprefix(stack.base_url), own=True, width=360, height=740)
    heading(phone, "The line stands still")
    assert position(phone) == stands
    page.close()

    operating.admit(conn, slug, Admission.RUNNING, SAID)
    heading(phone, "It is your turn")
    phone.get_by_role("button", name="Choose my seats").click()
    hold_two(phone)
    phone.locator(PAY).click()
    phone.wait_for_url(f"{stack.provider_url}/pay/*")
    phone.locator("#pay").click()
    expect(phone.locator(".order")).to_contain_text("€96.00")
    phone.get_by_role("link", name="Show your tickets").click()
    expect(phone.get_by_role("img", name="Code of")).to_have_count(2)
    ended = "SELECT state FROM place WHERE event_id = %s AND state NOT IN ('waiting', 'admitted')"
    vespers.await_column(phone, ended, ["finished"])
    elsewhere.close()
    here.close()
    assert elsewhere.wrong == [], "the page wrote errors to the console"


def test_without_scripts_by_forms_alone(profile: Profile, stack: Stack, vespers: LiveEvent) -> None:
    conn, slug = vespers.conn, vespers.slug
    tabs = Tabs(profile, stack.base_url)
    page = tabs.open(vespers.path, ready=False, own=True, java_script_enabled=False, width=360, height=740)
    page.wait_for_url(f"**/e/{slug}/line*")
    page.get_by_role("button", name="Join").click()
    heading(page, "You are in")
    operating.admit(conn, slug, Admission.PAUSED, SAID)
    vespers.become(EventState.OPEN)
    renewed(page, "The line stands still")
    stands = position(page)
    page.reload()
    assert position(page) == stands
    operating.admit(conn, slug, Admission.RUNNING, SAID)
    renewed(page, "It is your turn")
    page.get_by_role("button", name="Choose my seats").click()
    page.get_by_label("How many").select_option("2")
    page.get_by_role("button", name="Hold").click()
    renewed(page, "Held for you")
    expect(page.locator(".mine li")).to_have_count(2)
    page.get_by_role("button", name="Pay").click()
    page.get_by_role("link", name="Pay").click()
    page.wait_for_url(f"{stack.provider_url}/pay/*")
    page.locator("#pay").click()
    renewed(page, "They are yours.")
    tabs.close()


def renewed(page: Page, title: str) -> None:
    shown(page, page.get_by_role("heading", name=title))


def shown(page: Page, there: Locator) -> None:
    """The page renews itself now and then; here it is done for it, until it shows this."""
    for _ in range(SOON_TRUE_MAX):
        if there.is_visible():
            return
        page.wait_for_timeout(100)
        page.reload()
    raise AssertionError(f"it never showed {there}: {page.locator('main').inner_text()}")


def resume_link(page: Page) -> str:
    page.get_by_role("button", name="Go on with another device").click()
    return page.get_by_label("Link to your place").input_value()
