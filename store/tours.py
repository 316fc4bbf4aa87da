"""Tours: dates of one show, each an event, that share a limit per buyer.

An event joins as a draft and stays. The limit never changes, so what the events' allocators were told of
it is true at every moment. How it is kept is in docs/decisions/0020-limits-of-a-tour.md.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import psycopg
from msgspec import Struct
from psycopg.rows import class_row, tuple_row

from store import audit
from store.audit import Said
from store.errors import Conflicted, NotFound
from store.events import NAME_LENGTH_MAX, SLUG, SLUG_RULE, Event, join_tour
from store.terms import SEATS_PER_BUYER_MAX, check
from store.words import EventState

Conn = psycopg.Connection[Any]
TOURS_MAX = 1_000
"""Most tours a listing names, newest first."""
DATES_MAX = 1_000
"""Most events of a tour that are told, in the order in which they were made."""


class Tour(Struct, frozen=True):
    """A tour's row."""

    id: int
    slug: str
    name: str
    seats_per_buyer_max: int
    created_at: datetime


class Date(Struct, frozen=True):
    """An event of a tour."""

    slug: str
    name: str
    state: EventState


_COLUMNS = ", ".join(Tour.__struct_fields__)
_INSERT = f"""
INSERT INTO tour (slug, name, seats_per_buyer_max) VALUES (%s, %s, %s) RETURNING {_COLUMNS}
"""
_READ = f"SELECT {_COLUMNS} FROM tour WHERE slug = %s"
_LIST = f"SELECT {_COLUMNS} FROM tour ORDER BY id DESC LIMIT {TOURS_MAX}"
_DATES = f"SELECT slug, name, state FROM event WHERE tour_id = %s ORDER BY id LIMIT {DATES_MAX}"


def create_tour(conn: Conn, slug: str, name: str, seats_per_buyer_max: int, said: Said | None = None) -> Tour:
    """Make a tour without dates; `said` is as with events (`store.events`).

    Raises `BadRequest` (invalid_event) for a value out of bounds, `Conflicted` (tour_exists) for a slug that
    is taken.
    """
    check(SLUG.fullmatch(slug) is not None, "slug", SLUG_RULE)
    named = 0 < len(name.strip()) <= NAME_LENGTH_MAX and name.isprintable()
    check(named, "name", f"1 to {NAME_LENGTH_MAX} printable characters")
    within = 1 <= seats_per_buyer_max <= SEATS_PER_BUYER_MAX
    check(within, "seats_per_buyer_max", f"1 to {SEATS_PER_BUYER_MAX}")
    try:
        with conn.transaction(), conn.cursor(row_factory=class_row(Tour)) as cursor:
            made = cursor.execute(_INSERT, (slug, name.strip(), seats_per_buyer_max)).fetchone()
            assert made is not None, "the statement returns the row it inserts"
            if said is not None:
                what = {"change": "create tour", "tour": slug, "seats_per_buyer_max": seats_per_buyer_max}
                audit.write(conn, None, said, what)
    except psycopg.errors.UniqueViolation as error:
        raise Conflicted("tour_exists", f"There is a tour {slug!r} already. Choose another name.") from error
    return made


def add_event(conn: Conn, tour: str, event: str, said: Said) -> Event:
    """Make a draft a date of the tour, with a row in its audit; the same answer however often.

    Raises `NotFound` (unknown_tour, unknown_event), `Conflicted` (event_not_draft, event_of_tour).
    """
    with conn.transaction():
        to = get_tour(conn, tour)
        before, joined = join_tour(conn, event, to.id)
        if before is None:
            audit.write(conn, joined.id, said, {"change": "join tour", "tour": tour})
        return joined


def get_tour(conn: Conn, slug: str) -> Tour:
    """The tour of that slug; raises `NotFound` (unknown_tour)."""
    tour = None
    if SLUG.fullmatch(slug):  # Postgres refuses to be asked about some texts, such as one with a NUL
        with conn.cursor(row_factory=class_row(Tour)) as cursor:
            tour = cursor.execute(_READ, (slug,)).fetchone()
    if tour is None:
        raise NotFound("unknown_tour", f"There is no tour {slug!r}. List them to see which there are.")
    return tour


def dates_of(conn: Conn, tour: Tour) -> list[Date]:
    """Its events, in the order in which they were made, at most `DATES_MAX`."""
    with conn.cursor(row_factory=tuple_row) as cursor:
        rows = cursor.execute(_DATES, (tour.id,)).fetchall()
    return [Date(slug, name, EventState(state)) for slug, name, state in rows]


def list_tours(conn: Conn) -> list[Tour]:
    """Tours, newest first, at most `TOURS_MAX`."""
    with conn.cursor(row_factory=class_row(Tour)) as cursor:
        return cursor.execute(_LIST).fetchall()
