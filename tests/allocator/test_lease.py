"""Who may allocate, and how that right changes hands: on real backends."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from allocator import lease, sql
from allocator.decide import decide
from allocator.intake import sort_out
from allocator.keys import Keys
from allocator.memory import Overlay
from allocator.truth import PostgresTruth
from allocator.wishes import Wishes
from store.database import connect
from store.errors import Fenced, OutcomeUnknown, Unavailable
from store.ledger import copy_lines
from tests.allocator.house import Owner, check_laws, entry, open_event, plan_of, seats

STALE = "UPDATE lease SET renewed_at = clock_timestamp() - interval '1 hour'"


@pytest.fixture
def event(database_url: str) -> int:
    return open_event(database_url, plan_of())


@pytest.fixture
def owner(database_url: str, redis_url: str, event: int) -> Iterator[Owner]:
    made = Owner(database_url, redis_url, event)
    yield made
    made.close()
    check_laws(database_url, event)


@pytest.fixture
def standby(database_url: str) -> Iterator[lease.Connection]:
    with connect(database_url, "standby") as conn:
        yield conn


def test_an_event_nobody_owns_is_free(standby, event):
    assert lease.look(standby, event) == lease.Seen(0, None, True, 0, False)


def test_an_event_whose_owner_attends_is_not_free(owner, standby):
    assert lease.look(standby, owner.event_id) == (*owner.owned, False, 0, False)


def test_an_owner_that_has_not_renewed_for_long_may_be_relieved_and_renewing_keeps_it(owner, standby):
    owner.query_nothing(STALE)
    assert lease.look(standby, owner.event_id).free
    lease.renew(standby, {owner.event_id: owner.owned})
    assert not lease.look(standby, owner.event_id).free


def test_renewing_what_is_owned_no_more_keeps_nothing(owner, standby):
    owner.query_nothing(STALE)
    lease.renew(standby, {owner.event_id: owner.owned._replace(owner=owner.owned.owner.__class__(int=1))})
    assert lease.look(standby, owner.event_id).free


def test_an_owner_whose_backend_was_killed_may_be_relieved_at_once(owner, standby):
    pid = owner.conn.info.backend_pid
    owner.query("SELECT pg_terminate_backend(%s, 5000)", pid)
    assert lease.look(standby, owner.event_id).free


def test_an_owner_that_gives_back_is_relieved_at_once_and_its_backend_is_left_alone(owner, standby):
    owner.truth.give_back()
    seen = lease.look(standby, owner.event_id)
    assert (seen.owner, seen.free, seen.given_back) == (None, True, True)
    assert lease.take(standby, owner.event_id, seen, "standby") is not None
    assert owner.conn.execute("SELECT 1").fetchone() == (1,)
    owner.conn.rollback()


def test_what_was_given_back_is_left_to_one_for_a_moment_only(owner, standby):
    owner.truth.give_back()
    assert lease.look(standby, owner.event_id).given_back
    owner.query_nothing(STALE)
    seen = lease.look(standby, owner.event_id)
    assert (seen.free, seen.given_back) == (True, False)


def test_giving_back_what_is_owned_no_more_gives_nothing_back(owner, standby):
    owner.query_nothing(STALE)
    taken = lease.take(standby, owner.event_id, lease.look(standby, owner.event_id), "standby")
    lease.give_back(standby, owner.event_id, owner.owned)
    assert lease.look(standby, owner.event_id) == (*(taken or ()), False, 0, False)


def test_of_standbys_that_saw_the_same_only_the_first_takes(owner, standby, database_url):
    owner.query_nothing(STALE)
    with connect(database_url, "other standby") as other:
        seen = [lease.look(conn, owner.event_id) for conn in (standby, other)]
        first = lease.take(standby, owner.event_id, seen[0], "first")
        assert lease.take(other, owner.event_id, seen[1], "second") is None
    assert first is not None
    assert owner.query("SELECT epoch, owner FROM event_cursor") == [tuple(first)]
    assert owner.query("SELECT owner, worker FROM lease") == [(first.owner, "first")]


def test_of_many_standbys_at_once_exactly_one_takes(owner, database_url):
    owner.query_nothing(STALE)
    count = 6
    together = threading.Barrier(count)
    taken: list[Any] = []

    def stand_by() -> None:
        with connect(database_url, "standby") as conn:
            seen = lease.look(conn, owner.event_id)
            together.wait(timeout=20)
            taken.append(lease.take(conn, owner.event_id, seen, "standby"))

    threads = [threading.Thread(target=stand_by) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(taken) == count
    assert len([one for one in taken if one is not None]) == 1
    assert owner.query("SELECT epoch FROM event_cursor") == [(owner.owned.epoch + 1,)]


def begin(owner: Owner, *entries: bytes) -> int:
    """All of a batch but its COMMIT; returns its number."""
    owner.append(entries)
    read = owner.arrivals.read(owner.loop.cursor.arrival, count_max=99, block_ms=0)
    batch = sort_out(read, Keys(), Wishes(owner.memory.layout), owner.truth.known)
    begun = owner.truth.begin(owner.memory.batch_no, batch.asks[-1].arrival)
    batch_no = owner.memory.batch_no + 1
    overlay = Overlay(owner.memory)
    decided = decide(owner.memory, overlay, batch_no, begun.batch_time, begun.facts, batch.asks)
    owner.truth.write(batch_no, begun, batch.asks[-1].arrival, iter([decided]))
    return batch_no


def test_an_owner_paused_before_its_commit_is_ended_and_its_batch_is_not_true(owner, redis_url):
    batch_no = begin(owner, entry("ann", "r1", seats("A-1")))
    owner.query_nothing(STALE)
    heir = Owner(owner.database_url, redis_url, owner.event_id)
    with pytest.raises(OutcomeUnknown):
        owner.truth.commit()
    with pytest.raises(Fenced):
        owner.truth.committed(batch_no)
    assert owner.query("SELECT batch_no FROM event_cursor") == [(0,)]
    heir.loop.turn()
    assert [row[:1] + row[3:] for row in heir.ledger() if row[1] == "request"] == [(1, "ann", "held")]
    heir.close()


def test_an_owner_stopped_inside_copy_is_ended_and_its_batch_is_not_true(owner, redis_url):
    owner.append([entry("ann", "r1", seats("A-1"))])
    owner.truth.begin(owner.memory.batch_no, owner.loop.cursor.arrival)
    line, _ = copy_lines(owner.event_id, 1, [("request", "1-1", "stale", "r1", "{}", "held", "{}")])
    heirs: list[Owner] = []

    def stop_inside_copy() -> None:
        with owner.conn.cursor().copy(sql.COPY_LEDGER) as copy:
            copy.write(line)
            owner.query_nothing(STALE)
            heirs.append(Owner(owner.database_url, redis_url, owner.event_id))
            copy.write(line)

    with pytest.raises(psycopg.OperationalError):
        stop_inside_copy()
    [heir] = heirs
    heir.loop.turn()
    assert [row[3] for row in heir.ledger() if row[1] == "request"] == ["ann"]
    heir.close()


def test_a_stale_owner_that_comes_back_between_batches_is_fenced_or_gone(owner, redis_url):
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.query_nothing(STALE)
    heir = Owner(owner.database_url, redis_url, owner.event_id)
    owner.append([entry("bob", "r1", seats("A-1"))])
    with pytest.raises((Fenced, Unavailable)):
        owner.loop.turn()
    again = PostgresTruth(
        connect(owner.database_url, "stale"),
        owner.database_url,
        owner.event_id,
        owner.owned,
        owner.memory.layout,
    )
    with pytest.raises(Fenced):
        again.begin(owner.memory.batch_no, owner.loop.cursor.arrival)
    again.close()
    heir.loop.turn()
    assert [row[3:] for row in heir.ledger() if row[1] == "request"] == [("ann", "held"), ("bob", "taken")]
    heir.close()


def test_renewing_does_not_wait_for_a_batch_nor_a_batch_for_renewing(owner, standby):
    batch_no = begin(owner, entry("ann", "r1", seats("A-1")))
    standby.execute("SET lock_timeout = '1ms'")
    lease.renew(standby, {owner.event_id: owner.owned})
    owner.truth.commit()
    assert owner.query("SELECT batch_no FROM event_cursor") == [(batch_no,)]
