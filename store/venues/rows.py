"""Venues in Postgres. A stored plan never changes: seat numbers of sold tickets point into it."""

import re
from datetime import datetime
from typing import NamedTuple

import psycopg

from store import audit
from store.audit import Said
from store.errors import Conflicted, NotFound
from store.plan import Plan, check, decode, encode, fingerprint
from store.venues import checks

SLUG_LENGTH_MAX = 64
_SLUG = re.compile(rf"[a-z0-9](?:[a-z0-9-]{{0,{SLUG_LENGTH_MAX - 2}}}[a-z0-9])?")

# Takes the slug's entry in the unique index: a second one waits for the first to end, then inserts nothing.
INSERT_VENUE = """
    INSERT INTO venue (slug, name, plan, plan_sha256) VALUES (%s, %s, %s, %s)
    ON CONFLICT (slug) DO NOTHING
    RETURNING id
"""
SELECT_VENUE = "SELECT id, plan_sha256 FROM venue WHERE slug = %s"
SELECT_PLAN = "SELECT plan, plan_sha256 FROM venue WHERE id = %s"
SELECT_NEWEST = "SELECT id, slug, name, plan_sha256, created_at FROM venue ORDER BY id DESC LIMIT %s"
# Reads each of these plans whole.
COUNT = """
    SELECT plan_sha256, json_array_length(plan::json -> 'seats'),
           (SELECT coalesce(sum((area ->> 'capacity')::bigint), 0)::bigint
              FROM json_array_elements(plan::json -> 'areas') AS area)
      FROM venue WHERE id = ANY (%s)
"""
COUNTED_MAX = 10_000
_counted: dict[bytes, tuple[int, int]] = {}
"""Seats and standing of plans that were listed, by their digest: neither ever changes for one."""
LISTED_MAX = 100
"""Venues in one list, unless more are asked for."""


class VenueRow(NamedTuple):
    """A venue in short. `seats` are numbered seats, `standing` is the capacity of all its areas."""

    id: int
    slug: str
    name: str
    seats: int
    standing: int
    created_at: datetime


def save_venue(conn: psycopg.Connection, slug: str, plan: Plan, said: Said | None = None) -> int:
    """Stores a plan under a new slug and returns the venue's id. Does not commit.

    `said` is who does it by hand and why, for `audit`; None where nobody does: a demo, a benchmark.

    Saving the same content again gives the same id. PlanError if the plan or the slug is not in
    order, Conflicted if the slug has another plan: events may already use it.
    """
    checks.matching(
        slug, "slug", _SLUG, "grand-theatre: lower-case letters, digits and inner dashes, at most 64"
    )
    check(plan)
    encoded = encode(plan)
    digest = bytes.fromhex(fingerprint(encoded))
    inserted = conn.execute(INSERT_VENUE, (slug, plan.name, encoded.decode(), digest)).fetchone()
    if inserted is not None:
        if said is not None:
            what = {"change": "save venue", "venue": slug, "name": plan.name, "seats": len(plan.seats)}
            audit.write(conn, None, said, what)
        return int(inserted[0])
    there = conn.execute(SELECT_VENUE, (slug,)).fetchone()
    if there is None or bytes(there[1]) != digest:
        raise Conflicted(
            "venue_exists",
            f"There is already a venue {slug!r} with another plan, and stored plans never change. "
            "Choose another slug.",
        )
    return int(there[0])


def load_plan(conn: psycopg.Connection, venue_id: int) -> Plan:
    """The stored plan. NotFound if there is no such venue; a damaged plan is an assertion, not an answer."""
    row = conn.execute(SELECT_PLAN, (venue_id,)).fetchone()
    if row is None:
        raise NotFound(
            "venue_unknown", f"There is no venue with id {venue_id}; `venue list` shows those there are."
        )
    encoded = str(row[0]).encode()
    assert bytes.fromhex(fingerprint(encoded)) == bytes(row[1]), (
        f"the stored plan of venue {venue_id} is damaged"
    )
    return decode(encoded)


def newest_venues(conn: psycopg.Connection, most: int = LISTED_MAX) -> list[VenueRow]:
    """The newest, newest first. A plan is read once by a process, however often it is listed."""
    rows = conn.execute(SELECT_NEWEST, (most,)).fetchall()
    counts = {row[3]: known for row in rows if (known := _counted.get(row[3])) is not None}
    unknown = [row[0] for row in rows if row[3] not in counts]
    if unknown:
        counted = conn.execute(COUNT, (unknown,))
        counts |= {digest: (seats, standing) for digest, seats, standing in counted}
        if len(_counted) + len(unknown) > COUNTED_MAX:
            _counted.clear()
        _counted.update(counts)
    return [
        VenueRow(number, slug, name, *counts[digest], created_at)
        for number, slug, name, digest, created_at in rows
    ]
