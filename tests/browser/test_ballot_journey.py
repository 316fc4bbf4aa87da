"""A ballot from the wish to the ticket, and all of it is real. Three buyers file what they want with the
page's own controls; when the sale begins it is decided in the order of the draw, which is drawn again here
from the seed that is told then. Reloads and a killed gateway lose neither a wish nor its answer.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator
from uuid import UUID

import httpx
import pytest
from playwright.sync_api import Page, expect

from onsale.processes import Stack
from store.room.words import RoomTerms
from store.words import EventState
from tests.browser.conftest import HEIGHT, WIDTH, Profile, Tabs
from tests.browser.live_stack import LiveEvent, heading, live_event, rows_of
from tests.browser.payers import PAY

pytestmark = pytest.mark.browser

CROWD = 20
"""Who joined too and wishes for nothing."""
PAIR = ["Two together", "Two apart, as near as possible"]


@pytest.fixture
def evensong(stack: Stack) -> Iterator[LiveEvent]:
    """Two rows of two, and two may be inside at a time: whoever has seats of the ballot is."""
    terms = RoomTerms(ballot=True, shopping_max=2)
    with live_event(stack, "Evensong", rows_of(2, 2), room=terms, crowd=CROWD, payment="required") as there:
        yield there


@pytest.fixture
def buyers(profile: Profile, stack: Stack, evensong: LiveEvent) -> Iterator[list[Page]]:
    """Three, each in a browser of their own; one has a phone."""
    tabs = Tabs(profile, stack.base_url)
    sizes = ((WIDTH, HEIGHT), (360, 740), (WIDTH, HEIGHT))
    yield [tabs.open(evensong.path, own=True, width=width, height=height) for width, height in sizes]
    tabs.close()
    unreached = ("WebSocket connection", "net::ERR_CONNECTION")
    assert [said for said in tabs.wrong if not any(one in said for one in unreached)] == []


def join(page: Page) -> None:
    page.get_by_role("button", name="Join", exact=True).click()
    heading(page, "You are in")


def file(page: Page, *, people: int = 2, apart: bool = False) -> None:
    """With the page's own controls, which show two people and no fallback at first."""
    for _ in range(people - 2):
        page.get_by_role("button", name="More: seats").click()
    if apart:
        page.get_by_label("Apart, as near as possible").check()
    page.get_by_role("button", name="File my wish").click()
    heading(page, "Your wish is filed")


def tries(page: Page, *words: str) -> None:
    expect(page.locator(".tries li")).to_have_text(list(words))


def place_of(page: Page) -> UUID:
    """The place's name, which the page tells before anybody knows the seed."""
    page.get_by_text("How the draw can be checked").click()
    return UUID(page.locator(".commitment code").last.inner_text())


def drawn(event: LiveEvent, pages: list[Page], names: list[UUID], sha256: str) -> list[Page]:
    """The pages in the order of the draw, by the seed that was told."""
    told = httpx.get(f"{event.stack.base_url}/v1/events/{event.slug}/room").json()
    assert told["seed_sha256"] == sha256
    seed = bytes.fromhex(told["seed"])
    assert hashlib.sha256(seed).hexdigest() == sha256
    ranks = [hmac.digest(seed, str(name).encode(), "sha256") for name in names]
    return [page for _, page in sorted(zip(ranks, pages, strict=True), key=lambda one: one[0])]


def test_wishes_are_filed_changed_decided_in_the_draws_order_and_paid(
    buyers: list[Page], stack: Stack, evensong: LiveEvent
) -> None:
    ann, ben, cleo = buyers
    for page in buyers:
        join(page)
    file(ann, people=3, apart=True)
    tries(ann, "Three together", "Three apart, as near as possible")
    file(ben)
    tries(ben, "Two together")
    file(cleo, apart=True)
    tries(cleo, *PAIR)

    ann.get_by_role("button", name="Change my wish").click()
    ann.get_by_role("button", name="Fewer: seats").click()
    ann.get_by_role("button", name="File my wish").click()
    tries(ann, *PAIR)
    ben.get_by_role("button", name="Withdraw my wish").click()
    expect(ben.get_by_role("heading", name="What would you like?")).to_be_visible()
    assert evensong.column("SELECT count(*) FROM ballot_wish WHERE event_id = %s") == [2]
    file(ben, apart=True)
    cleo.reload()
    stack.kill("gateway-1")
    stack.start_again("gateway-1")
    ann.reload()
    for page in buyers:
        tries(page, *PAIR)

    names = [place_of(page) for page in buyers]
    sha256 = ann.locator(".commitment code").first.inner_text()
    evensong.become(EventState.OPEN)
    held = "SELECT count(*) FROM hold WHERE event_id = %s AND state = 'active'"
    evensong.await_column(ann, held, [2])
    first, second, third = drawn(evensong, buyers, names, sha256)
    for page, row in ((first, "A"), (second, "B")):
        heading(page, "Held for you")
        expect(page.locator(".holding .mine b")).to_have_text([f"{row}-1", f"{row}-2"])
        expect(page.locator(".countdown-figures")).to_be_visible()
        expect(page.locator(".story")).to_have_text(f"Together in row {row}.")
    heading(third, "You are in line")
    refused = third.locator(".notice.warn")
    expect(refused).to_contain_text("No seat is left.")
    expect(refused).to_contain_text("nor any of your other choices. You keep your place in line")

    stack.kill("gateway-1")
    stack.start_again("gateway-1")
    for page in buyers:
        page.reload()
    for page, row in ((first, "A"), (second, "B")):
        expect(page.locator(".holding .mine b")).to_have_text([f"{row}-1", f"{row}-2"])
        expect(page.locator(".countdown-figures")).to_be_visible()
    heading(third, "You are in line")
    expect(refused).to_contain_text("No seat is left.")

    first.locator(PAY).click()
    first.wait_for_url(f"{stack.provider_url}/pay/*")
    first.locator("#pay").click()
    first.get_by_role("link", name="Show your tickets").click()
    expect(first.get_by_role("img", name="Code of")).to_have_count(2)
    expect(second.locator(".countdown-figures")).to_be_visible()
    states = "SELECT state FROM seat WHERE event_id = %s ORDER BY seat_no"
    assert evensong.column(states) == ["sold", "sold", "held", "held"]
