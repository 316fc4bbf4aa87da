"""A waiting room whose owner is killed, whose Postgres is restarted, whose Redis is wiped: no place is lost,
nobody is admitted twice, no order changes, and the draw is the same.
"""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from store import events
from store.errors import Unavailable
from store.room import draw, joining, rooms
from store.room.joining import Joining
from store.room.words import RoomTerms
from store.words import EventState
from tests.faults.stage import COMMIT, Sale, Stage, until

pytestmark = pytest.mark.faults

LINE_UP = b"INSERT INTO line"
DRAWN = b"UPDATE room SET drawn_at"
CHANGE = b"UPDATE room SET version = version + 1, serving"
ADMIT = b"UPDATE place SET state = 'admitted'"
PLACES = 60
PACE = 4_800
"""A minute: all are admitted in about a second, so that what breaks meanwhile is noticed meanwhile."""

NOTE = """
CREATE TABLE IF NOT EXISTS seen_admitted (place uuid, event_id int);
CREATE OR REPLACE FUNCTION note_admitted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO seen_admitted VALUES (NEW.id, NEW.event_id); RETURN NEW; END $$;
CREATE OR REPLACE TRIGGER note_admitted AFTER UPDATE ON place FOR EACH ROW
 WHEN (NEW.state = 'admitted' AND OLD.state <> 'admitted') EXECUTE FUNCTION note_admitted()
"""
"""Writes down who is admitted, in the transaction that admits them."""


class Line:
    """The waiting room of a sale that has not begun, and what is said of it before anything breaks."""

    def __init__(self, sale: Sale) -> None:
        self.sale = sale
        self.conn = sale.connection()
        sale.query("UPDATE event SET opens_at = NULL WHERE id = %s")
        self.conn.execute(NOTE)
        rooms.make(self.conn, sale.event.slug, RoomTerms(pace=PACE))
        events.set_state(self.conn, sale.event.slug, EventState.LOBBY)
        self.buyers = [f"b{number:02}" for number in range(PLACES)]
        self.join(self.buyers)
        seed = bytes(sale.one("SELECT seed FROM room WHERE event_id = %s"))
        ids = sale.query("SELECT id, buyer FROM place WHERE event_id = %s")
        ranked = sorted(ids, key=lambda row: draw.rank_of(seed, row[0]))
        self.order = [buyer for _, buyer in ranked]
        until(
            lambda: sale.one("SELECT owner IS NOT NULL FROM event_cursor WHERE event_id = %s"), "it is owned"
        )

    def join(self, buyers: list[str]) -> None:
        """They join; who did before keeps the place."""

        async def run() -> None:
            async with await psycopg.AsyncConnection.connect(self.sale.target.database_url) as own:
                await joining.join(own, self.sale.event.id, [Joining(buyer) for buyer in buyers])

        asyncio.run(run())

    def open(self) -> None:
        """The sale begins."""
        events.set_state(self.sale.connection(), self.sale.event.slug, EventState.OPEN)

    def admitted(self) -> int:
        """How many are."""
        return int(self.sale.one("SELECT admitted FROM room WHERE event_id = %s"))

    def check(self) -> None:
        """Everything is healed, and all are admitted in the end: each once, in the order that was drawn."""
        self.sale.stage.heal()
        late = ["late"]
        self.join([*late, *self.buyers])
        until(lambda: self.admitted() == PLACES + 1, "all are admitted")
        rows = self.sale.query(
            "SELECT buyer FROM line JOIN place ON id = place_id WHERE line.event_id = %s ORDER BY position"
        )
        assert [buyer for (buyer,) in rows] == self.order + late
        states = self.sale.query("SELECT buyer, state FROM place WHERE event_id = %s")
        assert dict(states) == dict.fromkeys(self.order + late, "admitted")
        seen = self.sale.query("SELECT place FROM seen_admitted WHERE event_id = %s")
        assert len(seen) == len(set(seen)) == PLACES + 1, "each was admitted, and once"
        versions = dict(self.sale.query("SELECT buyer, version FROM place WHERE event_id = %s"))
        in_order = [versions[buyer] for buyer in self.order + late]
        assert in_order == sorted(in_order), "nobody was called before who stands before them"


@pytest.fixture
def line(stage: Stage) -> Any:
    with stage.scheduled_sale() as sale:
        made = Line(sale)
        yield made
        with sale.looking_on() as conn:
            conn.execute("DROP TRIGGER note_admitted ON place")


STOPS = {
    "before places are ranked": (LINE_UP, b""),
    "before the draw is told": (DRAWN, b""),
    "before the draw is committed": (COMMIT, DRAWN),
    "before the room's row is changed": (CHANGE, b""),
    "before places are admitted": (ADMIT, b""),
    "before admission is committed": (COMMIT, ADMIT),
}


@pytest.mark.parametrize("when", STOPS)
def test_an_owner_killed_between_two_statements_leaves_the_room_to_the_next(stage: Stage, line: Line, when):
    word, after = STOPS[when]
    owner, epoch = line.sale.owner(), line.sale.epoch
    proxy = stage.postgres_of[owner]
    proxy.hold_before(word, after=after)
    line.open()
    assert proxy.was_held.wait(60)
    stage.kill(owner)
    proxy.drop_held()
    line.sale.wait_taken_over(epoch)
    line.check()


@pytest.mark.parametrize("what", [DRAWN, ADMIT], ids=["the draw", "an admission"])
def test_an_owner_killed_when_it_was_committed_and_does_not_know_has_done_it_once(
    stage: Stage, line: Line, what: bytes
):
    owner, epoch = line.sale.owner(), line.sale.epoch
    proxy = stage.postgres_of[owner]
    proxy.hold_reply_to(COMMIT, after=what)
    line.open()
    assert proxy.was_held.wait(60)
    stage.kill(owner)
    proxy.drop_held()
    line.sale.wait_taken_over(epoch)
    line.check()


@pytest.mark.parametrize("what", [LINE_UP, CHANGE, ADMIT], ids=["the draw", "its first write", "its last"])
def test_a_connection_that_is_cut_in_it_is_made_anew_by_the_same_owner(stage: Stage, line: Line, what):
    owner = line.sale.owner()
    proxy = stage.postgres_of[owner]
    proxy.cut_before(what)
    line.open()
    assert proxy.was_cut.wait(60)
    line.check()
    assert line.sale.owner() == owner


@pytest.mark.parametrize("when", ["in the lobby", "while it is drawn", "while it admits"])
def test_a_restart_of_postgres_loses_no_place(stage: Stage, line: Line, when: str):
    if when == "while it is drawn":
        proxy = stage.postgres_of[line.sale.owner()]
        proxy.hold_before(DRAWN)
        line.open()
        assert proxy.was_held.wait(60)
    elif when == "while it admits":
        line.open()
        until(lambda: line.admitted() > 0, "somebody is admitted")
    line.sale.connection().close()  # its backend would outlive the server that is killed for a moment
    stage.kill("postgres")
    stage.stack.start_again("postgres")
    for proxy in stage.postgres_of.values():
        proxy.drop_held()
    if when == "in the lobby":
        until(lambda: _opens(line), "it opens")
    line.check()


def _opens(line: Line) -> bool:
    try:
        line.open()
    except (Unavailable, psycopg.OperationalError):
        return False
    return True


@pytest.mark.parametrize("when", ["in the lobby", "while it admits"])
def test_a_wiped_redis_loses_no_place(stage: Stage, line: Line, when: str):
    if when == "while it admits":
        line.open()
        until(lambda: line.admitted() > 0, "somebody is admitted")
    with line.sale.stream() as (client, _):
        client.flushdb()
    if when == "in the lobby":
        line.open()
    line.check()
