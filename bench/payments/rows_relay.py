"""Rows about webhooks going out: one relay, one subscriber on this machine that answers at once.

The messages of one event wait for each other, so one event is told as fast as an answer comes back and no
faster; how fast many are told is the relay's own speed.
"""

from __future__ import annotations

from typing import Final

from bench.effort import Effort
from bench.payments.relay import RelayRate, measure_relay
from bench.report import Report, Row, Say, at_least, for_the_record
from onsale.processes import throwaway_stack

ROUNDS: Final = 3
LOADS: Final = {
    "deliveries": (32, 20_000),
    "deliveries_one_event": (1, 4_000),
    "deliveries_400_events": (400, 20_000),
}
"""By row: (events, messages)."""
REACH_PER_SECOND: Final = 2_000
UNIT: Final = "deliveries/s"


def measure_deliveries(report: Report, say: Say, effort: Effort) -> None:
    """`deliveries`, `deliveries_one_event` and `deliveries_400_events`; each with a database of its own."""
    measured: dict[str, list[RelayRate]] = {name: [] for name in LOADS}
    rounds = effort.rounds(ROUNDS)
    for number in range(1, rounds + 1):
        for name, (events, messages) in LOADS.items():
            count = effort.size(messages, messages // 4)
            say(f"{count:,} webhooks of {events:,} events ({number} of {rounds})")
            with throwaway_stack(gateways=0, allocators=0) as stack:
                measured[name].append(measure_relay(stack.urls.database_url, messages=count, events=events))
    report.rows += [_row(name, rates) for name, rates in measured.items()]
    report.details["relaying"] = {
        name: {
            "messages": [one.messages for one in rates],
            "received": [one.received for one in rates],
            "relay_cpu_us_each": [one.relay_cpu_us_each for one in rates],
        }
        for name, rates in measured.items()
    }


def _row(name: str, rates: list[RelayRate]) -> Row:
    per_second = [one.deliveries_per_second for one in rates]
    if name != "deliveries":
        return for_the_record(name, per_second, UNIT)
    once = all(one.received == one.messages for one in rates)
    return at_least(name, per_second, UNIT, REACH_PER_SECOND, lawful=once)
