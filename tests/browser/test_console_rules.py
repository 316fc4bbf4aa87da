"""The rules of an event in the console: said in words, changed from what was seen and as far as they can be;
only what was changed is sent, and who was slower is told who was quicker."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser import fake_office
from tests.browser.axe import good_for_everybody
from tests.browser.conftest import Tabs
from tests.browser.fake_launches import Launch
from tests.browser.fake_operators import FakeOperators, problem, told
from tests.browser.test_access import BROKEN, NAMELESS
from tests.browser.test_console_shell import come, forgive

pytestmark = pytest.mark.browser
RULES = "/console/e/demo/rules"
WHY = "in the console"
SAID = """[...document.querySelectorAll(".rules-said > div")].map((line) =>
  [line.querySelector("b").innerText, line.querySelector("dd").innerText])"""


@pytest.fixture
def demo(office: FakeOperators) -> Launch:
    """It sells, with a limit of its first category."""
    prices = fake_office.prices(office.plan)
    office.answers |= {f"events/{slug}/prices": prices for slug in ("demo", "matinee")}
    tour = {"slug": "nightfall", "name": "Nightfall", "seats_per_buyer_max": 12}
    office.public |= {"demo": fake_office.public("demo", tour=tour), "matinee": fake_office.public("matinee")}
    found = office.of("demo")
    assert found is not None
    found.policy["limits"] = {"A": 4}
    return found


def save(page: Page, changes: int) -> None:
    words = f"Save {changes} change{'' if changes == 1 else 's'}…"
    page.get_by_role("button", name=words).click()


def test_a_viewer_reads_every_rule_in_words(consoles: Tabs, demo: Launch) -> None:
    demo.policy |= {"hold_ttl_seconds": 90, "payment": "required", "extensions_max": 0}
    demo.terms |= {"begin_seconds": 3_600, "more_begin_max": 2}
    page = come(consoles, RULES, "key-of-vera", width=360)
    expect(page.get_by_text("Changing a rule needs the role operator.")).to_be_visible()
    expect(page.get_by_role("heading", name="Keeping programs out")).to_be_visible()
    said = dict(page.evaluate(SAID))
    assert said == {
        "Seats are held for": "1 min 30 s", "An offer is kept for": "10 min",
        "Buyers may extend a hold": "never", "Each time by": "2 min", "Most tickets a buyer": "8",
        "Most of A": "4", "Most of B": "no limit", "Most of C": "no limit",
        "Across the dates of its tour": "12", "How it is bought": "by paying",
        "Money that comes too late": "goes back", "Buyers may return tickets": "no",
        "Buyers may give tickets to somebody else": "no", "It takes place": "not said yet",
        "Its lobby opens": "by hand", "The sale opens": "by hand",
        "Refuse at once what is known to be gone": "yes", "The page says how much is sold": "no",
        "Who is first": "a draw among all who joined",
        "Buyers file a wish before, decided when the sale opens": "no", "Presale codes": "", "The draw": "",
        "Pace": "900 a minute", "Most inside at a time": "2,000", "Time to come in": "1 h",
        "More time to come in": "twice", "Time to choose": "15 min", "More time to choose": "3 times",
        "Proof of work": "when many join", "Many join above": "600 a minute", "Human check": "",
        "Joins from one address": "", "Shops behind the room": "",
    }  # fmt: skip
    expect(page.get_by_role("textbox")).to_have_count(0)
    expect(page.get_by_role("button")).to_have_count(1)
    good_for_everybody(page, "rules in words")


def test_only_what_was_changed_is_sent_once_it_was_asked_and_can_be_taken_back(
    consoles: Tabs, office: FakeOperators, demo: Launch
) -> None:
    page = come(consoles, RULES)
    hold = page.get_by_label("Seats are held for")
    hold.fill("1,5")
    expect(page.get_by_text("So long a buyer has to pay. Now: 8 min.")).to_be_visible()
    page.get_by_label("Most of A").fill("2")
    page.get_by_label("Buyers may return tickets").check()
    page.get_by_label("Each time by").fill("60")
    page.get_by_label("Each time by").fill("120")
    assert page.evaluate(BROKEN) == []
    assert page.evaluate(NAMELESS) == []
    good_for_everybody(page, "rules that are changed")
    save(page, 3)
    asked = page.get_by_role("dialog", name="Change 3 rules of demo?")
    expect(asked).to_contain_text("1,310 places are on hold, 1,904 buyers inside, 41,877 in line")
    expect(asked.get_by_role("listitem").nth(0)).to_contain_text("8 min →becomes 1 min 30 s")
    expect(asked).to_contain_text("What is on hold now (1,310 places) keeps its end.")
    expect(asked.get_by_role("listitem").nth(1)).to_contain_text("who has more keeps it")
    good_for_everybody(page, "before and after")
    page.keyboard.press("Escape")
    save(page, 3)
    page.keyboard.press("Enter")
    toast = page.locator(".toast")
    expect(toast).to_contain_text("3 rules are changed.")
    expect(page.get_by_role("button", name="Nothing is changed")).to_have_count(2)
    expect(page.get_by_role("heading", name="Rules", exact=True)).to_be_focused()
    expect(hold).to_have_value("1.5")
    toast.get_by_role("button", name="As it was before").click()
    expect(hold).to_have_value("8")
    terms = {"hold_ttl_seconds": 90, "returns_allowed": True, "limits": {"A": 2}}
    was = {"hold_ttl_seconds": 480, "returns_allowed": False, "limits": {"A": 4}}
    policy = demo.policy | {"lobby_opens_at": None, "opens_at": None}
    assert [(path, body) for _, path, body in office.heard(2)] == [
        ("events/demo/policy", terms | {"seen": policy, "why": WHY}),
        ("events/demo/policy", was | {"seen": policy | terms, "why": WHY}),
    ]
    inside = page.get_by_label("Most inside at a time")
    inside.fill("1000")
    save(page, 1)
    asked = page.get_by_role("dialog", name="Change 1 term of its waiting room of demo?")
    expect(asked).to_contain_text("1,904 are inside now: nobody is sent away")
    asked.get_by_label("Reason").fill("the provider is slow")
    page.keyboard.press("Enter")
    expect(toast.last).to_contain_text("Most inside at a time: 1,000.")
    assert office.changes[2][1:] == (
        "events/demo/room", {"shopping_max": 1_000, "edition": 4, "why": "the provider is slow"},
    )  # fmt: skip
    assert demo.terms["shopping_max"] == 1_000


def test_who_was_slower_is_told_who_changed_what_and_may_do_theirs_all_the_same(
    consoles: Tabs, office: FakeOperators, demo: Launch
) -> None:
    page = come(consoles, RULES, width=360)
    hold, pace = page.get_by_label("Seats are held for"), page.get_by_label("Pace")
    rows = [
        fake_office.row(92, {"change": "message", "text": "Soon"}),
        fake_office.row(91, {"change": "policy", "terms": {"hold_ttl_seconds": 300}}),
    ]
    office.answers["events/demo/audit"] = {"audit": rows}
    asked = page.get_by_role("dialog", name=re.compile("^Change 1 "))
    hold.fill("6")
    save(page, 1)
    expect(asked).to_contain_text("8 min →becomes 6 min")
    demo.policy |= {"hold_ttl_seconds": 300}
    page.keyboard.press("Enter")
    slower = page.get_by_role("dialog", name="Somebody was quicker")
    expect(slower).to_contain_text(re.compile("otto changed it .*: set time of a hold to 300 s"))
    expect(slower.get_by_role("listitem")).to_contain_text("5 min →becomes 6 min")
    assert demo.policy["hold_ttl_seconds"] == 300
    good_for_everybody(page, "somebody was quicker")
    slower.get_by_role("button", name="Do mine all the same").click()
    expect(page.locator(".toast")).to_contain_text("Seats are held for: 6 min.")
    sent = [(body["hold_ttl_seconds"], body["seen"]["hold_ttl_seconds"]) for _, _, body in office.heard(2)]
    assert sent == [(360, 480), (360, 300)]
    expect(page.get_by_role("button", name="Nothing is changed")).to_have_count(2)
    pace.fill("700")
    save(page, 1)
    expect(asked).to_be_visible()
    demo.facts["pace"] = 700
    demo.edition += 2
    page.keyboard.press("Enter")
    expect(page.locator(".toast").last).to_contain_text("It is as you want it, so nothing more was done.")
    pace.fill("")
    save(page, 1)
    expect(asked).to_be_visible()
    demo.edition += 1
    page.keyboard.press("Enter")
    expect(slower).to_contain_text("told all who wait: “Soon”")
    slower.get_by_role("button", name="Leave it as it is").click()
    expect(pace).to_have_value("")
    expect(page.get_by_role("button", name="Save 1 change…")).to_be_focused()
    assert [body["edition"] for _, _, body in office.heard(4)[2:]] == [4, 6]
    forgive(consoles)


def test_what_cannot_be_is_said_beside_its_field_and_what_is_settled_has_none(
    consoles: Tabs, office: FakeOperators, demo: Launch
) -> None:
    page = come(consoles, RULES)
    expect(page.get_by_label("Proof of work")).to_have_value("busy")
    for label in ("How it is bought", "Who is first", "Buyers file a wish before", "Most of B"):
        expect(page.locator(".rules-fields").get_by_label(label)).to_have_count(0)
    expect(page.get_by_text("Which categories have a limit is settled since the sale began.")).to_have_count(
        2
    )
    hold, limit = page.get_by_label("Seats are held for"), page.get_by_label("Most of A")
    hold.fill("soon")
    limit.fill("")
    save(page, 2)
    expect(hold).to_be_focused()
    expect(page.get_by_role("alert").filter(has_text="2 things are to be mended")).to_be_visible()
    assert office.changes == [], "what is no number is not sent"
    expect(hold).to_have_accessible_description(re.compile("must be a number, such as 8 or 1.5."))
    hold.fill("2000")
    limit.fill("9")
    wrong = {
        "type": "about:blank", "status": 400, "code": "invalid_event", "detail": "…", "errors": [
            {"field": "hold_ttl_seconds", "says": "must be 1 to 86400"},
            {"field": "limits.A", "says": "must be at most seats_per_buyer_max, 8"},
        ],
    }  # fmt: skip
    office.refusing["events/demo/policy"] = told(wrong, 400)
    save(page, 2)
    page.keyboard.press("Enter")
    expect(hold).to_have_accessible_description(re.compile("^Seats are held for must be 1 s to 24 h."))
    expect(limit).to_have_accessible_description(re.compile("at most what a buyer may have in all, 8."))
    expect(hold).to_be_focused()
    good_for_everybody(page, "a rule that cannot be")
    story = "The sale has begun with limits of these categories: 'A'. Their numbers can be changed."
    office.refusing["events/demo/policy"] = problem(409, "limits_fixed", story)
    hold.fill("8")
    save(page, 1)
    page.keyboard.press("Enter")
    expect(page.locator(".toast.wrong")).to_contain_text(story)
    expect(limit).to_have_value("9")
    page.goto(f"{consoles.url}/console/e/matinee/rules")
    expect(page.get_by_role("heading", name="It has no waiting room")).to_be_visible()
    page.get_by_label("How it is bought").select_option("required")
    page.get_by_label("Most of B").fill("0")
    page.get_by_label("It takes place").fill("2031-06-01T20:00")
    expect(page.get_by_label("Its lobby opens")).to_have_count(0)
    page.get_by_label("The sale opens").fill("")
    save(page, 4)
    asked = page.get_by_role("dialog")
    expect(asked).to_contain_text("It is a draft: nobody holds or waits")
    expect(asked).to_contain_text("Not by itself any more: the sale opens when somebody opens it.")
    page.keyboard.press("Enter")
    expect(page.locator(".toast").last).to_contain_text("4 rules are changed.")
    expect(page.locator(".toast").last.get_by_role("button", name="As it was before")).to_have_count(0)
    expect(page.get_by_label("It takes place")).to_have_value("2031-06-01T20:00")
    body = office.changes[-1][2]
    assert (body["payment"], body["limits"], body["starts_at"][-1]) == ("required", {"B": 0}, "Z")
    assert (body["opens_at"], body["seen"]["opens_at"]) == (None, "2030-12-30T20:00:00.000Z")
    forgive(consoles)
