"""Admission tokens: for who is admitted and has begun, for one shop, until their time is over."""

from __future__ import annotations

from typing import Any

import jwt
import psycopg
import pytest

from gateway.environment import SettingNotValid
from gateway.room.admission_tokens import ADMISSION
from gateway.room.keys import NotOurs, RoomKeys
from gateway.room.settings import RoomSettings
from store.room.words import RoomPolicy
from store.words import EventState
from tests.gateway.rig import EVENT, gateway, scenario
from tests.gateway.room.lobby import asked, call, join, make_room

KEY, OLD = "a key for the waiting room of these tests", "another one that was the first before it"
SHOPS = ("https://shop.example.org", "https://other.example.org")


def settings(**most: Any) -> RoomSettings:
    return RoomSettings(**({"key": KEY, "shops": SHOPS, "issuer": "https://on.sale"} | most))


def claims_of(token: str, keys: dict[str, Any], shop: str = SHOPS[0]) -> dict[str, Any]:
    key = jwt.PyJWKSet.from_dict(keys)[jwt.get_unverified_header(token)["kid"]]
    found: dict[str, Any] = jwt.decode(token, key, algorithms=["EdDSA"], audience=shop)
    return found


@scenario
async def test_only_who_is_admitted_and_has_begun_gets_one(engine_urls):
    event = make_room(engine_urls.database_url, state=EventState.OPEN, policy=RoomPolicy.FIFO)
    async with gateway(engine_urls, room=settings()) as served:

        async def code() -> Any:
            answer = await asked(served, "GET", "/admission")
            return answer.status, answer.json().get("code")

        assert await code() == (403, "not_admitted")
        await join(served)
        assert await code() == (403, "not_admitted")
        with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
            call(conn, event, 1)
            assert await code() == (409, "not_begun")
            begun = (await asked(served, "POST", "/begin")).json()
            answer = await asked(served, "GET", "/admission")
            told = answer.json()
            keys = (await served.http("GET", "/.well-known/jwks.json")).json()
            claims = claims_of(told["token"], keys)
            assert {name: claims[name] for name in ("iss", "aud", "sub", "event", "place")} == {
                "iss": "https://on.sale",
                "aud": SHOPS[0],
                "sub": "ann",
                "event": EVENT,
                "place": begun["place"],
            }
            assert claims["exp"] == begun["until"] // 1000 == told["expires_at"] // 1000
            assert (await asked(served, "GET", "/admission")).json() == told, "the same however often"
            assert answer.headers["cache-control"] == "no-store"
            conn.execute("UPDATE place SET state = 'expired', ended_at = clock_timestamp()")
        assert await code() == (403, "not_admitted")


@scenario
async def test_each_shop_has_its_own_and_others_none(engine_urls):
    event = make_room(engine_urls.database_url, state=EventState.OPEN, policy=RoomPolicy.FIFO)
    async with gateway(engine_urls, room=settings()) as served:
        await join(served)
        with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
            call(conn, event, 1)
        await asked(served, "POST", "/begin")
        told = (await asked(served, "GET", f"/admission?shop={SHOPS[1]}/")).json()
        keys = (await served.http("GET", "/.well-known/jwks.json")).json()
        assert claims_of(told["token"], keys, SHOPS[1])["aud"] == told["shop"] == SHOPS[1]
        with pytest.raises(jwt.InvalidAudienceError):
            claims_of(told["token"], keys, SHOPS[0])
        unknown = await asked(served, "GET", "/admission?shop=https://evil.example.org")
        assert (unknown.status, unknown.json()["code"]) == (400, "unknown_shop")


@scenario
async def test_without_a_key_there_are_none_and_it_says_so(engine_urls):
    make_room(engine_urls.database_url)
    async with gateway(engine_urls, room=settings(key="")) as served:
        for answer in (
            await asked(served, "GET", "/admission"),
            await served.http("GET", "/.well-known/jwks.json"),
        ):
            assert (answer.status, answer.json()["code"]) == (404, "admission_tokens_off")
            assert "ONSALE_ROOM_KEY" in answer.json()["detail"]


def test_keys_are_changed_without_ending_what_was_signed():
    claims = {"sub": "ann", "aud": "shop", "exp": 2**40}
    before = RoomKeys(OLD).sign(claims, ADMISSION)
    both = RoomKeys(f"{KEY},{OLD}")
    assert both.read(before, ADMISSION, "shop")["sub"] == "ann"
    assert [one.kid for one in both.published] == [RoomKeys(one).published[0].kid for one in (KEY, OLD)]
    assert jwt.get_unverified_header(both.sign(claims, ADMISSION))["kid"] == both.published[0].kid
    with pytest.raises(NotOurs):
        RoomKeys(KEY).read(before, ADMISSION, "shop")


@pytest.mark.parametrize(
    ("claims", "kind", "audience"),
    [
        ({"sub": "ann", "aud": "shop", "exp": 1}, ADMISSION, "shop"),
        ({"sub": "ann", "aud": "shop", "exp": 2**40}, "another+jwt", "shop"),
        ({"sub": "ann", "aud": "shop", "exp": 2**40}, ADMISSION, "other"),
        ({"aud": "shop", "exp": 2**40}, ADMISSION, "shop"),
        ({"sub": "ann", "aud": "shop"}, ADMISSION, "shop"),
    ],
)
def test_what_is_over_or_for_another_purpose_is_none(claims, kind, audience):
    keys = RoomKeys(KEY)
    with pytest.raises(NotOurs):
        keys.read(keys.sign(claims, kind), ADMISSION, audience)


def test_a_key_that_could_be_guessed_is_refused():
    with pytest.raises(SettingNotValid, match="ONSALE_ROOM_KEY"):
        settings(key="short")


def test_secrets_of_one_purpose_tell_nothing_of_another():
    keys = RoomKeys(KEY)
    assert keys.secret("proof") != keys.secret("addresses")
    assert keys.secret("proof") == RoomKeys(f"{KEY},{OLD}").secret("proof")
