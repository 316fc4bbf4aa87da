"""Who changed what by hand, and why: one row for each change, in the change's own transaction.

A row is about an event, or about what is no event's: keys, venues, tours, webhooks, hosts, chores.

Append-only: a trigger refuses anything but new rows. What was refused or changed nothing leaves no row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
-- By the event's index, or by number where no event is named.
SELECT audit.id, audit.at, audit.who, audit.why, audit.what, event.slug
  FROM audit LEFT JOIN event ON event.id = audit.event_id
 WHERE (%(event)s::int IS NULL OR audit.event_id = %(event)s)
   AND (%(events)s::text[] IS NULL OR event.slug = ANY (%(events)s))
   AND (%(who)s::text IS NULL OR audit.who = %(who)s OR starts_with(audit.who, %(who)s || ' ('))
   AND audit.id < coalesce(%(before)s, 9223372036854775807)
 ORDER BY audit.id DESC LIMIT %(limit)s
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


class AuditRow(Audit, frozen=True):
    """The same among rows about everything."""

    event: str | None
    """Its slug; None: about no event."""


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


def by(name: str, who: str = "", why: str = "", does: str = "") -> Said:
    """The same for a caller of that name: who they say they are stands behind it, as in `anna (box office)`.

    Both fit into what a row has room for. `does` stands in for a reason that is not given; without it there
    must be one. Raises as `said`.
    """
    given = said(who if who.strip() else name, why if why.strip() or not does else does)
    if given.who == name:
        return given
    behind = f"{name} ({given.who})"
    return Said(behind if len(behind) <= WHO_LENGTH_MAX else f"{behind[: WHO_LENGTH_MAX - 2]}…)", given.why)


def write(conn: Conn, event_id: int | None, said: Said, what: Mapping[str, object]) -> Audit:
    """Add a row to the transaction that makes the change."""
    values = {"event": event_id, "who": said.who, "why": said.why}
    row = conn.execute(INSERT, values | {"what": msgspec.json.encode(what).decode()}).fetchone()
    assert row is not None, "the statement returns the row it inserts"
    audit_id, at = row
    return Audit(audit_id, at, said.who, said.why, dict(what))


def read(conn: Conn, event_id: int, *, before: int | None = None, limit: int = ROWS_MAX) -> list[Audit]:
    """An event's rows, newest first, at most `ROWS_MAX`; with `before` those below that id."""
    rows = read_all(conn, event_id=event_id, before=before, limit=limit)
    return [Audit(row.id, row.at, row.who, row.why, row.what) for row in rows]


def read_all(
    conn: Conn,
    *,
    event_id: int | None = None,
    events: Sequence[str] | None = None,
    who: str | None = None,
    before: int | None = None,
    limit: int = ROWS_MAX,
) -> list[AuditRow]:
    """Rows of whatever kind, newest first, at most `ROWS_MAX`.

    Of one event, of those named by slug and of nothing else, of what one caller did (whoever they said they
    are), and below an id, as far as each is given.
    """
    values = {"event": event_id, "events": None if events is None else list(events), "who": who}
    values |= {"before": before, "limit": min(limit, ROWS_MAX)}
    return [AuditRow(*row) for row in conn.execute(READ, values).fetchall()]
