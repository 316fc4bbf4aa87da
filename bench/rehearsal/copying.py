"""Takes what a rehearsal needs of an event, and makes it again elsewhere: plan, terms, limits, waiting room.

Nothing of any buyer is read. The copy takes no money, opens when it is told to, and is of no tour.
"""

from __future__ import annotations

import secrets
from typing import Any, Final

import psycopg
from msgspec.structs import replace

from bench.rehearsal.words import EventCopy
from bench.target import StageEvent
from store import events
from store.errors import NotFound
from store.plan import decode
from store.room import rooms
from store.room.words import Proof, RoomPolicy, RoomTerms
from store.terms import TERMS, Terms, terms_in
from store.venues.rows import save_venue
from store.words import EventState

PLAN: Final = """
-- As it is sold by now: the last of the event's own plans, else the venue's.
SELECT coalesce((SELECT plan FROM event_plan WHERE event_id = %(event)s ORDER BY version DESC LIMIT 1),
                venue.plan)
  FROM event JOIN venue ON venue.id = event.venue_id WHERE event.id = %(event)s
"""
HOLD_SECONDS_MIN: Final = 600
"""No hold of a rehearsal runs out while it is judged."""


def read_copy(conn: psycopg.Connection[Any], slug: str) -> EventCopy:
    """What there is to copy; raises `NotFound`."""
    event = events.get_event(conn, slug)
    row = conn.execute(PLAN, {"event": event.id}).fetchone()
    assert row is not None, "an event has a plan"
    try:
        room = rooms.read(conn, event.id).terms
    except NotFound:
        room = None
    terms = Terms(**{name: getattr(event, name) for name in TERMS})
    return EventCopy(slug, decode(row[0].encode()), terms, room)


def make_copy(database_url: str, copy: EventCopy, *, gate: bool) -> StageEvent:
    """The event once more, open, with the fast gate on or off. Who asks was admitted already."""
    terms = replace(
        copy.terms,
        fast_gate=gate,
        payment="none",
        hold_ttl_seconds=max(HOLD_SECONDS_MIN, copy.terms.hold_ttl_seconds),
    )
    return _make(database_url, copy, terms, None, EventState.OPEN)


def make_lobby(database_url: str, copy: EventCopy) -> StageEvent:
    """Its lobby, for who joins; without a waiting room of its own one as they usually are. Nobody proves
    anything: what is measured is the gateway."""
    terms = replace(copy.room or RoomTerms(policy=RoomPolicy.DRAW), proof=Proof.OFF)
    return _make(database_url, copy, replace(copy.terms, payment="none"), terms, EventState.LOBBY)


def _make(
    database_url: str, copy: EventCopy, terms: Terms, room: RoomTerms | None, state: EventState
) -> StageEvent:
    slug = f"rehearsal-{secrets.token_hex(4)}"
    given: dict[str, Any] = terms_in(terms)
    with psycopg.connect(database_url) as conn:
        venue = save_venue(conn, "rehearsed", copy.plan)
        event = events.create_event(conn, slug, "Rehearsal", venue, copy.plan, **given)
        if room is not None:
            rooms.make(conn, slug, room)
        events.set_state(conn, slug, state)
    return StageEvent(event, slug, copy.plan)
