"""Who changed what of an event by hand, and why: one row for each change, in the change's own transaction.

Append-only: a trigger refuses anything but new rows. What was refused or changed nothing leaves no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
import psycopg
from msgspec import Struct

from store.errors import BadRequest

Conn = psycopg.Connection[Any]

WHO_LENGTH_MAX: Final = 100
WHY_LENGTH_MAX: Final = 200
ROWS_MAX: Final = 1_000
"""Most rows one reading gives."""
NOT_PEOPLE: Final = frozenset({"allocator", "buyer", "expiry"})
"""Who else changes seats, by the names that a seat's history has for them."""

INSERT: Final = """
INSERT INTO audit (event_id, who, why, what) VALUES (%(event)s, %(who)s, %(why)s, %(what)s)
RETURNING id, at
"""

READ: Final = """
SELECT id, at, who, why, what FROM audit
 WHERE event_id = %(event)s AND id < coalesce(%(before)s, 9223372036854775807)
 ORDER BY id DESC LIMIT %(limit)s
"""


class Said(Struct, frozen=True):
    """The name of an operator, and why they change something."""

    who: str
    why: str


class Audit(Struct, frozen=True):
    """A row; `at` is Postgres' clock."""

    id: int
    at: datetime
    who: str
    why: str
    what: dict[str, Any]


def said(who: str, why: str) -> Said:
    """Raises `BadRequest` (who_required, why_required) for none, too long, or not one line of plain text."""
    who, why = who.strip(), why.strip()
    if not 0 < len(who) <= WHO_LENGTH_MAX or not who.isprintable() or who in NOT_PEOPLE:
        names = " or ".join(sorted(NOT_PEOPLE))
        story = f"Say who you are: 1 to {WHO_LENGTH_MAX} printable characters, not {names}."
        raise BadRequest("who_required", story)
    if not 0 < len(why) <= WHY_LENGTH_MAX or not why.isprintable():
        raise BadRequest("why_required", f"Say why: 1 to {WHY_LENGTH_MAX} printable characters.")
    return Said(who, why)


def write(conn: Conn, event_id: int, said: Said, what: Mapping[str, object]) -> Audit:
    """Add a row to the transaction that makes the change."""
    values = {"event": event_id, "who": said.who, "why": said.why}
    row = conn.execute(INSERT, values | {"what": msgspec.json.encode(what).decode()}).fetchone()
    assert row is not None, "the statement returns the row it inserts"
    audit_id, at = row
    return Audit(audit_id, at, said.who, said.why, dict(what))


def read(conn: Conn, event_id: int, *, before: int | None = None, limit: int = ROWS_MAX) -> list[Audit]:
    """An event's rows, newest first, at most `ROWS_MAX`; with `before` those below that id."""
    values = {"event": event_id, "before": before, "limit": min(limit, ROWS_MAX)}
    return [Audit(*row) for row in conn.execute(READ, values).fetchall()]
