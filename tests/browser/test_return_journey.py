"""From a shop that onsale does not run through the waiting room and back into it: a real gateway, a real shop
with the middleware before it, a browser with scripts and one without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

import httpx
import psycopg
import pytest
from playwright.sync_api import Page, expect

from gateway.room.keys import RoomKeys
from gateway.room.settings import RoomSettings
from store.room.words import Proof, RoomPolicy
from store.settings import EngineUrls
from store.words import EventState
from tests.browser.conftest import Profile, Tabs
from tests.browser.live import serving
from tests.browser.shop import Shop
from tests.browser.test_room_journey import renewed
from tests.gateway.rig import EVENT
from tests.gateway.room.lobby import call, go_to, make_room

pytestmark = pytest.mark.browser

KEY = "a key for the waiting room of these tests"
ISSUER = "https://on.sale"
AT = "/rows/5?seat=7&from=%2Fhall"


@dataclass(frozen=True)
class Place:
    """A room in its lobby, the shop behind it, and the organiser's connection."""

    room: str
    shop: Shop
    urls: EngineUrls
    number: int

    def begins(self) -> None:
        with psycopg.connect(self.urls.database_url, autocommit=True) as conn:
            go_to(conn, EventState.OPEN)

    def calls(self, serving: int) -> None:
        with psycopg.connect(self.urls.database_url, autocommit=True) as conn:
            call(conn, self.number, serving)


@pytest.fixture
def place(engine_urls: EngineUrls) -> Iterator[Place]:
    number = make_room(engine_urls.database_url, policy=RoomPolicy.FIFO, proof=Proof.OFF)
    shop = Shop()
    settings = RoomSettings(key=KEY, shops=(shop.url,), issuer=ISSUER)
    with serving(engine_urls, demo=True, room=settings) as served:
        room = f"http://127.0.0.1:{served.port}"
        shop.open(room, EVENT, ISSUER)
        yield Place(room, shop, engine_urls, number)
        shop.close()


@pytest.fixture
def tabs(profile: Profile, place: Place) -> Iterator[Tabs]:
    opened = Tabs(profile, place.room)
    yield opened
    opened.close()
    assert opened.wrong == [], "the page wrote errors to the console"


def heading(page: Page, name: str) -> None:
    expect(page.get_by_role("heading", name=name, exact=True)).to_be_visible()


def host(place: Place) -> str:
    return place.shop.url.removeprefix("http://")


def test_from_the_shop_through_the_room_into_the_shop(tabs: Tabs, place: Place) -> None:
    page = tabs.open("/", ready=False, own=True)
    page.goto(place.shop.url + AT)
    page.wait_for_url(f"{place.room}/e/{EVENT}?return={quote(place.shop.url + AT, safe='')}")
    heading(page, "The sale begins soon")
    expect(page.get_by_text(f"When it is your turn, you go on to {host(place)}.")).to_be_visible()
    page.get_by_role("button", name="Join", exact=True).click()
    heading(page, "You are in")
    page.goto(f"{place.room}/e/{EVENT}")  # without the address: this page remembers it
    heading(page, "You are in")

    page.get_by_role("button", name="Go on with another device").click()
    link = page.get_by_label("Link to your place").input_value()
    phone = tabs.open(link.removeprefix(place.room), own=True, width=360, height=740)
    heading(phone, "You are in")
    page.close()
    place.begins()
    heading(phone, "You are in line")
    phone.reload()
    heading(phone, "You are in line")
    place.calls(1)
    heading(phone, "It is your turn")
    phone.get_by_role("button", name=f"Go to {host(place)}").click()
    phone.wait_for_url(place.shop.url + AT)
    expect(phone.get_by_role("heading", name="Welcome, anon-")).to_be_visible()
    expect(phone.locator("#at")).to_have_text(AT)
    phone.goto(place.shop.url + "/elsewhere")
    expect(phone.get_by_role("heading", name="Welcome, anon-")).to_be_visible()

    phone.goto(place.room + f"/e/{EVENT}")  # seats are not chosen here, and nobody is sent on unasked
    heading(phone, f"You are let in at {host(place)}")
    phone.get_by_role("button", name=f"Go to {host(place)}").click()
    phone.wait_for_url(place.shop.url + AT)


def test_without_scripts_too(tabs: Tabs, place: Place) -> None:
    page = tabs.open("/", ready=False, own=True, java_script_enabled=False)
    page.goto(place.shop.url + AT)
    page.wait_for_url(f"**/e/{EVENT}/line?return=*")
    page.get_by_role("button", name="Join").click()
    heading(page, "You are in")
    place.begins()
    place.calls(1)
    renewed(page, "It is your turn")
    page.get_by_role("button", name=f"Go to {host(place)}").click()
    page.wait_for_url(place.shop.url + AT)
    expect(page.get_by_role("heading", name="Welcome, anon-")).to_be_visible()
    page.goto(f"{place.room}/e/{EVENT}/line")
    page.get_by_role("button", name=f"Go to {host(place)}").click()
    page.wait_for_url(place.shop.url + AT)


def test_forged_and_foreign_admissions_lead_to_the_room(place: Place) -> None:
    claims = {"iss": ISSUER, "aud": place.shop.url, "sub": "eve", "event": EVENT, "place": "p", "exp": 2**40}
    claims |= {"jti": "p.1"}
    kind = "onsale-admission+jwt"
    tokens = {
        "forged": RoomKeys("a key that the waiting room does not have").sign(claims, kind),
        "for another shop": RoomKeys(KEY).sign(claims | {"aud": "https://other.example.org"}, kind),
        "for another event": RoomKeys(KEY).sign(claims | {"event": "another"}, kind),
        "over": RoomKeys(KEY).sign(claims | {"exp": 1}, kind),
    }
    head = {"Accept": "text/html"}
    with httpx.Client(base_url=place.shop.url, headers=head) as eve:
        for which, token in tokens.items():
            sent = eve.get("/rows", params={"onsale_admission": token})
            back = quote(f"{place.shop.url}/rows", safe="")
            assert sent.headers["location"] == f"{place.room}/e/{EVENT}?return={back}", which
            assert "set-cookie" not in sent.headers, which
        good = eve.get("/rows", params={"onsale_admission": RoomKeys(KEY).sign(claims, kind)})
        assert good.headers["location"] == f"{place.shop.url}/rows"
        assert "Welcome, eve" in eve.get("/rows").text


@pytest.mark.parametrize("scripts", [True, False])
def test_who_comes_with_another_address_is_told_and_sent_nowhere(
    tabs: Tabs, place: Place, scripts: bool
) -> None:
    evil = quote(f"{place.shop.url}@evil.example.org/", safe="")
    page = tabs.open(f"/e/{EVENT}?return={evil}", ready=scripts, own=True, java_script_enabled=scripts)
    expect(page.get_by_text("belongs to no shop of this event")).to_be_visible()
    page.get_by_role("button", name="Join", exact=True).click()
    heading(page, "You are in")
    place.begins()
    place.calls(1)
    if not scripts:
        renewed(page, "It is your turn")
    page.get_by_role("button", name="Choose my seats").click()
    expect(page.locator(".shopping") if scripts else page.get_by_label("How many")).to_be_visible()
    assert page.url.startswith(place.room)
