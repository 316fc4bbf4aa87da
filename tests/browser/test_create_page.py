"""Creating an event in one sitting, in a browser on the real stack: filled in, looked at, mended, made."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Browser, Page, expect

from store import events
from store.room import rooms
from tests.browser.axe import good_for_everybody
from tests.browser.console_pages import show

SHOTS = os.environ.get("ONSALE_SHOTS")
_NUMBERS = itertools.count(1)
CSV = b"""guid,section,row,number,category,price
A-1,Stalls,A,1,Gold,90
A-2,Stalls,A,2,Gold,
B-1,Stalls,B,1,Silver,50
B-2,Stalls,B,2,Silver,
"""


@pytest.fixture
def page(browser: Browser, stack):
    context = browser.new_context(
        viewport={"width": 1280, "height": 900}, locale="en-GB", timezone_id="UTC", reduced_motion="reduce"
    )
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    show(page, stack, "CreatePage", "create/page.js")
    yield page
    assert wrong == []
    context.close()


def shot(page: Page, name: str) -> None:
    """Pictures to look at, where they are asked for."""
    if SHOTS:
        for scheme, width in (("light", 1280), ("dark", 1280), ("light", 360), ("dark", 360)):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.set_viewport_size({"width": width, "height": 900})
            page.screenshot(path=Path(SHOTS) / f"{name}-{width}-{scheme}.png", full_page=True)
        page.emulate_media(color_scheme=None)
        page.set_viewport_size({"width": 1280, "height": 900})


def step(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Steps").get_by_role("button", name=name).click()
    expect(page.get_by_role("heading", name=name, level=2)).to_be_focused()


def send(page: Page, raw: bytes, name: str = "grand.csv") -> None:
    page.get_by_label("Seating plan", exact=True).set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": raw}
    )


def slug() -> str:
    return f"made-{os.getpid()}-{next(_NUMBERS)}"


def test_an_event_is_made_in_one_sitting_and_a_reload_loses_nothing(page: Page, stack):
    address = slug()
    page.get_by_label("Name", exact=True).fill("Spring Gala")
    page.get_by_label("Address").fill(address)
    send(page, CSV)
    expect(page.get_by_role("img", name="Drawing of")).to_be_visible()
    good_for_everybody(page, "plan")
    shot(page, "create-plan")
    step(page, "Prices")
    page.get_by_label("Gold").fill("120.50")
    page.get_by_label("Fee for each ticket").fill("2")
    expect(page.locator(".create-sum")).to_contain_text("€341.00")
    expect(page.locator(".create-sum")).to_contain_text("€349.00")
    good_for_everybody(page, "prices")
    shot(page, "create-prices")
    step(page, "Times")
    page.get_by_label("The sale opens").fill("2040-05-01T10:00")
    page.get_by_label("It takes place").fill("2040-06-01T20:00")
    good_for_everybody(page, "times")
    step(page, "Rules")
    page.get_by_label("Gold").fill("2")
    good_for_everybody(page, "rules")
    shot(page, "create-rules")
    step(page, "Waiting room")
    page.get_by_label("Pace").fill("240")
    page.get_by_label("For whom").fill("Members")
    page.get_by_label("How many codes").fill("2")
    good_for_everybody(page, "room")
    shot(page, "create-room")
    step(page, "Texts")
    page.get_by_label("A message to all who wait").fill("Doors at seven.")
    good_for_everybody(page, "texts")
    page.reload()
    expect(page.locator(".create-summary")).to_contain_text("Spring Gala")
    expect(page.locator(".create-summary")).to_contain_text("4 places")
    step(page, "Look over")
    expect(page.get_by_text("Only the sale opens by itself.")).to_be_visible()
    good_for_everybody(page, "review")
    shot(page, "create-review")
    page.get_by_role("button", name="Create and open the lobby now").click()
    expect(page.get_by_role("heading", name="Spring Gala is made")).to_be_visible()
    good_for_everybody(page, "made")
    shot(page, "create-made")
    with psycopg.connect(stack.urls.database_url, autocommit=True) as conn:
        event = events.get_event(conn, address)
        room = rooms.read(conn, event.id)
    assert (event.state, event.limits, event.payment) == ("lobby", {"Gold": 2}, "required")
    assert event.opens_at is not None
    assert event.opens_at.isoformat() == "2040-05-01T10:00:00+00:00"
    assert (room.terms.pace, room.message) == (240, "Doors at seven.")
    expect(page.get_by_label("Codes for Members")).to_have_value(re.compile(r"^\S+\n\S+$"))
    page.get_by_role("button", name="Rehearse it").click()
    assert page.evaluate("window.gone") == [f"/console/e/{address}/rehearse"]
    page.reload()
    expect(page.get_by_label("Name", exact=True)).to_have_value("")


def test_what_is_wrong_is_told_at_its_fields_and_mended(page: Page, stack):
    page.get_by_label("Name", exact=True).fill("Gala")
    page.get_by_label("Address").fill("Not an address")
    page.get_by_role("button", name="Make one").click()
    page.get_by_label("Seats", exact=True).fill("40")
    expect(page.locator(".create-holds")).to_contain_text("40")
    step(page, "Prices")
    page.get_by_label("Fee for each ticket").fill("much")
    step(page, "Times")
    page.get_by_label("The sale opens").fill("2040-05-01T10:00")
    page.get_by_label("Its lobby opens").fill("2040-05-01T11:00")
    step(page, "Waiting room")
    page.get_by_label("Pace").fill("0")
    step(page, "Look over")
    page.get_by_role("button", name="Create as draft").click()
    expect(page.get_by_role("alert").first).to_contain_text("Nothing was made. 4 things are to be mended.")
    expect(page.get_by_label("Address")).to_have_attribute("aria-invalid", "true")
    good_for_everybody(page, "wrong")
    shot(page, "create-wrong")
    address = slug()
    page.get_by_label("Address").fill(address)
    step(page, "Prices")
    expect(page.locator(".field-error").last).to_contain_text("Fee for each ticket")
    page.get_by_label("Fee for each ticket").fill("")
    step(page, "Times")
    expect(page.get_by_label("Its lobby opens")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Its lobby opens").fill("2040-05-01T09:00")
    step(page, "Waiting room")
    page.get_by_label("Pace").fill("100")
    step(page, "Look over")
    expect(page.get_by_text("Its lobby opens by itself on 1 May 2040, 09:00.")).to_be_visible()
    page.get_by_role("button", name="Create as draft").click()
    expect(page.get_by_role("heading", name="Gala is made")).to_be_visible()
    with psycopg.connect(stack.urls.database_url, autocommit=True) as conn:
        event = events.get_event(conn, address)
    assert event.lobby_opens_at is not None
    assert event.lobby_opens_at.isoformat() == "2040-05-01T09:00:00+00:00"


def test_a_wrong_file_names_its_line_and_the_one_before_stays(page: Page):
    send(page, CSV)
    expect(page.locator(".create-holds")).to_be_visible()
    send(page, CSV + b"C-1,Stalls,C,1,Bronze,\n", "other.csv")
    expect(page.get_by_role("alert")).to_contain_text("line 6, column price")
    expect(page.locator(".drop")).to_contain_text("grand.csv")
    send(page, b"PK\x03\x04", "grand.xlsx")
    expect(page.get_by_role("alert")).to_contain_text("zip archive or a spreadsheet")
    send(page, bytes(9 * 2**20), "huge.csv")
    expect(page.get_by_role("alert")).to_contain_text("Nothing was sent.")


def test_starting_over_is_asked_once_and_forgets_everything(page: Page):
    page.get_by_label("Name", exact=True).fill("A slip")
    page.get_by_role("button", name="Start over").click()
    page.get_by_role("button", name="Keep it").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("A slip")
    page.get_by_role("button", name="Start over").click()
    page.get_by_role("button", name="Forget all of this").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("")


def test_everything_can_be_done_with_the_keyboard(page: Page):
    page.get_by_label("Name", exact=True).focus()
    page.keyboard.type("By hand")
    for _ in range(2):
        page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="A file of your own")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Kind")).to_be_visible()
    page.get_by_role("button", name="Next: Prices").press("Enter")
    expect(page.get_by_role("heading", name="Prices", level=2)).to_be_focused()
