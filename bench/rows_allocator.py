"""Rows about the allocator alone (`bench/backlog.py`): its rate, against its floor, and how cost grows."""

from __future__ import annotations

from statistics import mean, median

from bench.backlog import Decided, allocator_stack, alone, mixed
from bench.effort import Effort
from bench.floor import floor
from bench.judging import judge_event
from bench.report import Report, Row, Say, at_least, at_most
from onsale.processes import Stack

ROUNDS = 3
GROWTH_ROUNDS = 2
BACKLOG = 200_000
ALL_HELD = 100_000
"""As many as a plan has seats at most, each request one seat."""
SMALL_SEATS, LARGE_SEATS = 1_000, 100_000
BURST, BURSTS = 1_000, 40
GROWTH_BACKLOG = 40_000
GROWTH_HELD = 900


def measure_backlog(report: Report, say: Say, effort: Effort) -> None:
    """`allocator_mixed` (one in ten held, nine refused) and `allocator_all_held`, and each as a share of
    its floor (`bench/floor.py`), written on the same engines right after it."""
    sizes = {
        "allocator_mixed": (effort.size(BACKLOG, 100_000), 10),
        "allocator_all_held": (effort.size(ALL_HELD, 40_000), 1),
    }
    decided: dict[str, list[Decided]] = {name: [] for name in sizes}
    floors: dict[str, list[float]] = {name: [] for name in sizes}
    lawful = True
    rounds = effort.rounds(ROUNDS)
    with allocator_stack() as stack:
        for number in range(1, rounds + 1):
            for name, (requests, one_in) in sizes.items():
                say(f"{name}: {requests:,} waiting, one in {one_in} held ({number} of {rounds})")
                with alone(stack, requests // one_in) as one:
                    entries = mixed(one.event.plan, requests, requests // one_in)
                    done = one.decide(entries)
                    _expect(one.outcomes(), requests, requests // one_in)
                    if number == rounds:
                        url = stack.urls.database_url
                        lawful &= judge_event(report, url, one.event, [], f"{name}, last round", say)
                decided[name].append(done)
                say(f"{name}: the same rows with no logic ({number} of {rounds})")
                with floor(stack.urls.database_url, requests // one_in, entries, done.sizes) as below:
                    floors[name].append(below.write())
    report.rows += [
        *_against_floor("allocator_mixed", 90_000, decided, floors, lawful),
        *_against_floor("allocator_all_held", 30_000, decided, floors, lawful),
    ]
    for name, all_rounds in decided.items():
        report.details[name] = {
            "requests": all_rounds[0].decisions,
            "floor_per_second": [round(each) for each in floors[name]],
            "batches": [len(each.sizes) for each in all_rounds],
            "cpu_us_per_decision": [round(each.cpu_us_per_decision, 1) for each in all_rounds],
        }


def _against_floor(
    name: str, reach: float, decided: dict[str, list[Decided]], floors: dict[str, list[float]], lawful: bool
) -> list[Row]:
    rates = [each.per_second for each in decided[name]]
    shares = [rate / below for rate, below in zip(rates, floors[name], strict=True)]
    beside = f"the same rows with no logic: {median(floors[name]):,.0f}/s"
    return [
        at_least(name, rates, "decisions/s", reach, lawful=lawful),
        at_least(f"{name}_vs_floor", shares, "ratio", 0.6, lawful=lawful, note=beside),
    ]


def measure_growth(report: Report, say: Say, effort: Effort) -> None:
    """`growth_with_seats` (1,000 → 100,000) and `growth_with_waiting` (1,000 → 200,000 requests).

    CPU per decision of allocator, Postgres and Valkey together, so that what the machine does besides
    does not count; rounds in turn. The same number of holds on both sides.
    """
    few_seats, many_seats, short, long = [], [], [], []
    rounds = effort.rounds(GROWTH_ROUNDS)
    with allocator_stack() as stack:
        for number in range(1, rounds + 1):
            say(f"cost with {SMALL_SEATS:,} and {LARGE_SEATS:,} seats ({number} of {rounds})")
            few_seats.append(_backlog_cost(stack, SMALL_SEATS, GROWTH_BACKLOG, GROWTH_HELD))
            many_seats.append(_backlog_cost(stack, LARGE_SEATS, GROWTH_BACKLOG, GROWTH_HELD))
            say(f"cost with {BURST:,} and {BACKLOG:,} waiting ({number} of {rounds})")
            short.append(_bursts(stack))
            long.append(_backlog_cost(stack, SMALL_SEATS, BACKLOG, GROWTH_HELD))
    by_seats = [many / median(few_seats) for many in many_seats]
    by_waiting = [many / median(short) for many in long]
    report.rows += [
        at_most("growth_with_seats", by_seats, "×", 1.3),
        at_most("growth_with_waiting", by_waiting, "×", 1.3),
    ]
    report.details["growth_cpu_us_per_decision"] = {
        f"{SMALL_SEATS:,} seats": _rounded(few_seats),
        f"{LARGE_SEATS:,} seats": _rounded(many_seats),
        f"{BURST:,} waiting": _rounded(short),
        f"{BACKLOG:,} waiting": _rounded(long),
    }


def _backlog_cost(stack: Stack, seats: int, requests: int, held: int) -> float:
    with alone(stack, seats) as one:
        decided = one.decide(mixed(one.event.plan, requests, held))
        _expect(one.outcomes(), requests, held)
        return decided.cpu_us_per_decision


def _expect(outcomes: dict[str, int], requests: int, held: int) -> None:
    expected = {"held": held, "taken": requests - held}
    assert outcomes == {name: count for name, count in expected.items() if count}, outcomes


def _bursts(stack: Stack) -> float:
    """CPU per decision with never more than `BURST` waiting."""
    with alone(stack, SMALL_SEATS) as one:
        entries = mixed(one.event.plan, BURST * BURSTS, GROWTH_HELD)
        bursts = [entries[start : start + BURST] for start in range(0, len(entries), BURST)]
        return mean(one.decide(burst).cpu_us_per_decision for burst in bursts)


def _rounded(costs: list[float]) -> list[float]:
    return [round(cost, 1) for cost in costs]
