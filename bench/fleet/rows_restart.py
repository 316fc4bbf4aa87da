"""`rolling_restart`: hosts, gateways and chores restarted one after the other while people buy."""

from __future__ import annotations

import asyncio

import msgspec

from bench.effort import Effort
from bench.fleet.house import House, house
from bench.generator import generator, mint, named_seat
from bench.judging import judge_event
from bench.orders import Mode, Round
from bench.report import Report, Say, for_the_record
from bench.target import StageEvent, make_event, wait_known

SEATS = 2_000
SOCKETS = 200
RATE_PER_SECOND = 400.0
ROUND_SECONDS = 75.0
HOSTS = 2


def measure_restart(report: Report, say: Say, effort: Effort) -> None:
    """For the record how long nobody was answered; that everything was is what counts."""
    with house({"left": 2, "right": 2}, gateways=2, one_address=True, chores=True) as here:
        event = make_event(here.target.database_url, SEATS, seats_per_buyer_max=1_000)
        wait_known(here.target, event)
        here.wait_steady([event], HOSTS)
        done = asyncio.run(_restarts(here, event, say))
        said = f"{done.sent:,} requests, {done.reconnects:,} sockets came back"
        lawful = judge_event(report, here.target.database_url, event, done.seen, "rolling restart", say)
    row = for_the_record("rolling_restart", [done.answer_gap_ns_max / 1e9], "s", note=said)
    report.rows.append(msgspec.structs.replace(row, reached=lawful))


async def _restarts(here: House, event: StageEvent, say: Say) -> Round:
    """One round of requests, in which each process ends in order and is started again."""
    wants = [named_seat(seat.guid) for seat in event.plan.seats]
    buyers = mint(here.target.token_secret, SOCKETS, "watcher")
    url, slug = here.target.base_url, event.slug
    async with generator(url, slug, buyers, wants, Mode.OPEN_LOOP, churn=True) as clients:
        going = asyncio.create_task(
            clients.go(Mode.OPEN_LOOP, seconds=ROUND_SECONDS, rate_per_second=RATE_PER_SECOND)
        )
        for name in list(here.stack.processes):
            say(f"rolling restart: {name}")
            await asyncio.to_thread(here.stack.processes[name].stop)
            await asyncio.to_thread(here.stack.start_again, name)
            await asyncio.to_thread(here.wait_steady, [event], HOSTS)
        assert not going.done(), f"restarting everything took longer than {ROUND_SECONDS:g} s of requests"
        done = await going
    assert not done.unanswered, f"{done.unanswered} of {done.sent} requests were not answered: {done.errors}"
    return done
