"""An outage: whoever takes the event over gives holds the lost time back, before any of them may run out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import msgspec
import psycopg
import pytest

from allocator import lease, worker
from allocator.follow import Follower
from allocator.load import load_keys, load_layout, load_memory
from allocator.memory import Memory
from allocator.replay import Finding, verify
from allocator.worker import EventWorker
from store.database import connect
from store.errors import Fenced
from store.settings import EngineUrls
from store.stream.redis_stream import connect as connect_stream
from store.wire import decode_news, holds_channel
from store.words import HoldId, Outage
from tests.allocator.house import SLUG, Owner, check_laws, entry, open_event, owner_of, plan_of, seats
from tests.allocator.waiting import held_up, is_free

OUT_SECONDS = 60
TTL_SECONDS = 30
"""So a hold that was given right before the outage has run out in it."""


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    with owner_of(database_url, redis_url, hold_ttl_seconds=TTL_SECONDS) as made:
        yield made
        check_laws(database_url, made.event_id)


def held(owner: Owner, *buyers: str) -> None:
    asked = [entry(buyer, "r1", seats(f"A-{number}")) for number, buyer in enumerate(buyers, 1)]
    assert owner.outcomes(*asked) == ["held"] * len(buyers)


def away(owner: Owner, seconds: float = OUT_SECONDS) -> None:
    """All that was done, so much longer ago, and nobody has attended since."""
    by = f"- interval '{seconds} seconds'"
    owner.query_nothing("UPDATE hold SET expires_at = expires_at " + by)
    owner.query_nothing("UPDATE event_cursor SET batch_time = batch_time " + by)
    owner.query_nothing("UPDATE lease SET renewed_at = clock_timestamp() " + by)


def ends(owner: Owner) -> dict[int, int]:
    rows = owner.query("SELECT hold_id, (extract(epoch FROM expires_at) * 1000000)::bigint FROM hold")
    return dict(rows)


def states(owner: Owner) -> list[Any]:
    return owner.query("SELECT buyer, state FROM hold ORDER BY hold_id")


def outages(owner: Owner) -> list[Outage]:
    """Facts that wait, and those that the ledger has."""
    rows = owner.query(
        "SELECT body::text FROM fact WHERE kind = 'outage' UNION ALL"
        " SELECT (input -> 'body')::text FROM ledger WHERE outcome = 'outage'"
    )
    return [msgspec.json.decode(body, type=Outage) for (body,) in rows]


@contextlib.contextmanager
def heir_of(owner: Owner) -> Iterator[Owner]:
    with contextlib.closing(Owner(owner.database_url, owner.redis_url, owner.event_id)) as heir:
        yield heir


def ends_in(memory: Memory) -> dict[HoldId, int]:
    return {hold_id: hold.expires_at for hold_id, hold in memory.holds.items()}


def test_who_takes_over_after_an_outage_lets_no_hold_run_out_that_ran_before_it(owner):
    held(owner, "ann", "bob")
    away(owner)
    before = ends(owner)
    with heir_of(owner) as heir:
        assert [out.lost_us / 1e6 for out in outages(owner)] == [pytest.approx(OUT_SECONDS, abs=5)]
        lost_us = outages(owner)[0].lost_us
        heir.loop.tick()
        assert states(owner) == [("ann", "active"), ("bob", "active")]
        assert ends(owner) == {hold_id: end + lost_us for hold_id, end in before.items()}
        assert ends_in(heir.memory) == ends(owner)
    with heir_of(owner):
        assert ends(owner) == {hold_id: end + lost_us for hold_id, end in before.items()}
        assert len(outages(owner)) == 1


def test_a_standby_that_knew_the_holds_from_before_follows_the_outage(owner):
    held(owner, "ann")
    away(owner)
    with connect(owner.database_url, "standby") as conn:
        layout = load_layout(conn, owner.event_id)
        memory, _ = load_memory(conn, owner.event_id, layout)
        follower = Follower(conn, owner.event_id, memory, load_keys(conn, owner.event_id))
        before = ends_in(memory)
        with heir_of(owner) as heir:
            heir.loop.tick()
            follower.catch_up()
            assert ends_in(follower.memory) == ends_in(heir.memory) == ends(owner) != before


def test_memory_that_was_loaded_after_it_gives_it_no_second_time(owner):
    held(owner, "ann")
    away(owner)
    with heir_of(owner) as heir:  # loads what the table shows already; the fact is not consumed
        assert ends_in(heir.memory) == ends(owner)
        heir.loop.tick()
        assert ends_in(heir.memory) == ends(owner)
        assert owner.query("SELECT count(*) FROM fact") == [(0,)]


def test_the_ledger_says_it_and_is_decided_again(owner):
    held(owner, "ann")
    end = next(iter(ends(owner).values()))
    owner.query_nothing("UPDATE lease SET renewed_at = clock_timestamp() - interval '10 s'")
    owner.query_nothing("UPDATE event_cursor SET batch_time = clock_timestamp() - interval '10 s'")
    with heir_of(owner) as heir:
        assert heir.outcomes(entry("bob", "r1", seats("A-1"))) == ["taken"]
        heir.release("ann")
        assert heir.outcomes(entry("bob", "r2", seats("A-1"))) == ["held"]
    assert len(outages(owner)) == 1
    assert end + outages(owner)[0].lost_us == ends(owner)[min(ends(owner))]
    with psycopg.connect(owner.database_url) as conn:
        assert [one for one in verify(conn, owner.event_id) if isinstance(one, Finding)] == []


def test_a_hold_that_ran_out_before_the_outage_is_over_and_what_came_of_it_is_in_order(owner):
    held(owner, "ann", "bob")
    away(owner)
    owner.query_nothing(
        "UPDATE hold SET expires_at = (SELECT batch_time FROM event_cursor) - interval '1 s'"
        " WHERE buyer = 'ann'"
    )
    with heir_of(owner) as heir:
        heir.loop.tick()
    assert states(owner) == [("ann", "expired"), ("bob", "active")]


def test_an_ordinary_takeover_moves_no_end(owner):
    held(owner, "ann")
    away(owner, lease.LEASE_SECONDS + 0.5)
    before = ends(owner)
    with heir_of(owner):
        assert ends(owner) == before
        assert outages(owner) == []


def test_a_stop_in_good_order_is_lost_time_too(owner):
    held(owner, "ann")
    owner.truth.give_back()
    away(owner)
    before = ends(owner)
    with heir_of(owner) as heir:
        heir.loop.tick()
    assert states(owner) == [("ann", "active")]
    assert ends(owner) == {hold_id: end + outages(owner)[0].lost_us for hold_id, end in before.items()}


def test_who_is_killed_before_the_takeover_is_true_has_given_nothing_and_the_next_gives_it_once(
    owner, monkeypatch
):
    held(owner, "ann")
    away(owner)
    before = ends(owner)
    take = lease.TAKE

    class Killed(Exception):
        pass

    with connect(owner.database_url, "first") as first:
        seen = lease.look(first, owner.event_id)
        monkeypatch.setattr(lease, "TAKE", "SELECT pg_terminate_backend(pg_backend_pid()), %s, %s, %s")
        with pytest.raises(psycopg.OperationalError):
            lease.take(first, owner.event_id, seen, "first")
    monkeypatch.setattr(lease, "TAKE", take)
    assert ends(owner) == before
    assert outages(owner) == []
    with heir_of(owner):
        (out,) = outages(owner)
        assert ends(owner) == {hold_id: end + out.lost_us for hold_id, end in before.items()}


def test_who_looked_before_it_was_an_outage_and_takes_over_after_hides_none(owner, monkeypatch):
    held(owner, "ann")
    away(owner)
    before = ends(owner)
    monkeypatch.setattr(lease, "lock_outage", lambda conn, event: False)  # and then was stopped
    with connect(owner.database_url, "slow") as slow:
        assert lease.take(slow, owner.event_id, lease.look(slow, owner.event_id), "slow") is None
    monkeypatch.undo()
    assert ends(owner) == before
    with heir_of(owner):
        assert len(outages(owner)) == 1


# an owner that goes on as if nothing had been


def test_an_owner_that_slept_lets_nothing_run_out_before_the_time_is_given_back(owner):
    held(owner, "ann")
    away(owner)
    owner.reload()
    before = states(owner), ends(owner)
    with pytest.raises(Fenced):
        owner.loop.tick()
    assert (states(owner), ends(owner)) == before


def test_renewing_does_not_hide_an_outage(owner):
    held(owner, "ann")
    with connect(owner.database_url, "renewer") as conn:
        assert lease.renew(conn, {owner.event_id: owner.owned}) == {owner.event_id}
        away(owner)
        assert lease.renew(conn, {owner.event_id: owner.owned}) == set()
    with heir_of(owner):
        assert len(outages(owner)) == 1


def test_giving_back_hides_no_outage(owner):
    held(owner, "ann")
    away(owner)
    owner.truth.give_back()
    with heir_of(owner):
        assert len(outages(owner)) == 1


def test_a_worker_that_cannot_renew_takes_its_event_again_and_tells_holders(owner, redis_url):
    held(owner, "ann")
    owner.query_nothing("UPDATE hold SET expires_at = expires_at + interval '1 hour'")  # nothing else is due
    owner.truth.give_back()
    urls = EngineUrls(owner.database_url, redis_url)
    working = EventWorker(urls.database_url, urls.redis_url, owner.event_id, SLUG, "here:1")
    listening = connect_stream(redis_url).pubsub(ignore_subscribe_messages=True)
    listening.subscribe(holds_channel(SLUG))
    listening.get_message(timeout=30)
    working.start()
    try:
        with connect(owner.database_url, "renewer") as conn:
            while working.owned is None:
                pass
            owned = working.owned
            worker.renew(conn, [working])
            assert working.owned == owned
            away(owner)
            worker.renew(conn, [working])
        message = listening.get_message(timeout=30)
        assert message is not None
        news = decode_news(message["data"])
        (hold_id, end) = next(iter(ends(owner).items()))
        assert news.buyer == "ann"
        assert msgspec.json.decode(news.frame) == {
            "type": "hold",
            "hold": str(hold_id),
            "state": "active",
            "expires_at": end // 1000,
            "given_back_ms": outages(owner)[0].lost_us // 1000,
        }
        assert owner.query("SELECT epoch FROM event_cursor") == [(owned.epoch + 1,)]
    finally:
        working.stop()
        working.join(timeout=30)
        listening.close()


# the order of locks


def test_the_event_and_its_cursor_are_locked_before_holds(owner):
    held(owner, "ann")
    away(owner)

    def take() -> None:
        with connect(owner.database_url, "standby") as conn:
            seen = lease.look(conn, owner.event_id)._replace(owner=None)
            assert lease.take(conn, owner.event_id, seen, "standby") is not None

    with held_up(owner.database_url, "SELECT 1 FROM event FOR UPDATE", take) as other:
        assert is_free(other, "FROM event_cursor")
        assert is_free(other, "FROM hold")
    away(owner)
    with held_up(owner.database_url, "SELECT 1 FROM event_cursor FOR UPDATE", take) as other:
        assert is_free(other, "FROM hold")


def test_an_ordinary_takeover_does_not_wait_for_an_operator_who_changes_the_event(owner):
    held(owner, "ann")
    away(owner, lease.LEASE_SECONDS + 0.5)
    with psycopg.connect(owner.database_url) as operator, connect(owner.database_url, "standby") as conn:
        operator.execute("SELECT 1 FROM event FOR UPDATE")
        seen = lease.look(conn, owner.event_id)
        assert lease.take(conn, owner.event_id, seen, "standby") is not None


def test_an_outage_of_another_event_stops_no_batch(owner, redis_url):
    number = open_event(owner.database_url, plan_of(), slug="other")
    with contextlib.closing(Owner(owner.database_url, redis_url, number, "other")):
        long_ago = "clock_timestamp() - interval '1 hour'"
        owner.query_nothing(f"UPDATE event_cursor SET batch_time = {long_ago}")
        owner.query_nothing(f"UPDATE lease SET renewed_at = {long_ago} WHERE event_id = %s", number)
        held(owner, "ann")
