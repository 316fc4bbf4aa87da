"""A gateway serves many events: the connections they take."""

from __future__ import annotations

import pytest

from tests.gateway.rig import SEATS, StandIn, gateway, make_event, scenario

BY_DEFAULT = 100
"""Connections that redis-py makes at most unless it is told otherwise."""


@pytest.fixture
def event(database_url):
    return make_event(database_url)


@scenario
async def test_however_many_events_are_followed_appends_have_a_connection(engine_urls, event):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event):
        pool = served.runtime.redis.connection_pool
        followed = [await pool.get_connection() for _ in range(BY_DEFAULT)]
        assert (await served.post({"seats": [SEATS[0]]}, Prefer="wait=9")).status == 200
        for connection in followed:
            await pool.release(connection)
