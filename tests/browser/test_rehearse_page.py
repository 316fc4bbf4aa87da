"""Rehearsing an event, in a browser on the real stack: asked for, followed, read, its pace used."""

from __future__ import annotations

import msgspec
import psycopg
import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, Page, expect

from bench.rehearsal.sizing import sentences, sizing
from bench.rehearsal.words import Measured, Rehearsed
from store import events
from store.rehearsals import rows
from store.room import operating, rooms
from store.room.words import RoomTerms
from store.venues.make import make
from store.venues.rows import save_venue
from tests.bench.test_sizing import RUN
from tests.browser.axe import good_for_everybody
from tests.browser.console_pages import show
from tests.browser.live_stack import SAID
from tests.browser.test_create_page import shot, slug

CURVE = [0, 40, 90, 200, 260, 300, 280, 190, 80, 20]
MEASURED = Measured(
    "gala", 1_000, 1_000, 4, 2, 2_000.0, 25_000, 4,
    [replace(RUN, curve=CURVE), replace(RUN, gate=False, curve=CURVE[::-1])],
)  # fmt: skip


@pytest.fixture
def conn(stack):
    with psycopg.connect(stack.urls.database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def draft(conn) -> str:
    address, plan = slug(), make("theatre", 30)
    events.create_event(conn, address, "Gala", save_venue(conn, address, plan), plan)
    operating.make(conn, address, RoomTerms(pace=60), SAID)
    return address


@pytest.fixture
def page(browser: Browser, stack, draft):
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, locale="en-GB", timezone_id="UTC", reduced_motion="reduce"
    )
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    show(page, stack, "RehearsePage", "rehearse/page.js", draft)
    yield page
    assert wrong == []
    context.close()


def test_a_rehearsal_is_started_followed_and_its_pace_used(page: Page, conn, draft):
    expect(page.get_by_text("It was not rehearsed yet.")).to_be_visible()
    good_for_everybody(page, "nothing yet")
    page.get_by_label("Buyers that storm it").fill("6000")
    expect(page.get_by_role("button", name="Start the rehearsal")).to_be_disabled()
    page.get_by_label("Buyers that storm it").fill("800")
    page.get_by_label("Buyers you expect").fill("100000")
    page.get_by_label("Also while something sells").check()
    page.get_by_role("button", name="Start the rehearsal").click()
    expect(page.get_by_role("heading", name="Under way")).to_be_visible()
    taken = rows.take(conn)
    assert taken is not None
    assert (taken.event, taken.buyers, taken.sized_for) == (draft, 800, 100_000)
    rows.tell(conn, taken.id, "gate on: everybody asks", 300, 800)
    expect(page.get_by_text("gate on: everybody asks: 300 of 800")).to_be_visible()
    good_for_everybody(page, "under way")
    shot(page, "rehearse-running")
    sized = sizing(MEASURED, 100_000)
    done = Rehearsed(MEASURED, sized, sentences(MEASURED, sized))
    rows.end(conn, taken.id, result=msgspec.json.encode(done))
    result = page.get_by_role("region", name="What it takes")
    expect(result.locator(".takes")).to_have_text("100,000 buyers need 5 gateways, at 22,500 a minute.")
    expect(result).to_contain_text("every law held")
    order = result.inner_text()
    assert order.index("need 5 gateways") < order.index("nobody comes through the waiting room")
    assert order.index("Fast gate off") < order.index("every law held"), "the laws are the quiet end"
    expect(page.get_by_role("img", name="Decisions over time, fast gate on")).to_be_visible()
    good_for_everybody(page, "done")
    shot(page, "rehearse-done")
    room = operating.change(conn, draft, SAID, pace=70)
    page.get_by_role("button", name="Use this pace: 22,500 a minute").click()
    expect(page.get_by_role("alert")).to_contain_text("Its pace is 70 a minute now.")
    assert rooms.read(conn, events.get_event(conn, draft).id).terms.pace == room.terms.pace == 70
    page.get_by_role("button", name="Use this pace: 22,500 a minute").dblclick()
    expect(page.get_by_text("admits 22,500 a minute now")).to_be_visible()
    assert rooms.read(conn, events.get_event(conn, draft).id).terms.pace == 22_500


def test_what_could_not_take_place_says_why_and_may_be_tried_again(page: Page, conn):
    started: list[str] = []
    page.on("request", lambda one: started.append(one.url) if one.method == "POST" else None)
    page.get_by_label("Also while something sells").check()
    page.get_by_role("button", name="Start the rehearsal").dblclick()
    expect(page.get_by_role("heading", name="Under way")).to_be_visible()
    assert len(started) == 1, "however often it is pressed"
    taken = rows.take(conn)
    assert taken is not None
    rows.end(conn, taken.id, error="It took longer than 300 s. Rehearse with fewer buyers.")
    expect(page.get_by_role("alert")).to_contain_text("Rehearse with fewer buyers.")
    expect(page.get_by_role("button", name="Start the rehearsal")).to_be_enabled()
    good_for_everybody(page, "failed")
