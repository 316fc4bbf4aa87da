"""An allocator takes in that its event is called off: nothing is given any more, and the ledger stands."""

from __future__ import annotations

import psycopg
import pytest

from store import events
from store.calling_off import steps
from store.calling_off.begin import cancel, move
from store.calling_off.state import read
from store.words import Outcome, Want
from tests.allocator.house import SLUG, best, check_laws, entry, owner_of, plan_of, seats
from tests.allocator.test_verify import findings
from tests.store.calling_off.calling import SAID, to_the_end

PLAN = plan_of(rows=2, seats_a_row=4)
WAITS = Want(seats=("A-1",), waitlist=True)


@pytest.mark.parametrize("to", [None, "later"])
def test_what_is_asked_while_it_is_called_off_is_refused_and_every_decision_stands(
    database_url, redis_url, to
):
    with (
        owner_of(database_url, redis_url, PLAN) as owner,
        psycopg.connect(database_url, autocommit=True) as conn,
    ):
        owner.ask(*[entry(buyer, "r1", best(2)) for buyer in ("ann", "bob", "eve", "kim")])
        assert owner.outcomes(entry("joe", "r1", WAITS)) == [Outcome.WAITLISTED]
        owner.confirm("ann")
        owner.confirm("bob")
        if to is None:
            cancel(conn, SLUG, SAID)
        else:
            [(venue,)] = conn.execute("SELECT venue_id FROM event WHERE slug = %s", (SLUG,)).fetchall()
            events.create_event(conn, to, "Later", venue, PLAN)
            move(conn, SLUG, to, SAID)
        assert owner.outcomes(entry("zoe", "r1", seats("A-1"))) == [Outcome.CLOSED]
        steps.step(conn)
        assert owner.outcomes(entry("zoe", "r2", seats("A-1"))) == [Outcome.CLOSED]
        to_the_end(conn)
        owner.settle_down()
        done = read(conn, SLUG)
        assert (done.done_at is not None, done.refunded + done.rebooked, done.holds) == (True, 2, 2)
        assert done.waiting == 1
        assert len(owner.memory.waiting) == 0
        assert owner.memory.holds == {}
        with psycopg.connect(database_url) as own:
            assert findings(own, owner.event_id) == []
        check_laws(database_url, owner.event_id)
