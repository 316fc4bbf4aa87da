"""`Truth` of an event whose connection is that of others too."""

from __future__ import annotations

from allocator.layout import Layout
from allocator.lease import Owned
from allocator.load import Connection
from allocator.truth import PostgresTruth
from store.errors import Unavailable
from store.lookups import PLAN_BY_KEY

LOCK_TIMEOUT_MS = 300
"""So long the others wait at most because of one event's locks."""
STATEMENT_TIMEOUT_MS = 5_000


def prepare(conn: Connection) -> None:
    """Once for a connection that events share, before any of them is taken through it."""
    conn.autocommit = True
    conn.execute(PLAN_BY_KEY)
    conn.execute(f"SET lock_timeout = {LOCK_TIMEOUT_MS}")
    conn.execute(f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}")


class SharedTruth(PostgresTruth):
    """The connection is prepared and ended by who has it."""

    def __init__(self, conn: Connection, event_id: int, owned: Owned, layout: Layout) -> None:
        super().__init__(conn, "", event_id, owned, layout)

    def close(self) -> None:
        """Others use the connection."""

    def committed(self, batch_no: int) -> bool:
        """Not asked here: the connection is given up, with all who share it. Whoever takes the event again
        ends its backend first, and loads what is true then.
        """
        self._conn.close()
        raise Unavailable(f"no reply to COMMIT of batch {batch_no}; loading anew what is true")

    def _prepare(self) -> None:
        """The connection is."""
