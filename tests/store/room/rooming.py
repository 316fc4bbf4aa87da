"""A room, its buyers, and the stages of its life, as these tests use them."""

from __future__ import annotations

import asyncio

import psycopg

from store import events
from store.audit import Said
from store.room import draw, joining, operating
from store.room.joining import Joining
from store.room.words import RoomTerms
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState
from tests.store.test_holds import url_of

PLAN = make("arena", 10, standing=5)
OLGA = Said("Olga", "the sale of the year")


def make_room(conn, slug="gig", *, state=EventState.LOBBY, **terms):
    """The number of an event with a waiting room."""
    number = events.create_event(conn, slug, "The gig", save_venue(conn, f"of-{slug}", PLAN), PLAN)
    operating.make(conn, slug, RoomTerms(**terms), OLGA)
    if state is not EventState.DRAFT:
        events.set_state(conn, slug, state)
    return number


def join(conn, event, *buyers, **options):
    """What each is answered, in one transaction. Buyers are names or `Joining`s."""
    joins = [one if isinstance(one, Joining) else Joining(one, **options) for one in buyers]

    async def run():
        async with await psycopg.AsyncConnection.connect(url_of(conn), autocommit=True) as own:
            return await joining.join(own, event, joins)

    return asyncio.run(run())


def begin_sale(conn, event, slug="gig"):
    """Opens the event and draws."""
    events.set_state(conn, slug, EventState.OPEN)
    assert draw.draw(conn, event)


def line(conn, event, lane="ordinary"):
    """Buyers by position; positions have no gaps."""
    rows = conn.execute(
        "SELECT position, buyer FROM line JOIN place ON place.id = place_id"
        " WHERE line.event_id = %s AND line.lane = %s ORDER BY position", (event, lane),
    ).fetchall()  # fmt: skip
    assert [position for position, _ in rows] == list(range(1, len(rows) + 1))
    return [buyer for _, buyer in rows]


def set_place(conn, event, buyer, **columns):
    """What admission does to a live place: `state` and times that are there or not."""
    words = ", ".join(f"{name} = {value}" for name, value in columns.items())
    done = conn.execute(
        f"UPDATE place SET {words} WHERE event_id = %s AND buyer = %s AND state IN ('waiting', 'admitted')",
        (event, buyer),
    )
    assert done.rowcount == 1


ADMITTED = {"state": "'admitted'", "admitted_at": "now()", "begin_by": "now() + interval '1 hour'"}
BEGUN = ADMITTED | {"begun_at": "now()", "until": "now() + interval '1 hour'"}
DID_NOT_BEGIN = ADMITTED | {"state": "'expired'", "ended_at": "now()"}
