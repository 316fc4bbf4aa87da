"""Subscribers as operators see them: how they stand, what was sent lately, what could not be delivered."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import psycopg
from msgspec import Struct

from store.audit import Audit
from store.errors import NotFound

Conn = psycopg.Connection[Any]

LOG_ROWS: Final = 100
"""Of a page, unless asked for."""
ROWS_MAX: Final = 1_000

_COLUMNS: Final = """
SELECT s.id::text, s.url, e.slug, s.kinds, s.state, s.disabled_why, s.created_at, s.delivered_at,
       CASE WHEN s.previous_until > clock_timestamp() THEN s.previous_until END,
       (SELECT count(*) FROM delivery d WHERE d.subscriber_id = s.id AND d.state = 'waiting'),
       (SELECT count(*) FROM delivery d WHERE d.subscriber_id = s.id AND d.state = 'dead')
  FROM subscriber s LEFT JOIN event e ON e.id = s.event_id
"""
LIST: Final = f"{_COLUMNS} ORDER BY s.id DESC"
GET: Final = f"{_COLUMNS} WHERE s.id = %(subscriber)s"
LOG: Final = """
SELECT l.message, l.kind, e.slug, l.at, l.attempt, l.outcome, l.status, l.error, l.took_ms
  FROM delivery_log l LEFT JOIN event e ON e.id = l.event_id
 WHERE l.subscriber_id = %(subscriber)s ORDER BY l.id DESC LIMIT %(limit)s
"""
UNDELIVERED: Final = """
SELECT 'msg_' || d.outbox_id, d.kind, e.slug, d.state, d.attempts, d.first_at,
       CASE WHEN d.state = 'waiting' THEN d.next_at END, d.status, d.error
  FROM delivery d LEFT JOIN event e ON e.id = d.event_id
 WHERE d.subscriber_id = %(subscriber)s ORDER BY d.outbox_id LIMIT %(limit)s
"""
AUDIT: Final = """
SELECT id, at, who, why, what FROM subscriber_audit
 WHERE subscriber_id = %(subscriber)s ORDER BY id DESC LIMIT %(limit)s
"""


class Subscriber(Struct, frozen=True):
    """One subscriber; without its secrets."""

    id: str
    url: str
    event: str | None
    """Null: every event."""
    kinds: list[str]
    """None: every kind."""
    state: str
    disabled_why: str | None
    created_at: datetime
    delivered_at: datetime | None
    """When something was last delivered, to the minute."""
    previous_secret_until: datetime | None
    waiting: int
    """Messages set aside, that are tried again."""
    dead: int


class Attempt(Struct, frozen=True):
    """A message as it was sent once."""

    message: str
    kind: str
    event: str | None
    at: datetime
    attempt: int
    outcome: str
    status: int | None
    error: str | None
    took_ms: int


class Undelivered(Struct, frozen=True):
    """A message set aside (`waiting`) or given up (`dead`)."""

    message: str
    kind: str
    event: str | None
    state: str
    attempts: int
    first_at: datetime
    next_at: datetime | None
    status: int | None
    error: str | None


class Shown(Struct, frozen=True):
    """A subscriber with what was sent lately (newest first), what was not delivered, and who changed it."""

    subscriber: Subscriber
    log: list[Attempt]
    undelivered: list[Undelivered]
    audit: list[Audit]


def list_all(conn: Conn) -> list[Subscriber]:
    """Newest first."""
    return [Subscriber(*row) for row in conn.execute(LIST).fetchall()]


def get(conn: Conn, subscriber: int) -> Subscriber:
    """Raises `NotFound` (unknown_subscriber)."""
    row = conn.execute(GET, {"subscriber": subscriber}).fetchone()
    if row is None:
        raise _unknown(subscriber)
    return Subscriber(*row)


def show(conn: Conn, subscriber: int, limit: int = LOG_ROWS) -> Shown:
    """At most `limit` of each; raises `NotFound` (unknown_subscriber)."""
    found = get(conn, subscriber)
    values = {"subscriber": subscriber, "limit": min(limit, ROWS_MAX)}
    return Shown(
        found,
        [Attempt(*row) for row in conn.execute(LOG, values).fetchall()],
        [Undelivered(*row) for row in conn.execute(UNDELIVERED, values).fetchall()],
        [Audit(*row) for row in conn.execute(AUDIT, values).fetchall()],
    )


def _unknown(subscriber: int) -> NotFound:
    story = f"There is no subscriber {subscriber}. List them: ./run webhook list."
    return NotFound("unknown_subscriber", story)
