"""A browser, a gateway in memory, and tabs that must stay free of errors.

Where there is no Chromium the tests skip and say so; with CI set they fail instead. The browser is
this folder's, not the session's: playwright's loop must be gone before other tests run theirs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from gateway.pages.files import STATIC
from onsale.processes import Stack
from tests.browser.fake_gateway import FakeGateway, Running
from tests.browser.fake_operators import FakeOperators
from tests.browser.fake_operators import build as build_office
from tests.browser.live_stack import running_stack
from tests.conftest import Rig, engines_beside

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",
)
_CALL = "async ([path, name, given]) => (await import(path))[name](...given)"
WIDTH, HEIGHT = 1280, 800
_SETTINGS: dict[str, Any] = {
    "viewport": {"width": WIDTH, "height": HEIGHT},
    "locale": "en-GB",
    "reduced_motion": "reduce",
}
expect.set_options(timeout=30_000)


def _chromium() -> str | None:
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


@pytest.fixture(scope="package")
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


class Profile:
    """One browser profile for most tests, with a tab that stays and so keeps the renderer process alive: a
    fresh tab in it costs half of what one in a profile of its own does. Only what a profile itself keeps
    must be put back between tests.
    """

    def __init__(self, browser: Browser, url: str) -> None:
        self.context = browser.new_context(**_SETTINGS)
        self.still = self.context.new_page()
        self.still.goto(url + "/v1/events")
        self._devtools = self.context.new_cdp_session(self.still)

    def rinse(self, urls: Iterable[str]) -> None:
        """Closes the test's tabs and forgets what pages from these addresses stored."""
        for page in self.context.pages:
            if page is not self.still:
                page.close()
        for url in urls:
            about = {"origin": url, "storageTypes": "all"}
            self._devtools.send("Storage.clearDataForOrigin", about)
        own_clock = self.still.evaluate("Date.toString().includes('[native code]')")
        assert own_clock, "a test that gives pages another clock opens its tabs with `own=True`"


@pytest.fixture(scope="package")
def door() -> Iterator[Running]:
    """One address for the gateways of all tests: a browser loads the files of the pages once."""
    with Running(FakeGateway()) as running:
        yield running


@pytest.fixture(scope="package")
def profile(browser: Browser, door: Running) -> Profile:
    return Profile(browser, door.url)


@pytest.fixture
def still(profile: Profile, url: str) -> Page:
    """A tab that shows nothing and follows nothing, for what the pages' modules say by themselves."""
    return profile.still


Call = Callable[..., Any]


@pytest.fixture
def call(still: Page) -> Call:
    """Calls a function of one of the pages' modules, with what JSON can say, and gives what it says."""

    def call_one(module: str, function: str, *given: Any) -> Any:
        return still.evaluate(_CALL, [f"{STATIC}/{module}.js", function, list(given)])

    return call_one


@pytest.fixture
def fake() -> FakeGateway:
    return FakeGateway()


@pytest.fixture
def url(fake: FakeGateway, door: Running) -> str:
    door.serve(fake)
    return door.url


@pytest.fixture(scope="package")
def stack(rig: Rig) -> Iterator[Stack]:
    """Real processes, started once for all journeys; see `live_stack`."""
    with engines_beside(rig) as urls, running_stack(urls) as running:
        yield running


@dataclass
class Tabs:
    """Opens tabs and remembers what went wrong in them. In a demo each is another buyer."""

    profile: Profile
    url: str
    wrong: list[str] = field(default_factory=list)
    _owned: list[BrowserContext] = field(default_factory=list)

    def open(
        self,
        path: str = "/e/demo",
        *,
        ready: bool = True,
        width: int = WIDTH,
        height: int = HEIGHT,
        own: bool = False,
        prepare: Callable[[Page], object] = lambda page: None,
        **options: Any,
    ) -> Page:
        """`own`, or any further option: in a browser profile of its own, gone after the test. `prepare` is
        done to the tab before it goes anywhere.
        """
        page = (self._own(**options) if own or options else self.profile.context).new_page()
        if (width, height) != (WIDTH, HEIGHT):
            page.set_viewport_size({"width": width, "height": height})
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda said: self._said(said.type, said.text))
        prepare(page)
        page.goto(self.url + path)
        if ready:
            page.wait_for_selector("[data-topic]:not([data-topic=''])")
        return page

    def close(self) -> None:
        for context in self._owned:
            context.close()
        self.profile.rinse([self.url])

    def _own(self, **options: Any) -> BrowserContext:
        browser = self.profile.context.browser
        assert browser is not None, "the profile is of a browser that was launched"
        self._owned.append(browser.new_context(**{**_SETTINGS, **options}))
        return self._owned[-1]

    def _said(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.wrong.append(text)


@pytest.fixture
def tabs(profile: Profile, url: str) -> Iterator[Tabs]:
    opened = Tabs(profile, url)
    yield opened
    opened.close()
    assert opened.wrong == [], "the page wrote errors to the console"


@pytest.fixture
def office() -> FakeOperators:
    return FakeOperators()


@pytest.fixture
def consoles(profile: Profile, door: Running, office: FakeOperators) -> Iterator[Tabs]:
    """Tabs for the operators' console."""
    door.answer_by(build_office(office))
    opened = Tabs(profile, door.url)
    yield opened
    opened.close()
    assert opened.wrong == [], "the console wrote errors to the browser's"


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
