"""Events with a waiting room or a ballot go from one allocator to another by plan.

The keeper's work goes on at the new owner: nobody is admitted twice, and nobody is forgotten.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from store.events import create_event, set_state
from store.plan import Plan
from store.room import ballot, joining, rooms
from store.room.joining import Joining
from store.room.words import RoomTerms
from store.settings import EngineUrls
from store.venues.rows import save_venue
from store.wire import canonical_want
from store.words import EventState
from tests.allocator.house import best, change_event
from tests.faults.handing import Pair

pytestmark = pytest.mark.faults

TURNS = (("one", "two"), ("two", "one"), ("one", "two"))
AT_ONCE = 30
WISHES = 8_000
PACE = 6_000
"""A minute: those who join at once are admitted in a third of a second, about what a handover takes."""

NOTE = """
CREATE TABLE seen_admitted (place uuid, epoch bigint, event_id int);
CREATE FUNCTION note_admitted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO seen_admitted SELECT NEW.id, epoch, event_id FROM event_cursor WHERE event_id = NEW.event_id;
  RETURN NEW;
END $$;
CREATE TRIGGER note_admitted AFTER UPDATE ON place FOR EACH ROW
 WHEN (NEW.state = 'admitted' AND OLD.state <> 'admitted') EXECUTE FUNCTION note_admitted()
"""
"""Writes down who is admitted while who owns the event, in the transaction that admits them."""
FORGET = "DROP TRIGGER note_admitted ON place; DROP FUNCTION note_admitted; DROP TABLE seen_admitted"

WISH = """
WITH came AS (
  INSERT INTO place (event_id, buyer, lane, in_draw)
  SELECT %(event)s, 'b' || n, CASE WHEN n %% 7 = 0 THEN 'priority' ELSE 'ordinary' END, true
    FROM generate_series(1, %(count)s) AS n
  RETURNING id, event_id, buyer),
counted AS (UPDATE room SET joined = %(count)s WHERE event_id = %(event)s)
INSERT INTO ballot_wish (place_id, event_id, buyer, want) SELECT id, event_id, buyer, %(want)s FROM came
"""


def lobby(terms: RoomTerms) -> Callable[[str, Plan, str], int]:
    """Makes an event in the lobby, with that waiting room."""

    def make(url: str, plan: Plan, slug: str) -> int:
        with psycopg.connect(url, autocommit=True) as conn:
            event_id = create_event(conn, slug, "Gala", save_venue(conn, f"venue-of-{slug}", plan), plan)
            rooms.make(conn, slug, terms)
            set_state(conn, slug, EventState.LOBBY)
        return event_id

    return make


@pytest.fixture
def handing(engine_urls: EngineUrls, tmp_path: Path) -> Iterator[Callable[[RoomTerms], Pair]]:
    with contextlib.ExitStack() as leaving:
        yield lambda terms: leaving.enter_context(Pair(engine_urls, tmp_path, make_event=lobby(terms)))


def move(pair: Pair, giver: str, taker: str) -> None:
    """As a planner does, once who is to take them has loaded them."""
    for sale in pair.sales:
        loaded = lambda sale=sale: sale.event_id in pair.allocators.warm(taker)  # noqa: E731
        sale.wait_until(loaded, f"{taker} has loaded")
    pair.move(giver, taker)


@pytest.fixture
def noted(engine_urls: EngineUrls) -> Iterator[None]:
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        conn.execute(NOTE)
        yield
        conn.execute(FORGET)


def test_a_waiting_room_admits_on_at_the_new_owner_each_once_and_in_order(handing, noted):
    pair, came = handing(RoomTerms(pace=PACE)), 0

    def join() -> None:
        nonlocal came
        buyers = [Joining(f"b{number:03}") for number in range(came, came + AT_ONCE)]
        came += AT_ONCE

        async def run() -> None:
            async with await psycopg.AsyncConnection.connect(pair.own_thread.urls.database_url) as own:
                for sale in pair.sales:
                    await joining.join(own, sale.event_id, buyers)

        asyncio.run(run())

    def wait_all() -> None:
        admitted = "SELECT admitted FROM room WHERE event_id = %(event)s"
        for sale in pair.sales:
            sale.wait_until(lambda sale=sale: sale.one(admitted) == came, "all are admitted")

    join()
    for sale in pair.sales:
        change_event(sale.urls.database_url, EventState.OPEN, sale.slug)
    wait_all()
    for giver, taker in TURNS:
        join()
        move(pair, giver, taker)
        pair.wait_owner(getattr(pair, taker))
        join()
        wait_all()
    for sale in pair.sales:
        seen = sale.query("SELECT place, epoch FROM seen_admitted WHERE event_id = %(event)s")
        assert len(seen) == len({place for place, _ in seen}) == came, "each was admitted, and once"
        assert {epoch for _, epoch in seen} == {1, 2, 3, 4}, "by each of the owners"
        states = sale.query("SELECT DISTINCT state FROM place WHERE event_id = %(event)s")
        assert states == [("admitted",)]
        versions = sale.query(
            "SELECT version FROM line JOIN place ON id = place_id WHERE line.event_id = %(event)s"
            " ORDER BY position"
        )
        assert versions == sorted(versions), "nobody was called before who stands before them"


def test_a_ballot_goes_on_at_the_new_owner_and_decides_each_wish_once_in_the_draws_order(handing):
    pair = handing(RoomTerms(ballot=True))
    begun = "SELECT count(*) FROM ledger WHERE kind = 'request' AND event_id = %(event)s"
    over = "SELECT count(*) FROM room WHERE ballot_ended_at IS NOT NULL AND event_id = %(event)s"
    for sale in pair.sales:
        wishes = {"event": sale.event_id, "count": WISHES, "want": canonical_want(best(2)).decode()}
        sale.truth.execute(WISH, wishes)
    for sale in pair.sales:
        change_event(sale.urls.database_url, EventState.OPEN, sale.slug)
        sale.wait_until(lambda sale=sale: sale.one(begun) > 0, "some wishes are decided")
    for giver, taker in TURNS:
        move(pair, giver, taker)
        pair.wait_owner(getattr(pair, taker))
    text = (
        "SELECT buyer, arrival FROM ledger WHERE kind = 'request' AND event_id = %(event)s"
        " ORDER BY batch_no, position"
    )
    for sale in pair.sales:
        sale.wait_until(lambda sale=sale: sale.one(over) == 1, "it is over")
        order = [wish.buyer for wish in ballot.next_wishes(sale.truth, sale.event_id, ballot.FIRST, WISHES)]
        decided = sale.query(text)
        assert [buyer for buyer, _ in decided] == order
        assert len(order) == WISHES
        sale.arrivals = [arrival for _, arrival in decided]
        sale.check()
