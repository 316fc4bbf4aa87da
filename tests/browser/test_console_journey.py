"""A launch from the console's side, and all of it is real: created, rehearsed, sold, scaled, moved, its
worker killed; who is quicker, who may only look; closed, taken away as files, and a buyer erased.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from onsale.processes import Stack
from tests.browser.conftest import Profile, Tabs
from tests.browser.live_office import Crowd, call, launch, log_in, new_key, new_slug, running_office

pytestmark = pytest.mark.browser

PLAN = "guid,section,row,number,category,price\n" + "".join(
    f"{row}-{number},Stalls,{row},{number},{'Gold' if row < 'C' else 'Silver'},{90 if row < 'C' else 50}\n"
    for row in "ABCDEF"
    for number in range(1, 21)
)
REHEARSAL_MS_MAX = 280_000
TWO = {"best": {"quantity": 2}}


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with running_office() as running:
        yield running


def dialog(page: Page) -> Locator:
    return page.locator("dialog.asking")


def confirm(page: Page, act: str, said: str | re.Pattern[str]) -> None:
    """The dialog's one question is answered, and what was done is told."""
    dialog(page).get_by_role("button", name=act, exact=True).click()
    expect(page.locator(".toast").last).to_contain_text(said)


def move(page: Page, act: str, said: str) -> None:
    page.locator("main").get_by_role("button", name=act, exact=True).click()
    confirm(page, act, said)


def number(page: Page, what: str) -> Locator:
    return page.locator(".numbers-card .numbers > div", has=page.get_by_text(what, exact=True)).locator("dd")


def step(page: Page, name: str) -> None:
    page.get_by_role("navigation", name="Steps").get_by_role("button", name=name).click()
    expect(page.get_by_role("heading", name=name, level=2)).to_be_focused()


def rows_of(page: Page, what: str, form: str) -> str:
    """The file that a link of the export gives."""
    with page.expect_download() as loading:
        page.get_by_role("link", name=f"{form} of {what}").click()
    return loading.value.path().read_text(encoding="utf-8")


def test_an_event_is_created_rehearsed_launched_sold_closed_and_taken_away(
    profile: Profile, stack: Stack
) -> None:
    tabs, page = log_in(profile, stack, stack.operator_key, accept_downloads=True)
    slug = new_slug("gala")
    page.get_by_role("link", name="New launch").click()
    page.get_by_label("Name", exact=True).fill("Spring Gala")
    page.get_by_label("Address").fill(slug)
    page.get_by_label("Seating plan", exact=True).set_input_files(
        {"name": "hall.csv", "mimeType": "text/csv", "buffer": PLAN.encode()}
    )
    expect(page.get_by_role("img", name="Drawing of")).to_be_visible()
    step(page, "Prices")
    page.get_by_label("Gold").fill("120.50")
    step(page, "Times")
    page.get_by_label("It takes place").fill("2040-06-01T20:00")
    step(page, "Rules")
    page.get_by_label("How it is bought").select_option("none")
    page.get_by_label("Most tickets a buyer").fill("4")
    step(page, "Waiting room")
    page.get_by_label("Pace").fill("60")
    step(page, "Texts")
    page.get_by_label("A message to all who wait").fill("Doors at seven.")
    step(page, "Look over")
    page.get_by_role("button", name="Create as draft").click()
    expect(page.get_by_role("heading", name="Spring Gala is made")).to_be_visible()

    page.get_by_role("button", name="Rehearse it").click()
    page.get_by_label("Buyers that storm it").fill("60")
    page.get_by_label("Buyers you expect").fill("20000")
    page.get_by_role("button", name="Start the rehearsal").click()
    expect(page.get_by_role("heading", name="Under way")).to_be_visible()
    expect(page.get_by_role("heading", name="What it takes")).to_be_visible(timeout=REHEARSAL_MS_MAX)
    expect(page.locator(".takes")).to_contain_text("20,000 buyers need")
    page.get_by_role("button", name="Use this pace").click()
    expect(page.get_by_text("a minute now.")).to_be_visible()
    pace = call(stack, "GET", f"events/{slug}/room")["room"]["terms"]["pace"]
    assert pace != 60

    page.get_by_role("button", name="Back to the launch").click()
    expect(page.get_by_label("Pace")).to_have_value(f"{pace:,}")
    expect(page.locator(".said")).to_contain_text("Doors at seven.")
    move(page, "Open the lobby", "The lobby is open.")
    with Crowd(stack, slug) as crowd:
        buyers = crowd.join(40)
        expect(number(page, "wait in line")).to_contain_text("40")
        move(page, "Open the sale", "The sale is open.")
        expect(page.locator(".launch-head .state")).to_have_text("on sale")
        assert set(crowd.shop(buyers[:25], TWO, buy=True)) == {"held"}
        assert set(crowd.shop(buyers[25:], TWO, buy=False)) == {"held"}
        expect(number(page, "on hold")).to_contain_text("30")
        expect(page.locator(".huge")).to_have_text("41.6 %")
        expect(page.locator(".revenue")).to_contain_text("€")
        expect(number(page, "let in so far")).to_contain_text("40")
        expect(page.get_by_role("region", name="Where buyers drop off")).to_contain_text("25")
        expect(page.get_by_role("img", name=re.compile("Requests a second over time"))).to_be_visible()
        page.get_by_text("The same as a table").click()
        table = page.get_by_role("region", name="Table of what is charted").locator("tbody")
        expect(table.locator("tr").first).to_be_visible()
        page.get_by_role("link", name="Launches").click()
        expect(page.locator(".launch-card", has_text="Spring Gala")).to_contain_text("41.6 %")
        page.get_by_role("link", name="Spring Gala").click()

    page.get_by_role("button", name="Close the sale").click()
    dialog(page).get_by_role("textbox").fill(slug)
    confirm(page, "Close the sale", "The sale is closed.")
    expect(page.locator(".launch-head .state")).to_have_text("closed")
    page.get_by_role("link", name="Export").click()
    orders = list(csv.DictReader(io.StringIO(rows_of(page, "Orders", "CSV"))))
    assert len(orders) == 25
    assert {one["buyer"] for one in orders} == {name for name, _ in buyers[:25]}
    assert {one["quantity"] for one in orders} == {"2"}
    seats = json.loads(rows_of(page, "Seats", "JSON"))
    assert sum(seat["state"] == "sold" for seat in seats) == 50
    decisions = list(csv.DictReader(io.StringIO(rows_of(page, "Decisions", "CSV"))))
    assert sum(one["outcome"] == "held" for one in decisions) == 40

    buyer = buyers[0][0]
    page.goto(f"{stack.base_url}/console/e/{slug}/buyers?find={buyer}")
    page.get_by_role("link", name=buyer, exact=True).click()
    page.get_by_role("button", name="Erase…").click()
    dialog(page).get_by_label("to confirm").fill(buyer)
    dialog(page).get_by_label("Reason").fill("asked by mail")
    confirm(page, "Erase for good", "Their personal data is erased.")
    page.goto(f"{stack.base_url}/console/e/{slug}/export")
    orders = list(csv.DictReader(io.StringIO(rows_of(page, "Orders", "CSV"))))
    assert len(orders) == 25
    assert buyer not in {one["buyer"] for one in orders}

    page.goto(f"{stack.base_url}/console/audit")
    log = page.locator("main")
    for said in (
        "made the event", "set pace to", "brought the sale from draft to lobby",
        "from lobby to open", "from open to closed", "asked by mail",
    ):  # fmt: skip
        expect(log).to_contain_text(said)
    tabs.close()
    assert tabs.wrong == [], "the console wrote errors to the browser's"


def test_workers_are_scaled_moved_and_killed_and_the_page_tells(profile: Profile, stack: Stack) -> None:
    slug = launch(stack, "hot", pace=600)
    tabs, page = log_in(profile, stack, stack.operator_key, f"/console/e/{slug}")
    page.get_by_role("combobox", name="Workers").select_option("2")
    page.get_by_label("Of its own or shared").select_option("hot")
    page.get_by_role("button", name="Scale", exact=True).click()
    expect(page.locator(".toast").last).to_contain_text("always workers of its own")
    decides = page.get_by_role("region", name="Who decides")
    expect(decides).to_contain_text("ready to take over at once")
    owner = call(stack, "GET", f"events/{slug}/launch")["launch"]["owner"]
    other = "south" if owner["host"] == "north" else "north"
    page.get_by_text("Move it to another host").click()
    page.get_by_label("Host").select_option(other)
    page.get_by_role("button", name="Move", exact=True).click()
    confirm(page, "Move it", f"It moves to {other}.")
    expect(decides.locator("dd").first).to_contain_text(f"on {other}")
    expect(decides).to_contain_text("ready to take over at once")

    process = call(stack, "GET", f"events/{slug}/launch")["launch"]["owner"]["process"]
    with Crowd(stack, slug) as crowd:
        buyers = crowd.join(10)
        os.kill(next(one.pid for one in stack.workers() if one.process == process), signal.SIGKILL)
        assert set(crowd.shop(buyers, TWO, buy=True)) == {"held"}
    expect(decides.locator("dd").first).not_to_contain_text(process)
    expect(decides.locator("dd").first).not_to_contain_text("nobody")
    expect(decides).to_contain_text("ready to take over at once")
    expect(number(page, "workers")).to_contain_text("2 of 2")
    page.get_by_role("link", name="See the whole fleet").click()
    expect(page.get_by_role("region", name="Hosts")).to_contain_text("takes events")
    sign = page.get_by_role("region", name="Hosts").get_by_text("takes events").first.bounding_box()
    assert sign is not None
    assert sign["height"] < sign["width"], "a state is read in words, not letter by letter"
    expect(page.get_by_role("region", name="What moved, and why")).to_contain_text(f"{slug} was scaled")
    expect(page.get_by_role("region", name="What moved, and why")).to_contain_text("lost")
    tabs.close()
    assert tabs.wrong == [], "the console wrote errors to the browser's"


def test_levers_reach_buyers_and_who_is_slower_is_told_how_it_is(profile: Profile, stack: Stack) -> None:
    slug = launch(stack, "nightfall", pace=600)
    tabs, page = log_in(profile, stack, stack.operator_key, f"/console/e/{slug}")
    first = call(stack, "GET", f"events/{slug}/export/seats.json")[0]["seat"]
    with Crowd(stack, slug) as crowd:
        buyers = crowd.join(2)
        assert crowd.shop(buyers[:1], {"seats": [first]}, buy=True) == ["held"]
        assert crowd.shop(buyers[1:], {"seats": [first]}, buy=False) == ["taken"]
        move(page, "Pause letting in", "Nobody is let in for now.")
        waits = Tabs(profile, stack.base_url).open(f"/e/{slug}", own=True)
        page.get_by_role("button", name="Message").click()
        dialog(page).get_by_role("textbox").fill("We go on in a minute.")
        confirm(page, "Show it", "All who wait read your message.")
        expect(waits.locator(".room-message")).to_contain_text("We go on in a minute.")
        waits.close()
        move(page, "Pause the sale", "The sale is paused.")
        move(page, "Resume the sale", "The sale goes on.")

        page.get_by_text("Take off sale, or put on sale again").click()
        page.get_by_role("combobox", name="Row", exact=True).select_option(index=2)
        page.get_by_role("button", name="Take off sale…").click()
        confirm(page, "Take off sale", "Off sale:")
        page.get_by_role("link", name="Find a buyer").click()
        page.get_by_role("searchbox").fill(buyers[1][0])
        page.keyboard.press("Enter")
        page.get_by_role("link", name=buyers[1][0]).click()
        why = page.get_by_role("region", name="Requests and why they were answered so")
        expect(why).to_contain_text("went to another buyer")
        expect(why).not_to_contain_text(buyers[0][0])

    page.goto(f"{stack.base_url}/console/e/{slug}")
    others, second = log_in(profile, stack, new_key(stack, "otto", "operator"), f"/console/e/{slug}")
    second.get_by_label("Pace").fill("700")
    second.route(f"**/events/{slug}/room", lambda route: slower(route, page))
    second.keyboard.press("Enter")
    asked = second.get_by_role("dialog", name="Somebody was quicker")
    expect(asked).to_contain_text("It is now: pace 650 a minute")
    asked.get_by_role("button", name="Leave it as it is").click()
    expect(second.get_by_label("Pace")).to_have_value("700")
    others.close()

    lookers, looks = log_in(profile, stack, new_key(stack, "vera", "viewer"), f"/console/e/{slug}")
    expect(looks.locator(".levers")).to_contain_text("need the role operator")
    names = [button.inner_text() for button in looks.get_by_role("button").all()]
    assert names == ["Log out", "15 min", "1 hour", "All"], "nothing that changes anything"
    lookers.close()
    tabs.close()
    assert tabs.wrong + lookers.wrong == [], "the console wrote errors to the browser's"


def slower(route: Route, page: Page) -> None:
    """While this change is on its way, the first operator's is made."""
    page.get_by_label("Pace").fill("650")
    page.keyboard.press("Enter")
    expect(page.locator(".toast").last).to_contain_text("The pace is 650 a minute.")
    route.continue_()
