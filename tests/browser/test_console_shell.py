"""The console's frame: coming in and out, addresses, launches at a glance, a feed that is cut off."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import good_for_everybody
from tests.browser.conftest import Tabs
from tests.browser.fake_gateway import FakeGateway, Running
from tests.browser.fake_operators import COOKIE, FakeOperators
from tests.browser.test_access import BROKEN, NAMELESS

pytestmark = pytest.mark.browser
TURNED_AWAY = """async (console) => {
  const { Live } = await import(`${console}/live.js`);
  const sockets = [], waits = [], timers = [];
  let asked = 0, read = 0;
  const [Socket, later, random] = [WebSocket, setTimeout, Math.random];
  window.WebSocket = class {
    static CONNECTING = 0; static OPEN = 1; readyState = 1;
    constructor() { sockets.push(this); } close() {} send() {}
  };
  window.setTimeout = (go, ms) => timers.push([go, ms]);
  Math.random = () => 0.5;
  const live = new Live(() => (asked += 1));
  live.watch(null, () => {}, async () => { read += 1; });
  for (const code of [4401, 4401, 4401, 1013, 1013, 1013]) {
    const socket = sockets.at(-1);
    socket.onmessage({ data: '{"type": "error", "code": "x", "message": "x"}' });
    socket.onclose({ code });
    const [go, ms] = timers.at(-1);
    waits.push(ms);
    go();
  }
  sockets.at(-1).onmessage({ data: '{"type": "launches"}' });
  [window.WebSocket, window.setTimeout, Math.random] = [Socket, later, random];
  return [waits, asked, read, live.state.link];
}"""
REFUSED = re.compile("400|401|403|404|409|WebSocket connection")
"""What a browser itself writes of an answer that is no 200."""


def come(consoles: Tabs, path: str = "/console", key: str = "key-of-otto", width: int = 1280) -> Page:
    """A page of the console, with a session."""
    consoles.profile.context.add_cookies(
        [{"name": COOKIE, "value": key, "url": consoles.url, "httpOnly": True}]
    )
    page = consoles.open(path, ready=False, width=width)
    expect(page.get_by_role("navigation", name="Console")).to_be_visible()
    return page


def forgive(consoles: Tabs) -> None:
    """Refusals that a test brought about."""
    consoles.wrong[:] = [said for said in consoles.wrong if not REFUSED.search(said)]


def test_a_wrong_key_is_refused_in_words_and_a_right_one_comes_in_and_out(consoles: Tabs) -> None:
    page = consoles.open("/console", ready=False)
    page.get_by_label("Operator key").fill("a guess")
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("#login-story")).to_contain_text("it was revoked")
    good_for_everybody(page, "the login")
    page.get_by_label("Operator key").fill(" key-of-vera ")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Launches")).to_be_visible()
    expect(page.locator(".who")).to_contain_text("vera")
    assert page.evaluate("[document.cookie, localStorage.length, sessionStorage.length]") == ["", 0, 0]
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Operator key")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Operator key")).to_be_visible()
    forgive(consoles)


def test_launches_are_seen_at_a_glance_and_change_by_themselves(
    consoles: Tabs, office: FakeOperators
) -> None:
    page = come(consoles)
    night = page.locator(".launch-card", has_text="Nightfall")
    expect(night).to_contain_text("62.4 %")
    expect(night.locator(".state")).to_have_text("on sale")
    gone = page.locator(".launch-card.needs")
    expect(gone).to_have_count(1)
    expect(gone).to_contain_text("Nobody decides")
    assert page.evaluate(BROKEN) == []
    assert page.evaluate(NAMELESS) == []
    good_for_everybody(page, "launches")
    office.of("demo").facts |= {"percent_sold": 63.1, "sold": 12_620}  # type: ignore[union-attr]
    office.tell()
    expect(night).to_contain_text("63.1 %")


def test_nothing_on_sale_is_said(consoles: Tabs, office: FakeOperators) -> None:
    office.launches = []
    page = come(consoles)
    expect(page.get_by_role("heading", name="Nothing is on sale")).to_be_visible()


def test_an_address_that_leads_nowhere_says_so_and_leads_back(consoles: Tabs) -> None:
    page = come(consoles, "/console/no/such/page")
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
    page.get_by_role("link", name="See all launches").click()
    expect(page.get_by_role("heading", name="Launches")).to_be_focused()
    page.go_back()
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()


def test_a_page_that_fails_takes_nothing_else_along(consoles: Tabs, office: FakeOperators) -> None:
    office.answers["fleet"] = {"hosts": None}
    page = come(consoles, "/console/fleet")
    expect(page.get_by_role("alert").filter(has_text="cannot show what it was told")).to_be_visible()
    good_for_everybody(page, "a page that failed")
    page.get_by_role("link", name="Launches").click()
    expect(page.locator(".launch-card")).to_have_count(3)
    consoles.wrong.clear()


def test_a_session_that_ends_asks_again_and_keeps_the_page(consoles: Tabs, office: FakeOperators) -> None:
    page = come(consoles)
    expect(page.locator(".launch-card")).to_have_count(3)
    office.watched()
    office.session = False
    office.drop_sockets(4401)
    again = page.get_by_role("dialog", name="Your session has ended")
    expect(again).to_be_visible()
    expect(page.locator(".launch-card")).to_have_count(3)
    for _ in range(3):  # browsers let the second one close any dialog
        page.keyboard.press("Escape")
        expect(again).to_be_visible()
    again.get_by_label("Operator key").fill("a guess")
    page.keyboard.press("Enter")
    expect(again).to_contain_text("it was revoked")
    with page.expect_response("**/v1/operator/session"):
        page.evaluate("dispatchEvent(new Event('online'))")  # what is live tries again, and asks who is there
    office.turns_away(2)
    expect(again).to_contain_text("it was revoked")
    again.get_by_label("Operator key").fill("key-of-otto")
    page.keyboard.press("Enter")
    expect(again).to_have_count(0)
    expect(page.locator(".launch-card")).to_have_count(3)
    office.session = False
    page.get_by_role("link", name="Audit").click()
    again.get_by_label("Operator key").fill("key-of-otto")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(4)
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_role("heading", name="Operators' console")).to_be_visible()
    forgive(consoles)


def test_who_is_turned_away_comes_back_less_and_less_often_and_reads_by_http_meanwhile(
    consoles: Tabs,
) -> None:
    page = come(consoles)
    source = page.locator("script[type=module]").get_attribute("src") or ""
    waits, asked, read, link = page.evaluate(TURNED_AWAY, source.removesuffix("/main.js"))
    assert waits == [500, 1_000, 2_000, 4_000, 8_000, 8_000], "a refusal that is told is no sign of life"
    assert (asked, read) == (3, 3), "who has no session is asked for, anybody else reads how it stands"
    assert link == "live"


def test_a_feed_that_is_cut_off_is_told_calmly_and_comes_back(consoles: Tabs, office: FakeOperators) -> None:
    page = come(consoles)
    expect(page.locator(".launch-card")).to_have_count(3)
    office.watched()
    office.serving = False
    office.drop_sockets()
    expect(page.locator(".away")).to_contain_text("The sale goes on without this page.")
    expect(page.locator(".launch-card")).to_have_count(3)
    office.launches.pop()
    office.serving = True
    expect(page.locator(".away")).to_have_count(0)
    expect(page.locator(".launch-card")).to_have_count(2)
    forgive(consoles)


def test_the_page_is_the_same_for_everybody_and_allows_nothing_inline() -> None:
    with Running(FakeGateway()) as running, httpx.Client(base_url=running.url) as client:
        page, below = client.get("/console"), client.get("/console/e/demo/%3Cscript%3E")
        assert page.text == below.text
        assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in page.headers["content-security-policy"]
        assert re.search(r"<script(?![^>]*src=)", page.text) is None
        assert " style=" not in page.text
        for other in ("/e/demo", "/", "/operator/events/demo"):
            assert "console/" not in client.get(other).text, "buyers load nothing of the console"
            assert "uPlot" not in client.get(other).text
