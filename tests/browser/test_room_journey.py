"""Through the waiting room to tickets, and all of it is real: gateways, the owner who draws and admits, the
simulated provider. On the way the page is reloaded, its gateway is killed, and another device goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import psycopg
import pytest
from playwright.sync_api import Page, expect

from onsale.processes import Stack, throwaway_stack
from store import events
from store.audit import Said
from store.room import operating
from store.room.words import Admission, RoomTerms
from store.settings import EngineUrls
from store.venues.rows import save_venue
from store.words import EventState
from tests.browser.conftest import Profile, Tabs
from tests.browser.payers import PAY
from tests.browser.test_payment_journey import hold_both, two_seats

pytestmark = pytest.mark.browser

SLUG = f"vespers-{os.getpid()}"
SAID = Said("Olga", "the day of the sale")
CROWD = 40
"""Who joined too; some are drawn before the buyer of these tests and some behind."""

FILL = """
INSERT INTO place (event_id, buyer, in_draw) SELECT %s, 'crowd-' || n, true FROM generate_series(1, %s) AS n
"""


@pytest.fixture
def stack(engine_urls: EngineUrls) -> Iterator[Stack]:
    with throwaway_stack(
        gateways=1,
        allocators=1,
        payments=True,
        database_url=engine_urls.database_url,
        redis_url=engine_urls.redis_url,
        env={"ONSALE_DEMO": "1"},
    ) as running:
        yield running


@pytest.fixture
def conn(stack: Stack) -> Iterator[psycopg.Connection]:
    """The organiser's; the event is in its lobby."""
    with psycopg.connect(stack.urls.database_url, autocommit=True) as connection:
        plan = two_seats()
        venue = save_venue(connection, "chapel", plan)
        number = events.create_event(connection, SLUG, "Vespers", venue, plan, payment="required")
        operating.make(connection, SLUG, RoomTerms(pace=6_000), SAID)
        events.set_state(connection, SLUG, EventState.LOBBY)
        connection.execute(FILL, (number, CROWD))
        yield connection
        events.set_state(connection, SLUG, EventState.CLOSED)


def heading(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", name=text)).to_be_visible()


def position(page: Page) -> str:
    return page.locator(".place-figures").inner_text()


def test_lobby_draw_line_turn_seats_paid_and_tickets(
    profile: Profile, stack: Stack, conn: psycopg.Connection
) -> None:
    here = Tabs(profile, stack.base_url)
    page = here.open(f"/e/{SLUG}")
    heading(page, "The sale begins soon")
    page.get_by_role("button", name="Join", exact=True).click()
    heading(page, "You are in")
    page.reload()
    heading(page, "You are in")

    operating.admit(conn, SLUG, Admission.PAUSED, SAID)
    events.set_state(conn, SLUG, EventState.OPEN)
    heading(page, "The line stands still")
    stands = position(page)
    operating.say(conn, SLUG, "We go on in a minute.", SAID)
    expect(page.locator(".room-message")).to_contain_text("We go on in a minute.")

    stack.kill("gateway-1")
    stack.start_again("gateway-1")
    operating.say(conn, SLUG, "Here we are again.", SAID)
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

    operating.admit(conn, SLUG, Admission.RUNNING, SAID)
    heading(phone, "It is your turn")
    phone.get_by_role("button", name="Choose my seats").click()
    hold_both(phone)
    phone.locator(PAY).click()
    phone.wait_for_url(f"{stack.provider_url}/pay/*")
    phone.locator("#pay").click()
    expect(phone.locator(".order")).to_contain_text("€96.00")
    phone.get_by_role("link", name="Show your tickets").click()
    expect(phone.get_by_role("img", name="Code of")).to_have_count(2)
    ended = "SELECT DISTINCT state FROM place WHERE state NOT IN ('waiting', 'admitted')"
    for _ in range(300):
        if conn.execute(ended).fetchall() == [("finished",)]:
            break
        phone.wait_for_timeout(100)
    else:
        raise AssertionError("who bought and holds nothing more has finished")
    elsewhere.close()
    here.close()
    assert elsewhere.wrong == [], "the page wrote errors to the console"


def resume_link(page: Page) -> str:
    page.get_by_role("button", name="Go on with another device").click()
    return page.get_by_label("Link to your place").input_value()
