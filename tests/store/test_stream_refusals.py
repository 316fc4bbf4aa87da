"""A stream server that answers but takes no writes: nothing was done, and that is said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from onsale.engines.valkey import ValkeyServer
from store.errors import StreamUnavailable
from store.stream.redis_stream import RedisArrivals, RedisIntake, connect, connect_async
from store.words import Arrival

START, FIRST = Arrival("0-0"), Arrival("0-1")


@pytest.fixture
def server(tmp_path) -> Iterator[ValkeyServer]:
    server = ValkeyServer(tmp_path / "valkey")
    server.start()
    yield server
    server.stop()


def fill(client: redis.Redis) -> None:
    client.config_set("maxmemory", 1)


def demote(client: redis.Redis) -> None:
    client.execute_command("REPLICAOF", "127.0.0.1", "1")


def cut_off(client: redis.Redis) -> None:
    client.config_set("min-replicas-to-write", 1)


@pytest.mark.parametrize("spoil", [fill, demote, cut_off])
def test_an_append_that_is_refused_appended_nothing_and_says_the_stream_is_unavailable(server, spoil):
    with redis.Redis.from_url(server.url) as plain:
        arrivals = RedisArrivals(connect(server.url), "gig")
        arrivals.ensure_above(START)
        spoil(plain)
        with pytest.raises(StreamUnavailable):
            asyncio.run(_append(server.url))
        with pytest.raises(StreamUnavailable):
            arrivals.append([b"one", b"two"])
        assert len(arrivals.read(START, count_max=10, block_ms=0)) == 1, "the marker, and nothing else"


def test_a_server_in_the_place_of_the_one_that_was_told_the_script_appended_nothing(server):
    with redis.Redis.from_url(server.url) as plain:
        arrivals = RedisArrivals(connect(server.url), "gig")
        arrivals.ensure_above(START)

        async def told_and_replaced() -> None:
            client = connect_async(server.url)
            load = client.script_load

            async def load_elsewhere(script: str) -> str:
                digest = await load(script)
                plain.script_flush()
                return str(digest)

            client.script_load = load_elsewhere  # type: ignore[assignment]
            try:
                await RedisIntake(client, "gig").append([b"one"])
            finally:
                await client.aclose()

        with pytest.raises(StreamUnavailable):
            asyncio.run(told_and_replaced())
        assert len(arrivals.read(START, count_max=10, block_ms=0)) == 1, "the marker, and nothing else"


@pytest.mark.parametrize(
    "use",
    [
        lambda arrivals: arrivals.ensure_above(Arrival("9-9")),
        lambda arrivals: arrivals.trim_through(FIRST),
        lambda arrivals: arrivals.publish([("channel", b"x")], trim_through=FIRST),
    ],
)
def test_an_allocator_is_told_the_same(server, use: Callable[[RedisArrivals], Any]):
    with redis.Redis.from_url(server.url) as plain:
        arrivals = RedisArrivals(connect(server.url), "gig")
        arrivals.ensure_above(START)
        demote(plain)
        with pytest.raises(StreamUnavailable):
            use(arrivals)


def test_a_full_server_is_trimmed_all_the_same(server):
    with redis.Redis.from_url(server.url) as plain:
        arrivals = RedisArrivals(connect(server.url), "gig")
        arrivals.ensure_above(START)
        fill(plain)
        assert arrivals.publish([("channel", b"x")], trim_through=FIRST) is True
        assert arrivals.read(START, count_max=10, block_ms=0) == []


async def _append(url: str) -> None:
    client = connect_async(url)
    try:
        await RedisIntake(client, "gig").append([b"one", b"two"])
    finally:
        await client.aclose()
