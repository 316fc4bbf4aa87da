"""Who comes too late for the last seats, in a real waiting room: two that were let in want the same two in
the same moment, and two more are in line behind them. One has them, the others are told so and lose nothing
else.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from onsale.processes import Stack
from store.room.words import RoomTerms
from store.words import EventState
from tests.browser.conftest import Profile, Tabs
from tests.browser.live_stack import LiveEvent, heading, live_event, rows_of
from tests.browser.payers import PAY

pytestmark = pytest.mark.browser


@pytest.fixture
def compline(stack: Stack) -> Iterator[LiveEvent]:
    """Two seats in all, and two may be inside at a time."""
    terms = RoomTerms(shopping_max=2)
    with live_event(stack, "Compline", rows_of(2), room=terms, payment="required") as there:
        yield there


@pytest.fixture
def doors(profile: Profile, stack: Stack) -> Iterator[list[Tabs]]:
    both = [Tabs(profile, url) for url in stack.base_urls]
    yield both
    for door in both:
        door.close()
    assert [door.wrong for door in both] == [[], []], "a page wrote errors to the console"


def let_in(page: Page) -> None:
    heading(page, "It is your turn")
    page.get_by_role("button", name="Choose my seats").click()
    heading(page, "Choose your seats")


def choose_both(page: Page) -> None:
    page.get_by_role("button", name="List", exact=True).click()
    for number in (1, 2):
        page.get_by_role("button", name=f"Stalls, row A, seat {number},").click()
    expect(page.locator(".picked li")).to_have_count(2)


def test_of_two_in_one_moment_one_has_the_last_seats_and_nobody_is_thrown_out(
    doors: list[Tabs], stack: Stack, compline: LiveEvent
) -> None:
    here, there = doors
    pages = [here.open(compline.path, own=True), there.open(compline.path, own=True, width=360, height=740)]
    for page in pages:
        page.get_by_role("button", name="Join", exact=True).click()
        heading(page, "You are in")
    compline.become(EventState.OPEN)
    for page in pages:
        let_in(page)
    following, behind = here.open(compline.path), here.open(compline.path)
    for page in (following, behind):
        page.get_by_role("button", name="Join the line").click()
        heading(page, "You are in line")
        expect(page.locator(".why")).to_contain_text("All places inside are taken")

    for page in pages:
        choose_both(page)
    stack.kill("allocator-1", signal.SIGSTOP)  # so both stand in the stream before either is decided
    for page in pages:
        page.locator(".choosing .button.main").click()
        heading(page, "You are in line")
    stack.kill("allocator-1", signal.SIGCONT)
    first, second = pages
    heading(first, "Held for you")
    expect(first.locator(".holding .mine li")).to_have_count(2)
    told = second.locator(".notice")
    expect(told).to_contain_text("Someone got A-1 and A-2 a moment before you.")
    expect(second.locator("#milestones")).to_contain_text("Someone got A-1 and A-2 a moment before you.")
    expect(second.locator(".sold-out")).to_contain_text("2 seats on hold: some may come back.")
    expect(second.locator(".shopping")).to_contain_text("left to choose")
    expect(told.get_by_role("button", name="Wait for")).to_be_visible()
    assert compline.column("SELECT count(*) FROM hold WHERE event_id = %s") == [1]
    states = "SELECT state FROM place WHERE event_id = %s ORDER BY state"
    assert compline.column(states) == ["admitted", "admitted", "waiting", "waiting"]
    second.reload()
    expect(second.locator(".shopping")).to_contain_text("left to choose")
    expect(second.get_by_role("heading", name="Sold out")).to_be_visible()
    expect(behind.get_by_role("heading", name="Sold out")).to_have_count(0)

    first.locator(PAY).click()
    first.wait_for_url(f"{stack.provider_url}/pay/*")
    first.locator("#pay").click()
    expect(first.locator(".order")).to_contain_text("€96.00")
    heading(behind, "Sold out")
    heading(following, "It is your turn")
    expect(following.locator(".notice")).to_contain_text("Nothing is left to buy just now.")
    expect(second.locator(".sold-out")).to_contain_text("Every seat has found someone.")
    assert compline.column("SELECT count(*) FROM hold WHERE event_id = %s") == [1]
