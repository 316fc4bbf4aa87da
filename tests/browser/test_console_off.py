"""Calling an event off in the console: what it would cost is said first, the name typed, and then how far it
is; who was slower sees what a colleague did."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser import fake_office
from tests.browser.axe import good_for_everybody
from tests.browser.conftest import Tabs
from tests.browser.fake_operators import FakeOperators, problem
from tests.browser.test_console_shell import come, forgive

pytestmark = pytest.mark.browser
OFF = "/console/e/demo/off"


def choose(page: Page, slug: str) -> None:
    page.get_by_role("combobox", name="To", exact=True).select_option(slug)


def test_canceling_says_what_it_costs_wants_the_name_and_a_reason_and_tells_how_far_it_is(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = come(consoles, OFF, "key-of-olga")
    cost = page.get_by_role("region", name="What it would cost")
    expect(cost).to_contain_text("6,282 orders")
    expect(cost).to_contain_text("€747,540.00")
    expect(cost).to_contain_text("30 given by hand, 12 sold at the box office")
    expect(cost).to_contain_text("218 requests")
    good_for_everybody(page, "before calling off")
    page.get_by_role("button", name="Cancel the event…").click()
    asked = page.get_by_role("dialog", name="Cancel Nightfall, opening night for good?")
    expect(asked).to_contain_text("6,282 orders will be taken back, and €747,540.00 goes back")
    expect(asked.get_by_label("Why")).to_be_focused()
    asked.get_by_label("to confirm").fill("demo")
    page.keyboard.press("Enter")
    assert office.changes == [], "not without a reason"
    good_for_everybody(page, "canceling")
    asked.get_by_label("Why").fill("the star is ill")
    office.answers["POST events/demo/cancel"] = fake_office.called_off()
    page.keyboard.press("Enter")
    under_way = page.get_by_role("region", name="It is canceled")
    expect(under_way).to_contain_text("5,082 of 6,634 left to do")
    expect(page.get_by_role("region", name="Money that goes back")).to_contain_text("€60.00 in 1 refund")
    assert office.changes == [("POST", "events/demo/cancel", {"why": "the star is ill"})]
    good_for_everybody(page, "calling off")
    left = {"holds": 0, "waiting": 0, "orders": 0}
    office.answers["events/demo/calling-off"] = fake_office.called_off(
        refunded=6_282, left=left, done_at=fake_office.AT
    )
    page.get_by_role("button", name="Do a piece now").click()
    expect(under_way.get_by_role("status")).to_contain_text("Done")
    assert office.heard(2)[1] == ("POST", "events/demo/cancel", {"why": "the star is ill"})
    expect(page.get_by_role("button", name="Do a piece now")).to_have_count(0)


def test_moving_says_which_seats_are_there_and_who_was_slower_sees_what_was_done(
    consoles: Tabs, office: FakeOperators
) -> None:
    office.letters = fake_office.letters()
    page = come(consoles, OFF, "key-of-olga", width=360)
    choose(page, "matinee")
    expect(page.get_by_text("the other in USD: orders cannot be moved there")).to_be_visible()
    expect(page.get_by_role("button", name="Move the event…")).to_be_disabled()
    page.get_by_label("has no date yet").fill("2031-06-01T20:00")
    page.get_by_role("button", name="Set its date").click()
    expect(page.locator(".toast")).to_contain_text("Matinée takes place 1 Jun 2031")
    _, path, body = office.heard()[0]
    assert (path, body["starts_at"]) == ("events/matinee/policy", "2031-06-01T20:00:00.000Z")
    choose(page, "encore")
    expect(page.get_by_text("11 of 12 sold seats are free in the other event, too.")).to_be_visible()
    good_for_everybody(page, "where to move")
    page.get_by_role("button", name="Move the event…").click()
    asked = page.get_by_role("dialog", name="Move Nightfall, opening night to Nightfall, the new date?")
    expect(asked).to_contain_text("Buyers are told the new date by mail: 1 May 2031")
    asked.get_by_label("to confirm").fill("demo")
    asked.get_by_label("Why").fill("the hall is flooded")
    story = "'demo' is canceled, or goes to another event already."
    office.refusing["events/demo/move"] = problem(409, "event_called_off", story)
    office.public["demo"] = fake_office.public("demo", state="closed", called_off={"at": 1, "to": None})
    asked.get_by_role("button", name="Move the event").click()
    expect(page.locator(".toast.wrong")).to_contain_text(story)
    expect(page.get_by_role("region", name="It is canceled")).to_contain_text("olga")
    assert office.heard(2)[1][2] == {"to": "encore", "why": "the hall is flooded"}
    forgive(consoles)


def test_who_is_no_owner_sees_the_cost_and_cannot_call_off(consoles: Tabs) -> None:
    page = come(consoles, "/console/e/demo", "key-of-otto")
    page.get_by_role("link", name="Call off or move").click()
    expect(page.get_by_role("region", name="What it would cost")).to_contain_text("6,282 orders")
    expect(page.get_by_text("Canceling and moving an event needs the role owner.")).to_be_visible()
    expect(page.get_by_role("button", name="…")).to_have_count(0)
