"""Failovers of the engines themselves, under load: what was told stands, whoever is promoted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis

from onsale.processes import throwaway_stack
from store.stream.redis_stream import connect as connect_stream
from store.wire import stream_key
from tests.faults.replicated import StandbyPostgres, WatchedValkey, told
from tests.faults.stage import Sale, StageOf, until

pytestmark = pytest.mark.faults

CROWD = 12


class WatchedStage(StageOf):
    """A stage whose stream has replicas, and Sentinels who promote one of them."""

    def __init__(self, valkey: WatchedValkey) -> None:
        super().__init__(
            throwaway_stack(gateways=2, redis_url=valkey.url, env={"ONSALE_STREAM_REPLICAS": "1"})
        )
        self.valkey = valkey

    def heal(self) -> None:
        self.valkey.heal()
        super().heal()


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedStage]:
    with WatchedValkey(tmp_path_factory.mktemp("valkey")) as valkey:
        stage = WatchedStage(valkey)
        with stage:
            yield stage


@pytest.fixture
def sale(watched: WatchedStage) -> Iterator[Sale]:
    watched.heal()
    with watched.sale() as made:
        yield made


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


def test_sentinel_promotes_a_replica_and_what_was_accepted_is_decided(watched: WatchedStage, sale: Sale):
    valkey = watched.valkey
    crowd = sale.desk.crowd(CROWD)
    crowd.wait(100)
    before = valkey.leading()
    before.kill()
    until(lambda: valkey.leading() is not before, "the Sentinels promote a replica")
    crowd.wait(100)
    until(lambda: valkey.replicas() == 1, "the other replica follows the new primary")
    crowd.wait(100)
    truth = sale.check()
    created = [batch for batch in truth.batches if batch.epoch > 1]
    assert not created, "nobody lost the event: a stream that moves is no reason to"


def test_an_accepted_request_is_on_the_promoted_replica(watched: WatchedStage, sale: Sale):
    """Nobody decides: what is in the promoted replica's stream is there because `accepted` waited for it."""
    valkey = watched.valkey
    for name in ("allocator-1", "allocator-2"):
        watched.kill(name)
    buyers = [sale.desk.buyer(f"b{number}", number % 2) for number in range(CROWD)]
    for number, buyer in enumerate(buyers):
        buyer.ask("r1", sale.seats[number])
    accepted = [buyer.accepted("r1") for buyer in buyers]
    before = valkey.leading()
    before.kill()
    until(lambda: valkey.leading() is not before, "the Sentinels promote a replica")
    with contextlib.closing(connect_stream(valkey.url)) as client:
        until(lambda: answers(client), "the Sentinels name the new primary to all")
        entries: list[Any] = client.xrange(stream_key(sale.event.slug)) or []
        kept = {identifier.decode() for identifier, _ in entries}
    assert set(accepted) <= kept
    for name in ("allocator-1", "allocator-2"):
        watched.stack.start_again(name)
    assert {buyer.decision("r1").outcome for buyer in buyers} == {"held"}
    sale.check()


def test_what_no_replica_has_is_not_accepted_and_asked_again_when_the_primary_is_gone(
    watched: WatchedStage, sale: Sale
):
    valkey = watched.valkey
    for name in ("allocator-1", "allocator-2"):
        watched.kill(name)
    before, replicas = valkey.leading(), valkey.following()
    for replica in replicas:
        replica.pause()
    ann = sale.desk.buyer("ann", 0)
    ann.ask("r1", sale.seats[0])
    key = stream_key(sale.event.slug)
    with contextlib.closing(redis.Redis.from_url(before.url)) as first:
        until(lambda: first.xrange(key), "the primary alone has the request")
    before.kill()
    for replica in replicas:
        replica.resume()
    with contextlib.closing(connect_stream(valkey.url)) as client:
        until(lambda: valkey.leading() is not before, "the Sentinels promote a replica")
        arrival = ann.accepted("r1")
        until(lambda: answers(client), "the Sentinels name the new primary to all")
        entries: list[Any] = client.xrange(key) or []
        assert arrival in [identifier.decode() for identifier, _ in entries], (
            "not by what only the dead one had"
        )
        for name in ("allocator-1", "allocator-2"):
            watched.stack.start_again(name)
        assert ann.decision("r1").outcome == "held"
    sale.check()


def test_what_is_written_goes_to_whoever_is_primary(watched: WatchedStage):
    valkey = watched.valkey
    valkey.heal()
    with contextlib.closing(connect_stream(valkey.url)) as client:
        until(lambda: writes(client, "first"), "the Sentinels name the primary to all")
        before = valkey.leading()
        valkey.fail_over()
        until(lambda: valkey.leading() is not before, "the Sentinels promote a replica")
        until(lambda: told(before, "replication").get("role") == "slave", "the old primary follows")
        until(lambda: writes(client, "second"), "the Sentinels name the new primary to all")
    with contextlib.closing(redis.Redis.from_url(valkey.leading().url)) as primary:
        assert primary.get("who") == b"second"


def test_a_synchronous_standby_is_promoted_and_nothing_told_is_lost(engine_path: Path):
    with (
        StandbyPostgres(engine_path) as postgres,
        StageOf(throwaway_stack(gateways=2, database_url=postgres.url)) as stage,
        stage.sale() as sale,
    ):
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
