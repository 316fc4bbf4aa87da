"""The fleet's turn: one row that whoever gives workers and events to each other has locked, the planner as
well as operators. Heartbeats do not wait for it. Without the row (all rows here may be lost) it is made
again.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg

Conn = psycopg.Connection[Any]

MAKE: Final = "INSERT INTO fleet_turn DEFAULT VALUES ON CONFLICT DO NOTHING"
TAKE: Final = "SELECT 1 FROM fleet_turn FOR UPDATE"
TRY: Final = "SELECT 1 FROM fleet_turn FOR UPDATE SKIP LOCKED"
SET_BACK: Final = (
    "UPDATE fleet_host SET seen_at = clock_timestamp() WHERE seen_at > clock_timestamp()",
    "UPDATE fleet_worker SET seen_at = clock_timestamp() WHERE seen_at > clock_timestamp()",
    "UPDATE fleet_assignment SET warm_at = clock_timestamp() WHERE warm_at > clock_timestamp()",
)
PLANNED: Final = "UPDATE fleet_turn SET planned_at = clock_timestamp(), planner = %s"


def make(conn: Conn) -> None:
    """The row, if it is not there; in a short transaction of its own, for others wait until it ends."""
    conn.execute(MAKE)


def take(conn: Conn) -> None:
    """Until the transaction ends nobody else plans; waits for who does."""
    if conn.execute(TAKE).rowcount == 0:
        make(conn)
        conn.execute(TAKE)


def try_take(conn: Conn) -> bool:
    """The same without waiting; False: somebody else has it, or there is no row."""
    return conn.execute(TRY).rowcount == 1


def set_back(conn: Conn) -> None:
    """Postgres' clock was set back: what was heard of at a moment that is yet to come was heard of now. Who
    lives says so again within a second; who does not is lost in a while, not when that moment has come."""
    for statement in SET_BACK:
        conn.execute(statement.encode())


def planned(conn: Conn, planner: str) -> None:
    """Write down who planned, and when."""
    conn.execute(PLANNED, (planner,))
