"""Failovers of the engines themselves, under load: what was told stands, whoever is promoted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

from onsale.processes import throwaway_stack
from store.stream.redis_stream import connect as connect_stream
from store.wire import stream_key
from tests.faults.replicated import StandbyPostgres, WatchedValkey
from tests.faults.stage import Sale, StageOf, until

pytestmark = pytest.mark.faults

CROWD = 12


@contextlib.contextmanager
def sale_on(
    *, database_url: str | None = None, redis_url: str | None = None, env: Mapping[str, str] | None = None
) -> Iterator[Sale]:
    making = throwaway_stack(gateways=2, database_url=database_url, redis_url=redis_url, env=env)
    with StageOf(making) as stage, stage.sale() as sale:
        yield sale


def answers(client: redis.Redis) -> bool:
    """Whether it finds a primary; between two there is none for a moment."""
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def writes(client: redis.Redis, who: str) -> bool:
    """Whether it reaches a primary; Sentinels end connections to the one before."""
    try:
        return bool(client.set("who", who))
    except redis.RedisError:
        return False


def test_sentinel_promotes_a_replica_and_what_was_accepted_is_decided(tmp_path: Path):
    with (
        WatchedValkey(tmp_path) as valkey,
        sale_on(redis_url=valkey.url, env={"ONSALE_STREAM_REPLICAS": "1"}) as sale,
    ):
        crowd = sale.desk.crowd(CROWD)
        crowd.wait(100)
        before = valkey.primary()
        valkey.servers[0].kill()
        until(lambda: valkey.primary() != before, "the Sentinels promote a replica")
        crowd.wait(100)
        until(lambda: valkey.replicas() == 1, "the other replica follows the new primary")
        crowd.wait(100)
        truth = sale.check()
        created = [batch for batch in truth.batches if batch.epoch > 1]
        assert not created, "nobody lost the event: a stream that moves is no reason to"


def test_an_accepted_request_is_on_the_promoted_replica(tmp_path: Path):
    """Nobody decides: what is in the promoted replica's stream is there because `accepted` waited for it."""
    with (
        WatchedValkey(tmp_path) as valkey,
        sale_on(redis_url=valkey.url, env={"ONSALE_STREAM_REPLICAS": "1"}) as sale,
    ):
        for name in ("allocator-1", "allocator-2"):
            sale.stage.stack.kill(name)
        buyers = [sale.desk.buyer(f"b{number}", number % 2) for number in range(CROWD)]
        for number, buyer in enumerate(buyers):
            buyer.ask("r1", sale.seats[number])
        accepted = [buyer.accepted("r1") for buyer in buyers]
        before = valkey.primary()
        valkey.servers[0].kill()
        until(lambda: valkey.primary() != before, "the Sentinels promote a replica")
        with contextlib.closing(connect_stream(valkey.url)) as client:
            until(lambda: answers(client), "the Sentinels name the new primary to all")
            entries: list[Any] = client.xrange(stream_key(sale.event.slug)) or []
            kept = {identifier.decode() for identifier, _ in entries}
        assert set(accepted) <= kept
        for name in ("allocator-1", "allocator-2"):
            sale.stage.stack.start_again(name)
        assert {buyer.decision("r1").outcome for buyer in buyers} == {"held"}
        sale.check()


def test_what_no_replica_has_is_not_accepted_and_asked_again_when_the_primary_is_gone(tmp_path: Path):
    with (
        WatchedValkey(tmp_path) as valkey,
        sale_on(redis_url=valkey.url, env={"ONSALE_STREAM_REPLICAS": "1"}) as sale,
    ):
        for name in ("allocator-1", "allocator-2"):
            sale.stage.stack.kill(name)
        for replica in valkey.servers[1:]:
            replica.pause()
        ann = sale.desk.buyer("ann", 0)
        ann.ask("r1", sale.seats[0])
        first = redis.Redis.from_url(valkey.servers[0].url)
        with contextlib.closing(first):
            key = stream_key(sale.event.slug)
            until(lambda: first.xrange(key), "the primary alone has the request")
        valkey.servers[0].kill()
        for replica in valkey.servers[1:]:
            replica.resume()
        with contextlib.closing(connect_stream(valkey.url)) as client:
            until(lambda: valkey.primary() != valkey.servers[0].port, "the Sentinels promote a replica")
            assert not ann.asks["r1"].accepted
            for name in ("allocator-1", "allocator-2"):
                sale.stage.stack.start_again(name)
            assert ann.decision("r1").outcome == "held"
            assert client.exists(key)
        sale.check()


def test_what_is_written_goes_to_whoever_is_primary(tmp_path: Path):
    with WatchedValkey(tmp_path) as valkey, contextlib.closing(connect_stream(valkey.url)) as client:
        client.set("who", "first")
        before = valkey.primary()
        valkey.fail_over()
        until(lambda: valkey.primary() != before, "the Sentinels promote a replica")
        with contextlib.closing(redis.Redis.from_url(valkey.servers[0].url)) as first:
            until(lambda: dict(first.info("replication"))["role"] == "slave", "the old primary follows")
        until(lambda: writes(client, "second"), "the Sentinels name the new primary to all")
        assert dict(client.info("server"))["tcp_port"] == valkey.primary()


def test_a_synchronous_standby_is_promoted_and_nothing_told_is_lost(tmp_path: Path):
    with StandbyPostgres(tmp_path) as postgres, sale_on(database_url=postgres.url) as sale:
        crowd = sale.desk.crowd(CROWD)
        crowd.wait(100)
        epoch, told = sale.epoch, sale.desk.decisions
        sale.connection().close()
        postgres.first.kill()
        postgres.promote()
        sale.wait_taken_over(epoch)
        crowd.wait(100)
        assert sale.desk.decisions > told
        sale.check()
        with psycopg.connect(postgres.second.url) as conn:
            assert conn.execute("SELECT pg_is_in_recovery()").fetchone() == (False,)
