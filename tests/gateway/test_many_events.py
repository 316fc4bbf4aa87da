"""A gateway serves many events: the connections they take, and letting go of those that nobody uses."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from gateway import loading
from gateway.events import EventRuntime
from store import events, lookups, waiting
from tests.gateway.rig import EVENT, SEATS, Served, StandIn, gateway, make_event, scenario, token, until

BY_DEFAULT = 100
"""Connections that redis-py makes at most unless it is told otherwise."""
LONG_AGO_SECONDS = 2 * loading.UNUSED_SECONDS_MAX


@pytest.fixture
def event(database_url):
    return make_event(database_url)


def loaded(served: Served) -> set[str]:
    return {event.row.slug for event in served.runtime.events.loaded()}


def used_long_ago(served: Served) -> EventRuntime:
    [event] = served.runtime.events.loaded()
    event.used_at -= LONG_AGO_SECONDS
    return event


@scenario
async def test_however_many_events_are_followed_appends_have_a_connection(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event):
        pool = served.runtime.redis.connection_pool
        followed = [await pool.get_connection() for _ in range(BY_DEFAULT)]
        assert (await served.post({"seats": [SEATS[0]]}, Prefer="wait=9")).status == 200
        for connection in followed:
            await pool.release(connection)


@scenario
async def test_an_event_that_nobody_uses_is_let_go_and_loaded_again_when_somebody_asks(
    engine_urls, event, monkeypatch
):
    monkeypatch.setattr(loading, "EVERY_SECONDS", 0.01)
    async with gateway(engine_urls) as served, StandIn(engine_urls, event):
        assert (await served.post({"seats": [SEATS[0]]}, Prefer="wait=9")).status == 200
        await asyncio.sleep(0.05)
        assert loaded(served) == {EVENT}, "it was used just now"
        [let_go] = served.runtime.events.loaded()
        used_long_ago(served)
        await until(lambda: not loaded(served))
        try:
            await until(lambda: not served.runtime.redis.connection_pool._in_use_connections)
        finally:
            await let_go.stop()
        assert (await served.post({"seats": [SEATS[1]]}, "r2", Prefer="wait=9")).status == 200


@scenario
async def test_an_event_that_somebody_asked_for_is_not_let_go(engine_urls, event):
    async with gateway(engine_urls) as served:
        await served.runtime.events.get(EVENT)
        used_long_ago(served)
        await served.http("GET", f"/v1/events/{EVENT}/seats")
        served.runtime.events.let_go_unused(loading.UNUSED_SECONDS_MIN)
        assert loaded(served) == {EVENT}


@scenario
async def test_an_event_with_a_socket_is_not_let_go(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event), served.socket() as ann:
        used_long_ago(served)
        served.runtime.events.let_go_unused(loading.UNUSED_SECONDS_MAX)
        await ann.ask("r1", seats=[SEATS[0]])
        assert (await ann.receive("decision"))["outcome"] == "held"


@scenario
async def test_an_event_with_an_undecided_request_is_not_let_go(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as allocator:
        allocator.deciding = False
        asking = asyncio.create_task(served.post({"seats": [SEATS[0]]}, Prefer="wait=9"))
        await until(served.runtime.events.loaded)
        await until(lambda: served.runtime.events.loaded()[0].intake.undecided)
        used_long_ago(served)
        served.runtime.events.let_go_unused(loading.UNUSED_SECONDS_MAX)
        allocator.deciding = True
        assert (await asking).status == 200


@pytest.mark.parametrize(
    ("module", "name", "method", "path"),
    [
        (lookups, "decisions", "POST", f"/v1/events/{EVENT}/requests"),
        (waiting, "line", "GET", f"/v1/events/{EVENT}/waiting"),
    ],
    ids=["decisions", "waiting list"],
)
@scenario
async def test_an_event_whose_database_is_asked_for_somebody_is_not_let_go(
    engine_urls, event, monkeypatch, module, name, method, path
):
    asked, go_on, look_up = asyncio.Event(), asyncio.Event(), getattr(module, name)

    async def slowly(*given):
        asked.set()
        await go_on.wait()
        return await look_up(*given)

    monkeypatch.setattr(module, name, slowly)
    headers = {"Authorization": f"Bearer {token()}", "Idempotency-Key": "r1", "Prefer": "wait=9"}
    body = {"seats": [SEATS[0]]} if method == "POST" else None
    async with gateway(engine_urls) as served, StandIn(engine_urls, event):
        asking = asyncio.create_task(served.http(method, path, body=body, headers=headers))
        await asked.wait()
        used_long_ago(served)
        served.runtime.events.let_go_unused(loading.UNUSED_SECONDS_MAX)
        go_on.set()
        assert (await asking).status == 200


@scenario
async def test_the_event_that_was_unused_for_longest_makes_room_for_the_next(
    engine_urls, event, database_url
):
    with psycopg.connect(database_url, autocommit=True) as conn:
        venue_id, plan = events.find_venue(conn, "arena")
        for slug in ("second", "third"):
            events.create_event(conn, slug, slug, venue_id, plan)
    async with gateway(engine_urls, bounds={"events_max": 2}) as served:
        first = await served.runtime.events.get(EVENT)
        second = await served.runtime.events.get("second")
        refused = await served.http("GET", "/v1/events/third/seats")
        assert (refused.status, refused.json()["code"]) == (503, "too_many_events")
        first.used_at -= LONG_AGO_SECONDS
        second.used_at -= 2 * LONG_AGO_SECONDS
        assert (await served.http("GET", "/v1/events/third/seats")).status == 200
        assert loaded(served) == {EVENT, "third"}
