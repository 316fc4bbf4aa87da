"""Through a real waiting room to held seats, by networks that let no websocket through, made up for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from onsale.processes import Stack
from store.room import operating
from store.room.words import Admission, RoomTerms
from store.words import EventState
from tests.browser.conftest import Profile, Tabs
from tests.browser.live_stack import SAID, LiveEvent, heading, hold_two, live_event, rows_of
from tests.browser.test_room_journey import CROWD, position

pytestmark = pytest.mark.browser

BLOCKED = """globalThis.WebSocket = class {
  constructor() { setTimeout(() => this.onclose({ code: 1006 })); }
  close() {}
};"""
"""As a browser tells that a handshake failed."""


@pytest.fixture
def vespers(stack: Stack) -> Iterator[LiveEvent]:
    with live_event(stack, "Vespers", rows_of(2), room=RoomTerms(pace=6_000), crowd=CROWD) as there:
        yield there


@pytest.mark.parametrize("way", ["events", "poll"])
def test_lobby_line_turn_and_seats(profile: Profile, stack: Stack, vespers: LiveEvent, way: str) -> None:
    conn, slug = vespers.conn, vespers.slug
    tabs = Tabs(profile, stack.base_url)
    page = tabs.open("/", ready=False, own=True)
    page.add_init_script(BLOCKED)
    if way == "poll":
        page.route("**/room/stream", lambda route: route.abort())
    page.goto(f"{tabs.url}/e/{slug}")
    page.get_by_role("button", name="Join", exact=True).click()
    heading(page, "You are in")
    operating.admit(conn, slug, Admission.PAUSED, SAID)
    vespers.become(EventState.OPEN)
    heading(page, "The line stands still")
    stands = position(page)
    operating.say(conn, slug, "We go on in a minute.", SAID)
    expect(page.locator(".room-message")).to_contain_text("We go on in a minute.")
    page.reload()
    heading(page, "The line stands still")
    assert position(page) == stands
    operating.admit(conn, slug, Admission.RUNNING, SAID)
    heading(page, "It is your turn")
    page.get_by_role("button", name="Choose my seats").click()
    hold_two(page)
    page.get_by_role("button", name="Give all back").click()
    heading(page, "Choose your seats")
    tabs.close()
    network = ("Failed to load resource: net::ERR", "status of 404")
    assert [said for said in tabs.wrong if not any(one in said for one in network)] == []
