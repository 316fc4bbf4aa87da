"""`./run bench core`: the figures onsale promises, each measured on a throwaway onsale of its own.

| row | what is measured |
|---|---|
| `end_to_end_vs_echo` | decisions a second over 1,000 sockets in closed loop, as a share of a bare echo |
| `end_to_end_vs_short_echo` | of an echo that takes the gateway's own short way: stricter, no reach set |
| `closed_loop_p99` | request to decision in those rounds |
| `server_cpu_per_decision` | all server processes in those rounds |
| `ten_thousand_buyers_one_seat` | first sending to last answer, gate off, laws checked |
| `allocator_mixed`, `allocator_all_held` | a backlog in the stream, decided by the allocator alone |
| `growth_with_seats`, `growth_with_waiting` | CPU per decision, large against small |
| `memory_per_idle_socket`, `memory_per_key` | resident memory of gateway and of the allocator's keys |
"""

from __future__ import annotations

import os
from collections.abc import Callable

from bench.processes import machine
from bench.report import Report, Say
from bench.rows_allocator import measure_backlog, measure_growth
from bench.rows_memory import measure_memory
from bench.rows_sockets import measure_sockets, measure_stampede
from store.errors import BadRequest

Measure = Callable[[Report, Say], None]

GROUPS: dict[str, tuple[Measure, tuple[str, ...]]] = {
    "sockets": (
        measure_sockets,
        ("end_to_end_vs_echo", "end_to_end_vs_short_echo", "closed_loop_p99", "server_cpu_per_decision"),
    ),
    "stampede": (measure_stampede, ("ten_thousand_buyers_one_seat",)),
    "backlog": (measure_backlog, ("allocator_mixed", "allocator_all_held")),
    "growth": (measure_growth, ("growth_with_seats", "growth_with_waiting")),
    "memory": (measure_memory, ("memory_per_idle_socket", "memory_per_key")),
}


def chosen(only: list[str]) -> list[Measure]:
    """The measurements for these names of groups or rows; all for none. Raises `BadRequest`."""
    known = [name for group, (_, rows) in GROUPS.items() for name in (group, *rows)]
    unknown = sorted(set(only).difference(known))
    if unknown:
        raise BadRequest(
            "unknown_row", f"No row or group {', '.join(unknown)}. There are: {', '.join(known)}."
        )
    return [
        measure
        for group, (measure, rows) in GROUPS.items()
        if not only or not set(only).isdisjoint((group, *rows))
    ]


def run_core(only: list[str], say: Say) -> Report:
    """Measure the rows with these names of groups or rows; all for none."""
    report = Report(machine())
    for measure in chosen(only):
        measure(report, say)
    report.machine["load_1m_after"] = round(os.getloadavg()[0], 2)
    return report
