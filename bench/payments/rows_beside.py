"""What paying costs those who do not pay yet: decisions a second where holds are paid for, with the chores,
the relay and the provider running, against the same without any of it.

One throwaway onsale, two events. In the rounds of the one that asks for no money, everything that is there
for paying stands still (SIGSTOP). The rounds take turns, and so does which is first.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from statistics import median
from typing import Final

import psutil
import psycopg

from bench.effort import Effort
from bench.generator import Generator, generator, mint, named_seat
from bench.judging import judge_event
from bench.orders import Mode
from bench.payments.relay import sink
from bench.payments.rows_confirm import make_paid_event
from bench.report import Report, Say, at_least
from bench.rows_sockets import complete, rate_of
from bench.target import StageEvent, Target, make_event, wait_known
from onsale.processes import Stack, throwaway_stack
from store.audit import said
from store.subscribers import edit
from store.subscribers.addresses import ALLOW_PRIVATE

SOCKETS: Final = 1_000
ROUNDS: Final = 25
ROUND_SECONDS: Final = 1.0
REACH_RATIO: Final = 0.95
FOR_PAYING: Final = ("chores-1", "provider-1")
WAKING_SECONDS: Final = 2.0
"""After what stood still goes on: it does first what it missed, which is a round's work and would be counted
beside that of the next."""


def measure_beside(report: Report, say: Say, effort: Effort) -> None:
    """`end_to_end_with_payments`."""
    env = {ALLOW_PRIVATE: "1"}
    with sink() as port, throwaway_stack(allocators=2, payments=True, chores=True, env=env) as stack:
        with psycopg.connect(stack.urls.database_url, autocommit=True) as conn:
            why = said("bench", "measured")
            edit.add(conn, f"http://127.0.0.1:{port}/hook", why, from_start=True, allow_private=True)
        asyncio.run(_in_turn(report, say, effort, stack))


async def _in_turn(report: Report, say: Say, effort: Effort, stack: Stack) -> None:
    target = Target(stack.base_url, stack.urls.database_url, stack.token_secret)
    without = await asyncio.to_thread(make_event, target.database_url, 1)
    paid = await asyncio.to_thread(make_paid_event, target.database_url, "beside", 1)
    rates: dict[str, list[float]] = {"without": [], "with": []}
    rounds = effort.rounds(ROUNDS)
    async with _clients(target, without, effort) as alone, _clients(target, paid, effort) as beside:
        for number in range(rounds + 1):
            turns: list[tuple[str, Generator]] = [("without", alone), ("with", beside)]
            for what, clients in turns if number % 2 else reversed(turns):
                say(f"end to end {what} paying: round {number} of {rounds}")
                async with _standing_still(stack.pid, still=what == "without"):
                    done = await complete(clients)
                if number:
                    rates[what].append(rate_of(done))
    lawful = True
    for what, event in (("without", without), ("with", paid)):
        story = f"end to end {what} paying"
        lawful &= await asyncio.to_thread(judge_event, report, target.database_url, event, [], story, say)
    ratios = [one / other for one, other in zip(rates["with"], rates["without"], strict=True)]
    note = f"{median(rates['with']):,.0f}/s against {median(rates['without']):,.0f}/s"
    report.rows.append(
        at_least("end_to_end_with_payments", ratios, "ratio", REACH_RATIO, lawful=lawful, note=note)
    )
    report.details["beside"] = {name: [round(rate) for rate in found] for name, found in rates.items()}


@asynccontextmanager
async def _clients(target: Target, event: StageEvent, effort: Effort) -> AsyncIterator[Generator]:
    await asyncio.to_thread(wait_known, target, event)
    buyers = mint(target.token_secret, SOCKETS, event.slug)
    wants = [named_seat(event.plan.seats[0].guid)]
    seconds = effort.seconds(ROUND_SECONDS)
    loop = Mode.CLOSED_LOOP
    async with generator(
        target.base_url, event.slug, buyers, wants, loop, seconds=seconds, keep=False
    ) as clients:
        yield clients


@asynccontextmanager
async def _standing_still(pid_of: Callable[[str], int], *, still: bool) -> AsyncIterator[None]:
    """What is there for paying stands still while the block runs, or runs."""
    if not still:
        await asyncio.sleep(WAKING_SECONDS)
        yield
        return
    stopped = [one for name in FOR_PAYING for one in _tree(pid_of(name))]
    _signal(stopped, signal.SIGSTOP)
    try:
        yield
    finally:
        _signal(stopped, signal.SIGCONT)


def _signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    """Those that ended meanwhile are left out."""
    for one in processes:
        with suppress(psutil.NoSuchProcess):
            one.send_signal(number)


def _tree(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]
