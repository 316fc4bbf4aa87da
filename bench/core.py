"""`./run bench core`: the figures onsale promises, each measured on a throwaway onsale of its own.

| row | what is measured |
|---|---|
| `end_to_end` | decisions a second over 1,000 websockets in closed loop |
| `end_to_end_vs_echo` | the same as a share of a bare ASGI echo of the same server |
| `end_to_end_vs_short_echo` | of an echo that takes the gateway's own short way: stricter, no reach set |
| `closed_loop_p99` | request to decision in those rounds |
| `open_loop_p99_at_half` | at half of that rate on a schedule, counted from when each request was due |
| `server_cpu_per_decision` | all server processes in the closed loop's rounds |
| `end_to_end_http` | decisions a second for buyers who POST and wait |
| `ten_thousand_on_one_gate_off`, `…_gate_on` | 10,000 buyers, one seat: first sending to last answer |
| `hundred_thousand_on_one`, `…_on_five_thousand` | 100,000 requests through 5,000 sockets |
| `allocator_mixed`, `allocator_all_held` | a backlog in the stream, decided by the allocator alone |
| `…_vs_floor` | as a share of the same rows written with no logic |
| `takeover_after_sigkill` | longest time between two answers, a million rows in the ledger |
| `growth_with_seats`, `growth_with_waiting` | CPU per decision, large against small |
| `waiting_list_pass` | CPU per decision beside a waiting list of 100,000, against the same without |
| `memory_per_idle_socket`, `memory_per_key` | resident memory of gateway and of the allocator's keys |
| `map_frame_p95` | the page: time between frames while a map of 20,000 seats moves; needs Chromium |
"""

from __future__ import annotations

from bench import running
from bench.effort import Effort
from bench.report import Report, Say
from bench.rows_allocator import measure_backlog, measure_growth
from bench.rows_http import measure_http
from bench.rows_memory import measure_memory
from bench.rows_page import measure_page
from bench.rows_sockets import measure_sockets
from bench.rows_stampede import measure_rush, measure_stampede
from bench.rows_takeover import measure_takeover
from bench.rows_waiting import measure_waiting
from bench.running import Measure

GROUPS: dict[str, tuple[Measure, tuple[str, ...]]] = {
    "sockets": (
        measure_sockets,
        (
            "end_to_end",
            "end_to_end_vs_echo",
            "end_to_end_vs_short_echo",
            "closed_loop_p99",
            "open_loop_p99_at_half",
            "server_cpu_per_decision",
        ),
    ),
    "http": (
        measure_http,
        ("end_to_end_http", "closed_loop_http_p99", "server_cpu_per_decision_http"),
    ),
    "stampede": (measure_stampede, ("ten_thousand_on_one_gate_off", "ten_thousand_on_one_gate_on")),
    "rush": (measure_rush, ("hundred_thousand_on_one", "hundred_thousand_on_five_thousand")),
    "backlog": (
        measure_backlog,
        (
            "allocator_mixed",
            "allocator_mixed_vs_floor",
            "allocator_all_held",
            "allocator_all_held_vs_floor",
        ),
    ),
    "takeover": (measure_takeover, ("takeover_after_sigkill", "cold_start_after_sigkill")),
    "growth": (measure_growth, ("growth_with_seats", "growth_with_waiting")),
    "waiting": (measure_waiting, ("waiting_list_pass",)),
    "memory": (measure_memory, ("memory_per_idle_socket", "memory_per_key")),
    "page": (measure_page, ("map_frame_p95",)),
}


QUICK = ("sockets", "http", "stampede", "backlog", "takeover")
"""What a quick look measures when it is not told what to."""


def chosen(only: list[str], effort: Effort) -> list[str]:
    """The groups to measure for these names of groups or rows; all for none. Raises `BadRequest`."""
    return running.chosen(GROUPS, QUICK, only, effort)


def run_core(only: list[str], say: Say, effort: Effort) -> Report:
    """Measure the rows with these names of groups or rows; for none all, or `QUICK` for a quick look."""
    return running.measure(GROUPS, chosen(only, effort), say, effort)
