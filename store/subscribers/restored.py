"""After a dump was restored into another cluster: ids of transactions begin anew, and the outbox must not.

The outbox is read in the order of transactions (`store.outbox`), whose ids belong to one Postgres cluster.
Rows and positions restored into another are moved below everything that it gives, all by the same distance:
the order stays, and who was told how far. A physical copy keeps its ids and needs none of this.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg

from store.errors import OnsaleError

IS_AHEAD: Final = """
-- Whether anything stands at or above the next id that this cluster gives.
SELECT greatest((SELECT max(xid) FROM outbox), (SELECT max(xid) FROM subscriber_position),
                (SELECT max(since_xid) FROM subscriber))
       >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint
"""

LOCK: Final = "LOCK TABLE outbox, subscriber, subscriber_position IN EXCLUSIVE MODE"
DISTANCE: Final = """
SELECT 1 + greatest((SELECT max(xid) FROM outbox), (SELECT max(xid) FROM subscriber_position),
                    (SELECT max(since_xid) FROM subscriber), 0)
"""
MOVE: Final = (
    "UPDATE outbox SET xid = xid - %(distance)s",
    "UPDATE subscriber_position SET xid = xid - %(distance)s, lease = NULL, leased_until = NULL",
    "UPDATE subscriber SET since_xid = since_xid - %(distance)s",
)
"""Who else keeps a position in the outbox adds its own."""


class RestoredElsewhere(OnsaleError):
    """The outbox was restored from another Postgres cluster, whose transactions had higher ids: what is
    written now would be passed by. With no relay and no gateway running, call: ./run webhook restored"""


def mend(conn: psycopg.Connection[Any]) -> bool:
    """Move rows and positions below everything; False where there is nothing to mend."""
    with conn.transaction():
        conn.execute(LOCK)
        if not conn.execute(IS_AHEAD).fetchall()[0][0]:
            return False
        [(distance,)] = conn.execute(DISTANCE).fetchall()
        for statement in MOVE:
            conn.execute(statement, {"distance": distance})
    return True
