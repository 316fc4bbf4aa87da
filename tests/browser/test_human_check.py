"""The human check on the page, with a real gateway that asks a provider; the provider is the tests' own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from playwright.sync_api import Page, expect

from gateway.room.settings import RoomSettings
from store.room.words import Proof, RoomPolicy
from store.settings import EngineUrls
from tests.browser.axe import violations
from tests.browser.conftest import Profile, Tabs
from tests.browser.fake_human import BUTTON, SECRET, SITE_KEY, FakeHuman
from tests.browser.live import serving
from tests.gateway.rig import EVENT
from tests.gateway.room.lobby import make_room

pytestmark = pytest.mark.browser

NAME = "turnstile"


@pytest.fixture
def provider(request: pytest.FixtureRequest) -> Iterator[FakeHuman]:
    with FakeHuman(getattr(request, "param", NAME)) as provider:
        yield provider


@pytest.fixture
def urls(engine_urls: EngineUrls) -> EngineUrls:
    make_room(engine_urls.database_url, policy=RoomPolicy.FIFO, proof=Proof.OFF)
    return engine_urls


@pytest.fixture
def tabs(profile: Profile, provider: FakeHuman, urls: EngineUrls) -> Iterator[Tabs]:
    settings = RoomSettings(
        key="a key for the waiting room of these tests",
        human_check_url=f"{provider.url}/siteverify",
        human_check_secret=SECRET,
        human_check_script=f"{provider.url}/api.js",
        human_check_site_key=SITE_KEY,
    )
    with serving(urls, demo=True, room=settings) as served:
        opened = Tabs(profile, f"http://127.0.0.1:{served.port}")
        yield opened
        opened.close()
        assert opened.wrong == [], "the page wrote errors to the console"


def open_lobby(tabs: Tabs, **options: Any) -> Page:
    page = tabs.open(f"/e/{EVENT}", own=True, **options)
    expect(page.get_by_role("heading", name="The sale begins soon")).to_be_visible()
    return page


def join(page: Page) -> None:
    page.get_by_role("button", name="Join", exact=True).click()


def answer(page: Page) -> None:
    page.get_by_role("button", name=BUTTON).click()
    expect(page.get_by_role("button", name="Thank you")).to_be_visible()


@pytest.mark.parametrize("provider", ["turnstile", "hcaptcha", "humanCheck"], indirect=True)
def test_who_does_the_check_joins(tabs: Tabs, provider: FakeHuman, urls: EngineUrls) -> None:
    page = open_lobby(tabs)
    expect(page.frame_locator("iframe").get_by_role("heading", name="Check")).to_be_visible()
    shown = page.get_by_role("button", name=BUTTON)
    expect(shown).to_have_attribute("data-sitekey", SITE_KEY)
    expect(shown).to_have_attribute("data-size", "normal")
    answer(page)
    join(page)
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()
    assert provider.asked == [{"secret": SECRET, "response": "answer-1"}]
    page.reload()
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()
    assert provider.scripts == 1, "who has a place loads nothing from elsewhere"
    with psycopg.connect(urls.database_url) as conn:
        assert conn.execute("SELECT count(*) FROM place").fetchone() == (1,)


def test_without_it_nobody_joins_and_the_page_says_what_to_do(tabs: Tabs, provider: FakeHuman) -> None:
    page = open_lobby(tabs)
    expect(page.get_by_role("button", name=BUTTON)).to_be_visible()
    join(page)
    expect(page.locator(".human .trouble")).to_contain_text("First do the check above the button")
    answer(page)
    expect(page.locator(".human .trouble")).to_be_empty()
    page.evaluate("expire()")
    join(page)
    expect(page.locator(".human .trouble")).to_contain_text("First do the check above the button")
    assert provider.asked == []


def test_an_answer_that_is_refused_is_asked_for_anew(tabs: Tabs, provider: FakeHuman) -> None:
    page = open_lobby(tabs)
    answer(page)
    provider.spend()
    join(page)
    expect(page.get_by_text("The check that you are human did not succeed.").first).to_be_visible()
    expect(page.get_by_role("button", name=BUTTON)).to_be_visible()
    assert len(provider.asked) == 1
    answer(page)
    join(page)
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()
    assert [form["response"] for form in provider.asked] == ["answer-1", "answer-2"]


def test_after_any_refusal_of_a_join_its_answer_is_used_up(tabs: Tabs, provider: FakeHuman) -> None:
    page = open_lobby(tabs)
    page.get_by_role("button", name="I have a code").click()
    page.get_by_label("Your code").fill("7K2M-Q9RT-X4WD-0001")
    answer(page)
    join(page)
    expect(page.locator(".join > .trouble")).to_contain_text("That did not work")
    page.get_by_label("Your code").fill("")
    answer(page)
    join(page)
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()
    assert [form["response"] for form in provider.asked] == ["answer-1", "answer-2"]


def test_a_check_that_cannot_be_loaded_is_said_and_can_be_tried_again(
    tabs: Tabs, provider: FakeHuman
) -> None:
    provider.away = 503
    page = open_lobby(tabs)
    expect(page.locator(".human .trouble")).to_contain_text("cannot be shown")
    tabs.wrong.clear()  # the browser writes down that it did not come
    assert violations(page) == []
    provider.away = 0
    page.get_by_role("button", name="Show it again").click()
    answer(page)
    join(page)
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()


def test_it_is_for_everybody(tabs: Tabs) -> None:
    page = open_lobby(tabs, width=360, height=740, color_scheme="dark")
    shown = page.get_by_role("button", name=BUTTON)
    expect(shown).to_have_attribute("data-size", "compact")
    expect(shown).to_have_attribute("data-theme", "dark")
    join(page)
    expect(page.locator(".human .trouble")).not_to_be_empty()
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 740})
        assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [width, width]
    assert violations(page) == []
    tabs.wrong.clear()  # axe looks for itself in the provider's frame


def test_only_the_page_where_people_join_allows_the_provider(tabs: Tabs, provider: FakeHuman) -> None:
    page = tabs.open("/", ready=False, own=True)

    def policy(path: str) -> str:
        return str(page.request.get(tabs.url + path).headers["content-security-policy"])

    assert policy(f"/e/{EVENT}").count(provider.url) == 3
    for path in ("/", f"/e/{EVENT}/line", f"/e/{EVENT}/draw", f"/e/{EVENT}/tickets", "/e/nowhere"):
        assert "http" not in policy(path), path
