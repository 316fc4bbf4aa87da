"""`./run bench payments`: the figures onsale promises of paying, each on a throwaway onsale of its own.

| row | what is measured |
|---|---|
| `confirmations` | orders a second through the webhook endpoint, the event's allocator at half its speed |
| `allocator_full_speed` | the allocator's, of that event, before |
| `allocator_meanwhile` | what it decided meanwhile, as a share of that |
| `confirmation_p99` | a notice's answer, with its order on disk |
| `server_cpu_per_confirmation` | the gateway and what of Postgres works for it |
| `deliveries` | webhooks a second to a local subscriber, of 32 events |
| `deliveries_one_event`, `deliveries_400_events` | of one, and of 400: for the record |
| `end_to_end_with_payments` | websockets where holds are paid for, as a share of the same without |
| `sweep_of_500` | ending and freeing 500 holds that ran out |

It is not part of `./run bench all`, which has to end within fifteen minutes.
"""

from __future__ import annotations

from bench import running
from bench.effort import Effort
from bench.payments.rows_beside import measure_beside
from bench.payments.rows_confirm import measure_confirmations
from bench.payments.rows_relay import measure_deliveries
from bench.payments.rows_sweep import measure_sweep
from bench.report import Report, Say
from bench.running import Measure

GROUPS: dict[str, tuple[Measure, tuple[str, ...]]] = {
    "confirming": (
        measure_confirmations,
        (
            "confirmations",
            "allocator_full_speed",
            "allocator_meanwhile",
            "confirmation_p99",
            "server_cpu_per_confirmation",
        ),
    ),
    "relaying": (measure_deliveries, ("deliveries", "deliveries_one_event", "deliveries_400_events")),
    "beside": (measure_beside, ("end_to_end_with_payments",)),
    "sweeping": (measure_sweep, ("sweep_of_500",)),
}


def run_payments(only: list[str], say: Say, effort: Effort) -> Report:
    """Measure the rows with these names of groups or rows, for none all."""
    names = running.chosen(GROUPS, tuple(GROUPS), only, effort)
    return running.measure(GROUPS, names, say, effort)
