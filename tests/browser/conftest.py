"""A browser, a gateway in memory, and tabs that must stay free of errors.

Where there is no Chromium the tests skip and say so; with CI set they fail instead. The browser is
the module's, not the session's: playwright's loop must be gone before other tests run theirs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.browser.fake_gateway import FakeGateway, Running

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
expect.set_options(timeout=15_000)


def _chromium() -> str | None:
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        executable = _chromium()
        if executable is None and not Path(playwright.chromium.executable_path).exists():
            reason = "No Chromium: install the chromium package, or run `playwright install chromium`."
            if os.environ.get("CI"):
                pytest.fail(reason)
            pytest.skip(reason)
        launched = playwright.chromium.launch(executable_path=executable, args=list(_FLAGS))
        yield launched
        launched.close()


@pytest.fixture
def fake() -> FakeGateway:
    return FakeGateway()


@pytest.fixture
def url(fake: FakeGateway) -> Iterator[str]:
    with Running(fake) as running:
        yield running.url


@dataclass
class Tabs:
    """Opens tabs, each with storage of its own (another buyer), and remembers what went wrong in them."""

    browser: Browser
    url: str
    wrong: list[str] = field(default_factory=list)

    def open(self, path: str = "/e/demo", *, ready: bool = True, **options: Any) -> Page:
        settings = {"viewport": {"width": 1280, "height": 800}, "locale": "en-GB", "reduced_motion": "reduce"}
        page = self.browser.new_context(**{**settings, **options}).new_page()
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda said: self._said(said.type, said.text))
        page.goto(self.url + path)
        if ready:
            page.wait_for_selector("[data-topic]:not([data-topic=''])")
        return page

    def _said(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.wrong.append(text)


@pytest.fixture
def tabs(browser: Browser, url: str) -> Iterator[Tabs]:
    opened = Tabs(browser, url)
    yield opened
    for context in browser.contexts:
        context.close()
    assert opened.wrong == [], "the page wrote errors to the console"


@pytest.fixture
def page(tabs: Tabs) -> Page:
    return tabs.open()


@pytest.fixture
def choose(fake: FakeGateway) -> Callable[[Page, int], None]:
    """Chooses the seat with this number through the list."""

    def choose_one(page: Page, seat: int) -> None:
        there = fake.plan.seats[seat]
        section = fake.plan.sections[there.section].name
        page.get_by_role("button", name="List", exact=True).click()
        heading = page.locator(".list-section h3 button", has_text=section)
        if heading.get_attribute("aria-expanded") != "true":
            heading.click()
        page.get_by_role("button", name=f"{section}, row {there.row}, seat {there.number},").click()

    return choose_one
