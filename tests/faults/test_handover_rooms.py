"""An event with a waiting room or a ballot goes from one allocator to another by plan.

The keeper's work goes on at the new owner: nobody is admitted twice, and nobody is forgotten.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from onsale.engines.child import Child
from store.events import create_event, set_state
from store.plan import Plan
from store.room import ballot, joining, rooms
from store.room.joining import Joining
from store.room.words import RoomTerms
from store.settings import EngineUrls
from store.venues.rows import save_venue
from store.wire import canonical_want
from store.words import EventState
from tests.allocator.house import SLUG, best, change_event
from tests.faults.allocating import Sale

pytestmark = pytest.mark.faults

TURNS = (("one", "two"), ("two", "one"), ("one", "two"))
AT_ONCE = 30
WISHES = 12_000

NOTE = """
CREATE TABLE seen_admitted (place uuid, epoch bigint);
CREATE FUNCTION note_admitted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO seen_admitted SELECT NEW.id, epoch FROM event_cursor WHERE event_id = NEW.event_id;
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


def lobby(terms: RoomTerms) -> Callable[[str, Plan], int]:
    """Makes an event in the lobby, with that waiting room."""

    def make(url: str, plan: Plan) -> int:
        with psycopg.connect(url, autocommit=True) as conn:
            event_id = create_event(conn, SLUG, "Gala", save_venue(conn, "venue", plan), plan)
            rooms.make(conn, SLUG, terms)
            set_state(conn, SLUG, EventState.LOBBY)
        return event_id

    return make


class Handed:
    """A sale and two allocators that attend to it: `one` owns it, `two` is warm."""

    def __init__(self, sale: Sale, shared: bool) -> None:
        self.sale, self.shared = sale, shared
        self.children = {"one": self.start("one", preferred=True)}
        sale.wait_until(lambda: sale.owned_by(self.children["one"]), "the first one owns the event")
        self.children["two"] = self.start("two", preferred=False)

    def start(self, name: str, **wish: bool | None) -> Child:
        return self.sale.start_told(name, shared=self.shared, **wish)

    def move(self, giver: str, taker: str) -> None:
        """As a planner does, once who is to take it is warm."""
        self.sale.wait_until(lambda: self.sale.warm(taker) is not None, f"{taker} has loaded")
        self.sale.tell(taker, shared=self.shared, preferred=True)
        self.sale.tell(giver, shared=self.shared, preferred=False, successor_warm=True)

    def wait_owner(self, name: str) -> None:
        self.sale.wait_until(lambda: self.sale.owned_by(self.children[name]), f"{name} owns the event")

    def one(self, query: str) -> int:
        row = self.sale.truth.execute(query).fetchone()
        assert row is not None, "an aggregate has a row"
        return int(row[0])


@pytest.fixture(params=[False, True], ids=["own thread", "shared"])
def handing(
    request: pytest.FixtureRequest, engine_urls: EngineUrls, tmp_path: Path
) -> Iterator[Callable[[RoomTerms], Handed]]:
    with contextlib.ExitStack() as leaving:

        def make(terms: RoomTerms) -> Handed:
            sale = Sale(engine_urls, tmp_path, make_event=lobby(terms))
            return Handed(leaving.enter_context(contextlib.closing(sale)), request.param)

        yield make


@pytest.fixture
def noted(engine_urls: EngineUrls) -> Iterator[None]:
    with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
        conn.execute(NOTE)
        yield
        conn.execute(FORGET)


def test_a_waiting_room_admits_on_at_the_new_owner_each_once_and_in_order(handing, noted):
    handed = handing(RoomTerms(pace=1_200))
    sale, came = handed.sale, 0

    def join() -> None:
        nonlocal came
        buyers = [Joining(f"b{number:03}") for number in range(came, came + AT_ONCE)]
        came += AT_ONCE

        async def run() -> None:
            async with await psycopg.AsyncConnection.connect(sale.urls.database_url) as own:
                await joining.join(own, sale.event_id, buyers)

        asyncio.run(run())

    def wait_all() -> None:
        sale.wait_until(lambda: handed.one("SELECT admitted FROM room") == came, "all are admitted")

    join()
    change_event(sale.urls.database_url, EventState.OPEN)
    wait_all()
    for giver, taker in TURNS:
        join()
        handed.move(giver, taker)
        handed.wait_owner(taker)
        join()
        wait_all()
    seen = sale.truth.execute("SELECT place, epoch FROM seen_admitted").fetchall()
    assert len(seen) == len({place for place, _ in seen}) == came, "each was admitted, and once"
    assert {epoch for _, epoch in seen} == {1, 2, 3, 4}, "by each of the owners"
    states = sale.truth.execute("SELECT DISTINCT state FROM place").fetchall()
    assert states == [("admitted",)]
    versions = sale.truth.execute(
        "SELECT version FROM line JOIN place ON id = place_id ORDER BY position"
    ).fetchall()
    assert versions == sorted(versions), "nobody was called before who stands before them"


def test_a_ballot_goes_on_at_the_new_owner_and_decides_each_wish_once_in_the_draws_order(handing):
    handed = handing(RoomTerms(ballot=True))
    sale = handed.sale
    wishes = {"event": sale.event_id, "count": WISHES, "want": canonical_want(best(2)).decode()}
    sale.truth.execute(WISH, wishes)
    begun = "SELECT count(*) FROM ledger WHERE kind = 'request'"
    change_event(sale.urls.database_url, EventState.OPEN)
    sale.wait_until(lambda: handed.one(begun) > 0, "some wishes are decided")
    for giver, taker in TURNS:
        handed.move(giver, taker)
        handed.wait_owner(taker)
    sale.wait_until(
        lambda: handed.one("SELECT count(*) FROM room WHERE ballot_ended_at IS NOT NULL") == 1, "it is over"
    )
    order = [wish.buyer for wish in ballot.next_wishes(sale.truth, sale.event_id, ballot.FIRST, WISHES)]
    text = "SELECT buyer, arrival FROM ledger WHERE kind = 'request' ORDER BY batch_no, position"
    decided = sale.truth.execute(text).fetchall()
    assert [buyer for buyer, _ in decided] == order
    assert len(order) == WISHES
    sale.arrivals = [arrival for _, arrival in decided]
    sale.check()
