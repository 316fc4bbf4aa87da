"""Events that begin by themselves: the lobby and the sale of one whose time has come, by Postgres' clock.

Whoever attends to the event calls `open_when_due`, again and again. Each beginning is a conditional write
that only an event which has not begun allows, told to the allocator and the audit in the same transaction: so
it happens once, whoever is killed meanwhile and however many call, and never over what an operator did.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

from store import audit
from store.audit import Said
from store.events import changing, tell_allocator
from store.room.rooms import end_lobby
from store.schedule import step
from store.words import EventState

Conn = psycopg.Connection[Any]

OPENING_LOCKED_US: Final = 10_000
"""When to look again at an event that is due while an operator changes it."""
WHO: Final = "allocator"
"""In the audit: no operator can be called so."""
WHY: Final = {
    EventState.LOBBY: "it was due: its lobby_opens_at had come",
    EventState.OPEN: "it was due: its opens_at had come",
}

DUE_IN_US: Final = """
SELECT state, (extract(epoch FROM lobby_opens_at - now) * 1000000)::bigint,
       (extract(epoch FROM opens_at - now) * 1000000)::bigint
  FROM event, clock_timestamp() AS now
 WHERE id = %s
"""
# Each locks the event's row, and only once its time has come; an operator who changes it just now goes first.
# Nothing ever becomes a draft or a lobby again by itself, so neither begins by its schedule twice.
LOBBY_WHEN_DUE: Final = """
WITH due AS (
  SELECT id, state FROM event
   WHERE id = %s AND state = 'draft' AND lobby_opens_at <= clock_timestamp() FOR UPDATE SKIP LOCKED)
UPDATE event SET state = 'lobby' FROM due WHERE event.id = due.id RETURNING due.state
"""
OPEN_WHEN_DUE: Final = """
WITH due AS (
  SELECT id, state FROM event
   WHERE id = %s AND state IN ('draft', 'lobby') AND opens_at <= clock_timestamp() FOR UPDATE SKIP LOCKED)
UPDATE event SET state = 'open' FROM due WHERE event.id = due.id RETURNING due.state
"""
WHEN_DUE: Final = {EventState.LOBBY: LOBBY_WHEN_DUE, EventState.OPEN: OPEN_WHEN_DUE}


def open_when_due(conn: Conn, event_id: int) -> int | None:
    """Begin the lobby or the sale of an event once its time has come, as an operator does.

    Returns how many microseconds are left until there is something to do: 0 when this call began one of them,
    None when there is nothing to wait for.
    """
    with changing(conn):
        row = conn.cursor(row_factory=tuple_row).execute(DUE_IN_US, (event_id,)).fetchone()
        assert row is not None, "whoever attends to an event has found it"
        state, lobby_left_us, sale_left_us = row
        due = step(EventState(state), lobby_left_us, sale_left_us)
        if due.to is None:
            return due.left_us
        begun = conn.execute(WHEN_DUE[due.to], (event_id,)).fetchone()
        if begun is None:
            return OPENING_LOCKED_US
        if due.to is EventState.OPEN:
            end_lobby(conn, event_id)
        tell_allocator(conn, event_id)
        what = {"change": "state", "from": begun[0], "to": due.to}
        audit.write(conn, event_id, Said(WHO, WHY[due.to]), what)
        return 0
