"""The Python client against a real gateway: from the lobby to a decision, whatever breaks on the way."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import onsale_client
import psycopg
import pytest
from onsale_client import Buyer, Ended, NotOpen, Refused, solve

from gateway.room.settings import RoomSettings
from store.room.words import Proof, RoomPolicy
from store.words import EventState
from tests.gateway.rig import EVENT, SEATS, Served, StandIn, gateway, scenario, token, until
from tests.gateway.room.lobby import call, make_room

SHOP = "https://shop.example.org"
ROOM = RoomSettings(key="a key for the waiting room of these tests", shops=(SHOP,), proof_tries_max=50)


@contextlib.asynccontextmanager
async def buyer_at(served: Served, name: str = "ann") -> AsyncIterator[Buyer]:
    async with Buyer(f"http://127.0.0.1:{served.port}", EVENT, token(name)) as buyer:
        yield buyer


def room(urls, **terms: Any) -> int:
    return make_room(urls.database_url, state=EventState.OPEN, policy=RoomPolicy.FIFO, **terms)


def let_in(urls, event: int, serving: int) -> None:
    with psycopg.connect(urls.database_url, autocommit=True) as conn:
        call(conn, event, serving)


@scenario
async def test_from_joining_to_a_decision(engine_urls):
    event = room(engine_urls)
    async with (
        gateway(engine_urls, room=ROOM) as served,
        StandIn(engine_urls, event),
        buyer_at(served, "first") as first,
        buyer_at(served) as ann,
    ):
        await first.join()
        place = await ann.join(email="ann@example.org")
        assert (place["state"], place["position"]) == ("waiting", 2)
        await until(lambda: ann.status is not None)
        assert ann.ahead == 1
        heard: list[Any] = []
        turn = asyncio.create_task(ann.wait_for_turn(heard.append))
        let_in(engine_urls, event, 2)
        assert (await turn)["state"] == "admitted"
        assert heard
        longer = await ann.more_time()
        assert longer["more_left"] == 2
        begun = await ann.begin()
        assert begun["until"] > begun["begun_at"]
        assert (await ann.more_time())["until"] - begun["until"] == 450_000
        decision = await ann.request({"seats": [SEATS[0]]}, "r1")
        assert (decision["outcome"], decision["id"]) == ("held", "r1")
        assert await ann.request({"seats": [SEATS[0]]}, "r1") == decision, "the same key, the same answer"
        admission = await ann.admission()
        assert admission["shop"] == SHOP
        assert (await ann.leave())["state"] == "left"
        with pytest.raises(Ended):
            await ann.wait_for_turn()


@scenario
async def test_work_that_is_asked_for_is_done(engine_urls):
    room(engine_urls, proof=Proof.ALWAYS)
    async with gateway(engine_urls, room=ROOM) as served, buyer_at(served) as ann:
        assert (await ann.join())["position"] == 1


@scenario
async def test_what_was_said_before_the_gateway_went_is_said_to_the_next_one(engine_urls):
    event = room(engine_urls)
    async with StandIn(engine_urls, event) as stand_in:
        async with gateway(engine_urls, room=ROOM) as first:
            port = first.port
            ann = Buyer(f"http://127.0.0.1:{port}", EVENT, token("ann"))
            await ann.__aenter__()
            place = await ann.join()
            let_in(engine_urls, event, 1)
            await ann.wait_for_turn()
            await ann.begin()
            stand_in.deciding = False
            asked = asyncio.create_task(ann.request({"seats": [SEATS[1]]}, "r1"))
            await until(lambda: first.runtime.events.loaded()[0].intake.undecided)
        async with gateway(engine_urls, room=ROOM, port=port):
            stand_in.deciding = True
            assert (await asked)["outcome"] == "held"
            assert ann.place is not None
            assert ann.place["place"] == place["place"]
            await ann.__aexit__(None, None, None)


@scenario
async def test_a_refusal_is_told_with_its_code(engine_urls):
    room(engine_urls)
    async with gateway(engine_urls, room=ROOM) as served, buyer_at(served) as ann:
        with pytest.raises(Refused) as caught:
            await ann.join(code="no code at all")
        assert caught.value.code == "code_not_valid"
        await ann.join()
        with pytest.raises(Refused) as caught:
            await ann.begin()
        assert caught.value.code == "not_admitted"
        with pytest.raises(Refused) as caught:
            await ann.admission()
        assert caught.value.code == "not_admitted"


@scenario
async def test_more_time_is_asked_for_by_who_has_a_turn_and_as_often_as_there_is(engine_urls):
    event = room(engine_urls, more_begin_max=1)
    async with gateway(engine_urls, room=ROOM) as served, buyer_at(served) as ann:
        await ann.join()
        with pytest.raises(Refused) as caught:
            await ann.more_time()
        assert caught.value.code == "not_admitted"
        let_in(engine_urls, event, 1)
        await ann.wait_for_turn()
        assert (await ann.more_time())["more_left"] == 0
        with pytest.raises(Refused) as caught:
            await ann.more_time()
        assert caught.value.code == "no_more_time"


@scenario
async def test_a_token_that_is_not_good_ends_it(engine_urls):
    room(engine_urls)
    async with gateway(engine_urls, room=ROOM) as served:
        nobody = Buyer(f"http://127.0.0.1:{served.port}", EVENT, "forged")
        async with nobody:
            with pytest.raises(NotOpen) as caught:
                await nobody.join()
            assert caught.value.code == 4401
            with pytest.raises(NotOpen):
                await nobody.wait_for_turn()


@scenario
async def test_what_passes_is_asked_again_over_http():
    answers: list[httpx.Response | Exception] = [
        httpx.Response(503, headers={"Retry-After": "0"}),
        httpx.Response(502, text="a proxy's page"),
        httpx.ConnectError("cut"),
        httpx.Response(200, json={"state": "paid"}),
        httpx.Response(403, text="a proxy's page"),
    ]

    def answer(_: httpx.Request) -> httpx.Response:
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        ann = Buyer("http://x", "gig", "t", client)
        assert await ann.confirm("7") == {"state": "paid"}
        with pytest.raises(Refused) as caught:
            await ann.confirm("7")
        assert caught.value.code == "http_error"


def test_a_challenge_of_another_kind_is_refused():
    with pytest.raises(ValueError, match="PBKDF2"):
        solve({"parameters": {"algorithm": "ARGON2ID"}})


def test_it_stands_alone():
    """Others install it without onsale: it imports none of our rooms."""
    where = Path(onsale_client.__file__).parent.parent
    said = (
        "import sys, onsale_client, onsale_client.middleware;"
        "print([name for name in sys.modules if name.split('.')[0] in"
        " ('onsale', 'gateway', 'allocator', 'notifier', 'store', 'bench', 'msgspec')])"
    )
    alone: dict[str, Any] = {"cwd": where, "env": {"PYTHONPATH": str(where)}}
    done = subprocess.run([sys.executable, "-c", said], **alone, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
