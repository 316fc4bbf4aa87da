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


def planned(conn: Conn, planner: str) -> None:
    """Write down who planned, and when."""
    conn.execute(PLANNED, (planner,))
