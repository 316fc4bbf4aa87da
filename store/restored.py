"""Where a ledger was restored from a backup: its batches go on further up there, and nowhere else."""

from __future__ import annotations

from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

RESTORED: Final = """
-- A restore leaves its row in the audit, in the transaction that moves the cursor on.
SELECT (what -> 'restored' ->> 'batch_no')::bigint, (what -> 'restored' ->> 'goes_on_at')::bigint
  FROM audit WHERE event_id = %s AND who = 'restore' AND what -> 'restored' IS NOT NULL
"""


def goes_on_at(conn: psycopg.Connection[Any], event_id: int) -> dict[int, int]:
    """The last batch that a backup had → the one the ledger goes on with."""
    return dict(conn.cursor(row_factory=tuple_row).execute(RESTORED, (event_id,)).fetchall())
