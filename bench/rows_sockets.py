"""Rows measured through real websockets: end to end against an echo, and the big stampede."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

from bench.echo import SHORT_WAY
from bench.generator import REPOSITORY, Generator, generator, mint, named_seat
from bench.orders import Mode, Round, percentile
from bench.processes import SERVER, cpu_by_name, spent, tree_cpu_seconds
from bench.report import Report, Row, Say, at_least, at_most
from bench.stampede import Options, run
from bench.target import Target, make_event, throwaway_target, wait_known

SOCKETS = 1_000
ROUNDS = 6
ROUND_SECONDS = 2.0
STAMPEDES = 3


def measure_sockets(report: Report, say: Say) -> None:
    """`end_to_end_vs_echo`, `end_to_end_vs_short_echo`, `closed_loop_p99` and `server_cpu_per_decision`.

    1,000 sockets, each sends its next request when the last is answered. Echo and onsale run at the
    same time but are asked in turn, so whatever else the machine does meets both; the first pair of
    rounds warms up. All ask for one seat: a stampede's mix, one held and the rest refused.
    """
    with throwaway_target() as (target, pid_of), echo_server() as (echo_url, echo_pid):
        asyncio.run(_side_by_side(report, say, target, pid_of, echo_url, echo_pid))


async def _side_by_side(
    report: Report, say: Say, target: Target, pid_of: Callable[[str], int], echo_url: str, echo_pid: int
) -> None:
    event = await asyncio.to_thread(make_event, target.database_url, 1)
    await asyncio.to_thread(wait_known, target, event)
    wants = [named_seat(event.plan.seats[0].guid)]
    buyers = mint(target.token_secret, SOCKETS)
    echoed, short_echoed, decided, echo_cpu, server_cpu = [], [], [], [], []
    async with (
        generator(
            echo_url, "echo", buyers, wants, Mode.CLOSED_LOOP, seconds=ROUND_SECONDS, keep=False
        ) as echo,
        generator(
            echo_url, SHORT_WAY, buyers, wants, Mode.CLOSED_LOOP, seconds=ROUND_SECONDS, keep=False
        ) as short_echo,
        generator(
            target.base_url, event.slug, buyers, wants, Mode.CLOSED_LOOP, seconds=ROUND_SECONDS, keep=False
        ) as onsale,
    ):
        for number in range(ROUNDS + 1):
            say(f"closed loop: round {number} of {ROUNDS}, echo")
            before_echo = tree_cpu_seconds(echo_pid)
            echo_round = await echo.go()
            cpu_echo = tree_cpu_seconds(echo_pid) - before_echo
            short_echo_round = await short_echo.go()
            say(f"closed loop: round {number} of {ROUNDS}, onsale")
            before = cpu_by_name(pid_of, SERVER)
            onsale_round = await _complete(onsale)
            cpu = spent(before, cpu_by_name(pid_of, SERVER))
            if number:
                echoed.append(echo_round)
                short_echoed.append(short_echo_round)
                decided.append(onsale_round)
                echo_cpu.append(cpu_echo / echo_round.decided * 1e6)
                server_cpu.append({name: value / onsale_round.decided * 1e6 for name, value in cpu.items()})
    _sum_up(report, echoed, short_echoed, decided, echo_cpu, server_cpu)


def _sum_up(
    report: Report,
    echoed: list[Round],
    short_echoed: list[Round],
    decided: list[Round],
    echo_cpu: list[float],
    server_cpu: list[dict[str, float]],
) -> None:
    echo_rates = [_rate(each) for each in echoed]
    rates = [_rate(each) for each in decided]
    ratios = [rate / echo_rate for rate, echo_rate in zip(rates, echo_rates, strict=True)]
    short_rates = [_rate(each) for each in short_echoed]
    short_ratios = [rate / short_rate for rate, short_rate in zip(rates, short_rates, strict=True)]
    p99s = [percentile(sorted(each.latencies_ns), 0.99) / 1e6 for each in decided]
    report.rows += [
        at_least("end_to_end_vs_echo", median(ratios), "ratio", 0.4),
        Row("end_to_end_vs_short_echo", round(median(short_ratios), 3), "ratio", "for the record", True),
        at_most("closed_loop_p99", median(p99s), "ms", 250),
        at_most("server_cpu_per_decision", median(sum(each.values()) for each in server_cpu), "µs", 80),
    ]
    where = {name: round(median(each[name] for each in server_cpu), 1) for name in SERVER}
    generators = [each.cpu_seconds / each.decided * 1e6 for each in decided]
    report.where_time_goes = where | {"load generator (not the server)": round(median(generators), 1)}
    report.details["sockets"] = {
        "echo_per_second": [round(rate) for rate in echo_rates],
        "short_echo_per_second": [round(rate) for rate in short_rates],
        "echo_cpu_us_per_round_trip": round(median(echo_cpu), 1),
        "generator_cpu_us_per_round_trip_with_echo": round(
            median(each.cpu_seconds / each.decided * 1e6 for each in echoed), 1
        ),
        "decisions_per_second": [round(rate) for rate in rates],
        "ratios": [round(ratio, 3) for ratio in ratios],
        "p99_ms": [round(p99, 1) for p99 in p99s],
        "unanswered": sum(each.unanswered for each in decided),
    }


def measure_stampede(report: Report, say: Say) -> None:
    """`ten_thousand_buyers_one_seat`: 10,000 open sockets, gate off, first sending to last answer.

    The median of fresh stampedes, each judged; a single finding or missing answer fails the row.
    """
    options = Options(buyers=10_000, seats=1, gate=False)
    results = []
    with throwaway_target() as (target, _):
        for number in range(1, STAMPEDES + 1):
            say(f"10,000 buyers, one seat: {number} of {STAMPEDES}")
            results.append(asyncio.run(run(options, target)).result)
    seconds = [result.seconds_first_to_last for result in results]
    row = at_most("ten_thousand_buyers_one_seat", median(seconds), "s", 1.2)
    all_passed = all(result.passed for result in results)
    report.rows.append(type(row)(row.name, row.value, row.unit, row.reach, row.reached and all_passed))
    report.details["stampede"] = {
        "seconds_first_to_last": seconds,
        "p99_ms": [result.latency_ms.p99 for result in results],
        "findings": sum(len(result.findings) for result in results),
        "unanswered": sum(result.unanswered for result in results),
    }


async def _complete(clients: Generator) -> Round:
    done = await clients.go()
    assert not done.unanswered, f"{done.unanswered} of {done.sent} requests were not answered: {done.errors}"
    return done


def _rate(done: Round) -> float:
    return done.decided / done.seconds


@contextmanager
def echo_server() -> Iterator[tuple[str, int]]:
    """The echo server in a process of its own: its address and process id."""
    from onsale.engines.ports import free_port

    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "bench.echo", str(port)], cwd=REPOSITORY)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_answering(url)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait()


def _wait_answering(url: str, seconds_max: float = 20.0) -> None:
    give_up_at = time.monotonic() + seconds_max
    while True:
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except OSError:
            assert time.monotonic() < give_up_at, "the echo server did not start"
            time.sleep(0.05)
