"""The stampede's panel: big numbers first, gate on and off side by side, and trouble in words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.fake_gateway import FakeGateway, Running
from tests.browser.test_served import RESULT, SAYS_RESULT, generator

pytestmark = pytest.mark.browser


@pytest.fixture
def url(fake: FakeGateway) -> Iterator[str]:
    """Of a gateway of its own: a stampede begins and ends with one."""
    with Running(fake) as running:
        yield running.url


def test_both_rounds_stand_side_by_side(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    generator(monkeypatch, SAYS_RESULT)
    page.get_by_role("button", name="Stampede").click()
    page.get_by_label("Buyers").select_option("100")
    page.get_by_role("button", name="Start").click()
    for title in ("Fast gate on", "Fast gate off"):
        section = page.get_by_role("region", name=title)
        expect(section.locator(".big dd")).to_have_text([str(RESULT["held"]), "0", "0"])
        expect(section).to_contain_text("nothing twice, nobody overtaken")
    told = "half within 6.1 ms, 99 of 100 within 80 ms."
    plot = page.locator(".latency svg")
    expect(plot).to_have_attribute("aria-label", f"Fast gate on: {told} Fast gate off: {told}")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_role("button", name="Stampede").click()
    expect(page.locator(".verdict")).to_have_count(2)


def test_trouble_is_said(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    generator(monkeypatch, 'print(\'{"error": "The engines are away."}\')')
    page.get_by_role("button", name="Stampede").click()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("alert")).to_have_text("The engines are away.")
