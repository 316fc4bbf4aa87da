"""What allocators make of a sweep; and seats come back at their hold's end without any."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from allocator.replay import Finding, verify
from onsale.chores.sweep import sweep
from tests.allocator.house import Owner, check_laws, entry, owner_of, seats
from tests.allocator.test_outages import away, heir_of, held, states
from tests.onsale.chores.doings import doing

TTL_SECONDS = 30


@pytest.fixture
def ttl_seconds() -> int:
    return TTL_SECONDS


@pytest.fixture
def owner(database_url: str, redis_url: str, ttl_seconds: int) -> Iterator[Owner]:
    with owner_of(database_url, redis_url, hold_ttl_seconds=ttl_seconds) as made:
        yield made
        check_laws(database_url, made.event_id)
        with psycopg.connect(database_url) as conn:
            assert [one for one in verify(conn, made.event_id) if isinstance(one, Finding)] == []


def over_before(owner: Owner, buyer: str) -> None:
    """A buyer's hold ran out before the last sign of life, and no batch came to it."""
    before = "(SELECT batch_time FROM event_cursor) - interval '1 second'"
    owner.query_nothing(f"UPDATE hold SET expires_at = {before} WHERE buyer = %s", buyer)


@pytest.mark.parametrize("ttl_seconds", [1])
def test_a_seat_is_claimable_at_its_holds_end_with_all_chores_off(owner):
    held(owner, "ann")
    owner.query("SELECT pg_sleep(extract(epoch FROM max(expires_at) - clock_timestamp())) FROM hold")
    assert owner.outcomes(entry("bob", "r1", seats("A-1"))) == ["held"]
    assert owner.query("SELECT count(*) FROM chore_run") == [(0,)]


def test_who_takes_over_after_a_sweep_gives_what_came_free(owner):
    held(owner, "ann", "bob")
    away(owner)
    over_before(owner, "ann")
    assert doing(owner.database_url, sweep).done == 1
    assert states(owner) == [("ann", "expired"), ("bob", "active")]
    with heir_of(owner) as heir:
        heir.loop.tick()
        assert heir.outcomes(entry("eve", "r1", seats("A-1"))) == ["held"]
        assert heir.outcomes(entry("eve", "r2", seats("A-2"))) == ["taken"], "bob has the lost time back"


def test_a_memory_from_before_the_sweep_hears_of_it(owner):
    held(owner, "ann", "bob")
    away(owner)
    over_before(owner, "ann")
    assert doing(owner.database_url, sweep).done == 1
    owner.attend_for_ever()
    owner.query_nothing(
        "UPDATE hold SET expires_at = clock_timestamp() + interval '1 hour' WHERE buyer = 'bob'"
    )
    owner.loop.tick()
    assert owner.outcomes(entry("eve", "r1", seats("A-1"))) == ["held"]


def test_limits_on_other_dates_no_longer_count_what_was_swept(owner):
    held(owner, "ann")
    away(owner)
    over_before(owner, "ann")
    counted = "SELECT sum(quantity) FROM hold WHERE buyer = 'ann' AND state IN ('active', 'paid')"
    assert owner.query(counted) == [(1,)]
    doing(owner.database_url, sweep)
    assert owner.query(counted) == [(None,)]
    with heir_of(owner) as heir:
        heir.loop.tick()
