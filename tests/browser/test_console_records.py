"""The console's other pages: the fleet, the audit, keys, a buyer's story, exports; for who may see them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Route, expect
from starlette.requests import Request

from tests.browser import fake_records
from tests.browser.axe import good_for_everybody
from tests.browser.conftest import Tabs
from tests.browser.fake_operators import FakeOperators, problem
from tests.browser.fake_records import BUYER
from tests.browser.test_access import BROKEN, NAMELESS
from tests.browser.test_console_shell import come, forgive

pytestmark = pytest.mark.browser
STORY = f"/console/e/demo/buyers/{BUYER}"
PAGES = {
    "/console/fleet": "Fleet",
    "/console/audit": "Audit",
    "/console/keys": "Keys",
    "/console/e/demo/buyers?find=a@example.com": "Find a buyer",
    STORY: BUYER,
    "/console/e/demo/figures": "Figures",
    "/console/e/demo/export": "Export",
}


@pytest.mark.parametrize("path", PAGES)
def test_each_page_is_good_for_everybody(consoles: Tabs, path: str) -> None:
    page = come(consoles, path, "key-of-olga")
    expect(page.get_by_role("heading", name=PAGES[path], level=1)).to_be_visible()
    expect(page.locator(".bones")).to_have_count(0)
    assert page.evaluate(BROKEN) == []
    assert page.evaluate(NAMELESS) == []
    good_for_everybody(page, path)


def test_a_host_is_drained_after_one_question_and_kept_again(consoles: Tabs, office: FakeOperators) -> None:
    page = come(consoles, "/console/fleet", width=360)
    page.clock.install()
    off: list[bool] = []

    def under_way(route: Route) -> None:
        off.append(page.get_by_role("button", name="Drain south").is_disabled())
        route.continue_()

    page.route("**/drain", under_way)
    row = page.get_by_role("row", name=re.compile("^north"))
    row.get_by_role("button", name="Drain").click()
    asked = page.get_by_role("dialog", name="Drain north?")
    asked.get_by_label("Reason").fill("a new disk")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("north gives its events away.")
    assert off == [True], "one change at a time"
    expect(row.get_by_role("button", name="Drain")).to_be_focused()
    assert office.changes == [("POST", "fleet/hosts/north/drain", {"why": "a new disk"})]
    page.locator(".toast").get_by_role("button", name="Keep it").click()
    page.get_by_role("dialog", name="Keep north?").get_by_role("button", name="Keep it").click()
    assert office.heard(2)[1][1] == "fleet/hosts/north/keep"
    said = page.locator(".toast")
    expect(said).to_contain_text("north takes events again.")
    said.get_by_text("north takes events again.").hover()
    page.clock.fast_forward(60_000)
    expect(said, "what somebody points at stays").to_have_count(1)
    page.mouse.move(0, 0)
    page.clock.fast_forward(60_000)
    expect(said).to_have_count(0)


def test_the_last_host_is_not_drained_and_the_page_says_why(consoles: Tabs, office: FakeOperators) -> None:
    story = "south is the last host that takes events. Add another first."
    office.refusing["fleet/hosts/south/drain"] = problem(409, "last_host", story)
    page = come(consoles, "/console/fleet")
    page.get_by_role("button", name="Drain south").click()
    page.get_by_role("dialog").get_by_role("button", name="Drain it").click()
    expect(page.locator(".toast.wrong")).to_contain_text(story)
    forgive(consoles)


def test_an_event_moves_to_a_host_that_takes_some(consoles: Tabs, office: FakeOperators) -> None:
    moves: list[dict[str, str]] = []

    def log(request: Request) -> object:
        moves.append(dict(request.query_params))
        before = int(request.query_params.get("before", 1_000))
        row = fake_records.log()["log"][0]
        return {"log": [row | {"id": before - 1 - n} for n in range(50 if before == 1_000 else 3)]}

    office.answers["fleet/log"] = log
    page = come(consoles, "/console/fleet")
    rows = page.get_by_role("region", name="What moved, and why").locator("tbody tr")
    expect(rows).to_have_count(50)
    page.get_by_role("button", name="Older ones").dblclick()
    expect(rows).to_have_count(53)
    assert [one["before"] for one in moves if "before" in one] == ["950"]
    page.get_by_role("button", name="Move demo").click()
    asked = page.get_by_role("dialog", name="Move demo to another host?")
    options = asked.get_by_role("combobox").locator("option").all_inner_texts()
    assert options == ["south (2 of 4 slots used)"], "not where it is, not a host that drains or is gone"
    asked.get_by_role("button", name="Move it").click()
    method, path, body = office.heard()[0]
    assert (method, path, body["to"]) == ("POST", "events/demo/fleet/move", "south")


def test_a_fleet_that_is_short_or_empty_says_so(consoles: Tabs, office: FakeOperators) -> None:
    office.answers["fleet"] = {"hosts": [], "events": [], "short": "1 slot is missing for demo."}
    office.answers["fleet/log"] = {"log": []}
    page = come(consoles, "/console/fleet")
    expect(page.get_by_text("1 slot is missing for demo.")).to_be_visible()
    expect(page.get_by_role("heading", name="No machine has joined")).to_be_visible()
    expect(page.get_by_text("Nothing has moved.")).to_be_visible()
    last = fake_records.fleet()["hosts"][2] | {"last_resort": True}
    office.answers["fleet"] = {
        "hosts": [last],
        "events": [],
        "short": "only hosts that drain are there: west.",
    }
    row = page.get_by_role("row", name=re.compile("^west"))
    expect(row).to_contain_text("draining, but no other host is there: takes events until one is")


def test_the_audit_is_filtered_by_its_address_and_read_on(consoles: Tabs, office: FakeOperators) -> None:
    asked: list[dict[str, str]] = []

    def rows(request: Request) -> object:
        asked.append(dict(request.query_params))
        before = int(request.query_params.get("before", 1_000))
        row = fake_records.audit()["audit"][0]
        return {"audit": [row | {"id": before - 1 - n} for n in range(50 if before == 1_000 else 3)]}

    office.answers["audit"] = rows
    page = come(consoles, "/console/audit")
    expect(page.locator("tbody tr")).to_have_count(50)
    page.get_by_role("button", name="Older ones").dblclick()
    expect(page.locator("tbody tr")).to_have_count(53)
    expect(page.get_by_role("button", name="Older ones")).to_have_count(0)
    page.get_by_label("Who").fill("anna")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/console/audit\?who=anna$"))
    page.reload()
    expect(page.get_by_label("Who")).to_have_value("anna")
    expect(page.locator("tbody tr")).to_have_count(50)
    older = [one for one in asked if "before" in one]
    assert older == [{"before": "950", "limit": "50"}], "once, however often it is pressed"
    assert asked[-1] == {"who": "anna", "limit": "50"}


def test_a_keys_secret_is_shown_once(consoles: Tabs, office: FakeOperators) -> None:
    page = come(consoles, "/console/keys", "key-of-olga")
    page.get_by_label("Name", exact=True).fill("vera")
    page.get_by_label("Only for these events").fill("demo, matinee")
    page.get_by_role("button", name="Make the key").click()
    shown = page.get_by_role("region", name="The key of vera")
    expect(shown.get_by_label("Operator key")).to_have_value("ok_5_a-secret-that-is-shown-once")
    assert page.evaluate("getSelection().toString()") == "ok_5_a-secret-that-is-shown-once"
    good_for_everybody(page, "a new key")
    wanted = {"name": "vera", "role": "viewer", "expires_in_days": 90, "events": ["demo", "matinee"]}
    assert office.changes == [("POST", "keys", wanted)]
    shown.get_by_role("button", name="I have it").click()
    expect(shown).to_have_count(0)
    page.reload()
    expect(page.get_by_role("row", name=re.compile("^olga"))).to_be_visible()
    assert "a-secret" not in page.content()


def test_a_key_is_rotated_with_time_to_change_over_and_revoked_by_its_name(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = come(consoles, "/console/keys", "key-of-olga")
    page.get_by_role("button", name="New secret for otto").click()
    asked = page.get_by_role("dialog", name="A new secret for otto?")
    asked.get_by_role("button", name="Make a new secret").click()
    expect(page.get_by_label("Operator key")).to_be_visible()
    page.get_by_role("button", name="Revoke olga").click()
    asked = page.get_by_role("dialog", name="Revoke the key olga?")
    expect(asked).to_contain_text("you will be logged out")
    expect(asked.get_by_role("button", name="Revoke the key")).to_be_disabled()
    asked.get_by_label("to confirm").fill("olga")
    asked.get_by_role("button", name="Revoke the key").click()
    expect(page.locator(".toast", has_text="olga was revoked.")).to_be_visible()
    assert office.changes == [
        ("POST", "keys/2/rotate", {"grace_seconds": 86_400}),
        ("POST", "keys/1/revoke", {}),
    ]


def test_keys_are_for_owners(consoles: Tabs) -> None:
    page = come(consoles, "/console/keys", "key-of-otto")
    expect(page.locator("main")).to_contain_text("Your key has the role operator; this page needs owner.")
    expect(page.get_by_role("link", name="Keys")).to_have_count(0)
    good_for_everybody(page, "not allowed")


def test_a_buyer_is_found_and_their_whole_story_is_told_with_reasons(consoles: Tabs) -> None:
    page = come(consoles, "/console/e/demo/buyers")
    page.get_by_role("searchbox").fill("a@example.com")
    page.keyboard.press("Enter")
    expect(page.get_by_text("One buyer fits.")).to_be_visible()
    page.get_by_role("link", name=BUYER).click()
    expect(page.get_by_role("heading", name=BUYER)).to_be_focused()
    requests = page.get_by_role("region", name="Requests and why they were answered so")
    expect(requests).to_contain_text("Seat A-12 went to another buyer: their request arrived 0.3 s earlier.")
    expect(page.get_by_role("region", name="Place in line")).to_contain_text("Number 1,204")
    expect(page.get_by_role("region", name="Payments")).to_contain_text("€50.00")
    expect(page.get_by_text("needs the role owner")).to_be_visible()


def test_buyers_are_named_to_operators_and_owners_alone(consoles: Tabs) -> None:
    page = come(consoles, "/console/e/demo", "key-of-vera")
    expect(page.get_by_role("link", name="Export")).to_be_visible()
    expect(page.get_by_role("link", name="Find a buyer")).to_have_count(0)
    page = come(consoles, STORY, "key-of-vera")
    expect(page.locator("main")).to_contain_text("Your key has the role viewer; this page needs operator.")


def test_nobody_found_says_what_fits(consoles: Tabs, office: FakeOperators) -> None:
    office.answers["events/demo/buyers"] = {"found": [], "more": False}
    page = come(consoles, "/console/e/demo/buyers?find=nobody")
    expect(page.get_by_role("heading", name="Nobody found")).to_be_visible()
    office.answers["events/demo/buyers"] = problem(400, "find_too_short", "Write three characters or more.")
    page.get_by_role("searchbox").fill("no")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Write three characters or more.")).to_be_visible()
    consoles.wrong.clear()


def test_a_hold_is_taken_from_its_buyer_after_one_question(consoles: Tabs, office: FakeOperators) -> None:
    page = come(consoles, STORY)
    page.get_by_role("button", name="Take it from them…").click()
    asked = page.get_by_role("dialog", name="Take hold 1114115 from this buyer?")
    asked.get_by_role("button", name="Take it").click()
    method, path, body = office.heard()[0]
    assert (method, path) == ("POST", "events/demo/holds/1114115/release")
    assert body["why"]


def test_a_buyers_data_is_erased_by_an_owner_who_types_their_id(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = come(consoles, STORY, "key-of-olga")
    page.get_by_role("button", name="Erase…").click()
    asked = page.get_by_role("dialog", name="Erase this buyer's personal data?")
    asked.get_by_label("to confirm").fill("somebody")
    expect(asked.get_by_role("button", name="Erase for good")).to_be_disabled()
    asked.get_by_label("to confirm").fill(BUYER)
    asked.get_by_label("Reason").fill("asked by mail")
    office.answers[f"events/demo/buyers/{BUYER}"] = problem(404, "unknown_buyer", "Nobody is known by that.")
    asked.get_by_role("button", name="Erase for good").click()
    expect(page.get_by_text("under a name that means nobody")).to_be_visible()
    expect(page.get_by_text(BUYER)).to_have_count(0)
    assert office.changes == [("POST", "buyers/erase", {"buyer": BUYER, "why": "asked by mail"})]


@pytest.mark.parametrize(("key", "files"), [("key-of-otto", 7), ("key-of-olga", 11)])
def test_files_that_name_people_are_for_owners(consoles: Tabs, key: str, files: int) -> None:
    page = come(consoles, "/console/e/demo/export", key)
    links = page.locator("a[download]")
    expect(links).to_have_count(files)
    hrefs = [link.get_attribute("href") or "" for link in links.all()]
    assert any("orders" in href for href in hrefs) is (key == "key-of-olga")
    assert all(href.startswith("/v1/operator/events/demo/") for href in hrefs)
