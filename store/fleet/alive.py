"""Who counts as there, as warm, and as the owner: conditions that all who read the fleet share."""

from __future__ import annotations

from typing import Final

LOST_SECONDS: Final = 3
"""A host or worker that was not heard of for so long is lost; both are heard of about once a second."""
WARM_BATCHES_MAX: Final = 2_000
"""A standby that is further behind the ledger is not warm; batches come every few milliseconds at most, and
how far it is was written down up to a second ago."""

HOST_ALIVE: Final = (
    f"coalesce(fleet_host.seen_at > clock_timestamp() - interval '{LOST_SECONDS} seconds', false)"
)
WORKER_ALIVE: Final = (
    f"coalesce(fleet_worker.seen_at > clock_timestamp() - interval '{LOST_SECONDS} seconds', false)"
)
WARM: Final = f"""coalesce(
       fleet_assignment.warm_at > clock_timestamp() - interval '{LOST_SECONDS} seconds'
       AND fleet_assignment.warm_batch
           >= (SELECT batch_no FROM event_cursor
                WHERE event_cursor.event_id = fleet_assignment.event_id) - {WARM_BATCHES_MAX}, false)"""
"""Of a row of `fleet_assignment`: its worker could own the event at once."""
LAST_RESORT: Final = """(fleet_host.draining_at IS NOT NULL
   AND NOT EXISTS (SELECT FROM fleet_host AS other WHERE other.draining_at IS NULL))"""
"""Every host that has a row is draining: who is there is given events all the same, until another one is.

Whether another host lives is told by its row, which the planner takes away once nothing was heard of it; what
a draining host hears itself decides nothing."""
MAY_TAKE: Final = f"(fleet_host.draining_at IS NULL OR {LAST_RESORT})"
"""The host may be given events."""
OWNS: Final = "lease.owner IS NOT NULL AND lease.worker = fleet_worker.process"
"""The worker's process has the event's lease. Nothing else makes an owner."""


def milliseconds(moment: str) -> str:
    """A moment of Postgres' as whole milliseconds."""
    return f"(extract(epoch FROM {moment}) * 1000)::bigint"
