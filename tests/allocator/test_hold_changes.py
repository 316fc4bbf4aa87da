"""What holders do to their holds while the allocator decides: memory follows, nothing is counted twice."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from allocator import sql
from allocator.replay import Finding, verify
from store.database import connect
from store.events import set_policy
from store.words import Want
from tests.allocator.house import SLUG, Owner, check_laws, entry, owner_of, seats
from tests.allocator.test_contradictions import before_it_is_written


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    with owner_of(database_url, redis_url) as made:
        yield made
        made.settle_down()
        check_laws(database_url, made.event_id)


def verified(owner: Owner) -> None:
    """The ledger says enough to decide it all again."""
    with psycopg.connect(owner.database_url) as conn:
        assert [found for found in verify(conn, owner.event_id) if isinstance(found, Finding)] == []


def ends_us(owner: Owner, buyer: str) -> int:
    found = owner.query(
        "SELECT (extract(epoch FROM expires_at) * 1000000)::bigint FROM hold WHERE buyer = %s", buyer
    )
    return int(found[0][0])


def move_end(owner: Owner, by: str) -> None:
    owner.query_nothing(f"UPDATE hold SET expires_at = expires_at + interval '{by}'")


def test_memory_knows_the_new_end_once_the_fact_is_consumed(owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.extend("ann")
    assert owner.memory.holds[owner.hold_of("ann")].expires_at == ends_us(owner, "ann") - 120_000_000
    owner.settle_down()
    assert owner.memory.holds[owner.hold_of("ann")].expires_at == ends_us(owner, "ann")
    verified(owner)


def test_what_was_given_back_is_free_for_the_next_and_counts_no_longer(owner):
    with connect(owner.database_url, "operator") as conn:
        set_policy(conn, SLUG, seats_per_buyer_max=5)
    owner.ask(entry("ann", "r1", Want(seats=("A-1", "A-2"), areas={"floor": 3})))
    owner.release_some("ann", (0,), 1)
    asked = (entry("bob", "r1", seats("A-1")), entry("ann", "r2", Want(areas={"floor": 2})))
    assert owner.outcomes(*asked) == ["held", "held"]
    assert owner.memory.areas_free == [16]
    owner.confirm("ann", min(owner.memory.holds))
    owner.settle_down()
    assert owner.memory.count_by_buyer == {"ann": 5, "bob": 1}
    verified(owner)


@pytest.mark.parametrize("change", ["extend", "release_some"])
def test_memory_loaded_with_the_change_in_its_tables_does_not_make_it_again(owner, change):
    owner.ask(entry("ann", "r1", Want(seats=("A-1", "A-2"), areas={"floor": 3})))
    owner.extend("ann") if change == "extend" else owner.release_some("ann", (0,), 1)
    owner.reload()
    hold = owner.memory.holds[owner.hold_of("ann")]
    before = (hold.seats, hold.areas, hold.expires_at)
    owner.settle_down()
    hold = owner.memory.holds[owner.hold_of("ann")]
    assert (hold.seats, hold.areas, hold.expires_at) == before
    assert hold.expires_at == ends_us(owner, "ann")
    verified(owner)


def test_a_hold_extended_in_the_moment_it_runs_out_runs_on(owner, monkeypatch):
    """By the allocator's clock it is over; its holder was in time. More ran out before than a batch locks."""
    monkeypatch.setattr(sql, "LOCK_DUE", "SELECT 1 WHERE false")
    owner.ask(entry("ann", "r1", seats("A-1")))
    move_end(owner, "-1 day")
    owner.reload()

    def just_in_time() -> None:
        move_end(owner, "1 day")
        owner.extend("ann")

    before_it_is_written(monkeypatch, just_in_time)
    owner.loop.tick()
    assert owner.loop.redone > 0
    assert owner.query("SELECT state FROM hold") == [("active",)]
    assert owner.memory.holds[owner.hold_of("ann")].expires_at == ends_us(owner, "ann")


def test_places_given_back_in_the_moment_a_hold_runs_out_are_counted_once(owner, monkeypatch):
    """Another hold in the same area, so that its counter alone would let the batch take back too many; and
    more holds ran out before than a batch locks.
    """
    monkeypatch.setattr(sql, "LOCK_DUE", "SELECT 1 WHERE false")
    owner.ask(
        entry("ann", "r1", Want(seats=("A-1",), areas={"floor": 3})),
        entry("bob", "r1", Want(areas={"floor": 5})),
    )
    owner.query_nothing("UPDATE hold SET expires_at = expires_at - interval '1 day' WHERE buyer = 'ann'")
    owner.reload()
    before_it_is_written(monkeypatch, lambda: owner.release_some("ann", (), 2))
    owner.loop.tick()
    assert owner.query("SELECT held FROM area") == [(5,)]
    assert owner.memory.areas_free == [15]
    assert owner.query("SELECT state FROM hold ORDER BY hold_id") == [("expired",), ("active",)]
