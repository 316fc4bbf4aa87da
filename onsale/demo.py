"""The demo: a theatre and an open event, where there is no event yet."""

from __future__ import annotations

import psycopg
from msgspec.structs import replace

from store.events import create_event, list_events, set_state
from store.plan import Area, Plan, check
from store.venues.layout import area_size
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState

VENUE = "lantern-theatre"
EVENT = "demo"
SEATS = 2_400
STANDING = 300
HOLD_TTL_SECONDS = 120
"""Short, so a visitor sees a hold run out."""
_LOCK_KEY = int.from_bytes(b"demo")


def ensure_demo(database_url: str) -> str:
    """Make the demo where there is no event at all; the slug of the event a demo shows.

    That is `demo` if it exists, else the newest event that is open, else the newest. Idempotent, and
    safe when two start at once. The database must be migrated.
    """
    with psycopg.connect(database_url, autocommit=True) as conn, conn.transaction():
        conn.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK_KEY,))
        there = list_events(conn)
        if there:
            chosen = [event for event in there if event.slug == EVENT]
            is_open = [event for event in there if event.state is EventState.OPEN]
            return (chosen or is_open or there)[0].slug
        plan = demo_plan()
        create_event(
            conn,
            EVENT,
            "An Evening at the Lantern",
            save_venue(conn, VENUE, plan),
            plan,
            hold_ttl_seconds=HOLD_TTL_SECONDS,
            payment="required",
            late_payment="reacquire",
        )
        set_state(conn, EVENT, EventState.OPEN)
    return EVENT


def demo_plan() -> Plan:
    """A theatre with stalls, circle and balcony, and standing room behind the last row."""
    theatre = make("theatre", SEATS, name="Lantern Theatre")
    width, height = area_size(STANDING)
    wide, deep = 2 * width, height / 2
    cheapest = len(theatre.categories) - 1
    x = round((theatre.width - wide) / 2, 1)
    standing = Area("standing", "Standing room", cheapest, STANDING, x, theatre.height, wide, deep)
    plan = replace(theatre, areas=(standing,), height=round(theatre.height + deep + 40.0, 1))
    check(plan)
    return plan
