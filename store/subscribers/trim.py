"""What nobody needs any more: bounded, repeatable, safe twice at once. Each call removes at most `ROWS_MAX`
rows and says how many; a chore calls again until it is none.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg

from store import mail
from store.figures import kept, project
from store.figures.rows import Plans

Conn = psycopg.Connection[Any]

ROWS_MAX: Final = 5_000
OUTBOX_DAYS: Final = 30
DEAD_DAYS: Final = 30
LOG_KEPT: Final = 1_000
"""Attempts kept of each subscriber."""

SUBSCRIBERS: Final = """
EXISTS (SELECT 1 FROM subscriber s
          LEFT JOIN subscriber_position p ON p.subscriber_id = s.id AND p.event_id = o.event_id
         WHERE s.state = 'active' AND coalesce(s.event_id, o.event_id) = o.event_id
           AND coalesce(p.number, 0) < o.number)
"""
READERS: Final = [SUBSCRIBERS, mail.YET_TO_READ, project.YET_TO_COUNT]
"""Who reads the outbox: each the condition that somebody has yet to read row `o`. Who is disabled keeps
nothing: the outbox would have no bound."""

OUTBOX: Final = """
-- Old rows, up to the first that is not old: numbers are given as time goes by. Of each event the last of
-- them: readers read in order, so whoever has read that one has read those before it.
SELECT event_id, max(number) FROM (
  SELECT o.event_id, o.number FROM outbox o
   WHERE o.id < coalesce((SELECT id FROM outbox
                           WHERE at >= clock_timestamp() - make_interval(days => %(days)s)
                           ORDER BY id LIMIT 1), 9223372036854775807)
     AND NOT ({readers})
   ORDER BY o.id LIMIT %(limit)s) AS old
 GROUP BY event_id ORDER BY event_id
"""
LOG: Final = """
-- Of each subscriber all but its last.
DELETE FROM delivery_log WHERE id IN (
  SELECT old.id FROM subscriber s
   CROSS JOIN LATERAL (SELECT id FROM delivery_log WHERE subscriber_id = s.id
                        ORDER BY id DESC OFFSET %(kept)s LIMIT 1) AS newest
   CROSS JOIN LATERAL (SELECT id FROM delivery_log WHERE subscriber_id = s.id AND id <= newest.id
                        ORDER BY id LIMIT %(limit)s) AS old
   LIMIT %(limit)s)
"""
DEAD: Final = """
WITH old AS MATERIALIZED (
  SELECT subscriber_id, outbox_id FROM delivery
   WHERE state = 'dead' AND next_at < clock_timestamp() - make_interval(days => %(days)s)
   LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
DELETE FROM delivery USING old
 WHERE (delivery.subscriber_id, delivery.outbox_id) = (old.subscriber_id, old.outbox_id)
"""
POSITIONS: Final = """
-- Of events whose rows are all gone: whoever reads that event again begins where it subscribed.
WITH old AS MATERIALIZED (
  SELECT subscriber_id, event_id FROM subscriber_position p
   WHERE lease IS NULL AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = p.event_id)
   LIMIT %(limit)s FOR UPDATE SKIP LOCKED)
DELETE FROM subscriber_position AS position USING old
 WHERE (position.subscriber_id, position.event_id) = (old.subscriber_id, old.event_id)
"""


def trim_outbox(conn: Conn, *, older_than_days: int = OUTBOX_DAYS, limit: int = ROWS_MAX) -> int:
    """Rows of the outbox that are older and that everybody has read, each event's in a transaction of its own
    that keeps what they came to; and positions in events without any. `conn` commits by itself."""
    values = {"days": older_than_days, "limit": min(limit, ROWS_MAX)}
    plans, removed = Plans(), 0
    for event_id, through in conn.execute(OUTBOX.format(readers=" OR ".join(READERS)), values).fetchall():
        removed += kept.forget(conn, event_id, through, plans)
    conn.execute(POSITIONS, values)
    return removed


def trim_log(conn: Conn, *, kept: int = LOG_KEPT, limit: int = ROWS_MAX) -> int:
    """The delivery log down to the newest of each subscriber."""
    return conn.execute(LOG, {"kept": kept, "limit": min(limit, ROWS_MAX)}).rowcount


def trim_dead(conn: Conn, *, older_than_days: int = DEAD_DAYS, limit: int = ROWS_MAX) -> int:
    """Dead letters nobody replayed for so long."""
    return conn.execute(DEAD, {"days": older_than_days, "limit": min(limit, ROWS_MAX)}).rowcount
