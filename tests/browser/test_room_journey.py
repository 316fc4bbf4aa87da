"""Through the waiting room to tickets, and all of it is real: gateways, the owner who draws and admits, the
simulated provider. On the way the page is reloaded, its gateway is killed, and another device goes on.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass

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

SLUGS = f"vespers-{os.getpid()}"
"""Each process that runs tests has its own, for channels are the whole server's."""
NUMBERS = itertools.count(1)
SAID = Said("Olga", "the day of the sale")
CROWD = 40
"""Who joined too; some are drawn before the buyer of these tests and some behind."""

FILL = """
INSERT INTO place (event_id, buyer, in_draw) SELECT %s, 'crowd-' || n, true FROM generate_series(1, %s) AS n
"""


@pytest.fixture(scope="module")
def stack(engine_urls_of_module: EngineUrls) -> Iterator[Stack]:
    with throwaway_stack(
        gateways=1,
        allocators=1,
        payments=True,
        database_url=engine_urls_of_module.database_url,
        redis_url=engine_urls_of_module.redis_url,
        env={"ONSALE_DEMO": "1"},
    ) as running:
        yield running


@dataclass(frozen=True)
class Vespers:
    """An event of two seats in its lobby, and its organiser's connection."""

    conn: psycopg.Connection
    slug: str


@pytest.fixture
def vespers(stack: Stack) -> Iterator[Vespers]:
    with psycopg.connect(stack.urls.database_url, autocommit=True) as connection:
        plan = two_seats()
        venue = save_venue(connection, "chapel", plan)
        slug = f"{SLUGS}-{next(NUMBERS)}"
        number = events.create_event(connection, slug, "Vespers", venue, plan, payment="required")
        operating.make(connection, slug, RoomTerms(pace=6_000), SAID)
        events.set_state(connection, slug, EventState.LOBBY)
        connection.execute(FILL, (number, CROWD))
        yield Vespers(connection, slug)
        events.set_state(connection, slug, EventState.CLOSED)


def heading(page: Page, text: str) -> None:
    expect(page.get_by_role("heading", name=text)).to_be_visible()


def position(page: Page) -> str:
    return page.locator(".place-figures").inner_text()


def test_lobby_draw_line_turn_seats_paid_and_tickets(
    profile: Profile, stack: Stack, vespers: Vespers
) -> None:
    conn, slug = vespers.conn, vespers.slug
    here = Tabs(profile, stack.base_url)
    page = here.open(f"/e/{slug}")
    heading(page, "The sale begins soon")
    page.get_by_role("button", name="Join", exact=True).click()
    heading(page, "You are in")
    page.reload()
    heading(page, "You are in")

    operating.admit(conn, slug, Admission.PAUSED, SAID)
    events.set_state(conn, slug, EventState.OPEN)
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


def test_without_scripts_by_forms_alone(profile: Profile, stack: Stack, vespers: Vespers) -> None:
    conn, slug = vespers.conn, vespers.slug
    tabs = Tabs(profile, stack.base_url)
    page = tabs.open(f"/e/{slug}", ready=False, own=True, java_script_enabled=False, width=360, height=740)
    page.wait_for_url(f"**/e/{slug}/line*")
    page.get_by_role("button", name="Join").click()
    heading(page, "You are in")
    operating.admit(conn, slug, Admission.PAUSED, SAID)
    events.set_state(conn, slug, EventState.OPEN)
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
    """The page renews itself now and then; here it is done for it, until it says so."""
    there = page.get_by_role("heading", name=title)
    for _ in range(100):
        if there.is_visible():
            return
        page.wait_for_timeout(200)
        page.reload()
    raise AssertionError(f"it never said {title!r}: {page.locator('main').inner_text()}")


def resume_link(page: Page) -> str:
    page.get_by_role("button", name="Go on with another device").click()
    return page.get_by_label("Link to your place").input_value()
