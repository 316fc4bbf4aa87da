"""Going on with a place on another device: only by its own token, for hours, as its buyer."""

from __future__ import annotations

import time
from uuid import uuid4

import jwt
import psycopg
import pytest

from gateway.problems import Unauthorized
from gateway.room import tokens
from gateway.room.tokens import PlaceTokens
from store.room.words import Lane, Place, PlaceState
from store.words import Micros
from tests.gateway.rig import EVENT, SECRET, gateway, scenario, token
from tests.gateway.room.lobby import ROOM, asked, join, make_room

PLACE = Place(uuid4(), "ann", Lane.ORDINARY, PlaceState.WAITING, 7, Micros(0), None, None, None, None)


@pytest.fixture
def event(database_url):
    return make_room(database_url)


def test_a_token_says_whose_place_it_is():
    given = PlaceTokens(SECRET).make(EVENT, PLACE)
    assert given is not None
    found = PlaceTokens(SECRET).judge(EVENT, given)
    assert (found.place, found.buyer) == (PLACE.id, "ann")


def test_without_a_shared_secret_there_is_none():
    assert PlaceTokens("").make(EVENT, PLACE) is None
    with pytest.raises(Unauthorized):
        PlaceTokens("").judge(EVENT, str(PlaceTokens(SECRET).make(EVENT, PLACE)))


def forged(**claims: object) -> str:
    key = PlaceTokens(SECRET)._key
    known = {"aud": "place", "sub": "ann", "event": EVENT, "place": str(PLACE.id), "exp": time.time() + 60}
    return jwt.encode(known | claims, key, algorithm="HS256")


BAD = {
    "nonsense": "nonsense",
    "empty": "",
    "of another secret": str(PlaceTokens("x" * 32).make(EVENT, PLACE)),
    "a buyer's token": token("ann"),
    "a buyer's token that says it is a place's": token("ann", aud="place", event=EVENT, place=str(PLACE.id)),
    "of another event": str(PlaceTokens(SECRET).make("other", PLACE)),
    "for something else": forged(aud="hold"),
    "run out": forged(exp=time.time() - tokens.LEEWAY_SECONDS - 1),
    "of nobody": forged(sub=""),
    "of no place": forged(place="7"),
    "unsigned": jwt.encode({"aud": "place", "sub": "ann", "exp": time.time() + 60}, "", algorithm="none"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_token_that_is_not_good_is_refused(bad):
    with pytest.raises(Unauthorized) as refused:
        PlaceTokens(SECRET).judge(EVENT, bad)
    assert refused.value.code == "place_token_not_valid"


def test_a_token_lasts_for_hours():
    at = 1_700_000_000.0
    given = str(PlaceTokens(SECRET, lambda: at).make(EVENT, PLACE))
    late = at + tokens.TOKEN_SECONDS + tokens.LEEWAY_SECONDS
    assert PlaceTokens(SECRET, lambda: late - 1).judge(EVENT, given).buyer == "ann"
    with pytest.raises(Unauthorized):
        PlaceTokens(SECRET, lambda: late).judge(EVENT, given)


@scenario
async def test_a_places_token_is_no_buyers_token(engine_urls, event):
    async with gateway(engine_urls) as served:
        given = (await join(served)).json()["token"]
        answer = await served.http("GET", f"{ROOM}/place", headers={"Authorization": f"Bearer {given}"})
        assert (answer.status, answer.json()["code"]) == (401, "token_not_valid")


async def resume(served, place_token, **headers):
    return await served.http("POST", f"{ROOM}/resume", body={"token": place_token}, headers=headers)


@scenario
async def test_in_a_demo_another_device_becomes_the_buyer_of_the_place(engine_urls, event):
    async with gateway(engine_urls, demo=True) as served:
        place = (await join(served, "anon-1")).json()
        resumed = (await resume(served, place["token"])).json()
        assert resumed["buyer"] == "anon-1"
        head = {"Authorization": f"Bearer {resumed['token']}"}
        assert (await served.http("GET", f"{ROOM}/place", headers=head)).json()["place"] == place["place"]
        assert (await resume(served, "nonsense")).json()["code"] == "place_token_not_valid"


@scenario
async def test_outside_a_demo_only_the_organisers_sign_in_says_who_somebody_is(engine_urls, event):
    async with gateway(engine_urls) as served:
        place = (await join(served)).json()
        assert (await resume(served, place["token"])).json()["code"] == "token_required"
        other = await resume(served, place["token"], Authorization=f"Bearer {token('bob')}")
        assert (other.status, other.json()["code"]) == (401, "place_of_another")
        mine = await resume(served, place["token"], Authorization=f"Bearer {token('ann')}")
        assert mine.json() == {"buyer": "ann", "token": None}


@scenario
async def test_the_token_of_a_place_that_was_given_up_leads_nowhere(engine_urls, database_url, event):
    async with gateway(engine_urls, demo=True) as served:
        first = (await join(served)).json()["token"]
        await asked(served, "POST", "/leave")
        answer = await resume(served, first)
        assert (answer.status, answer.json()["code"]) == (404, "no_place")
        await join(served)
        assert (await resume(served, first)).status == 404, "a new place is another one"
        with psycopg.connect(database_url, autocommit=True) as conn:
            conn.execute("DELETE FROM place")
        assert (await asked(served, "GET", "/place", "zoe")).status == 404
