"""The way back to the shop that sent its buyer to the waiting room, as the page shows and goes it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, Route, expect

from gateway.pages.files import STATIC
from gateway.room.shops import with_admission
from tests.browser.axe import violations
from tests.browser.conftest import Call, Tabs
from tests.browser.fake_gateway import FakeGateway
from tests.browser.fake_room import FakeRoom

pytestmark = pytest.mark.browser

SHOP = "https://shop.example.org"
BACK = "/e/demo?return=https%3A%2F%2Fshop.example.org%2Fseats%3Frow%3D5%26onsale_admission%3Dold"


@pytest.fixture
def room() -> FakeRoom:
    return FakeRoom(key="one for shops", shops=(SHOP,))


@pytest.fixture
def fake(room: FakeRoom) -> FakeGateway:
    return FakeGateway(state="lobby", room=room)


def joined(tabs: Tabs) -> Page:
    page = tabs.open(BACK)
    page.get_by_role("button", name="Join", exact=True).click()
    expect(page.get_by_role("heading", name="You are in")).to_be_visible()
    return page


def begun(page: Page, room: FakeRoom) -> None:
    room.draw(rate=120.0)
    room.admit()
    expect(page.get_by_role("heading", name="It is your turn")).to_be_focused()


def test_at_their_turn_a_buyer_goes_back_with_a_token(tabs: Tabs, room: FakeRoom) -> None:
    page = joined(tabs)
    page.route(f"{SHOP}/**", lambda route: route.fulfill(body="<h1>The shop</h1>", content_type="text/html"))
    begun(page, room)
    page.get_by_role("button", name="Go to shop.example.org").click()
    page.wait_for_url(f"{SHOP}/seats?row=5&onsale_admission=t.o.k")


def test_an_address_that_was_kept_is_judged_by_the_server_before_it_is_gone_to(
    tabs: Tabs, room: FakeRoom
) -> None:
    page = joined(tabs)
    page.evaluate("""() => {
      const kept = JSON.parse(sessionStorage["onsale:demo"]);
      kept.room.back = "https://evil.example.org/";
      sessionStorage["onsale:demo"] = JSON.stringify(kept);
    }""")
    page.goto(f"{tabs.url}/e/demo")
    begun(page, room)
    left: list[str] = []
    page.route("https://**", lambda route: left.append(route.request.url))
    page.get_by_role("button", name="Go to evil.example.org").click()
    expect(page.get_by_text("belongs to no shop of this event").first).to_be_visible()
    expect(page.get_by_role("heading", name="Choose your seats")).to_be_visible()
    assert left == []
    assert "evil" not in page.evaluate("sessionStorage['onsale:demo']")
    tabs.wrong.clear()  # the browser writes down that it was refused


@pytest.mark.parametrize("kept", ["javascript:alert(1)", "data:text/html,x", "//evil.example.org/", 7])
def test_what_was_kept_and_is_no_address_of_a_page_is_nothing(still: Page, kept: object) -> None:
    read = """async ([static, kept]) => {
      const { Returning } = await import(`${static}/core/returning.js`);
      const back = new Returning({}, null);
      back.restore(kept);
      return back.address;
    }"""
    assert still.evaluate(read, [STATIC, kept]) == ""


@pytest.mark.parametrize(
    "address",
    [
        f"{SHOP}/",
        f"{SHOP}/?a=1&b",
        f"{SHOP}/a?onsale_admission=old&x=%20#top",
        f"{SHOP}/?onsale%5Fadmission=old&x=a+b",
        f"{SHOP}/#a?b",
    ],
)
def test_both_kinds_of_pages_put_the_token_where_it_belongs(call: Call, address: str) -> None:
    theirs = call("core/returning", "withAdmission", address, "t.o.k")
    assert theirs == with_admission(address, "t.o.k")


def test_each_screen_on_the_way_is_for_everybody(tabs: Tabs, room: FakeRoom) -> None:
    def check(page: Page, name: str) -> None:
        expect(page.get_by_role("heading", name=name)).to_be_visible()
        for width in (360, 768, 1280):
            page.set_viewport_size({"width": width, "height": 740})
            assert page.evaluate("[innerWidth, document.documentElement.scrollWidth]") == [width, width], name
        assert violations(page) == [], name

    refused = tabs.open("/e/demo?return=https%3A%2F%2Fevil.example.org%2F")
    check(refused, "The sale begins soon")
    refused.close()
    page = joined(tabs)
    expect(page.get_by_text("When it is your turn, you go on to shop.example.org.")).to_be_visible()
    check(page, "You are in")
    begun(page, room)
    check(page, "It is your turn")
    told: list[str] = []

    def answer(route: Route) -> None:
        told.append(route.request.url)
        route.fulfill(status=204)

    page.route(f"{SHOP}/**", answer)
    page.get_by_role("button", name="Go to shop.example.org").click()
    check(page, "You are let in at shop.example.org")
    assert told == [f"{SHOP}/seats?row=5&onsale_admission=t.o.k"]
