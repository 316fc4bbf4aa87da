"""The Python client where a proxy refuses websockets, and server-sent events too: all goes the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from onsale_client import Buyer, Ended, NotOpen, Refused, news

from store.room.words import Proof
from tests.clients.front import Front
from tests.clients.test_buyer import ROOM, let_in, room
from tests.gateway.rig import EVENT, SEATS, StandIn, gateway, scenario, token, until

SOCKET, STREAM = "/v1/socket", "/room/stream"


@pytest.fixture(autouse=True)
def asks_often(monkeypatch):
    monkeypatch.setattr(news, "POLL_SECONDS", 0.05)


def buyer_at(port: int, name: str = "ann", said: str | None = None, **how: Any) -> Buyer:
    return Buyer(f"http://127.0.0.1:{port}", EVENT, said or token(name), **how)


@pytest.mark.parametrize("refused", [(SOCKET,), (SOCKET, STREAM)], ids=["no sockets", "no streams either"])
@scenario
async def test_from_joining_to_a_decision_whatever_is_refused_on_the_way(engine_urls, refused):
    event = room(engine_urls, proof=Proof.ALWAYS)
    async with (
        gateway(engine_urls, room=ROOM) as served,
        StandIn(engine_urls, event),
        Front(served.port, *refused) as front,
        buyer_at(front.port, "first") as first,
        buyer_at(front.port) as ann,
    ):
        await first.join()
        place = await ann.join(email="ann@example.org")
        assert (place["state"], place["position"]) == ("waiting", 2)
        await until(lambda: ann.status is not None)
        assert ann.ahead == 1
        with pytest.raises(Refused) as caught:
            await ann.begin()
        assert caught.value.code == "not_admitted"
        turn = asyncio.create_task(ann.wait_for_turn())
        let_in(engine_urls, event, 2)
        assert (await turn)["state"] == "admitted"
        assert (await ann.more_time())["more_left"] == 2
        begun = await ann.begin()
        assert begun["until"] > begun["begun_at"]
        decision = await ann.request({"seats": [SEATS[0]]}, "r1")
        assert (decision["type"], decision["outcome"], decision["id"]) == ("decision", "held", "r1")
        assert await ann.request({"seats": [SEATS[0]]}, "r1") == decision, "the same key, the same answer"
        assert (await ann.leave())["state"] == "left"
        with pytest.raises(Ended):
            await ann.wait_for_turn()
        assert len(front.refused) == len(refused), "each was tried, and no socket was had"
        assert STREAM in refused or any(path.endswith(STREAM) for path in front.passed)


@scenario
async def test_ways_that_are_refused_are_not_tried_for_ever(engine_urls):
    room(engine_urls, proof=Proof.OFF)
    async with (
        gateway(engine_urls, room=ROOM) as served,
        Front(served.port, SOCKET, STREAM) as front,
        buyer_at(front.port) as ann,
    ):
        await ann.join()
        looks = f"/v1/events/{EVENT}/room/place"
        await until(lambda: front.passed[looks] >= 6)
        assert sorted(front.refused.values()) == [3, 3]


@scenario
async def test_a_request_that_waits_for_its_decision_is_asked_again_under_its_key(engine_urls, monkeypatch):
    monkeypatch.setattr(news, "WAIT_SECONDS", 1)
    monkeypatch.setattr("onsale_client.buyer.SAY_AGAIN_SECONDS", 0.1)
    event = room(engine_urls, proof=Proof.OFF)
    async with (
        gateway(engine_urls, room=ROOM) as served,
        StandIn(engine_urls, event) as stand_in,
        buyer_at(served.port, ways=("poll",)) as ann,
    ):
        await ann.join()
        let_in(engine_urls, event, 1)
        await ann.wait_for_turn()
        await ann.begin()
        stand_in.deciding = False
        asked = asyncio.create_task(ann.request({"seats": [SEATS[1]]}, "r1"))
        await until(lambda: served.runtime.events.loaded()[0].intake.undecided)
        stand_in.deciding = True
        assert (await asked)["outcome"] == "held"
        assert [entry.request_id for entry in stand_in.read].count("r1") == 1


@pytest.mark.parametrize("ways", [("events",), ("poll",)])
@scenario
async def test_a_token_that_is_not_good_ends_every_way(engine_urls, ways):
    room(engine_urls, proof=Proof.OFF)
    async with (
        gateway(engine_urls, room=ROOM) as served,
        buyer_at(served.port, said="forged", ways=ways) as nobody,
    ):
        with pytest.raises(NotOpen) as caught:
            await nobody.join()
        assert caught.value.code == 4401
        with pytest.raises(NotOpen):
            await nobody.wait_for_turn()


def test_ways_that_are_none_are_refused():
    with pytest.raises(ValueError, match="socket, events, poll"):
        Buyer("http://x", "gig", "t", ways=("pigeon",))
