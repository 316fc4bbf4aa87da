"""Figures on pages: operators see all, with their age; buyers one quiet line where that is wanted."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.axe import violations
from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway
from tests.browser.test_access import BROKEN, NAMELESS

pytestmark = pytest.mark.browser
KEY = "the operators' key"
AGAIN_WITHIN_MS = 5_000
"""Of the page's time, also where it was not answered the last time."""
MINUTE_MS = 60_000


def figures(**other: Any) -> dict[str, Any]:
    now = int(time.time() * 1000)
    minute = now - now % MINUTE_MS
    amounts = {"gross_minor": 400_000, "fee_minor": 6_000, "tax_minor": 63_866, "refunded_minor": 20_000}
    paid = {"category": "Gold <b>", "places": 40, "moved_minor": 0, **amounts}
    unnamed = paid | dict.fromkeys(amounts, 0) | {"category": None, "places": 0, "refunded_minor": 9}
    seconds = [15, 30, 60, 120, 240, 480, 960, None]
    buckets = [{"seconds_max": most, "orders": 4} for most in seconds]
    return {
        "event": "demo", "age_ms": 0, "percent_sold": 62.4, "sold": 624, "capacity": 1_000, "currency": "EUR",
        "orders": {"paid": 20, "by_hand": 2}, "holds": {"given": 40, "expired": 12},
        "refunds": {"owed_minor": 20_000, "given_minor": 5_000},
        "revenue": [paid, unnamed],
        "orders_per_minute": [
            {"at": minute - 9 * MINUTE_MS, "orders": 3, "places": 5},
            {"at": minute, "orders": 17, "places": 40},
        ],
        "conversion": {"holds": 40, "orders": 20, "buckets": buckets},
        "just_booked": [
            {"places": 2, "section": "Stalls", "at": now - 12_000},
            {"places": 1, "section": "", "at": now - 90_000},
        ],
    } | other  # fmt: skip


class Office:
    """The operators' endpoint, for one page: what it answers, and how often it was asked."""

    def __init__(self, page: Page) -> None:
        self.figures: dict[str, Any] = figures()
        self.status = 200
        self.asked: list[dict[str, str]] = []
        page.route("**/v1/operator/events/demo/figures", self._answer)

    def _answer(self, route: Route) -> None:
        headers = route.request.headers
        self.asked.append(headers)
        etag = f'"{hash(str(self.figures))}"'
        if headers.get("authorization") != f"Bearer {KEY}":
            route.fulfill(status=401, json={"code": "operator_key", "detail": "Send the operator key."})
        elif self.status != 200:
            route.fulfill(status=self.status, json={"detail": "There is no event."})
        elif headers.get("if-none-match") == etag:
            route.fulfill(status=304, headers={"ETag": etag})
        else:
            route.fulfill(json=self.figures, headers={"ETag": etag})


def come_in(tabs: Tabs, *, clock: bool = False, **options: Any) -> tuple[Page, Office]:
    """With `clock` its time is moved by the test: `asked_again`."""
    page = tabs.open("/operator/events/demo", ready=False, own=clock, **options)
    office = Office(page)
    if clock:
        page.clock.install()
    page.get_by_label("Operator key").fill(KEY)
    page.get_by_role("button", name="Show the figures").click()
    expect(page.get_by_role("heading", name="Sold")).to_be_visible()
    return page, office


def asked_again(page: Page) -> None:
    """So much time goes by that the page asks for what is new."""
    with page.expect_response("**/figures"):
        page.clock.run_for(AGAIN_WITHIN_MS)


def test_operators_see_numbers_and_plots_with_their_age_and_each_is_said_in_words(tabs: Tabs) -> None:
    page, _ = come_in(tabs)
    expect(page.get_by_text("62.4 %")).to_be_visible()
    expect(page.get_by_text("624 of 1,000 seats and places.")).to_be_visible()
    expect(page.locator(".age")).to_have_text(re.compile(r"^As of (just now|\d+ s ago)\.$"))
    plot = page.get_by_role("img", name=re.compile("20 orders from .* at most 17 in a minute"))
    expect(plot.locator("rect")).to_have_count(2)
    row = page.get_by_role("row", name=re.compile("^Gold <b>"))
    expect(row).to_contain_text("€3,800.00")
    expect(page.get_by_text("20 of 40 holds became orders, 50\u00a0%.")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile("^later than 16 min"))).to_be_visible()
    expect(page.locator(".booked li").first).to_contain_text("2 places, Stalls")
    assert page.evaluate(BROKEN) == []
    assert violations(page) == []
    assert page.evaluate(NAMELESS) == []


def test_what_is_new_comes_by_itself_and_what_is_not_new_is_not_sent_again(tabs: Tabs) -> None:
    page, office = come_in(tabs, clock=True)
    asked_again(page)
    asked_again(page)
    assert "if-none-match" in office.asked[-1]
    office.figures = figures(percent_sold=70.0, sold=700)
    asked_again(page)
    expect(page.get_by_text("70.0 %")).to_be_visible()


def test_figures_that_nobody_counts_any_more_grow_old_in_sight(tabs: Tabs) -> None:
    page, office = come_in(tabs)
    office.figures = figures(age_ms=60_000)
    expect(page.locator(".age.old")).to_have_text(
        re.compile(r"As of 6\d s ago\. Newer orders are not in it yet\.")
    )


def test_a_server_that_is_away_is_said_and_what_was_there_stays(tabs: Tabs) -> None:
    page, office = come_in(tabs, clock=True)
    office.status = 503
    asked_again(page)
    expect(page.locator(".story")).to_contain_text("does not answer")
    expect(page.get_by_text("62.4 %")).to_be_visible()
    office.status = 200
    asked_again(page)
    expect(page.locator(".story")).to_be_empty()
    assert all("503" in wrong for wrong in tabs.wrong)
    tabs.wrong.clear()


def test_without_the_right_key_nothing_is_shown_and_it_is_kept_for_the_tab_only(tabs: Tabs) -> None:
    page = tabs.open("/operator/events/demo", ready=False, own=True)
    office = Office(page)
    page.get_by_label("Operator key").fill("a guess")
    page.get_by_role("button", name="Show the figures").click()
    expect(page.get_by_role("alert")).to_have_text("Send the operator key.")
    assert page.evaluate("sessionStorage.length") == 0
    page.get_by_label("Operator key").fill(KEY)
    page.keyboard.press("Enter")
    expect(page.get_by_text("62.4 %")).to_be_visible()
    assert page.evaluate("localStorage.length") == 0
    page.reload()
    expect(page.get_by_text("62.4 %")).to_be_visible()
    page.get_by_role("button", name="Leave").click()
    expect(page.get_by_label("Operator key")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    office.status = 404
    page.get_by_label("Operator key").fill(KEY)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="There is no such event")).to_be_visible()
    tabs.wrong.clear()


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_stands_out_of_the_page(tabs: Tabs, width: int) -> None:
    page, _ = come_in(tabs, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


# --- buyers ---

PUBLIC = {"percent_sold": 62.4, "just_booked": [{"places": 2, "section": "Stalls", "at": 0}], "age_ms": 0}
LINE = ".sold-line"


def open_sale(tabs: Tabs, told: dict[str, Any] | None = None) -> Page:
    page = tabs.open("/e/demo", ready=False, own=True)
    page.route("**/v1/events/demo/figures", lambda route: route.fulfill(json=told or PUBLIC))
    page.reload()
    page.wait_for_selector("[data-topic]:not([data-topic=''])")
    return page


def test_buyers_read_how_much_is_sold_where_the_organiser_wants_it_and_hear_what_is_new(
    tabs: Tabs, fake: FakeGateway
) -> None:
    fake.terms = {"figures_on_page": True}
    page = open_sale(tabs)
    expect(page.locator(LINE)).to_have_text("62.4 % sold.")
    now = int(time.time() * 1000)
    news = {"percent_sold": 62.5, "just_booked": [{"places": 1, "section": "Stalls", "at": now}], "age_ms": 0}
    fake.send_all({"type": "figures", **news})
    expect(page.locator(LINE)).to_have_text(
        re.compile(r"62\.5 % sold\. One place in Stalls booked (just now|\d+ s ago)\.")
    )
    fake.send_all({"type": "figures", **news, "just_booked": [], "age_ms": 120_000})
    expect(page.locator(LINE)).to_have_text("62.5 % sold, as of 2 min ago.")
    assert page.evaluate(BROKEN) == []
    assert violations(page) == []


def test_nothing_is_asked_or_shown_where_the_organiser_does_not_want_it(
    tabs: Tabs, fake: FakeGateway
) -> None:
    page = tabs.open()
    fake.send_all({"type": "figures", **PUBLIC})
    expect(page.locator(".panel .card")).to_be_visible()
    expect(page.locator(LINE)).to_have_count(0)


# --- events that do not take place ---

TO = {"slug": "demo-2", "name": "Nightfall <2>", "venue": "New Hall", "starts_at": 1_924_977_600_000}


def test_an_event_that_was_canceled_says_so_and_what_becomes_of_the_money(
    tabs: Tabs, fake: FakeGateway
) -> None:
    fake.payment = "required"
    page = tabs.open()
    fake.state = "closed"
    fake.send_all({"type": "event", "state": "closed", "called_off": {"at": 0, "to": None}})
    expect(page.get_by_role("heading", name="This event is canceled")).to_be_visible()
    expect(page.locator(".standing")).to_contain_text("All that was paid goes back")
    expect(page.locator("#milestones")).to_contain_text("This event is canceled")
    expect(page.locator(".standing a")).to_have_count(0)


def test_an_event_that_was_moved_says_the_new_date_and_leads_there(tabs: Tabs, fake: FakeGateway) -> None:
    fake.state = "closed"
    fake.terms = {"called_off": {"at": 0, "to": TO}, "venue": "Old Theatre", "starts_at": 1_924_891_200_000}
    page = tabs.open()
    expect(page.get_by_role("heading", name="This event was moved")).to_be_visible()
    expect(page.locator(".standing")).to_contain_text(
        re.compile(r"The new date is \w+, 31 December 2030.* at New Hall\.")
    )
    expect(page.get_by_role("link", name="See the new date")).to_have_attribute("href", "/e/demo-2")
    expect(page.locator(".head-title")).to_contain_text("30 December 2030")


def test_an_event_that_was_moved_without_a_date_names_the_other_one(tabs: Tabs, fake: FakeGateway) -> None:
    fake.state = "closed"
    fake.terms = {"called_off": {"at": 0, "to": TO | {"starts_at": None}}}
    page = tabs.open()
    expect(page.locator(".standing")).to_contain_text("It is now “Nightfall <2>” at New Hall.")
    expect(page.get_by_role("link", name="See Nightfall <2>")).to_be_visible()


def test_the_list_of_events_says_what_does_not_take_place(tabs: Tabs) -> None:
    page = tabs.open("/", ready=False, own=True)
    event = {
        "slug": "a",
        "name": "A",
        "state": "closed",
        "starts_at": None,
        "called_off": {"at": 0, "to": None},
    }
    other = event | {
        "slug": "b",
        "name": "B",
        "called_off": {"at": 0, "to": TO},
        "starts_at": TO["starts_at"],
    }
    page.route("**/v1/events", lambda route: route.fulfill(json={"events": [event, other]}))
    page.reload()
    expect(page.get_by_role("link", name=re.compile("^A"))).to_contain_text("canceled")
    expect(page.get_by_role("link", name=re.compile("^B"))).to_contain_text("moved")
    expect(page.get_by_role("link", name=re.compile("^B"))).to_contain_text("31 December 2030")
