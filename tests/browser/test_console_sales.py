"""Selling by hand in the console: seats picked, sold once, taken back; what is gone meanwhile is said."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser import fake_office
from tests.browser.axe import good_for_everybody
from tests.browser.conftest import Tabs
from tests.browser.fake_operators import FakeOperators, problem
from tests.browser.fake_records import BUYER
from tests.browser.test_access import BROKEN, NAMELESS
from tests.browser.test_console_shell import come, forgive

pytestmark = pytest.mark.browser
SALES = "/console/e/demo/sales"
ORDER = "900000000000000001"


@pytest.fixture(autouse=True)
def house(office: FakeOperators) -> None:
    office.letters = fake_office.letters()
    office.answers["events/demo/audit"] = fake_office.by_hand()


def test_seats_and_places_are_picked_sold_once_and_a_part_is_taken_back(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = come(consoles, SALES, width=360)
    sell = page.get_by_role("button", name="Sell…")
    expect(sell).to_be_disabled()
    expect(page.get_by_role("button", name=re.compile("seat 1: on hold"))).to_be_disabled()
    page.get_by_role("button", name="Pick the best free").click()
    page.get_by_role("button", name=re.compile("seat 2: off sale")).click()
    page.get_by_role("spinbutton", name=re.compile("^Floor")).fill("2")
    expect(page.locator(".sale-sum")).to_have_text("€402.50 5 places")
    assert page.evaluate(BROKEN) == []
    assert page.evaluate(NAMELESS) == []
    good_for_everybody(page, "a sale by hand")
    seats = ["stalls-A-3", "stalls-A-4", "stalls-A-2"]
    sold = fake_office.order(ORDER, seats=seats, areas={"floor": 2})
    office.answers["POST events/demo/sales"] = sold
    sell.click()
    asked = page.get_by_role("dialog", name="Sell this to door?")
    expect(asked).to_contain_text("To be taken by you: €402.50")
    asked.get_by_role("button", name="Sell it").dblclick()
    expect(page.get_by_label("Sold last")).to_contain_text(f"Order {ORDER}")
    [(method, path, body)] = office.changes
    assert (method, path) == ("POST", "events/demo/sales")
    assert re.fullmatch(r"console-[\d-]+", body.pop("reference")), "two alike are told apart"
    areas = {"floor": 2}
    wanted = {"to": "door", "kind": "box_office", "seats": seats, "areas": areas, "why": "in the console"}
    assert body == wanted
    page.locator(".toast").get_by_role("button", name="Take it back").click()
    asked = page.get_by_role("dialog", name=f"Take order {ORDER} back?")
    asked.get_by_label("stalls-A-3").uncheck()
    asked.get_by_label("floor, of 2").fill("1")
    asked.get_by_label("Keep it off sale").check()
    good_for_everybody(page, "taking back")
    office.answers[f"POST events/demo/orders/{ORDER}/return"] = sold | {
        "seats": ["stalls-A-3"], "areas": {"floor": 1},
    }  # fmt: skip
    asked.get_by_role("button", name="Take it back").click()
    expect(page.locator(".toast").last).to_contain_text("has stalls-A-3, 1 × floor left")
    assert office.heard(2)[1][2] == {
        "seats": ["stalls-A-4", "stalls-A-2"], "areas": {"floor": 1}, "quantity": 5, "block": True,
        "why": "in the console",
    }  # fmt: skip


def test_what_a_colleague_sold_meanwhile_is_said_and_a_refusal_keeps_what_was_picked(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = come(consoles, SALES)
    page.get_by_role("button", name="Pick the best free").click()
    page.get_by_role("button", name="Given for free").click()
    page.get_by_label("For whom").fill("the press")
    story = "stalls-A-3 is not free: bob has it."
    office.refusing["events/demo/sales"] = problem(409, "seats_not_free", story)
    give = page.get_by_role("button", name="Give…")
    give.click()
    office.letters = office.letters[:14] + "s" + office.letters[15:]
    page.get_by_role("dialog", name="Give this to the press?").get_by_role("button", name="Give it").click()
    expect(page.locator(".toast.wrong")).to_contain_text(story)
    gone = page.get_by_role("list", name="Picked").locator(".gone")
    expect(gone).to_contain_text("somebody has it now")
    give.click()
    expect(page.get_by_role("alert").filter(has_text="first: somebody has it.")).to_be_visible()
    good_for_everybody(page, "gone meanwhile")
    gone.get_by_role("button").click()
    office.refusing.clear()
    office.answers["POST events/demo/sales"] = fake_office.order(buyer="the press")
    give.click()
    page.get_by_role("dialog").get_by_role("button", name="Give it").click()
    expect(page.get_by_label("Sold last")).to_contain_text("nothing to be taken")
    first, second = (body for _, _, body in office.heard(2))
    assert len(second["seats"]) == 1
    assert first["reference"] == second["reference"], "until it is sold it is the same sale"
    forgive(consoles)


def test_orders_sold_before_and_any_other_are_taken_back_as_they_stand(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = come(consoles, SALES)
    lately = page.get_by_role("region", name="By hand, lately")
    expect(lately.locator("tbody tr")).to_have_count(2)
    lately.get_by_role("button", name="Take back…").click()
    asked = page.get_by_role("dialog")
    expect(asked).to_contain_text("stalls-A-5, stalls-A-6, 2 × floor of press.")
    taken_back = "events/demo/orders/900000000000000007/return"
    office.answers[f"POST {taken_back}"] = fake_office.order(state="refunded")
    asked.get_by_role("button", name="Take it back").click()
    assert office.heard()[0][1:] == (taken_back, {"quantity": 4, "block": False, "why": "in the console"})
    expect(page.locator(".toast")).to_contain_text("Order 900000000000000007 was taken back.")
    number = page.get_by_label("The order's number")
    number.fill("77")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nobody has an order with the number 77 that stands.")).to_be_visible()
    number.fill("1114090")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Take order 1114090 back?")).to_contain_text(f"C-1 of {BUYER}")
    page.get_by_role("dialog").get_by_role("button", name="Take it back").click()
    assert office.heard(2)[1][1] == "events/demo/orders/1114090/return"


def test_a_viewer_sees_what_was_sold_and_cannot_sell(consoles: Tabs) -> None:
    page = come(consoles, SALES, "key-of-vera")
    expect(page.get_by_role("region", name="By hand, lately")).to_contain_text("press")
    expect(page.get_by_text("Selling by hand needs the role operator.")).to_be_visible()
    expect(page.get_by_role("button")).to_have_text(["Log out"])
