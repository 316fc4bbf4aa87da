"""Who takes an event over, or was relieved of one, disturbs nobody but the owner that is over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from uuid import uuid4

import pytest

from allocator import lease, worker
from allocator.lease import Owned
from allocator.worker import EventWorker
from store.database import connect
from store.errors import Fenced
from tests.allocator.house import Owner, check_laws, entry, open_event, plan_of, seats

STALE = "UPDATE lease SET renewed_at = clock_timestamp() - interval '1 hour'"


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    made = Owner(database_url, redis_url, open_event(database_url, plan_of()))
    made.settle_down()
    yield made
    made.close()
    check_laws(database_url, made.event_id)


def test_a_standby_that_was_too_late_does_not_end_the_one_that_was_quicker(owner, database_url):
    owner.query_nothing(STALE)
    with connect(database_url, "quick") as quick, connect(database_url, "late") as late:
        seen = lease.look(quick, owner.event_id), lease.look(late, owner.event_id)
        assert lease.take(quick, owner.event_id, seen[0], "quick") is not None
        assert lease.take(late, owner.event_id, seen[1], "late") is None
        assert quick.execute("SELECT 1").fetchone() == (1,)


def test_a_backend_that_has_the_number_of_one_that_is_gone_is_left_alone(owner, database_url):
    """Numbers come again: the lease names a backend by its number and when it began."""
    with connect(database_url, "innocent") as innocent, connect(database_url, "standby") as standby:
        owner.query_nothing("UPDATE lease SET backend_pid = %s", innocent.info.backend_pid)
        seen = lease.look(standby, owner.event_id)
        assert seen.free
        assert lease.take(standby, owner.event_id, seen, "standby") is not None
        assert innocent.execute("SELECT 1").fetchone() == (1,)


def test_who_owned_the_event_on_this_very_connection_may_take_it_again(owner):
    seen = lease.look(owner.conn, owner.event_id)
    taken = lease.take(owner.conn, owner.event_id, seen, "again")
    assert taken is not None
    assert taken.epoch == owner.owned.epoch + 1


def test_an_owner_that_was_relieved_and_asks_what_became_of_its_batch_disturbs_nobody(owner, redis_url):
    owner.query_nothing(STALE)
    heir = Owner(owner.database_url, redis_url, owner.event_id)
    before = owner.query("SELECT owner, backend_pid, backend_start FROM lease")
    with pytest.raises(Fenced):
        owner.truth.committed(owner.memory.batch_no)
    assert owner.query("SELECT owner, backend_pid, backend_start FROM lease") == before
    assert heir.outcomes(entry("ann", "r1", seats("A-1"))) == ["held"]
    heir.close()


def test_an_owner_whose_loop_has_not_turned_for_long_does_not_attend(engine_urls, monkeypatch):
    idle = EventWorker(engine_urls.database_url, engine_urls.redis_url, 1, "gig", "here:1")
    assert not idle.attends()
    idle.owned = Owned(1, uuid4())
    idle._turned_at = time.monotonic()
    assert idle.attends()
    monkeypatch.setattr(worker, "STUCK_SECONDS", 0.0)
    assert not idle.attends()
