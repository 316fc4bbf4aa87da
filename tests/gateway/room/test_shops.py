"""Which addresses buyers are sent back to: those of shops that are named, however an address is written."""

from __future__ import annotations

from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from onsale_client import middleware

from gateway.room import shops
from gateway.room.settings import RoomSettings
from gateway.room.shops import ADDRESS_LENGTH_MAX, Return, returning, with_admission
from tests.gateway.rig import EVENT, gateway, scenario
from tests.gateway.room.lobby import make_room

KEY = "a key for the waiting room of these tests"
SHOP, OTHER = "https://shop.example.org", "http://127.0.0.1:8080"
SETTINGS = RoomSettings(key=KEY, shops=(SHOP, OTHER))


@pytest.mark.parametrize(
    ("address", "shop"),
    [
        (SHOP, SHOP),
        (f"{SHOP}/", SHOP),
        (f"{SHOP}/seats?row=5&x=%2F%2Fevil#top", SHOP),
        (f"{SHOP}?row=5", SHOP),
        (f"{SHOP}//evil.example.org/", SHOP),
        ("HTTPS://Shop.Example.Org/Seats", SHOP),
        (f"{OTHER}/a", OTHER),
    ],
)
def test_an_address_of_a_shop_is_gone_back_to(address, shop):
    found = returning(SETTINGS, address)
    assert found == Return(shop, shop + address[len(shop) :])
    assert f"{urlsplit(found.address).scheme}://{urlsplit(found.address).netloc}" == shop


BAD = [
    "",
    "/seats",
    "//evil.example.org/",
    "https://evil.example.org/",
    "https://shop.example.org@evil.example.org/",
    "https://shop.example.org:secret@evil.example.org/",
    "https://evil.example.org/https://shop.example.org/",
    "https://shop.example.org.evil.example.org/",
    "https://shop.example.organic/",
    "https://shop.example.org:8443/",
    "https://shop.example.org:443/",
    "http://shop.example.org/",
    "http://127.0.0.1:80801/",
    "https://user@shop.example.org/",
    "https:shop.example.org/",
    "https:/shop.example.org/",
    "https:\\\\shop.example.org\\",
    "https://shop.example.org\\@evil.example.org/",
    "https://shop.example.org/\\evil.example.org",
    "https://shop.example.org/a b",
    "https://shop.example.org\t/",
    "https://shop.example.org/\r\nLocation: https://evil.example.org/",
    " https://shop.example.org/",
    "https://shop.example.org\u3002evil.example.org/",
    "https://shop\u3002example.org/",
    "https://sh\u043ep.example.org/",
    "https://shop.example.org/caf\u00e9",
    "javascript:alert(1)//https://shop.example.org/",
    "data:text/html,https://shop.example.org/",
    f"{SHOP}/{'x' * ADDRESS_LENGTH_MAX}",
]


@pytest.mark.parametrize("address", BAD)
def test_every_other_address_is_not(address):
    assert returning(SETTINGS, address) is None


def test_without_a_key_there_are_no_tokens_and_so_no_way_back():
    assert returning(RoomSettings(shops=(SHOP,)), f"{SHOP}/") is None
    assert returning(RoomSettings(key=KEY), f"{SHOP}/") is None


def test_shops_are_known_by_small_letters_as_browsers_write_them():
    settings = RoomSettings.from_env({"ONSALE_SHOPS": "https://Shop.Example.org/", "ONSALE_ROOM_KEY": KEY})
    assert settings.shops == (SHOP,)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (SHOP, f"{SHOP}?onsale_admission=t.o.k"),
        (f"{SHOP}/?a=1&b", f"{SHOP}/?a=1&b&onsale_admission=t.o.k"),
        (f"{SHOP}/a?onsale_admission=old&x=%20#top", f"{SHOP}/a?x=%20&onsale_admission=t.o.k#top"),
        (f"{SHOP}/?onsale%5Fadmission=old", f"{SHOP}/?onsale_admission=t.o.k"),
        (f"{SHOP}/#a?b", f"{SHOP}/?onsale_admission=t.o.k#a?b"),
    ],
)
def test_the_token_stands_in_the_query_and_no_other_beside_it(address, expected):
    found = with_admission(address, "t.o.k")
    assert found == expected
    assert [value for name, value in parse_qsl(urlsplit(found).query) if name == shops.QUERY] == ["t.o.k"]


def test_the_middleware_looks_where_we_put_it():
    assert shops.QUERY == middleware.QUERY


@scenario
async def test_the_event_page_knows_the_way_back_only_where_it_leads_to_a_shop(engine_urls):
    make_room(engine_urls.database_url)
    async with gateway(engine_urls, room=SETTINGS) as served:

        async def page(address):
            answer = await served.http("GET", f"/e/{EVENT}?return={quote(address, safe='')}")
            assert answer.status == 200
            return answer.body.decode()

        there = await page(f"{SHOP}/seats?x=1")
        assert f'"back": {{"address": "{SHOP}/seats?x=1"}}' in there
        assert f'url=/e/{EVENT}/line?return={quote(f"{SHOP}/seats?x=1", safe="")}"' in there
        evil = await page('https://evil.example.org/"><script>')
        assert '"back": {"refused": true}' in evil
        assert "evil.example.org/" not in evil
        assert '"back": null' in (await served.http("GET", f"/e/{EVENT}")).body.decode()
