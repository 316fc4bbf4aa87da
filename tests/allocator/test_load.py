"""Three ways to the same memory: the owner's own, loaded from the tables, followed in the ledger."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from allocator.follow import Follower, Mismatch
from allocator.keys import Keys
from allocator.load import load_keys, load_memory
from allocator.memory import Memory
from store.database import connect
from tests.allocator.house import Owner, check_laws, entry, open_event, owner_of, plan_of, seats, snapshot
from tests.allocator.sale import Sale


def comparable(memory: Memory) -> dict[str, Any]:
    """A memory but for how it came to be: which facts the loaded tables showed, what the last resume gave,
    in which order a buyer named the seats."""
    looked_at = snapshot(memory)
    looked_at["holds"] = {
        hold_id: (buyer, sorted(seats_), places, expires_at)
        for hold_id, (buyer, seats_, places, expires_at) in looked_at["holds"].items()
    }
    del looked_at["reflected"]
    looked_at["policy"] = msgspec.structs.replace(memory.policy, holds_extended_us=0)
    return looked_at


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_memory_loaded_at_any_batch_and_followed_on_is_the_owners(database_url, redis_url, seed):
    """Loaded before each batch, with its facts committed and not consumed; then followed through it."""
    with owner_of(database_url, redis_url, plan_of(rows=3, seats_a_row=6, standing=9)) as owner:
        with connect(database_url, "standby") as conn:
            layout, event = owner.memory.layout, owner.event_id
            standby = Follower(conn, event, load_memory(conn, event, layout)[0], load_keys(conn, event))
            fresh: Follower | None = None
            for _ in Sale(owner, seed).steps(25):
                for follower in (standby, fresh):
                    if follower is not None:
                        follower.catch_up()
                        assert comparable(follower.memory) == comparable(owner.memory)
                loaded, cursor = load_memory(conn, event, layout)
                if not loaded.reflected:
                    assert comparable(loaded) == comparable(owner.memory)
                assert cursor == owner.loop.cursor
                fresh = Follower(conn, event, loaded, Keys())
            assert len(standby.keys) == len(load_keys(conn, event))
        check_laws(database_url, event)


def test_facts_that_the_tables_show_already_change_nothing_when_they_are_consumed(database_url, redis_url):
    with owner_of(database_url, redis_url) as owner:
        owner.ask(entry("ann", "r1", seats("A-1")), entry("bob", "r1", seats("A-2")))
        owner.release("ann")
        owner.confirm("bob")
        with connect(database_url, "standby") as conn:
            loaded, _ = load_memory(conn, owner.event_id, owner.memory.layout)
            assert len(loaded.reflected) == 2
            assert loaded.hold_of[:2] == [0, owner.hold_of("bob")]
            assert loaded.holds == {}
            before = snapshot(loaded)
            follower = Follower(conn, owner.event_id, loaded, Keys())
            owner.settle_down()
            follower.catch_up()
            after = snapshot(loaded)
        assert {slot for slot in before if before[slot] != after[slot]} == {"batch_no", "batch_time"}


def test_a_standby_whose_memory_does_not_fit_the_ledger_says_so(database_url, redis_url):
    with owner_of(database_url, redis_url) as owner, connect(database_url, "standby") as conn:
        loaded, _ = load_memory(conn, owner.event_id, owner.memory.layout)
        loaded.hold_of[0] = 4711
        follower = Follower(conn, owner.event_id, loaded, Keys())
        owner.ask(entry("ann", "r1", seats("A-1")))
        with pytest.raises(Mismatch):
            follower.catch_up()


def test_a_standby_knows_where_to_go_on_and_which_keys_are_decided(database_url, redis_url):
    with owner_of(database_url, redis_url) as owner, connect(database_url, "standby") as conn:
        memory, cursor = load_memory(conn, owner.event_id, owner.memory.layout)
        follower = Follower(conn, owner.event_id, memory, load_keys(conn, owner.event_id), cursor.arrival)
        follower.catch_up()
        assert (follower.arrival, cursor) == (cursor.arrival, owner.loop.cursor)
        owner.ask(entry("ann", "r1", seats("A-1")))
        follower.catch_up()
        assert follower.arrival == owner.loop.cursor.arrival
        assert follower.keys.suspect(("ann", "r1"))


def test_a_blocked_seat_and_an_order_are_loaded_as_taken(database_url, redis_url):
    with owner_of(database_url, redis_url) as owner:
        owner.query_nothing("UPDATE seat SET state = 'blocked' WHERE seat_no = 3")
        owner.ask(entry("ann", "r1", seats("A-1")))
        owner.confirm("ann")
        owner.settle_down()
        owner.reload()
        assert (
            owner.outcomes(entry("bob", "r1", seats("A-1")), entry("bob", "r2", seats("A-4")))
            == ["taken"] * 2
        )
        assert owner.memory.count_by_buyer == {"ann": 1}


def test_batch_times_and_expiries_survive_the_table_to_the_microsecond(database_url, redis_url):
    event = open_event(database_url, plan_of(rows=10, standing=0))
    owner = Owner(database_url, redis_url, event)
    for n in range(60):
        owner.ask(entry(f"b{n}", "r1", seats(f"{'ABCDEFGHIJ'[n // 10]}-{n % 10 + 1}")))
    loaded, _ = owner.truth.load()
    assert snapshot(loaded)["holds"] == snapshot(owner.memory)["holds"]
    assert loaded.batch_time == owner.memory.batch_time
    owner.close()
