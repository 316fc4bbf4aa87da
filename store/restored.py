"""What a restore from a backup leaves behind: the ledger goes on further up there, and nowhere else; and
tickets that are given on get serials that none had whose transfer is lost.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

RESTORED: Final = """
-- A restore leaves its row in the audit, in the transaction that moves the cursor on.
SELECT (what -> 'restored' ->> 'batch_no')::bigint, (what -> 'restored' ->> 'goes_on_at')::bigint
  FROM audit WHERE event_id = %s AND who = 'restore' AND what -> 'restored' IS NOT NULL
"""

SERIALS: Final = 1_000
"""More often than a ticket is given on between a backup and its restore."""
SERIAL_ABOVE: Final = f"""
  (SELECT {SERIALS} * count(*)::int FROM audit
    WHERE audit.event_id = %(event)s AND who = 'restore' AND what -> 'restored' IS NOT NULL)
"""
"""Above this there is no serial that a ticket of the event had before its last restore."""


def goes_on_at(conn: psycopg.Connection[Any], event_id: int) -> dict[int, int]:
    """The last batch that a backup had → the one the ledger goes on with."""
    return dict(conn.cursor(row_factory=tuple_row).execute(RESTORED, (event_id,)).fetchall())
