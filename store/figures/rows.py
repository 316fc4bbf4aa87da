"""What rows of an event's outbox come to: the fold, with what it must know looked up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import psycopg

from store import lookups
from store import plan as plans
from store.errors import NotFound
from store.figures.fold import Figures, Known, batches_of, change_of, total
from store.outbox import Row
from store.plan import Plan

Conn = psycopg.Connection[Any]
PLANS_MAX: Final = 16
"""So many plans are kept in memory."""
UNREADABLE: Final = (msgspec.MsgspecError, ValueError, LookupError, AssertionError)
"""A row that is not as it must be: its event's figures grow old, and say so; the others go on."""

BATCH_TIMES: Final = """
SELECT batch_no, (extract(epoch FROM batch_time) * 1000000)::bigint FROM ledger_batch
 WHERE event_id = %(event)s AND batch_no = ANY (%(batches)s::bigint[])
"""


class Plans:
    """Plans of events, the last used ones: sections and capacities never change."""

    def __init__(self) -> None:
        self._kept: dict[int, Plan] = {}

    def of(self, conn: Conn, event_id: int) -> Plan:
        """Raises `NotFound` for no such event."""
        plan = self._kept.pop(event_id, None)
        if plan is None:
            row = conn.execute(lookups.READ_PLAN, (event_id,)).fetchone()
            if row is None:
                raise NotFound("unknown_event", f"There is no event number {event_id}.")
            plan = plans.decode(row[0].encode())
        self._kept[event_id] = plan
        while len(self._kept) > PLANS_MAX:
            del self._kept[next(iter(self._kept))]
        return plan


def capacity_of(plan: Plan) -> int:
    """Seats and places."""
    return len(plan.seats) + sum([area.capacity for area in plan.areas])


def change_of_rows(conn: Conn, event_id: int, rows: Sequence[Row], plan: Plan) -> Figures:
    """What these rows change together: the same whenever it is asked. Raises one of `UNREADABLE`."""
    batches = batches_of(rows)
    times: dict[int, int] = {}
    if batches:
        values = {"event": event_id, "batches": sorted(batches)}
        times = dict(conn.execute(BATCH_TIMES, values).fetchall())
    known = Known(times)
    return total([change_of(row, known, plan) for row in rows])
