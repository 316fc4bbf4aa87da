"""What each row is called for people, under which heading, and in the order in which it is told."""

from __future__ import annotations

from bench.report import FOR_THE_RECORD, Row, figure

GROUPS: dict[str, dict[str, str]] = {
    "Over websockets": {
        "end_to_end": "websockets: decisions, 1,000 sockets in closed loop",
        "end_to_end_vs_echo": "websockets, against a bare ASGI echo of the same server",
        "end_to_end_vs_short_echo": "websockets, against an echo by the gateway's own short way (stricter)",
        "ws_vs_best_http_strategy": "websockets, against the best strategy over HTTP",
        "ws_vs_best_ws_strategy": "websockets, against the best strategy over websockets",
        "closed_loop_p99": "websockets: p99 in closed loop",
        "open_loop_p99_at_half": "websockets: p99 at half that rate, open loop",
        "server_cpu_per_decision": "websockets: server CPU per decision, all processes",
    },
    "Over HTTP": {
        "end_to_end_http": "HTTP: decisions, 1,000 connections in closed loop",
        "http_vs_best_http_strategy": "HTTP, against the best strategy over HTTP",
        "closed_loop_http_p99": "HTTP: p99 in closed loop",
        "server_cpu_per_decision_http": "HTTP: server CPU per decision, all processes",
    },
    "Everybody at once, first send to last answer": {
        "ten_thousand_on_one_gate_off": "10,000 buyers, one seat, gate off",
        "ten_thousand_on_one_gate_on": "10,000 buyers, one seat, gate on",
        "hundred_thousand_on_one": "100,000 requests, one seat",
        "hundred_thousand_on_five_thousand": "100,000 requests, 5,000 seats",
    },
    "The allocator alone": {
        "allocator_mixed": "allocator: a backlog, one in ten held",
        "allocator_mixed_vs_floor": "allocator, against the same rows with no logic, one in ten held",
        "allocator_all_held": "allocator: a backlog, all held",
        "allocator_all_held_vs_floor": "allocator, against the same rows with no logic, all held",
        "growth_with_seats": "allocator: cost per decision, 1,000 → 100,000 seats",
        "growth_with_waiting": "allocator: cost per decision, 1,000 → 200,000 waiting",
        "waiting_list_pass": "allocator: cost per decision beside a waiting list of 100,000, against none",
    },
    "How people sit": {
        "seating_overtaken": "parties overtaken by later arrivals",
        "seating_split_needlessly": "parties split though a run of their size was free",
        "seating_decisions": "allocator: 60,000 parties for an arena of 100,000 seats, until sold out",
        "seating_last_thousand": "allocator: the last thousand of them, against the first",
        "seat_state": "memory per seat of that arena, holds apart",
    },
    "When things die": {
        "takeover_after_sigkill": "takeover after SIGKILL: longest time between two answers",
        "cold_start_after_sigkill": "the same with no standby, one allocator started anew",
        "torture_faults": "torture: faults, and nothing oversold, lost, doubled, reordered or unexplained",
        "storm_paid": "storm: payments, and every one has its seats or went back",
        "simulated_sales_per_minute": "simulated on-sales of 1,000 steps, one core",
        "mutants_caught": "mutants: guards taken out, each noticed by a test",
    },
    "When buyers pay": {
        "confirmations": "orders through the webhook endpoint, beside the allocator at half its speed",
        "allocator_full_speed": "that allocator's full speed, before",
        "allocator_meanwhile": "what it decided meanwhile, as a share of that",
        "confirmation_p99": "a provider's notice: p99 until its order is on disk",
        "server_cpu_per_confirmation": "CPU per order: the gateway, and what of Postgres works for it",
        "deliveries": "webhooks out, 32 events, one relay, one local subscriber",
        "deliveries_one_event": "webhooks out, all of one event: each waits for the answer to the last",
        "deliveries_400_events": "webhooks out, 400 events",
        "end_to_end_with_payments": "websockets where holds are paid for, against the same without any of it",
        "sweep_of_500": "500 holds that ran out, ended and freed",
    },
    "Events that change hands": {
        "planned_handover": "an event moved to another host under load: longest time between two answers",
        "planned_handover_shared": "the same of an event that shares its worker with others",
        "handover_after_sigkill": "the same of an event with its own worker, whose process is killed",
        "ten_hot_events": "ten hot events on four workers, one killed: until all ten decide again",
        "cold_events": "200 events that share one worker: those that answered",
        "cold_events_p99": "a request of one of them, p99, over HTTP",
        "cold_events_connections": "connections to Postgres of all of onsale, with 200 such events",
        "cold_events_memory": "resident memory of the worker with 200 such events",
        "cold_events_cpu": "cores of workers and engines, with 200 such events and nobody who asks",
        "rolling_restart": "every host and gateway restarted under load: longest time between two answers",
    },
    "The page": {
        "map_frame_p95": "map of 20,000 seats: p95 between frames while it is moved and zoomed, Chromium",
    },
    "Memory": {
        "memory_per_idle_socket": "memory per idle socket",
        "memory_per_key": "memory per remembered key",
    },
}
OTHERS = "Others"
_LABELS = {name: text for rows in GROUPS.values() for name, text in rows.items()}
_ORDER = {name: number for number, name in enumerate(_LABELS)}


def label(name: str) -> str:
    """The row's name for people; a row nobody named is shown by its own."""
    return _LABELS.get(name, name.replace("_", " "))


def in_order(rows: list[Row]) -> list[Row]:
    """As they are told; unknown ones last."""
    return sorted(rows, key=lambda row: _ORDER.get(row.name, len(_ORDER)))


def grouped(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows by heading, in order; headings without a row are left out."""
    heading_of = {name: heading for heading, names in GROUPS.items() for name in names}
    found: dict[str, list[Row]] = {}
    for row in in_order(rows):
        found.setdefault(heading_of.get(row.name, OTHERS), []).append(row)
    return found


def verdict(row: Row) -> str:
    """`reached`, `missed`, or nothing for a row that need not reach anything."""
    if row.reach == FOR_THE_RECORD:
        return ""
    return "reached" if row.reached else "missed"


def with_unit(row: Row, value: float) -> str:
    return _united(figure(value), row.unit)


def reach(row: Row) -> str:
    return row.reach if row.reach == FOR_THE_RECORD else _united(row.reach, row.unit)


def _united(text: str, unit: str) -> str:
    if unit.endswith("/s"):
        return f"{text}/s"
    return text if unit == "ratio" else f"{text} {unit}"
