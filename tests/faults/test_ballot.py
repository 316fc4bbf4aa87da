"""A ballot of thousands on real processes, one of which is killed in the middle of it."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import psycopg
import pytest

from allocator.replay import Finding, verify
from store.database import connect
from store.errors import Unavailable
from store.events import create_event, set_state
from store.room import ballot, rooms
from store.room.words import RoomTerms
from store.venues.rows import save_venue
from store.wire import canonical_want
from store.words import EventState
from tests.allocator.house import best, check_laws, plan_of
from tests.faults.stage import Stage, until

pytestmark = pytest.mark.faults

WISHES = 12_000
JOIN = """
INSERT INTO place (event_id, buyer, lane, in_draw)
SELECT %s, 'b' || n, CASE WHEN n %% 7 = 0 THEN 'priority' ELSE 'ordinary' END, true
  FROM generate_series(1, %s) AS n
"""
WISH = """
INSERT INTO ballot_wish (place_id, event_id, buyer, want)
SELECT id, event_id, buyer, %s FROM place WHERE event_id = %s
"""
DECIDED = """
SELECT buyer FROM ledger WHERE event_id = %s AND kind = 'request' ORDER BY batch_no, position
"""


class Ballot:
    """One event whose lobby is full of wishes, known to the stage's allocators."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.slug = f"ballot-{uuid.uuid4().hex[:8]}"
        with psycopg.connect(url, autocommit=True) as conn:
            plan = plan_of(rows=30, seats_a_row=40)
            venue = save_venue(conn, f"venue-of-{self.slug}", plan)
            self.event = create_event(conn, self.slug, "Gala", venue, plan)
            rooms.make(conn, self.slug, RoomTerms(ballot=True))
            set_state(conn, self.slug, EventState.LOBBY)
            conn.execute(JOIN, (self.event, WISHES))
            conn.execute(WISH, (canonical_want(best(2)).decode(), self.event))
            conn.execute("UPDATE room SET joined = %s WHERE event_id = %s", (WISHES, self.event))

    def one(self, text: str) -> object:
        try:
            with connect(self.url, "test") as conn:
                row = conn.execute(text.encode(), (self.event,)).fetchone()
        except (Unavailable, psycopg.Error):  # Postgres is being started again
            return None
        return row and row[0]

    def owned(self) -> bool:
        return bool(self.one("SELECT owner IS NOT NULL FROM lease WHERE event_id = %s"))

    def begun(self) -> bool:
        return bool(self.one("SELECT count(*) > 1000 FROM ledger WHERE event_id = %s"))

    def over(self) -> bool:
        return bool(self.one("SELECT ballot_ended_at IS NOT NULL FROM room WHERE event_id = %s"))

    def check(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as conn:
            order = [wish.buyer for wish in ballot.next_wishes(conn, self.event, ballot.FIRST, WISHES)]
            assert [buyer for (buyer,) in conn.execute(DECIDED, (self.event,))] == order
            assert len(order) == WISHES
            assert not [found for found in verify(conn, self.event) if isinstance(found, Finding)]
        check_laws(self.url, self.event)

    def forget(self) -> None:
        """As if it had never been, so that no process attends to it during the next test."""
        with psycopg.connect(self.url, autocommit=True) as conn:
            conn.execute("UPDATE event SET state = 'draft' WHERE id = %s", (self.event,))


def kill_the_owner(stage: Stage, held: Ballot) -> None:
    worker = str(held.one("SELECT worker FROM lease WHERE event_id = %s"))
    pid = int(worker.rpartition(":")[2])
    stage.kill(next(name for name, process in stage.stack.processes.items() if process.child.pid == pid))


def wipe_the_stream(stage: Stage, held: Ballot) -> None:
    stage.kill("valkey")
    stage.stack.valkey.wipe()
    stage.stack.start_again("valkey")


def restart_valkey(stage: Stage, held: Ballot) -> None:
    stage.kill("valkey")
    stage.stack.start_again("valkey")


def restart_postgres(stage: Stage, held: Ballot) -> None:
    stage.kill("postgres")
    stage.stack.start_again("postgres")


@pytest.mark.parametrize("fault", [kill_the_owner, wipe_the_stream, restart_valkey, restart_postgres])
def test_whatever_is_killed_in_the_middle_every_wish_is_decided_once_and_in_the_draws_order(
    stage: Stage, fault: Callable[[Stage, Ballot], None]
):
    held = Ballot(stage.stack.urls.database_url)
    until(held.owned, "an allocator stands by for the event")
    with psycopg.connect(held.url, autocommit=True) as conn:
        set_state(conn, held.slug, EventState.OPEN)
    until(held.begun, "some wishes are decided")
    fault(stage, held)
    stage.heal()
    until(held.over, "the ballot is over")
    held.check()
    held.forget()
