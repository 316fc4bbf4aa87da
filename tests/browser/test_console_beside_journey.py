"""Beside a sale, and all of it is real: seats sold by hand and some taken back, a row at another price,
codes that let buyers in, a look that buyers see, rules that are changed, and the event called off with its
money and orders counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from onsale.processes import Stack
from tests.browser.conftest import Profile
from tests.browser.live_office import call, launch, log_in, new_slug
from tests.browser.live_stack import SOON_TRUE_MAX

pytestmark = pytest.mark.browser
TAKEN_IN = "async (path) => (await (await fetch(path)).json()).taken_in"


def dialog(page: Page) -> Locator:
    return page.locator("dialog.asking")


def await_public(page: Page, stack: Stack, path: str, true: Callable[[Any], object]) -> None:
    """Until buyers are told so: their gateway hears of it by the owner's next batch or its next look."""
    told: Any = None
    for _ in range(SOON_TRUE_MAX):
        told = httpx.get(f"{stack.base_url}/v1/events/{path}", timeout=30).json()
        if true(told):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"buyers are still told {told}")


def test_an_event_is_sold_by_hand_dressed_and_called_off(profile: Profile, stack: Stack) -> None:
    slug = launch(stack, "by-hand", 60)
    tabs, page = log_in(profile, stack, stack.operator_key, f"/console/e/{slug}/sales")
    page.get_by_label("How many together").fill("3")
    page.get_by_role("button", name="Pick the best free").click()
    page.get_by_role("button", name="Sell…").click()
    dialog(page).get_by_role("button", name="Sell it").click()
    expect(page.get_by_label("Sold last")).to_contain_text("for door; to be taken")
    await_public(page, stack, f"{slug}/seats", lambda told: told["states"].count("s") == 3)
    lately = page.get_by_role("region", name="By hand, lately")
    lately.get_by_role("button", name="Take back…").click()
    dialog(page).get_by_role("checkbox").first.uncheck()
    dialog(page).get_by_role("button", name="Take it back").click()
    expect(lately.locator("tbody tr")).to_have_count(2)
    await_public(page, stack, f"{slug}/seats", lambda told: told["states"].count("s") == 1)
    lately.get_by_role("button", name="Take back…").click()
    expect(dialog(page).get_by_role("checkbox")).to_have_count(1)
    page.keyboard.press("Escape")

    page.goto(f"{stack.base_url}/console/e/{slug}/prices")
    page.get_by_role("button", name=re.compile("^Pick row")).click()
    page.get_by_role("radio").last.check()
    page.get_by_role("button", name=re.compile("^Move .* seats…")).click()
    dialog(page).get_by_role("button", name="Make it").click()
    expect(page.locator(".toast")).to_contain_text(" now.")
    offered = call(stack, "GET", f"events/{slug}/prices")
    assert (offered["version"], offered["fees_settled"], offered["may_move"]) == (1, True, "any")
    page.wait_for_function(TAKEN_IN, arg=f"/v1/operator/events/{slug}/prices", polling=100)
    expect(page.get_by_text("A move is on its way.")).to_have_count(0)

    page.goto(f"{stack.base_url}/console/e/{slug}/codes")
    page.get_by_label("For whom").fill("the band")
    page.get_by_label("How many codes").fill("3")
    page.get_by_role("button", name="Make them").click()
    shown = page.get_by_role("region", name="3 codes for the band").get_by_role("textbox")
    expect(shown).to_have_value(re.compile(r"^(\w{4}-){3}\w{4}\n"))
    page.get_by_label("Codes, one a line").fill(shown.input_value().split("\n")[0])
    page.get_by_role("button", name="Withdraw them…").click()
    dialog(page).get_by_role("button", name="Withdraw them").click()
    expect(page.get_by_role("row", name=re.compile("^the band"))).to_contain_text("1; 1 uses were left")

    page.goto(f"{stack.base_url}/console/e/{slug}/look")
    page.get_by_label("Your name").fill("The Hall")
    page.get_by_label("Your colour").fill("#8a1c5b")
    page.get_by_role("textbox", name=re.compile("The sale begins soon")).fill("Soon")
    page.get_by_role("button", name="Save: buyers see it").click()
    expect(page.locator(".toast")).to_contain_text("Buyers see it so within a second.")
    look = {"name": "The Hall", "accent": "#8a1c5b", "texts": {"lobby.title": "Soon"}}
    assert call(stack, "GET", f"events/{slug}/room")["look"] == look

    page.goto(f"{stack.base_url}/console/e/{slug}/rules")
    page.get_by_label("Seats are held for").fill("5")
    most = page.get_by_label("Most tickets a buyer")
    most.fill("2000")
    page.get_by_role("button", name="Save 2 changes…").click()
    dialog(page).get_by_role("button", name="Change them").click()
    expect(most).to_have_accessible_description(re.compile("^Most tickets a buyer must be 1 to 1,000."))
    most.fill("6")
    page.get_by_label("It takes place").fill("2031-06-01T20:00")
    page.get_by_role("button", name="Save 3 changes…").click()
    expect(dialog(page)).to_contain_text("8 min →becomes 5 min")
    call(stack, "PATCH", f"events/{slug}/policy", {"hold_ttl_seconds": 360, "who": "anna"})
    dialog(page).get_by_role("button", name="Change them").click()
    expect(dialog(page)).to_contain_text("6 min →becomes 5 min")
    dialog(page).get_by_role("button", name="Do mine all the same").click()
    expect(page.locator(".toast")).to_contain_text("3 rules are changed.")
    terms = call(stack, "GET", f"events/{slug}")["event"]
    assert (terms["hold_ttl_seconds"], terms["seats_per_buyer_max"]) == (300, 6)
    page.get_by_label("Time to choose", exact=True).fill("10")
    page.get_by_role("button", name="Save 1 change…").click()
    dialog(page).get_by_role("button", name="Change it").click()
    expect(page.locator(".toast").last).to_contain_text("Time to choose: 10 min.")
    assert call(stack, "GET", f"events/{slug}/room")["room"]["terms"]["shopping_seconds"] == 600
    page.get_by_label("Buyers may return tickets").check()
    page.get_by_role("button", name="Save 1 change…").click()
    dialog(page).get_by_role("button", name="Change it").click()
    expect(page.locator(".toast").last).to_contain_text("Buyers may return tickets: yes.")
    tabs.wrong[:] = [said for said in tabs.wrong if not re.search("400|409", said)]

    other = new_slug("other")
    event = {"slug": other, "name": "The other date"}
    call(
        stack,
        "POST",
        "launches",
        {"event": event, "make": {"kind": "theatre", "seats": 60}, "begin": "draft"},
    )
    page.goto(f"{stack.base_url}/console/e/{slug}/off")
    expect(page.get_by_role("region", name="What it would cost")).to_contain_text("1 order")
    page.get_by_role("combobox", name="To", exact=True).select_option(other)
    expect(page.get_by_text("All sold seats (1 seat) are free in the other event, too.")).to_be_visible()
    page.get_by_role("button", name="Cancel the event…").click()
    dialog(page).get_by_label("to confirm").fill(slug)
    dialog(page).get_by_label("Why").fill("a fire")
    dialog(page).get_by_role("button", name="Cancel the event").click()
    canceled = page.get_by_role("region", name="It is canceled")
    expect(canceled).to_contain_text("a fire")
    for _ in range(2):  # a piece each, as whoever goes on with it does
        call(stack, "POST", f"events/{slug}/cancel", {"why": "a fire"})
    expect(canceled.get_by_role("status")).to_contain_text("Done")
    await_public(page, stack, slug, lambda told: told["called_off"] and told["called_off"]["to"] is None)
    assert call(stack, "GET", f"events/{slug}/calling-off")["refunded"] == 1
    page.reload()
    expect(canceled).to_be_visible()
    tabs.close()
    assert tabs.wrong == []
