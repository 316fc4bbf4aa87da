"""Who was turned away from waiting rooms, counted: a row per event, minute and reason, however many were.

A gateway counts in memory and writes what it counted now and then; several gateways add to the same row. Of
the addresses that were refused the row keeps those with most refusals, as keyed hashes: enough to see
whether one address or thousands of them did it, and whether it is one that is asked about.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg.types.json import Json

from store.errors import BadRequest
from store.holds import Conn

ADDRESSES_MAX: Final = 20
"""Kept of one row."""
READ_MAX: Final = 1_000


class Reason(StrEnum):
    """Why somebody is turned away; the code they are told."""

    ADDRESS_JOINS = "too_many_joins_from_address"
    BUYER_JOINS = "too_many_joins"
    ADDRESS_CODES = "too_many_codes_from_address"
    BUYER_CODES = "too_many_codes_tried"
    PROOF_REQUIRED = "proof_required"
    PROOF_NOT_VALID = "proof_not_valid"
    PROOF_EXPIRED = "proof_expired"
    PROOF_USED = "proof_used"
    ADDRESS_WAITS = "too_many_wait_from_address"
    WAIT_NOT_OVER = "wait_not_over"
    WAIT_NOT_VALID = "wait_not_valid"
    HUMAN_CHECK = "human_check_failed"


ADD: Final = f"""
-- Rows in one order, so that gateways that write at once wait for each other and never around.
INSERT INTO room_refused AS kept (event_id, minute, reason, count, addresses)
SELECT event_id, date_trunc('minute', clock_timestamp()), reason, count, addresses
  FROM ROWS FROM (unnest(%(events)s::int[]), unnest(%(reasons)s::text[]), unnest(%(counts)s::bigint[]),
                  unnest(%(addresses)s::jsonb[])) AS told (event_id, reason, count, addresses)
 ORDER BY event_id, reason
ON CONFLICT (event_id, minute, reason) DO UPDATE
   SET count = kept.count + excluded.count,
       addresses = (
         SELECT jsonb_object_agg(address, times) FROM (
           SELECT key AS address, sum(value::bigint) AS times
             FROM (SELECT * FROM jsonb_each_text(kept.addresses)
                   UNION ALL SELECT * FROM jsonb_each_text(excluded.addresses)) AS both_of_them
            GROUP BY key ORDER BY 2 DESC, 1 LIMIT {ADDRESSES_MAX}) AS most)
"""

READ: Final = """
SELECT minute, reason, count, addresses FROM room_refused
 WHERE event_id = %(event)s AND minute >= coalesce(%(since)s::timestamptz, '-infinity')
   AND minute < coalesce(%(until)s::timestamptz, 'infinity')
 ORDER BY minute DESC, count DESC, reason LIMIT %(limit)s
"""

FORGET: Final = """
DELETE FROM room_refused WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM room_refused WHERE minute < clock_timestamp() - make_interval(days => %(days)s)
   LIMIT %(limit)s))
"""


class Counted(Struct, frozen=True):
    """What one gateway counted since it last wrote; `addresses`: hash and how often."""

    event_id: int
    reason: Reason
    count: int
    addresses: dict[str, int]


class Refused(Struct, frozen=True):
    """A row. Where it has fewer than `ADDRESSES_MAX` addresses it has all."""

    minute: datetime
    reason: str
    count: int
    addresses: dict[str, int]


async def add(connection: Conn, counted: Sequence[Counted]) -> None:
    """Add to the rows of this minute, by Postgres' clock."""
    values = {
        "events": [one.event_id for one in counted],
        "reasons": [one.reason.value for one in counted],
        "counts": [one.count for one in counted],
        "addresses": [Json(one.addresses) for one in counted],
    }
    await connection.execute(ADD, values)


def read(
    conn: psycopg.Connection[Any],
    event_id: int,
    limit: int = READ_MAX,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> list[Refused]:
    """The newest rows of an event, at most `READ_MAX`, of the minutes that begin from `since` on and before
    `until`; raises `BadRequest` (invalid_range) where nothing can be between."""
    if since is not None and until is not None and since >= until:
        raise BadRequest("invalid_range", "Since when must be before until when. Turn them round.")
    values = {"event": event_id, "since": since, "until": until, "limit": min(limit, READ_MAX)}
    return [Refused(*row) for row in conn.execute(READ, values).fetchall()]


async def forget(connection: Conn, days: int, limit: int) -> int:
    """Forget rows that are so old; how many."""
    return (await connection.execute(FORGET, {"days": days, "limit": limit})).rowcount
