"""The waiting list from end to end: real gateways, a real allocator, five tabs.

A party of four has the only row and lets it run out; a pair, a four and one alone wait. They are offered what
comes back in the list's order, each party whole, and what they do not take moves on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from playwright.sync_api import Page, expect

from allocator.replay import Finding, verify
from onsale.processes import Stack
from tests.browser.conftest import Profile, Tabs
from tests.browser.live_stack import LiveEvent, live_event, rows_of

pytestmark = pytest.mark.browser


@pytest.fixture
def vespers(stack: Stack) -> Iterator[LiveEvent]:
    """One row of four on sale."""
    lasts: dict[str, Any] = {"hold_ttl_seconds": 480, "offer_ttl_seconds": 480, "extensions_max": 0}
    with live_event(stack, "Vespers", rows_of(4), **lasts) as there:
        yield there


@pytest.fixture
def at(profile: Profile, stack: Stack) -> Iterator[list[Tabs]]:
    """Ways to open tabs, at each gateway."""
    doors = [Tabs(profile, url) for url in stack.base_urls]
    yield doors
    for door in doors:
        door.close()
    assert [door.wrong for door in doors] == [[], []], "a page wrote errors to the console"


def visitor(door: Tabs, event: LiveEvent, quantity: int) -> Page:
    """A tab with a party of this size chosen, not asked for yet."""
    page = door.open(event.path)
    page.get_by_role("button", name="Best available").click()
    word, times = ("Fewer", 1) if quantity == 1 else ("More", quantity - 2)
    for _ in range(times):
        page.get_by_role("button", name=f"{word}: seats").click()
    return page


def wait_in_line(page: Page) -> None:
    page.locator(".sold-out .button.main").click()
    expect(page.locator(".waiting h2")).to_contain_text("You wait at number")


def offered(page: Page, count: int) -> None:
    expect(page.get_by_role("heading", name="Your turn: this is kept for you")).to_be_visible()
    expect(page.locator(".holding .mine li")).to_have_count(count)
    expect(page).to_have_title("● Your turn! Vespers · seats")


def decided_alike(event: LiveEvent) -> None:
    """The ledger, decided again, gives the same."""
    with psycopg.connect(event.stack.urls.database_url) as conn:
        steps = list(verify(conn, event.id))
    assert [step for step in steps if isinstance(step, Finding)] == []
    assert steps


def test_what_comes_back_goes_along_the_list_in_order_with_parties_whole(
    at: list[Tabs], vespers: LiveEvent
) -> None:
    here, there = at
    first, pair, four, alone = (
        visitor(door, vespers, size) for door, size in ((here, 4), (there, 2), (here, 4), (there, 1))
    )
    first.locator(".choosing .button.main").click()
    expect(first.locator(".story")).to_have_text("Together in row A.")
    for page in (pair, four, alone):
        expect(page.get_by_role("heading", name="Sold out")).to_be_visible()
        expect(page.locator(".sold-out")).to_contain_text("4 seats on hold: some may come back.")
        wait_in_line(page)
    for place, page in enumerate((pair, four, alone), 1):
        expect(page.locator(".waiting h2")).to_contain_text(f"You wait at number {place} of 3")
    expect(four.locator(".waiting")).to_contain_text("For four together")
    four.reload()
    expect(four.locator(".waiting h2")).to_contain_text("You wait at number 2 of 3")

    vespers.run_out(first)
    expect(first.locator(".notice")).to_contain_text("Your time ran out.")
    offered(pair, 2)
    offered(alone, 1)
    expect(four.locator(".waiting h2")).to_contain_text("You wait at number 1 of 1")
    expect(four).to_have_title("No. 1 · Vespers · seats")

    vespers.run_out(pair, alone)
    for page in (pair, alone):
        expect(page.locator(".notice")).to_contain_text("The time for your offer ran out.")
        expect(page.get_by_role("button", name="Wait for it")).to_be_visible()
    offered(four, 4)
    expect(four.locator(".story").last).to_have_text("Together in row A.")
    four.get_by_role("button", name="Take it").click()
    expect(four.locator(".notice")).to_contain_text("They are yours.")
    expect(pair.locator(".sold-out")).to_contain_text("Now and then one comes back.")

    rows = vespers.conn.execute(
        "SELECT waiting.state, hold.state, hold.quantity FROM waiting JOIN hold USING (event_id, hold_id)"
        " WHERE event_id = %s ORDER BY wait_id",
        [vespers.id],
    ).fetchall()
    passed_over = vespers.column(
        "SELECT (result ->> 'passed_over')::int FROM ledger WHERE event_id = %s AND kind = 'offer'"
        " ORDER BY batch_no, position"
    )
    assert rows == [("offered", "expired", 2), ("offered", "paid", 4), ("offered", "expired", 1)]
    assert passed_over == [0, 1, 0]
    decided_alike(vespers)


def test_who_leaves_gives_the_place_up_and_who_declines_passes_it_on(
    at: list[Tabs], vespers: LiveEvent
) -> None:
    here, there = at
    first, one, other, last = (
        visitor(door, vespers, size) for door, size in ((here, 4), (there, 4), (here, 4), (there, 4))
    )
    first.locator(".choosing .button.main").click()
    for page in (one, other, last):
        wait_in_line(page)
    other.get_by_role("button", name="Leave the waiting list").click()
    other.get_by_role("button", name="Leave for good").click()
    expect(other.locator(".notice")).to_contain_text("You are off the waiting list.")
    expect(last.locator(".waiting h2")).to_contain_text("You wait at number 2 of 2")
    first.get_by_role("button", name="Give all back").click()
    offered(one, 4)
    one.get_by_role("button", name="No, thank you").click()
    offered(last, 4)
    expect(other.get_by_role("heading", name="Sold out")).to_be_visible()
    decided_alike(vespers)
