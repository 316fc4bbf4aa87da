"""How far each subscriber was told each event: the statements of relays, of which several may run.

A lane is a subscriber and an event: its messages go out one after the other. A relay claims lanes with a
lease, reads and sends with no transaction open, and notes how far it is; what it notes counts only while the
lease is its own. Whoever stops without a word loses the lease by Postgres' clock, and the next one sends
again what was not noted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

import psycopg
from msgspec import Struct

from store.outbox import READ_AFTER, Row, rows_of

Conn = psycopg.AsyncConnection[Any]

LEASE_SECONDS: Final = 20.0
SET_ASIDE_MAX: Final = 1_000
"""Messages set aside of one subscriber, above which it is waited for instead: that is no poison message, it
is away. Each of its lanes may have added one more in the moment it is reached."""

PREPARE: Final = """
-- A row for every lane there is something to tell on. The events are found by skipping through the outbox's
-- key: one look for each event, however many rows it has.
WITH RECURSIVE told AS (
  (SELECT event_id FROM outbox ORDER BY event_id LIMIT 1)
  UNION ALL
  SELECT (SELECT event_id FROM outbox WHERE event_id > told.event_id ORDER BY event_id LIMIT 1) FROM told
   WHERE told.event_id IS NOT NULL
)
INSERT INTO subscriber_position (subscriber_id, event_id, number)
SELECT s.id, told.event_id, 0
  FROM told JOIN subscriber s ON s.state = 'active' AND coalesce(s.event_id, told.event_id) = told.event_id
 WHERE NOT EXISTS (SELECT 1 FROM subscriber_position p
                    WHERE p.subscriber_id = s.id AND p.event_id = told.event_id)
 ORDER BY s.id, told.event_id
ON CONFLICT DO NOTHING
"""

CLAIM: Final = f"""
-- Lanes of active subscribers on which something waits and nobody is, the longest waiting first, of each
-- subscriber as many as it has room for. Locks them; those that another relay locks are its own. One look
-- into the outbox's key for each lane: as EXISTS it could become a join that reads the whole outbox.
WITH due AS (
  SELECT p.subscriber_id, p.event_id, p.next_at,
         row_number() OVER (PARTITION BY p.subscriber_id ORDER BY p.next_at) AS place
    FROM subscriber_position p JOIN subscriber s ON s.id = p.subscriber_id
   WHERE s.state = 'active' AND p.next_at <= clock_timestamp()
     AND (p.leased_until IS NULL OR p.leased_until <= clock_timestamp())
     AND (SELECT true FROM outbox o WHERE o.event_id = p.event_id AND o.number > p.number
           ORDER BY o.number LIMIT 1)
), mine AS (
  SELECT p.subscriber_id, p.event_id
    FROM subscriber_position p JOIN due USING (subscriber_id, event_id)
    LEFT JOIN unnest(%(limited)s::int[], %(rooms)s::int[]) AS few (subscriber_id, room) USING (subscriber_id)
   WHERE due.place <= coalesce(few.room, %(room)s)
     AND (p.leased_until IS NULL OR p.leased_until <= clock_timestamp()) AND p.next_at <= clock_timestamp()
   ORDER BY due.next_at LIMIT %(limit)s
     FOR UPDATE OF p SKIP LOCKED
), claimed AS (
  UPDATE subscriber_position p
     SET lease = %(lease)s, leased_until = clock_timestamp() + make_interval(secs => {LEASE_SECONDS})
    FROM mine WHERE p.subscriber_id = mine.subscriber_id AND p.event_id = mine.event_id
  RETURNING p.subscriber_id, p.event_id, p.number, p.tries
)
SELECT c.subscriber_id, c.event_id, c.number, c.tries, s.url, s.kinds, s.secret,
       CASE WHEN s.previous_until > clock_timestamp() THEN s.previous_secret END,
       (SELECT count(*) FROM (SELECT 1 FROM delivery d WHERE d.subscriber_id = s.id AND d.state = 'waiting'
                               LIMIT {SET_ASIDE_MAX}) AS aside) >= {SET_ASIDE_MAX}
  FROM claimed c JOIN subscriber s ON s.id = c.subscriber_id
"""

NOTE: Final = f"""
-- How far lanes are; only where the lease is still ours. One that `ends` is anybody's, after `pause` seconds.
UPDATE subscriber_position p
   SET number = n.number, tries = n.tries,
       next_at = CASE WHEN n.ends THEN clock_timestamp() + make_interval(secs => n.pause) ELSE next_at END,
       lease = CASE WHEN n.ends THEN NULL ELSE p.lease END,
       leased_until = CASE WHEN NOT n.ends
                           THEN clock_timestamp() + make_interval(secs => {LEASE_SECONDS}) END
  FROM unnest(%(subscribers)s::int[], %(events)s::int[], %(leases)s::uuid[], %(numbers)s::bigint[],
              %(tries)s::smallint[], %(ends)s::bool[], %(pauses)s::float8[])
       AS n (subscriber_id, event_id, lease, number, tries, ends, pause)
  JOIN subscriber s ON s.id = n.subscriber_id
 WHERE p.subscriber_id = n.subscriber_id AND p.event_id = n.event_id AND p.lease = n.lease
RETURNING p.subscriber_id, p.event_id, s.state = 'active'
"""

SET_ASIDE: Final = """
-- Whoever was set aside before (a lane begun anew) stays as it is.
INSERT INTO delivery (subscriber_id, outbox_id, event_id, kind, payload, attempts, next_at, status, error)
SELECT n.subscriber_id, n.outbox_id, n.event_id, n.kind, n.payload, n.attempts,
       clock_timestamp() + make_interval(secs => n.pause), n.status, n.error
  FROM unnest(%(subscribers)s::int[], %(rows)s::bigint[], %(events)s::int[], %(kinds)s::text[],
              %(payloads)s::text[], %(attempts)s::smallint[], %(pauses)s::float8[], %(statuses)s::smallint[],
              %(errors)s::text[])
       AS n (subscriber_id, outbox_id, event_id, kind, payload, attempts, pause, status, error)
ON CONFLICT DO NOTHING
"""

NAMES: Final = """
SELECT event.slug, venue.plan FROM event JOIN venue ON venue.id = event.venue_id
 WHERE event.id = %(event)s
"""

LaneKey = tuple[int, int]
"""Subscriber and event."""


class Endpoint(NamedTuple):
    """Where a subscriber is, and the secrets that sign now, the newest first."""

    subscriber: int
    url: str
    secrets: tuple[str, ...]


class Claimed(NamedTuple):
    """A lane of ours for `LEASE_SECONDS` from before it was asked for."""

    endpoint: Endpoint
    event_id: int
    lease: UUID
    number: int
    """Of the last row that is done with."""
    tries: int
    """Of the message after it."""
    kinds: frozenset[str]
    """That it wants; none: every kind."""
    full: bool
    """`SET_ASIDE_MAX` is reached."""

    @property
    def key(self) -> LaneKey:
        return self.endpoint.subscriber, self.event_id


class Progress(Struct, frozen=True):
    """How far a lane is."""

    key: LaneKey
    lease: UUID
    number: int
    tries: int = 0
    ends: bool = False
    """It is given back, to be claimed after `pause_seconds`."""
    pause_seconds: float = 0.0


class Aside(Struct, frozen=True):
    """A message that no longer holds the next one back."""

    key: LaneKey
    outbox_id: int
    kind: str
    payload: str
    attempts: int
    pause_seconds: float
    status: int | None
    error: str | None


async def claim(
    connection: Conn, lease: UUID, limit: int, room: int, rooms: Mapping[int, int]
) -> list[Claimed]:
    """At most `limit` lanes, of each subscriber at most `room`, or what `rooms` says of it."""
    values: dict[str, Any] = {"lease": lease, "limit": limit, "room": room}
    values |= {"limited": list(rooms), "rooms": list(rooms.values())}
    rows = await (await connection.execute(CLAIM, values)).fetchall()
    return [
        Claimed(
            Endpoint(row[0], row[4], tuple(secret for secret in row[6:8] if secret is not None)),
            row[1],
            lease,
            row[2],
            row[3],
            frozenset(row[5]),
            row[8],
        )
        for row in rows
    ]


async def read(connection: Conn, wanted: Sequence[tuple[int, int]], limit: int) -> list[list[Row]]:
    """Of each event what comes after a number, in order; all asked in one go."""
    async with connection.pipeline():
        cursors = [
            await connection.execute(READ_AFTER, {"event": event, "after": after, "limit": limit})
            for event, after in wanted
        ]
    return [rows_of(await cursor.fetchall()) for cursor in cursors]


async def note(
    connection: Conn, progress: Sequence[Progress], aside: Collection[Aside]
) -> dict[LaneKey, bool]:
    """Writes down how far lanes are and what they set aside, in the caller's transaction.

    Returns the lanes that are still ours, with whether their subscriber is active; what others set aside
    is not written.
    """
    values: dict[str, list[Any]] = {
        "subscribers": [one.key[0] for one in progress],
        "events": [one.key[1] for one in progress],
        "leases": [one.lease for one in progress],
        "numbers": [one.number for one in progress],
        "tries": [one.tries for one in progress],
        "ends": [one.ends for one in progress],
        "pauses": [one.pause_seconds for one in progress],
    }
    rows = await (await connection.execute(NOTE, values)).fetchall()
    ours = {(subscriber, event): active for subscriber, event, active in rows}
    aside = [one for one in aside if one.key in ours]
    if aside:
        values = {
            "subscribers": [one.key[0] for one in aside],
            "events": [one.key[1] for one in aside],
            "rows": [one.outbox_id for one in aside],
            "kinds": [one.kind for one in aside],
            "payloads": [one.payload for one in aside],
            "attempts": [one.attempts for one in aside],
            "pauses": [one.pause_seconds for one in aside],
            "statuses": [one.status for one in aside],
            "errors": [one.error for one in aside],
        }
        await connection.execute(SET_ASIDE, values)
    return ours
