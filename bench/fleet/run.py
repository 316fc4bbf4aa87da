"""`./run bench fleet`: the figures onsale promises of its fleet, on throwaway onsales.

| row | what is measured |
|---|---|
| `planned_handover` | longest time between two answers while an event is moved to another host |
| `planned_handover_shared` | the same of an event that shares its worker |
| `handover_after_sigkill` | the same when the owner's process is killed, with the default lease |
| `ten_hot_events` | of ten on four workers, the busiest one killed: until all ten decide again |
| `cold_events` | of 200 events that share one worker: those that answered |
| `cold_events_p99` | a request of one of them, from sending to its decision, over HTTP |
| `cold_events_connections` | connections to Postgres of everything, one worker standing by |
| `cold_events_memory` | resident memory of the worker that owns them |
| `cold_events_cpu` | cores that both workers, Postgres and Valkey use while nobody asks |
| `rolling_restart` | longest time between two answers while every host and gateway is restarted in turn |

Each event is judged by checker and replay. It is not part of `./run bench all`, which has to end within
fifteen minutes.
"""

from __future__ import annotations

from bench import running
from bench.effort import Effort
from bench.fleet.rows_cold import measure_cold
from bench.fleet.rows_handover import measure_handover
from bench.fleet.rows_hot import measure_hot
from bench.fleet.rows_restart import measure_restart
from bench.report import Report, Say
from bench.running import Measure

GROUPS: dict[str, tuple[Measure, tuple[str, ...]]] = {
    "handover": (measure_handover, ("planned_handover", "planned_handover_shared", "handover_after_sigkill")),
    "hot": (measure_hot, ("ten_hot_events",)),
    "cold": (
        measure_cold,
        (
            "cold_events",
            "cold_events_p99",
            "cold_events_connections",
            "cold_events_memory",
            "cold_events_cpu",
        ),
    ),
    "restart": (measure_restart, ("rolling_restart",)),
}


def run_fleet(only: list[str], say: Say, effort: Effort) -> Report:
    """Measure the rows with these names of groups or rows, for none all."""
    names = running.chosen(GROUPS, tuple(GROUPS), only, effort)
    return running.measure(GROUPS, names, say, effort)
