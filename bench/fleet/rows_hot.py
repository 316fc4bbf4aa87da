"""`ten_hot_events`: ten hot events on four workers; one worker is killed, and all ten decide again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

from bench.effort import Effort
from bench.fleet.house import House, house
from bench.generator import generator, mint, named_seat
from bench.judging import judge_event
from bench.orders import Mode, Round
from bench.report import Report, Say, at_most
from bench.target import StageEvent, make_event, wait_known

EVENTS = 10
SEATS = 500
SOCKETS_EACH = 20
RATE_EACH = 40.0
ROUND_SECONDS = 8.0
KILL_AFTER_SECONDS = 2.0
KILLS = 3
REACH_SECONDS = 3
WORKERS = 2


def measure_hot(report: Report, say: Say, effort: Effort) -> None:
    """Of each round the event that waited longest; whoever owns most is killed."""
    with house({"left": 2, "right": 2}) as here:
        events = [make_event(here.target.database_url, SEATS) for _ in range(EVENTS)]
        for event in events:
            wait_known(here.target, event)
            wanted = {"workers": WORKERS, "mode": "hot", "why": "bench"}
            here.says("PUT", f"/events/{event.slug}/fleet", wanted)
        gaps, rounds = asyncio.run(_kills(here, events, say, effort))
        lawful = True
        for number, event in enumerate(events):
            seen = [client for done in rounds for client in done[number].seen]
            what = f"hot event {number + 1}"
            lawful &= judge_event(report, here.target.database_url, event, seen, what, say)
    report.details["ten_hot_events"] = {
        "gaps_seconds": [[each.answer_gap_ns_max / 1e9 for each in done] for done in rounds]
    }
    note = f"the longest of {len(gaps)}: {max(gaps):.3g} s"
    report.rows.append(at_most("ten_hot_events", gaps, "s", REACH_SECONDS, lawful=lawful, note=note))


async def _kills(
    here: House, events: list[StageEvent], say: Say, effort: Effort
) -> tuple[list[float], list[list[Round]]]:
    gaps: list[float] = []
    rounds: list[list[Round]] = []
    async with contextlib.AsyncExitStack() as running:
        clients = []
        for event in events:
            wants = [named_seat(seat.guid) for seat in event.plan.seats]
            buyers = mint(here.target.token_secret, SOCKETS_EACH, event.slug)
            each = generator(here.target.base_url, event.slug, buyers, wants, Mode.OPEN_LOOP, churn=True)
            clients.append(await running.enter_async_context(each))
        for number in range(1, effort.rounds(KILLS) + 1):
            say(f"ten hot events: waiting until each has {WORKERS} workers ({number})")
            await asyncio.to_thread(here.wait_steady, events, WORKERS)
            going = [
                asyncio.create_task(each.go(Mode.OPEN_LOOP, seconds=ROUND_SECONDS, rate_per_second=RATE_EACH))
                for each in clients
            ]
            await asyncio.sleep(KILL_AFTER_SECONDS)
            process, owned = here.owned(events)[0]
            say(f"ten hot events: a worker that owns {owned} of them is killed ({number})")
            os.kill(process, signal.SIGKILL)
            done = await asyncio.gather(*going)
            unanswered = sum(each.unanswered for each in done)
            assert not unanswered, f"{unanswered} requests were not answered"
            gaps.append(max(each.answer_gap_ns_max for each in done) / 1e9)
            rounds.append(list(done))
    return gaps, rounds
