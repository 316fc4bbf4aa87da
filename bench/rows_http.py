"""`end_to_end_http`: decisions a second for buyers who POST and wait, one connection each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bench.effort import Effort
from bench.generator import generator, mint, named_seat
from bench.judging import judge_event
from bench.orders import Mode, Round
from bench.processes import SERVER, cpu_by_name, spent
from bench.report import Curve, Report, Say, for_the_record
from bench.rows_sockets import complete, latencies, ms, rate_of
from bench.target import Target, make_event, throwaway_target, wait_known

CONNECTIONS = 1_000
ROUNDS = 3
ROUND_SECONDS = 2.0


def measure_http(report: Report, say: Say, effort: Effort) -> None:
    """1,000 connections kept open, closed loop: each POSTs its next request when the last is decided.

    All ask for one seat, as over websockets. What this should reach is a multiple of the best strategy
    over HTTP, so it stands beside them in `./run bench strategies`.
    """
    with throwaway_target() as (target, pid_of):
        asyncio.run(_closed_loop(report, say, effort, target, pid_of))


async def _closed_loop(
    report: Report, say: Say, effort: Effort, target: Target, pid_of: Callable[[str], int]
) -> None:
    event = await asyncio.to_thread(make_event, target.database_url, 1)
    await asyncio.to_thread(wait_known, target, event)
    wants = [named_seat(event.plan.seats[0].guid)]
    buyers = mint(target.token_secret, CONNECTIONS)
    done: list[Round] = []
    cpu: list[float] = []
    rounds = effort.rounds(ROUNDS)
    async with generator(
        target.base_url,
        event.slug,
        buyers,
        wants,
        Mode.CLOSED_LOOP,
        http=True,
        seconds=effort.seconds(ROUND_SECONDS),
        keep=False,
    ) as clients:
        for number in range(rounds + 1):
            say(f"over HTTP, closed loop: round {number} of {rounds}")
            before = cpu_by_name(pid_of, SERVER)
            one = await complete(clients)
            if number:
                done.append(one)
                cpu.append(sum(spent(before, cpu_by_name(pid_of, SERVER)).values()) / one.decided * 1e6)
    await asyncio.to_thread(judge_event, report, target.database_url, event, [], "over HTTP", say)
    report.rows += [
        for_the_record("end_to_end_http", [rate_of(each) for each in done], "decisions/s"),
        for_the_record("closed_loop_http_p99", [ms(each, 0.99) for each in done], "ms"),
        for_the_record("server_cpu_per_decision_http", cpu, "µs"),
    ]
    report.curves.append(Curve.of("HTTP, closed loop", latencies(done)))
