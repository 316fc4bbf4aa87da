"""What tells a waiting room to slow down: requests that wait long for their decision, payments that fail."""

from __future__ import annotations

import logging
from typing import Any, Final

import psycopg
import redis

from store.wire import arrival_order, stream_key
from store.words import Arrival

log = logging.getLogger("onsale.allocator")

PAYMENTS_LOOKED_AT: Final = 2_000
"""The newest of all events: so many rows are read at most."""
PAYMENTS_LEAST: Final = 20
"""Fewer say nothing."""
PAYMENTS_MINUTES: Final = 5
UNANSWERED_SECONDS: Final = 15

FAILED: Final = f"""
-- Backwards along the primary key. A payment that the provider was asked for and has said nothing of counts
-- as failed; one that its buyer has yet to pay counts as nothing.
SELECT count(*) FILTER (WHERE failed), count(*)
  FROM (SELECT state = 'failed' OR state = 'created' AND declines > 0
               OR state IN ('created', 'canceled') AND intent IS NULL AS failed
          FROM (SELECT * FROM payment ORDER BY id DESC LIMIT {PAYMENTS_LOOKED_AT}) AS newest
         WHERE event_id = %(event)s AND created_at > clock_timestamp() - interval '{PAYMENTS_MINUTES} minutes'
           AND (state NOT IN ('created', 'canceled') OR declines > 0
                OR intent IS NULL
                   AND created_at < clock_timestamp() - interval '{UNANSWERED_SECONDS} seconds')) AS decided
"""


def failed_share(conn: psycopg.Connection[Any], event_id: int) -> float | None:
    """Which part of the event's payments failed lately; None where they are too few to tell."""
    row = conn.execute(FAILED, {"event": event_id}).fetchone()
    assert row is not None, "an aggregate is one row"
    failed, many = int(row[0]), int(row[1])
    return failed / many if many >= PAYMENTS_LEAST else None


def lag_seconds(client: redis.Redis, slug: str, cursor: Arrival) -> float | None:
    """How long the oldest entry above the cursor waits, by the stream server's clock; None: it is away."""
    try:
        with client.pipeline(transaction=False) as pipeline:
            pipeline.time()
            pipeline.xrange(stream_key(slug), f"({cursor}", "+", count=1)
            (seconds, micros), entries = pipeline.execute()
    except (redis.RedisError, OSError) as error:
        log.debug("%s: how long requests wait is not known: %s", slug, error)
        return None
    if not entries:
        return 0.0
    arrived_ms, _ = arrival_order(Arrival(entries[0][0].decode()))
    waits: float = seconds + micros / 1_000_000 - arrived_ms / 1000
    return max(0.0, waits)
