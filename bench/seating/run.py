"""`./run bench seating`: the same house to the same parties three ways, judged; and how fast."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from bench.backlog import Alone, allocator_stack, alone
from bench.effort import Effort
from bench.judging import judge_event, replay_event
from bench.processes import machine
from bench.report import Report, Row, Say, at_most
from bench.seating import greedy, skip_locked
from bench.seating.by_onsale import entries_of, read
from bench.seating.house import House
from bench.seating.judge import Seated, Verdict, judge
from bench.seating.parties import draw, named_before, open_seats
from bench.seating.results import GREEDY, NAMES, ONSALE, SKIP_LOCKED, Sale, SeatingReport
from bench.seating.speed import measure_speed
from onsale.processes import Stack
from store.plan import Plan
from store.venues.make import make
from store.words import Want

DEMAND = 1.6
"""So many times the open seats are asked for: enough that nothing more can be had."""
SEED = 1
CHECKED_SEATS_MAX = 5_000
"""Larger houses are the replay's: the checker looks at every seat for every refusal."""


def houses(effort: Effort) -> list[tuple[str, Plan, float]]:
    """What each is called, and the share of its seats that people name before the parties come."""
    arena, theatre = make("arena", effort.size(20_000, 4_000)), make("theatre", effort.size(2_400, 1_200))
    return [
        ("Arena", arena, 0.0),
        ("Theatre", theatre, 0.0),
        ("Theatre, a third named seat by seat before", theatre, 1 / 3),
    ]


def run_seating(say: Say, effort: Effort) -> SeatingReport:
    """At most a minute and a half; a quick look half of it."""
    begun = time.monotonic()
    report = SeatingReport(Report(machine()), quick=effort.quick)
    measured = report.measured
    say("starting engines and an allocator")
    with allocator_stack() as stack:
        for name, plan, before in houses(effort):
            wants = [*named_before(plan, before, SEED), *draw(plan, demand=DEMAND, seed=SEED)]
            report.sales += sell_and_judge(measured, stack, name, plan, wants, say)
        measured.rows += quality_rows(report.sales, lawful=measured.lawful)
        measured.rows += measure_speed(measured, stack, say, effort)
    measured.machine["load_1m_after"] = round(os.getloadavg()[0], 2)
    measured.seconds = round(time.monotonic() - begun, 1)
    return report


def sell_and_judge(
    measured: Report, stack: Stack, name: str, plan: Plan, wants: Sequence[Want], say: Say
) -> list[Sale]:
    """The same parties for the same house, three ways."""
    house, url, sales = House(plan), stack.urls.database_url, []

    def add(strategy: str, sell: Callable[[], list[Seated | None]]) -> None:
        say(f"{name}: {len(wants):,} parties, {NAMES[strategy]}")
        seatings = sell()
        say(f"{name}: judging {NAMES[strategy]}")
        sales.append(Sale(name, open_seats(plan), strategy, judge(house, wants, seatings)))

    with alone(stack, plan) as one:
        add(ONSALE, lambda: _by_onsale(one, url, wants))
        what = f"seating, {name}"
        if len(plan.seats) <= CHECKED_SEATS_MAX:
            judge_event(measured, url, one.event, [], what, say)
        else:
            replay_event(measured, url, one.event, what, say)
    with skip_locked.database_beside(stack) as beside:
        add(SKIP_LOCKED, lambda: skip_locked.sell(beside, house, wants))
    add(GREEDY, lambda: greedy.sell(house, wants))
    return sales


def _by_onsale(one: Alone, database_url: str, wants: Sequence[Want]) -> list[Seated | None]:
    one.decide(entries_of(wants))
    return read(database_url, one, wants)


def quality_rows(sales: Sequence[Sale], *, lawful: bool) -> list[Row]:
    """What onsale promises, over all houses; beside it what the others did."""

    def total(of: Callable[[Verdict], int], strategy: str) -> int:
        return sum(of(sale.verdict) for sale in sales if sale.strategy == strategy)

    def row(name: str, of: Callable[[Verdict], int]) -> Row:
        beside = ", ".join(f"{NAMES[other]} {total(of, other):,}" for other in (SKIP_LOCKED, GREEDY))
        return at_most(name, [total(of, ONSALE)], "parties", 0, lawful=right, note=beside)

    right = lawful and not total(lambda verdict: verdict.wrong, ONSALE)
    return [
        row("seating_overtaken", lambda verdict: verdict.overtaken),
        row("seating_split_needlessly", lambda verdict: verdict.split_needlessly),
    ]
