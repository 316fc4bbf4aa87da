"""Presale codes and the look of a waiting room in the console: shown once, withdrawn by name; seen as buyers
will see it before it is saved, and saved from what was seen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser import fake_office
from tests.browser.axe import good_for_everybody
from tests.browser.conftest import Tabs
from tests.browser.fake_operators import FakeOperators, problem
from tests.browser.test_access import BROKEN, NAMELESS
from tests.browser.test_console_shell import come, forgive

pytestmark = pytest.mark.browser
CODES = ["7K2M-Q9RT-X4WD-0HJN", "0000-1111-2222-3333"]
INK = "(one) => getComputedStyle(one).backgroundColor"

BUTTONS = "[...document.querySelectorAll('button')].map((button) => button.innerText)"
"""Of the console's own, not of the buyers' page that is shown in it."""


def test_codes_are_shown_once_kept_as_a_file_and_withdrawn_by_their_label(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = come(consoles, "/console/e/demo/codes")
    expect(page.get_by_role("row", name=re.compile("^Members"))).to_contain_text("312")
    expect(page.get_by_role("row", name=re.compile("^Radio"))).to_contain_text("all")
    assert page.evaluate(BROKEN) == []
    assert page.evaluate(NAMELESS) == []
    good_for_everybody(page, "codes")
    page.get_by_label("For whom").fill(" the band ")
    page.get_by_label("How many codes").fill("2")
    office.answers["POST events/demo/room/codes"] = {"label": "the band", "uses": 1, "codes": CODES}
    page.keyboard.press("Enter")
    shown = page.get_by_role("region", name="2 codes for the band")
    expect(shown.get_by_role("textbox")).to_have_value("\n".join(CODES))
    assert page.evaluate("getSelection().toString()").split() == CODES
    with page.expect_download() as loaded:
        shown.get_by_role("link", name="Keep as a file").click()
    assert Path(loaded.value.path()).read_text().split() == CODES
    good_for_everybody(page, "new codes")
    shown.get_by_role("button", name="I have it").click()
    assert CODES[0] not in page.content()
    page.get_by_role("button", name="Withdraw the codes for Members").click()
    asked = page.get_by_role("dialog", name="Withdraw the codes for Members?")
    expect(asked).to_contain_text("500 codes let nobody in any more; 188 uses were left.")
    expect(asked.get_by_role("button", name="Withdraw them")).to_be_disabled()
    asked.get_by_label("to confirm").fill("Members")
    revoked = {"revoked": [{"label": "Members", "codes": 500, "uses": 188}]}
    office.answers["POST events/demo/room/codes/revoke"] = revoked
    page.keyboard.press("Enter")
    expect(page.locator(".toast").last).to_contain_text("500 codes for Members: withdrawn.")
    story = "2 of 2 are no codes of this event, the first is number 1. None was revoked: leave them out."
    office.refusing["events/demo/room/codes/revoke"] = problem(404, "unknown_code", story)
    page.get_by_label("Codes, one a line").fill("\n".join(CODES) + "\n\n")
    page.get_by_role("button", name="Withdraw them…").click()
    page.get_by_role("dialog", name="Withdraw 2 codes?").get_by_role("button", name="Withdraw them").click()
    expect(page.locator(".toast.wrong")).to_contain_text(story)
    why = "in the console"
    assert [body for _, _, body in office.changes] == [
        {"label": "the band", "count": 2, "uses": 1, "why": why},
        {"label": "Members", "why": why},
        {"codes": CODES, "why": why},
    ]
    forgive(consoles)


def preview(page: Page, screen: str, scheme: str = "Light") -> Any:
    shown = page.get_by_role("region", name="As buyers see it")
    shown.get_by_role("combobox", name="Screen").select_option(screen)
    shown.get_by_role("button", name=scheme).click()
    return page.locator(".look-frame")


def test_a_look_is_seen_as_buyers_will_see_it_saved_and_taken_back(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = come(consoles, "/console/e/demo/look")
    frame = preview(page, "Before")
    expect(frame.get_by_text("Nightfall", exact=True)).to_be_visible()
    before = frame.locator(".button.main").evaluate(INK)
    save = page.get_by_role("button", name="Save: buyers see it")
    expect(save).to_be_disabled()
    page.get_by_label("Your name").fill("Hall & Sons")
    page.get_by_label("Your colour").fill("#0b6e4f")
    expect(frame.get_by_text("Hall & Sons")).to_be_visible()
    light = frame.locator(".button.main").evaluate(INK)
    assert len({before, light, preview(page, "Joined", "Dark").locator(".tick").evaluate(INK)}) == 3
    page.get_by_role("region", name="Texts").get_by_role("searchbox").fill("you are number")
    text = page.get_by_role("textbox", name=re.compile("line.number"))
    text.fill("Your number is")
    expect(preview(page, "In line", "Dark").get_by_text("Your number is")).to_be_visible()
    for screen in ("Paused", "Sold out", "Their turn"):
        expect(preview(page, screen).get_by_role("heading")).to_have_count(1)
    frame.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.shadowRoot?.activeElement ?? null") is None, "only looked at"
    assert page.evaluate(BROKEN) == []
    assert page.evaluate(NAMELESS) == []
    good_for_everybody(page, "a look")
    look = {"name": "Hall & Sons", "accent": "#0b6e4f"}
    look["texts"] = {"lobby.title": "Nightfall", "line.number": "Your number is"}  # type: ignore[assignment]
    old = office.answers["events/demo/room"]["look"]
    office.answers["events/demo/room"] = fake_office.room(5, **look)
    save.click()
    expect(page.locator(".toast")).to_contain_text("Buyers see it so within a second.")
    expect(save).to_be_disabled()
    page.locator(".toast").get_by_role("button", name="As it was before").click()
    sent = [(body["look"], body["edition"]) for _, _, body in office.heard(2)]
    assert sent == [(look, 4), (old, 5)]


def test_a_look_that_a_colleague_changed_is_told_and_a_colour_that_is_none_is_not_sent(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = come(consoles, "/console/e/demo/look", width=360)
    save = page.get_by_role("button", name="Save: buyers see it")
    page.get_by_label("Your colour").fill("green")
    save.click()
    expect(page.get_by_text("Write the colour as #2f4fc4")).to_be_visible()
    assert office.changes == []
    page.get_by_label("Your colour").fill("")
    page.get_by_label("Language").fill("de")
    demo = office.of("demo")
    assert demo is not None
    demo.edition = 6
    office.answers["events/demo/room"] = fake_office.room(6, name="Anna's Hall")
    save.click()
    asked = page.get_by_role("dialog", name="Somebody was quicker")
    expect(asked).to_contain_text("anna changed it")
    expect(asked).to_contain_text("the look they gave it is gone")
    good_for_everybody(page, "somebody was quicker")
    asked.get_by_role("button", name="Save mine all the same").click()
    expect(page.locator(".toast")).to_contain_text("Buyers see it so within a second.")
    assert [body["edition"] for _, _, body in office.heard(2)] == [4, 6]
    kept = {"name": "The Hall", "lang": "de", "texts": {"lobby.title": "Nightfall"}}
    assert office.changes[1][2]["look"] == kept, "what is empty is left out"
    forgive(consoles)


@pytest.mark.parametrize("page_name", ["codes", "look"])
def test_a_viewer_looks_and_an_event_without_a_room_says_so(consoles: Tabs, page_name: str) -> None:
    page = come(consoles, f"/console/e/demo/{page_name}", "key-of-vera")
    expect(page.get_by_text("needs the role operator.")).to_be_visible()
    names = set(page.evaluate(BUTTONS))
    assert names <= {"Log out", "Light", "Dark"}, "nothing that changes anything"
    page.goto(f"{consoles.url}/console/e/matinee/{page_name}")
    expect(page.get_by_role("heading", name="It has no waiting room")).to_be_visible()
