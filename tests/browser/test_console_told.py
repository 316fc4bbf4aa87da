"""Webhooks and tours in the console: added, tried, sent again, switched off; tours made and given dates."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from store.outbox import Told
from tests.browser import fake_office
from tests.browser.axe import good_for_everybody
from tests.browser.conftest import Tabs
from tests.browser.fake_operators import FakeOperators, problem
from tests.browser.test_access import BROKEN, NAMELESS
from tests.browser.test_console_shell import come, forgive

pytestmark = pytest.mark.browser
WHY = "in the console"
SECRET = "whsec_c2hvd24gb25jZQ=="


def test_an_address_is_subscribed_and_its_secret_is_shown_once(consoles: Tabs, office: FakeOperators) -> None:
    page = come(consoles, "/console/webhooks?event=demo", "key-of-olga")
    expect(page.get_by_role("row", name=re.compile("crm"))).to_contain_text("loses messages")
    expect(page.get_by_role("row", name=re.compile("newsletter"))).to_contain_text("it answered 410")
    ticks = page.locator("input[name=kinds]")
    assert [tick.get_attribute("value") for tick in ticks.all()] == [kind.value for kind in Told]
    assert page.evaluate(BROKEN) == []
    assert page.evaluate(NAMELESS) == []
    good_for_everybody(page, "webhooks")
    page.get_by_role("textbox", name="Address").fill("https://till.example.org/in")
    expect(page.get_by_label("Only of this event")).to_have_value("demo")
    page.get_by_label("order.paid").check()
    story = "https://till.example.org/in leads to an address that is not of the public internet."
    office.refusing["webhooks"] = problem(400, "invalid_url", story)
    page.get_by_role("button", name="Subscribe it").click()
    expect(page.locator(".toast.wrong")).to_contain_text(story)
    office.refusing.clear()
    added = fake_office.webhook(4, "https://till.example.org/in", event="demo", kinds=["order.paid"])
    office.answers["POST webhooks"] = {"subscriber": added, "secret": SECRET}
    page.get_by_role("button", name="Subscribe it").click()
    shown = page.get_by_role("region", name="The secret of https://till.example.org/in")
    expect(shown.get_by_label("Signing secret")).to_have_value(SECRET)
    shown.get_by_role("button", name="I have it").click()
    assert SECRET not in page.content()
    wanted = {"url": "https://till.example.org/in", "event": "demo", "kinds": ["order.paid"]}
    assert office.changes[1][2] == wanted | {"from_start": False, "why": WHY}
    consoles.wrong.clear()


def test_deliveries_that_fail_are_seen_tried_and_sent_again(consoles: Tabs, office: FakeOperators) -> None:
    page = come(consoles, "/console/webhooks", "key-of-otto", width=360)
    expect(page.get_by_text("Adding one needs the role owner.")).to_be_visible()
    page.get_by_role("link", name=re.compile("crm")).click()
    failing = page.get_by_role("region", name="Not delivered")
    expect(failing).to_contain_text("it did not answer within 10 s")
    assert page.evaluate(BROKEN) == []
    good_for_everybody(page, "a webhook")
    expect(page.get_by_role("button", name="Remove…")).to_have_count(0)
    office.answers["POST webhooks/3/test"] = {"message": "msg_4800"}
    page.get_by_role("button", name="Send a test").click()
    expect(page.locator(".toast").last).to_contain_text("A test goes out as msg_4800")
    office.answers["POST webhooks/3/replay"] = {"messages": ["msg_4711"]}
    failing.get_by_role("button", name="Send again… msg_4711").click()
    page.get_by_role("dialog").get_by_role("button", name="Send again").click()
    expect(page.locator(".toast").last).to_contain_text("1 message will be sent again.")
    failing.get_by_role("button", name="Send all given-up ones again…").click()
    page.get_by_role("dialog").get_by_role("button", name="Send again").click()
    page.get_by_role("button", name="Switch it off…").click()
    off = fake_office.webhook_story()
    off["subscriber"] |= {"state": "disabled", "disabled_why": "an operator disabled it"}
    office.answers["webhooks/3"] = off
    page.get_by_role("dialog", name="Switch it off?").get_by_role("button", name="Switch it off").click()
    expect(page.get_by_text("an operator disabled it")).to_be_visible()
    expect(page.get_by_role("button", name="Send a test")).to_have_count(0)
    page.locator(".toast").get_by_role("button", name="Switch it on").click()
    page.get_by_role("dialog", name="Switch it on?").get_by_role("button", name="Switch it on").click()
    assert [(path, body) for _, path, body in office.heard(5)] == [
        ("webhooks/3/test", {"why": WHY}),
        ("webhooks/3/replay", {"message": "msg_4711", "why": WHY}),
        ("webhooks/3/replay", {"why": WHY}),
        ("webhooks/3/disable", {"why": WHY}),
        ("webhooks/3/enable", {"why": WHY}),
    ]


def test_an_owner_gives_a_new_secret_and_removes_one_by_its_host(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = come(consoles, "/console/webhooks/3", "key-of-olga")
    page.get_by_role("button", name="New secret…").click()
    office.answers["POST webhooks/3/rotate"] = {
        "subscriber": fake_office.webhooks()["webhooks"][0], "secret": SECRET,
    }  # fmt: skip
    page.get_by_role("dialog").get_by_role("button", name="Make a new secret").click()
    expect(page.get_by_label("Signing secret")).to_have_value(SECRET)
    page.get_by_role("button", name="Remove…").click()
    asked = page.get_by_role("dialog", name="Remove this webhook?")
    expect(asked.get_by_role("button", name="Remove it")).to_be_disabled()
    asked.get_by_label("to confirm").fill("crm.example.org")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Webhooks", level=1)).to_be_visible()
    assert office.changes == [
        ("POST", "webhooks/3/rotate", {"overlap_hours": 24, "why": WHY}),
        ("POST", "webhooks/3/remove", {"why": WHY}),
    ]


def test_a_tour_is_made_and_given_a_date_and_a_colleague_who_was_quicker_is_told(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = come(consoles, "/console", width=360)
    page.get_by_role("link", name="Tours").click()
    expect(page.get_by_role("row", name=re.compile("Nightfall"))).to_contain_text("4 tickets")
    assert page.evaluate(BROKEN) == []
    assert page.evaluate(NAMELESS) == []
    good_for_everybody(page, "tours")
    page.get_by_label("Name").fill("Nightfall")
    page.get_by_label("In addresses").fill("nightfall")
    office.answers["POST tours"] = fake_office.tour()
    page.get_by_role("button", name="Make the tour").click()
    expect(page.get_by_role("heading", name="nightfall", level=1)).to_be_visible()
    good_for_everybody(page, "a tour")
    story = "'encore' is a date of another tour already."
    office.refusing["tours/nightfall/events"] = problem(409, "event_of_tour", story)
    page.get_by_role("combobox", name="A draft").select_option("encore")
    page.get_by_role("button", name="Make it a date…").click()
    asked = page.get_by_role("dialog", name="Make encore a date of Nightfall?")
    asked.get_by_role("button", name="Make it a date").click()
    expect(page.locator(".toast.wrong")).to_contain_text(story)
    assert office.changes == [
        ("POST", "tours", {"slug": "nightfall", "seats_per_buyer_max": 4, "name": "Nightfall"}),
        ("POST", "tours/nightfall/events", {"event": "encore", "why": WHY}),
    ]
    forgive(consoles)
