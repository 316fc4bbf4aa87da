"""Rows measured through real websockets: end to end against an echo, closed loop and open."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from statistics import median

from bench.echo import SHORT_WAY
from bench.echo_process import echo_server
from bench.effort import Effort
from bench.generator import Generator, generator, mint, named_seat
from bench.judging import judge_event
from bench.orders import Mode, Round, percentile
from bench.processes import SERVER, cpu_by_name, spent, tree_cpu_seconds
from bench.report import Curve, Report, Say, at_least, at_most, for_the_record
from bench.target import Target, make_event, throwaway_target, wait_known

SOCKETS = 1_000
ROUNDS = 5
ROUND_SECONDS = 1.5
OPEN_ROUNDS = 3
OPEN_SECONDS = 4.0
OPEN_SHARE = 0.5
"""Of the closed loop's rate."""


class Loops:
    """What the rounds gave; the first of each kind warms up and is not in here."""

    def __init__(self) -> None:
        self.echoed: list[Round] = []
        self.short_echoed: list[Round] = []
        self.decided: list[Round] = []
        self.opened: list[Round] = []
        self.echo_opened = Round()
        """The echo at the same rate, once: what of an open loop's latency is the machine's."""
        self.rate_wanted = 0.0
        self.echo_cpu: list[float] = []
        self.server_cpu: list[dict[str, float]] = []
        self.open_cpu: list[float] = []
        """Microseconds a round trip or decision, of all server processes."""


def measure_sockets(report: Report, say: Say, effort: Effort) -> None:
    """`end_to_end_vs_echo`, `end_to_end_vs_short_echo`, `end_to_end`, `closed_loop_p99`,
    `server_cpu_per_decision` and `open_loop_p99_at_half`.

    1,000 sockets. Closed loop: each sends its next request when the last is answered; echo and onsale run
    at the same time but are asked in turn, so whatever else the machine does meets both. Open loop:
    half of the rate just reached, on a schedule. All ask for one seat: a stampede's mix, one held and the
    rest refused.
    """
    with throwaway_target() as (target, pid_of), echo_server() as (echo_url, echo_pid):
        asyncio.run(_side_by_side(report, say, effort, target, pid_of, echo_url, echo_pid))


async def _side_by_side(
    report: Report,
    say: Say,
    effort: Effort,
    target: Target,
    pid_of: Callable[[str], int],
    echo_url: str,
    echo_pid: int,
) -> None:
    event = await asyncio.to_thread(make_event, target.database_url, 1)
    await asyncio.to_thread(wait_known, target, event)
    wants = [named_seat(event.plan.seats[0].guid)]
    buyers = mint(target.token_secret, SOCKETS)
    loop, seconds = Mode.CLOSED_LOOP, effort.seconds(ROUND_SECONDS)
    loops, rounds = Loops(), effort.rounds(ROUNDS)
    async with (
        generator(echo_url, "echo", buyers, wants, loop, seconds=seconds, keep=False) as echo,
        generator(echo_url, SHORT_WAY, buyers, wants, loop, seconds=seconds, keep=False) as short_echo,
        generator(target.base_url, event.slug, buyers, wants, loop, seconds=seconds, keep=False) as onsale,
    ):
        for number in range(rounds + 1):
            say(f"closed loop: round {number} of {rounds}, echo")
            before_echo = tree_cpu_seconds(echo_pid)
            echo_round = await echo.go()
            cpu_echo = tree_cpu_seconds(echo_pid) - before_echo
            short_echo_round = await short_echo.go()
            say(f"closed loop: round {number} of {rounds}, onsale")
            before = cpu_by_name(pid_of, SERVER)
            onsale_round = await complete(onsale)
            cpu = spent(before, cpu_by_name(pid_of, SERVER))
            if number:
                loops.echoed.append(echo_round)
                loops.short_echoed.append(short_echo_round)
                loops.decided.append(onsale_round)
                loops.echo_cpu.append(cpu_echo / echo_round.decided * 1e6)
                loops.server_cpu.append(
                    {name: value / onsale_round.decided * 1e6 for name, value in cpu.items()}
                )
        await _open_loop(say, effort, onsale, loops, pid_of)
        loops.echo_opened = await complete(
            echo, Mode.OPEN_LOOP, seconds=effort.seconds(OPEN_SECONDS), rate_per_second=loops.rate_wanted
        )
    lawful = await asyncio.to_thread(
        judge_event, report, target.database_url, event, [], "closed and open loop", say
    )
    _sum_up(report, loops, lawful)


async def _open_loop(
    say: Say, effort: Effort, onsale: Generator, loops: Loops, pid_of: Callable[[str], int]
) -> None:
    loops.rate_wanted = median(rate_of(each) for each in loops.decided) * OPEN_SHARE
    rounds = effort.rounds(OPEN_ROUNDS)
    for number in range(rounds + 1):
        say(f"open loop at {loops.rate_wanted:,.0f} requests/s: round {number} of {rounds}")
        seconds = effort.seconds(OPEN_SECONDS) if number else 1.0
        before = cpu_by_name(pid_of, SERVER)
        done = await complete(onsale, Mode.OPEN_LOOP, seconds=seconds, rate_per_second=loops.rate_wanted)
        cpu = spent(before, cpu_by_name(pid_of, SERVER))
        if number:
            loops.opened.append(done)
            loops.open_cpu.append(sum(cpu.values()) / done.decided * 1e6)


def _sum_up(report: Report, loops: Loops, lawful: bool) -> None:
    rates = [rate_of(each) for each in loops.decided]
    echo_rates = [rate_of(each) for each in loops.echoed]
    short_rates = [rate_of(each) for each in loops.short_echoed]
    ratios = [rate / echo for rate, echo in zip(rates, echo_rates, strict=True)]
    short_ratios = [rate / echo for rate, echo in zip(rates, short_rates, strict=True)]
    open_p99s = [ms(each, 0.99) for each in loops.opened]
    achieved = median(each.sent_per_second for each in loops.opened)
    offered = f"{achieved:,.0f} requests/s offered; latency counts from when each was due"
    beside = f"echo: {median(echo_rates):,.0f}/s"
    closed_p99s = [ms(each, 0.99) for each in loops.decided]
    cpu = [sum(each.values()) for each in loops.server_cpu]
    report.rows += [
        for_the_record("end_to_end", rates, "decisions/s"),
        at_least("end_to_end_vs_echo", ratios, "ratio", 0.5, lawful=lawful, note=beside),
        for_the_record("end_to_end_vs_short_echo", short_ratios, "ratio"),
        at_most("closed_loop_p99", closed_p99s, "ms", 250, lawful=lawful),
        at_most("open_loop_p99_at_half", open_p99s, "ms", 50, lawful=lawful, note=offered),
        at_most("server_cpu_per_decision", cpu, "µs", 55, lawful=lawful),
    ]
    where = {name: round(median(each[name] for each in loops.server_cpu), 1) for name in SERVER}
    generators = [each.cpu_seconds / each.decided * 1e6 for each in loops.decided]
    report.where_time_goes = where | {"load generator (not the server)": round(median(generators), 1)}
    report.curves += [
        Curve.of("websocket, closed loop", latencies(loops.decided)),
        Curve.of("websocket, open loop at half the rate", latencies(loops.opened)),
        Curve.of("bare echo, open loop at that rate", loops.echo_opened.latencies_ns),
    ]
    report.details["sockets"] = {
        "echo_per_second": [round(rate) for rate in echo_rates],
        "short_echo_per_second": [round(rate) for rate in short_rates],
        "decisions_per_second": [round(rate) for rate in rates],
        "echo_cpu_us_per_round_trip": round(median(loops.echo_cpu), 1),
        "generator_cpu_us_per_round_trip_with_echo": round(
            median(each.cpu_seconds / each.decided * 1e6 for each in loops.echoed), 1
        ),
    }
    report.details["open_loop"] = open_loop_details(loops.opened, loops.rate_wanted) | {
        "server_cpu_us_per_decision": [round(each, 1) for each in loops.open_cpu],
        "echo_p99_ms": round(ms(loops.echo_opened, 0.99), 2),
    }


def open_loop_details(rounds: list[Round], rate_wanted: float) -> dict[str, object]:
    """What an open loop must say of itself to be believed."""
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p99_9": 0.999}
    return {
        "rate_wanted": round(rate_wanted),
        "rate_sent": [round(each.sent_per_second) for each in rounds],
        "behind_schedule_share": [round(each.behind_share, 4) for each in rounds],
        "latency_ms": {
            name: [round(ms(each, share), 2) for each in rounds] for name, share in shares.items()
        },
    }


async def complete(clients: Generator, mode: Mode | None = None, **options: float) -> Round:
    """A round in which every request was answered; an assertion says so otherwise."""
    done = await clients.go(mode, **options)
    assert not done.unanswered, f"{done.unanswered} of {done.sent} requests were not answered: {done.errors}"
    return done


def rate_of(done: Round) -> float:
    return done.decided / done.seconds


def ms(done: Round, share: float) -> float:
    return percentile(sorted(done.latencies_ns), share) / 1e6


def latencies(rounds: list[Round]) -> list[int]:
    return [latency for each in rounds for latency in each.latencies_ns]
