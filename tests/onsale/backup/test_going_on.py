"""A database from before, and a stream that is newer or older: what must hold, and what cannot."""

from __future__ import annotations

import contextlib

import pytest

from allocator import replay
from allocator.truth import PostgresTruth
from bench.checker import judge
from bench.truth import read_truth
from onsale.backup.restore import restore
from store import invariant
from store.database import connect
from store.errors import Fenced
from store.lost_time import OUTAGE_SECONDS
from store.wire import stream_key
from tests.allocator.house import SLUG, Owner, best, entry, seats
from tests.onsale.backup.conftest import silent

KEPT = "kept"
"""The stream as it was before the allocator trimmed what it had decided."""


@pytest.fixture
def there(new_database):
    return new_database()


@contextlib.contextmanager
def going_on(there, owner):
    """The event's next owner, on the restored database and the stream there is."""
    owner.close()
    again = Owner(there, owner.redis_url, owner.event_id)
    try:
        yield again
    finally:
        again.close()


def decided(owner):
    """(buyer, outcome) of all requests, in the order they were decided."""
    return [(buyer, outcome) for _, kind, _, buyer, outcome in owner.ledger() if kind == "request"]


def must_add_up(owner):
    """Law 1, and law 5: every decision again, before and after the restore."""
    with contextlib.closing(connect(owner.database_url, "test")) as conn:
        assert [one for one in replay.verify(conn, owner.event_id) if isinstance(one, replay.Finding)] == []
        assert judge([], read_truth(conn, SLUG)) == []
        capacity = invariant.read_capacity(conn, owner.event_id)
        conn.commit()
        assert invariant.mismatches(conn, owner.event_id, capacity) == []


def test_what_the_stream_still_has_is_decided_again_in_its_order(owner, backup, there):
    """Asked and decided after the backup, by an allocator that was killed before it trimmed."""
    wanted = (("dan", "A-5"), ("eve", "A-5"), ("fay", "A-6"))
    later = [entry(buyer, "r1", seats(seat)) for buyer, seat in wanted]
    owner.append(later)
    owner.redis.copy(stream_key(SLUG), KEPT)
    owner.poke()
    owner.loop.turn()
    assert decided(owner)[-3:] == [("dan", "held"), ("eve", "taken"), ("fay", "held")]
    told_before = {owner.hold_of(buyer) for buyer in ("dan", "fay")}
    restore(there, backup, silent)
    owner.redis.rename(KEPT, stream_key(SLUG))
    with going_on(there, owner) as again:
        while len(decided(again)) < 6:
            again.poke()
            again.loop.turn()
        assert decided(again) == [
            ("ann", "held"), ("bob", "taken"), ("cem", "held"),
            ("dan", "held"), ("eve", "taken"), ("fay", "held"),
        ]  # fmt: skip
        assert told_before.isdisjoint({again.hold_of(buyer) for buyer in ("dan", "fay")})
        must_add_up(again)


def test_what_is_gone_from_both_is_served_as_if_asked_for_the_first_time(owner, backup, there):
    """Decided after the backup and trimmed, so nobody knows it. With the same key; nothing is oversold."""
    assert owner.outcomes(entry("dan", "r1", seats("A-5"))) == ["held"]
    restore(there, backup, silent)
    with going_on(there, owner) as again:
        assert again.outcomes(entry("eve", "r1", seats("A-5"))) == ["held"], "she came first this time"
        assert again.outcomes(entry("dan", "r1", seats("A-5"))) == ["taken"], "what he was told cannot hold"
        assert again.outcomes(entry("ann", "r1", seats("A-1"))) == ["held"], "her decision is in the backup"
        must_add_up(again)


def test_ids_go_on_above_those_of_the_newer_stream(owner, backup, there):
    late = owner.append([entry("dan", "r1", seats("A-5"))])
    owner.poke()
    owner.loop.turn()
    restore(there, backup, silent)
    with going_on(there, owner) as again:
        [eve] = again.append([entry("eve", "r1", seats("A-5"))])
        assert [int(part) for part in eve.split("-")] > [int(part) for part in late[0].split("-")]


def test_a_stream_that_was_lost_with_it_is_made_above_the_cursor(owner, backup, there):
    owner.ask(entry("dan", "r1", seats("A-5")))
    restore(there, backup, silent)
    owner.redis.delete(stream_key(SLUG))
    with going_on(there, owner) as again:
        assert again.outcomes(entry("eve", "r1", best(1))) == ["held"]
        must_add_up(again)


def test_an_older_stream_gives_nobody_a_second_decision(owner, redis_url):
    """The database went on, Valkey came back from a file of before: what stands there was decided."""
    owner.append([entry("dan", "r1", seats("A-5"))])
    owner.redis.copy(stream_key(SLUG), KEPT)
    owner.poke()
    owner.loop.turn()
    owner.ask(entry("eve", "r1", seats("A-6")))
    before = decided(owner)
    owner.redis.rename(KEPT, stream_key(SLUG))
    owner.close()
    again = Owner(owner.database_url, redis_url, owner.event_id)
    with contextlib.closing(again):
        assert again.outcomes(entry("fay", "r1", seats("A-5"))) == ["taken"]
        assert decided(again) == [*before, ("fay", "taken")]
        must_add_up(again)


def test_who_owned_the_event_before_is_fenced(owner, backup, there):
    """Also one with the very epoch and token of the backup, that was stopped meanwhile and goes on."""
    arrival, batch = owner.loop.cursor.arrival, owner.loop.cursor.batch_no
    restore(there, backup, silent)
    with contextlib.closing(connect(there, "a stopped owner")) as conn:
        stale = PostgresTruth(conn, there, owner.event_id, owner.owned, owner.memory.layout)
        with pytest.raises(Fenced):
            stale.begin(batch, arrival)


def test_running_holds_get_the_time_back_in_which_there_was_no_database(owner, backup, there):
    restore(there, backup, silent)
    owner.close()
    with contextlib.closing(connect(there, "test")) as conn:
        ago = f"clock_timestamp() - interval '{100 * OUTAGE_SECONDS} seconds'"
        conn.execute(f"UPDATE lease SET renewed_at = {ago}")
        conn.execute(f"UPDATE event_cursor SET batch_time = {ago}")
        conn.execute(
            "UPDATE hold SET expires_at = clock_timestamp() - interval '1 second' WHERE buyer = 'cem'"
        )
        conn.commit()
    with contextlib.closing(Owner(there, owner.redis_url, owner.event_id)) as again:
        assert again.query("SELECT expires_at > clock_timestamp() FROM hold WHERE buyer = 'cem'") == [(True,)]
