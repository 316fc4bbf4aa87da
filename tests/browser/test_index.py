"""The list of events, and what it says when it cannot be read."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, expect

from tests.browser.axe import violations
from tests.browser.conftest import Tabs

pytestmark = pytest.mark.browser


def test_events_are_listed_with_their_state(tabs: Tabs) -> None:
    page = tabs.open("/", ready=False)
    expect(page.get_by_role("link", name="Nightfall, opening night")).to_contain_text("on sale")
    assert violations(page) == []


def test_a_server_that_is_away_is_asked_again_and_not_taken_for_one_without_events(tabs: Tabs) -> None:
    page = tabs.open("/", ready=False, own=True)
    away = [True]

    def answer(route: Route) -> None:
        if away[0]:
            route.fulfill(status=503, json={"code": "database_unavailable", "detail": "No."})
        else:
            route.continue_()

    page.route("**/v1/events", answer)
    page.reload()
    expect(page.get_by_text("This page tries again by itself.")).to_be_visible()
    expect(page.get_by_text("There is no event yet.")).to_have_count(0)
    away[0] = False
    expect(page.get_by_role("link", name="Nightfall, opening night")).to_be_visible()
    assert all("503" in wrong for wrong in tabs.wrong)
    tabs.wrong.clear()


def test_a_refusal_is_said_and_is_no_empty_list(tabs: Tabs) -> None:
    page = tabs.open("/", ready=False, own=True)
    page.route("**/v1/events", lambda route: route.fulfill(status=403, json={"code": "no"}))
    page.reload()
    expect(page.get_by_text("The list cannot be read right now.")).to_be_visible()
    assert all("403" in wrong for wrong in tabs.wrong)
    tabs.wrong.clear()
