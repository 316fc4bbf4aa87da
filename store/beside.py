"""How what is done beside a sale stands, in numbers: what waits to be told, paid, given back or mailed, and
who waits in line.

For operators' alarms. Each statement looks along an index or into a table that is kept small, once for a
reader and event at most, but for the places of waiting rooms, which are counted (`store.room.numbers`); none
locks anything, and none decides anything.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg.rows import tuple_row

from store.chores import runs
from store.chores.runs import ChoreRun
from store.payments import stuck
from store.room import numbers
from store.room.numbers import RoomNumbers

Conn = psycopg.Connection[Any]

STATEMENT_MS_MAX: Final = 5_000
"""Whoever asks is refused rather than kept waiting, or keeping Postgres busy, for longer."""
ATTEMPTS_SECONDS: Final = 60
READERS: Final = ("webhooks", "mail", "figures")

UNREAD: Final = """
-- Who reads the outbox, and how far: one look into its key for each reader and event that has something left.
-- What is left ends at the event's counter; it begins at the first row there is, as old ones are forgotten.
WITH reading AS (
  SELECT 'webhooks' AS reader, told.event_id, told.rows, coalesce(at.number, 0) AS number
    FROM subscriber JOIN outbox_count AS told ON coalesce(subscriber.event_id, told.event_id) = told.event_id
    LEFT JOIN subscriber_position AS at ON at.subscriber_id = subscriber.id AND at.event_id = told.event_id
   WHERE subscriber.state = 'active'
   UNION ALL
  SELECT 'mail', told.event_id, told.rows, coalesce(at.number, 0)
    FROM outbox_count AS told LEFT JOIN mail_position AS at USING (event_id)
   UNION ALL
  SELECT 'figures', told.event_id, told.rows, coalesce(at.outbox_number, 0)
    FROM outbox_count AS told LEFT JOIN figures AS at USING (event_id))
SELECT reader, sum(rows - first.number + 1)::bigint,
       greatest(0, extract(epoch FROM clock_timestamp() - min(first.at)))::float
  FROM reading CROSS JOIN LATERAL (
    SELECT outbox.number, outbox.at FROM outbox
     WHERE outbox.event_id = reading.event_id AND outbox.number > reading.number
     ORDER BY outbox.number LIMIT 1) AS first
 WHERE reading.number < reading.rows
 GROUP BY reader
"""

DONE: Final = "SELECT coalesce(sum(number), 0)::bigint FROM subscriber_position"

ATTEMPTS: Final = f"""
-- The log has the last of each subscriber alone.
SELECT outcome, count(*) FROM delivery_log
 WHERE at > clock_timestamp() - interval '{ATTEMPTS_SECONDS} seconds' GROUP BY outcome
"""

ASIDE: Final = "SELECT state, count(*) FROM delivery GROUP BY state"

SUBSCRIBERS: Final = "SELECT state, count(*) FROM subscriber GROUP BY state"

PAYMENTS: Final = """
-- Those of which something is still to come, along their partial indexes; the age is of the oldest.
SELECT state, count(*), greatest(0, extract(epoch FROM clock_timestamp() - min(created_at)))::float
  FROM payment WHERE state IN ('canceled', 'created', 'failed') AND NOT intent_ended GROUP BY state
 UNION ALL
SELECT 'late', count(*), greatest(0, extract(epoch FROM clock_timestamp() - min(succeeded_at)))::float
  FROM payment WHERE state = 'late'
"""

REFUNDS: Final = """
SELECT count(*), greatest(0, extract(epoch FROM clock_timestamp() - min(created_at)))::float
  FROM refund WHERE state = 'due'
"""

MAILS: Final = """
SELECT count(*), greatest(0, extract(epoch FROM clock_timestamp() - min(created_at)))::float
  FROM mail WHERE state = 'due'
"""


class Waiting(Struct, frozen=True):
    """How many there are, and for how long the oldest has been."""

    count: int = 0
    oldest_seconds: float = 0.0


class Beside(Struct, frozen=True):
    """In one moment, more or less: each number is read by itself."""

    chores: list[ChoreRun]
    stuck_refunds: int
    unread: dict[str, Waiting]
    """Rows of the outbox that a reader (`READERS`) has not come to; of webhooks one for each subscriber."""
    done: int
    """Rows that webhooks are done with, one for each subscriber: delivered, not wanted, or set aside."""
    attempts: dict[str, int]
    """Deliveries tried in the last `ATTEMPTS_SECONDS`, by outcome, of those the log still has."""
    aside: dict[str, int]
    """Messages set aside that are tried again (`waiting`) or not any more (`dead`)."""
    subscribers: dict[str, int]
    payments: dict[str, Waiting]
    """By state, those that are not at rest: to be paid, ended at their provider, or given seats or back."""
    refunds_due: Waiting
    mails_due: Waiting
    rooms: list[RoomNumbers]


def read(conn: Conn) -> Beside:
    """On a connection of its own, that is autocommit. Raises `psycopg.OperationalError` after
    `STATEMENT_MS_MAX` of any statement.
    """
    cursor = conn.cursor(row_factory=tuple_row)
    cursor.execute(f"SET statement_timeout = {STATEMENT_MS_MAX}")

    def rows(statement: str) -> list[Any]:
        return cursor.execute(statement.encode()).fetchall()

    return Beside(
        chores=runs.read(conn),
        stuck_refunds=len(stuck.read(conn)),
        unread={reader: Waiting(*told) for reader, *told in rows(UNREAD)},
        done=rows(DONE)[0][0],
        attempts=dict(rows(ATTEMPTS)),
        aside=dict(rows(ASIDE)),
        subscribers=dict(rows(SUBSCRIBERS)),
        payments={state: _waiting(*told) for state, *told in rows(PAYMENTS)},
        refunds_due=_waiting(*rows(REFUNDS)[0]),
        mails_due=_waiting(*rows(MAILS)[0]),
        rooms=numbers.read(conn),
    )


def _waiting(count: int, oldest_seconds: float | None) -> Waiting:
    return Waiting(count, oldest_seconds or 0.0)
