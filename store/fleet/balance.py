"""Whether an event's seats and places added up when its owner looked last: for alarms, decides nothing."""

from __future__ import annotations

from typing import Any, Final

import psycopg

Conn = psycopg.Connection[Any]

LOOKED: Final = """
INSERT INTO event_balance (event_id, findings) VALUES (%(event)s, %(findings)s)
ON CONFLICT (event_id) DO UPDATE SET looked_at = clock_timestamp(), findings = excluded.findings
"""


def write(conn: Conn, event_id: int, findings: int) -> None:
    """What a look found: how many rows do not add up. Which ones is in the owner's log."""
    conn.execute(LOOKED, {"event": event_id, "findings": findings})
