"""Messages set aside: tried again when they are due, until they are delivered or dead.

Who tries one moves `next_at` on by `CLAIM_SECONDS` first and afterwards changes only a row that still has
that moment: so it is one relay's at a time, and one that stops without a word loses it by Postgres' clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import psycopg
from msgspec import Struct

from store.subscribers.lanes import Endpoint

Conn = psycopg.AsyncConnection[Any]

CLAIM_SECONDS: Final = 30.0
"""Longer than one attempt may take."""
FAILING: Final = "nothing could be delivered for days"

CLAIM: Final = f"""
-- What is due of active subscribers, the longest due first, of each as many as it has room for.
WITH due AS (
  SELECT d.subscriber_id, d.outbox_id,
         row_number() OVER (PARTITION BY d.subscriber_id ORDER BY d.next_at) AS place
    FROM delivery d JOIN subscriber s ON s.id = d.subscriber_id
   WHERE d.state = 'waiting' AND d.next_at <= clock_timestamp() AND s.state = 'active'
), mine AS (
  SELECT d.subscriber_id, d.outbox_id
    FROM delivery d JOIN due USING (subscriber_id, outbox_id)
    LEFT JOIN unnest(%(limited)s::int[], %(rooms)s::int[]) AS few (subscriber_id, room) USING (subscriber_id)
   WHERE due.place <= coalesce(few.room, %(room)s)
     AND d.state = 'waiting' AND d.next_at <= clock_timestamp()
   ORDER BY d.next_at LIMIT %(limit)s
     FOR UPDATE OF d SKIP LOCKED
), claimed AS (
  UPDATE delivery d SET next_at = clock_timestamp() + make_interval(secs => {CLAIM_SECONDS})
    FROM mine WHERE d.subscriber_id = mine.subscriber_id AND d.outbox_id = mine.outbox_id
  RETURNING d.*
)
SELECT s.id, s.url, s.secret, CASE WHEN s.previous_until > clock_timestamp() THEN s.previous_secret END,
       c.outbox_id, c.event_id, c.kind, c.payload, c.attempts, c.next_at
  FROM claimed c JOIN subscriber s ON s.id = c.subscriber_id
"""

OVER: Final = """
DELETE FROM delivery d
 USING unnest(%(subscribers)s::int[], %(rows)s::bigint[], %(claims)s::timestamptz[])
       AS n (subscriber_id, outbox_id, claim)
 WHERE d.subscriber_id = n.subscriber_id AND d.outbox_id = n.outbox_id AND d.state = 'waiting'
   AND d.next_at = n.claim
"""
FAILED: Final = """
-- Without a pause: dead.
UPDATE delivery d
   SET attempts = d.attempts + n.tried, status = n.status, error = n.error,
       state = CASE WHEN n.pause IS NULL THEN 'dead' ELSE 'waiting' END,
       next_at = clock_timestamp() + make_interval(secs => coalesce(n.pause, 0))
  FROM unnest(%(subscribers)s::int[], %(rows)s::bigint[], %(claims)s::timestamptz[], %(pauses)s::float8[],
              %(statuses)s::smallint[], %(errors)s::text[], %(tried)s::smallint[])
       AS n (subscriber_id, outbox_id, claim, pause, status, error, tried)
 WHERE d.subscriber_id = n.subscriber_id AND d.outbox_id = n.outbox_id AND d.state = 'waiting'
   AND d.next_at = n.claim
RETURNING d.subscriber_id, d.state = 'dead'
"""
GIVE_UP: Final = """
-- Subscribers of whom a message died and who were not delivered anything since it was first tried.
UPDATE subscriber s SET state = 'disabled', disabled_why = %(reason)s
 WHERE s.id = ANY (%(subscribers)s::int[]) AND s.state = 'active'
   AND EXISTS (SELECT 1 FROM delivery d WHERE d.subscriber_id = s.id AND d.state = 'dead'
                AND d.first_at > coalesce(s.delivered_at, '-infinity'))
"""
GONE: Final = """
UPDATE subscriber SET state = 'disabled', disabled_why = %(reason)s
 WHERE id = %(subscriber)s AND state = 'active'
"""
HEARD: Final = """
-- When something was last delivered; to the minute, for everybody who notes how far lanes are reads this row.
UPDATE subscriber SET delivered_at = clock_timestamp()
 WHERE id = ANY (%(subscribers)s::int[])
   AND coalesce(delivered_at, '-infinity') < clock_timestamp() - interval '1 minute'
"""


class Due(NamedTuple):
    """A message to be tried again; ours until `claim`."""

    endpoint: Endpoint
    outbox_id: int
    event_id: int | None
    """None: a test message."""
    kind: str
    payload: str
    attempts: int
    claim: datetime


class Tried(Struct, frozen=True):
    """What became of it: it is `over` (delivered, or not to be tried again), or due after the pause; none:
    it is dead."""

    due: Due
    over: bool
    pause_seconds: float | None = None
    status: int | None = None
    error: str | None = None
    counts: bool = True
    """As an attempt."""


async def claim(connection: Conn, limit: int, room: int, rooms: Mapping[int, int]) -> list[Due]:
    """At most `limit` messages, of each subscriber at most `room`, or what `rooms` says of it."""
    values: dict[str, Any] = {"limit": limit, "room": room}
    values |= {"limited": list(rooms), "rooms": list(rooms.values())}
    rows = await (await connection.execute(CLAIM, values)).fetchall()
    return [
        Due(Endpoint(row[0], row[1], tuple(one for one in row[2:4] if one is not None)), *row[4:])
        for row in rows
    ]


async def note(connection: Conn, tried: Sequence[Tried]) -> list[int]:
    """Writes down what became of messages, in the caller's transaction; the subscribers of whom one died."""
    over = [one for one in tried if one.over]
    if over:
        await connection.execute(OVER, _keys(over))
    failed = [one for one in tried if not one.over]
    if not failed:
        return []
    values = _keys(failed) | {
        "pauses": [one.pause_seconds for one in failed],
        "statuses": [one.status for one in failed],
        "errors": [one.error for one in failed],
        "tried": [int(one.counts) for one in failed],
    }
    rows = await (await connection.execute(FAILED, values)).fetchall()
    return sorted({subscriber for subscriber, dead in rows if dead})


async def give_up(connection: Conn, subscribers: Sequence[int]) -> None:
    """A message to each of them died: whoever nothing was delivered to in all that time is disabled."""
    await connection.execute(GIVE_UP, {"subscribers": list(subscribers), "reason": FAILING})


async def gone(connection: Conn, subscriber: int, reason: str) -> None:
    """It asked to be told nothing any more."""
    await connection.execute(GONE, {"subscriber": subscriber, "reason": reason})


async def heard(connection: Conn, subscribers: Sequence[int]) -> None:
    """Something was delivered to each of them."""
    await connection.execute(HEARD, {"subscribers": sorted(subscribers)})


def _keys(tried: Sequence[Tried]) -> dict[str, list[Any]]:
    return {
        "subscribers": [one.due.endpoint.subscriber for one in tried],
        "rows": [one.due.outbox_id for one in tried],
        "claims": [one.due.claim for one in tried],
    }
