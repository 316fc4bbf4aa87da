"""Whoever still waits for a decision gets it, however many looked in and went meanwhile."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway.api import Watched
from gateway.buyers import intake
from store.errors import Unavailable
from tests.gateway.rig import (
    EVENT,
    SEATS,
    Buyer,
    Served,
    StandIn,
    gateway,
    make_event,
    scenario,
    token,
    until,
)

PATH = f"/v1/events/{EVENT}/requests"
WANT = {"seats": [SEATS[0]]}


@pytest.fixture
def event(database_url):
    return make_event(database_url)


@pytest.fixture(autouse=True)
def few_places(monkeypatch):
    monkeypatch.setattr(intake, "WAITERS_MAX", 2)


@asynccontextmanager
async def waiting(engine_urls, event) -> AsyncIterator[tuple[Served, Buyer]]:
    """A socket whose request is accepted; at the end it is decided, and the socket must be told."""
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        async with served.socket() as ann:
            await ann.ask("r1", **WANT)
            await ann.receive("accepted")
            yield served, ann
            allocator.deciding = True
            assert (await ann.receive("decision"))["outcome"] == "held"


async def look(served: Served) -> None:
    answer = await served.http("GET", f"{PATH}/r1", headers={"Authorization": f"Bearer {token()}"})
    assert (answer.status, answer.json()["state"]) == (202, "undecided")


@scenario
async def test_looking_at_a_request_does_not_take_a_sockets_decision(engine_urls, event):
    async with waiting(engine_urls, event) as (served, _):
        for _ in range(3):
            await look(served)


@scenario
async def test_posts_of_its_key_do_not_take_a_sockets_decision(engine_urls, event):
    async with waiting(engine_urls, event) as (served, _):
        for _ in range(3):
            assert (await served.post(WANT)).status == 202


@scenario
async def test_a_post_whose_time_is_over_does_not_take_a_sockets_decision(engine_urls, event):
    async with waiting(engine_urls, event) as (served, _):
        assert (await served.post(WANT, Prefer="wait=1")).status == 202
        await look(served)


@scenario
async def test_sockets_that_are_gone_do_not_take_a_sockets_decision(engine_urls, event):
    async with waiting(engine_urls, event) as (served, _):
        for _ in range(3):
            async with served.socket() as other:
                await other.send({"type": "resume", "ids": ["r1"]})
                await other.receive("accepted", but=())
            await until(lambda: len(served.runtime.hub.clients) == 1)


@scenario
async def test_a_refusal_that_nobody_waits_for_any_more_is_no_trouble():
    told = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
    watched = Watched()
    watched.refused("r1", Unavailable("The queue cannot be reached."))
    await asyncio.sleep(0)
    del watched
    gc.collect()
    assert told == []
