"""What each row is called for people, in the order in which it is told."""

from __future__ import annotations

from bench.report import FOR_THE_RECORD, Row, figure

LABELS: dict[str, str] = {
    "end_to_end": "end to end over 1,000 websockets, closed loop",
    "end_to_end_vs_echo": "the same against a bare ASGI echo of the same server",
    "end_to_end_vs_short_echo": "the same against an echo that takes the gateway's own short way (stricter)",
    "ws_vs_best_http_strategy": "the same against the best strategy over HTTP",
    "ws_vs_best_ws_strategy": "the same against the best strategy over websockets",
    "closed_loop_p99": "its p99, closed loop",
    "open_loop_p99_at_half": "its p99 at half that rate, open loop, counted from when each request was due",
    "server_cpu_per_decision": "server CPU per decision, all server processes",
    "end_to_end_http": "end to end over HTTP, 1,000 connections, POST and wait",
    "http_vs_best_http_strategy": "the same against the best strategy over HTTP",
    "closed_loop_http_p99": "its p99 over HTTP, closed loop",
    "server_cpu_per_decision_http": "server CPU per decision over HTTP",
    "ten_thousand_on_one_gate_off": "10,000 buyers, one seat, gate off: first send to last answer",
    "ten_thousand_on_one_gate_on": "10,000 buyers, one seat, gate on: first send to last answer",
    "hundred_thousand_on_one": "100,000 requests through 5,000 sockets, one seat",
    "hundred_thousand_on_five_thousand": "100,000 requests through 5,000 sockets, 5,000 seats",
    "allocator_mixed": "allocator alone, a backlog with one in ten held",
    "allocator_mixed_vs_floor": "the same against the same rows written with no logic",
    "allocator_all_held": "allocator alone, all held",
    "allocator_all_held_vs_floor": "the same against the same rows written with no logic",
    "takeover_after_sigkill": "takeover after SIGKILL, longest time between two answers",
    "cold_start_after_sigkill": "no standby: one allocator started anew, longest time between two answers",
    "growth_with_seats": "cost per decision, 1,000 → 100,000 seats",
    "growth_with_waiting": "cost per decision, 1,000 → 200,000 waiting",
    "memory_per_idle_socket": "memory per idle socket",
    "memory_per_key": "memory per remembered key",
    "simulated_sales_per_minute": "simulated on-sales of 1,000 steps, one core",
    "torture_faults": "torture: faults, with nothing oversold, lost, doubled, reordered or unexplained",
}
_ORDER = {name: number for number, name in enumerate(LABELS)}


def label(name: str) -> str:
    """The row's name for people; a row nobody named is shown by its own."""
    return LABELS.get(name, name.replace("_", " "))


def in_order(rows: list[Row]) -> list[Row]:
    """As they are told; unknown ones last."""
    return sorted(rows, key=lambda row: _ORDER.get(row.name, len(_ORDER)))


def verdict(row: Row) -> str:
    """`reached`, `missed`, or nothing for a row that need not reach anything."""
    if row.reach == FOR_THE_RECORD:
        return ""
    return "reached" if row.reached else "missed"


def with_unit(row: Row, value: float) -> str:
    return _united(figure(value), row.unit)


def reach(row: Row) -> str:
    return row.reach if row.reach == FOR_THE_RECORD else _united(row.reach, row.unit)


def spread(row: Row) -> str:
    """Least to most of the rounds."""
    return _united(row.spread, row.unit) if row.spread else ""


def _united(text: str, unit: str) -> str:
    return text if unit == "ratio" else f"{text} {unit}"
