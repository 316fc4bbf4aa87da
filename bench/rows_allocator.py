"""Rows about the allocator alone (`bench/backlog.py`): its rate, and whether its cost grows with size."""

from __future__ import annotations

from statistics import mean, median

from bench.backlog import Decided, allocator_stack, alone, mixed
from bench.report import Report, Say, at_least, at_most
from onsale.processes import Stack

ROUNDS = 3
BACKLOG = 200_000
ALL_HELD = 100_000
"""As many as a plan has seats at most, each request one seat."""
SMALL_SEATS, LARGE_SEATS = 1_000, 100_000
BURST, BURSTS = 1_000, 40
GROWTH_BACKLOG = 40_000
GROWTH_HELD = 900


def measure_backlog(report: Report, say: Say) -> None:
    """`allocator_mixed` (one in ten held, nine refused) and `allocator_all_held`, decisions a second."""
    mixes: list[Decided] = []
    held: list[Decided] = []
    with allocator_stack() as stack:
        for number in range(1, ROUNDS + 1):
            say(f"allocator alone: {BACKLOG:,} waiting, one in ten held ({number} of {ROUNDS})")
            mixes.append(_backlog(stack, BACKLOG // 10, BACKLOG, BACKLOG // 10))
            say(f"allocator alone: {ALL_HELD:,} waiting, all held ({number} of {ROUNDS})")
            held.append(_backlog(stack, ALL_HELD, ALL_HELD, ALL_HELD))
    report.rows += [
        at_least("allocator_mixed", median(each.per_second for each in mixes), "decisions/s", 60_000),
        at_least("allocator_all_held", median(each.per_second for each in held), "decisions/s", 20_000),
    ]
    for name, rounds in (("allocator_mixed", mixes), ("allocator_all_held", held)):
        report.details[name] = {
            "per_second": [round(each.per_second) for each in rounds],
            "requests": rounds[0].decisions,
            "batches": [each.batches for each in rounds],
            "cpu_us_per_decision": [round(each.cpu_us_per_decision, 1) for each in rounds],
        }


def measure_growth(report: Report, say: Say) -> None:
    """`growth_with_seats` (1,000 → 100,000) and `growth_with_waiting` (1,000 → 200,000 requests).

    CPU per decision of allocator, Postgres and Valkey together, so that what the machine does besides
    does not count; medians of rounds in turn. The same number of holds on both sides.
    """
    few_seats, many_seats, short, long = [], [], [], []
    with allocator_stack() as stack:
        for number in range(1, ROUNDS + 1):
            say(f"cost with {SMALL_SEATS:,} and {LARGE_SEATS:,} seats ({number} of {ROUNDS})")
            few_seats.append(_cost(_backlog(stack, SMALL_SEATS, GROWTH_BACKLOG, GROWTH_HELD)))
            many_seats.append(_cost(_backlog(stack, LARGE_SEATS, GROWTH_BACKLOG, GROWTH_HELD)))
            say(f"cost with {BURST:,} and {BACKLOG:,} waiting ({number} of {ROUNDS})")
            short.append(_bursts(stack))
            long.append(_cost(_backlog(stack, SMALL_SEATS, BACKLOG, GROWTH_HELD)))
    report.rows += [
        at_most("growth_with_seats", median(many_seats) / median(few_seats), "×", 1.3),
        at_most("growth_with_waiting", median(long) / median(short), "×", 1.3),
    ]
    report.details["growth_cpu_us_per_decision"] = {
        f"{SMALL_SEATS:,} seats": _rounded(few_seats),
        f"{LARGE_SEATS:,} seats": _rounded(many_seats),
        f"{BURST:,} waiting": _rounded(short),
        f"{BACKLOG:,} waiting": _rounded(long),
    }


def _backlog(stack: Stack, seats: int, requests: int, held: int) -> Decided:
    with alone(stack, seats) as one:
        decided = one.decide(mixed(one.event.plan, requests, held))
        outcomes = one.outcomes()
        expected = {"held": held, "taken": requests - held}
        assert outcomes == {name: count for name, count in expected.items() if count}, outcomes
        return decided


def _bursts(stack: Stack) -> float:
    """CPU per decision with never more than `BURST` waiting."""
    with alone(stack, SMALL_SEATS) as one:
        entries = mixed(one.event.plan, BURST * BURSTS, GROWTH_HELD)
        bursts = [entries[start : start + BURST] for start in range(0, len(entries), BURST)]
        return mean(_cost(one.decide(burst)) for burst in bursts)


def _cost(decided: Decided) -> float:
    return decided.cpu_us_per_decision


def _rounded(costs: list[float]) -> list[float]:
    return [round(cost, 1) for cost in costs]
