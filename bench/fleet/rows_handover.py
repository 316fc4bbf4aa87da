"""`planned_handover`, `handover_after_sigkill`: how long nobody is answered when an event changes hands."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable

import msgspec

from bench.effort import Effort
from bench.evidence import Seen
from bench.fleet.house import House, Owner, house, wait
from bench.generator import Generator, generator, mint, named_seat
from bench.judging import judge_event
from bench.orders import Mode
from bench.report import Report, Row, Say, at_most
from bench.target import StageEvent, make_event, wait_known

SEATS = 2_000
SOCKETS = 400
RATE_PER_SECOND = 1_000.0
ROUND_SECONDS = 4.0
DISTURB_AFTER_SECONDS = 1.0
MOVES, KILLS = 9, 3
HANDOVER_REACH_MS, KILL_REACH_SECONDS = 200, 2
WORKERS = 2


def measure_handover(report: Report, say: Say, effort: Effort) -> None:
    """Both rows, on two hosts, under 1,000 requests a second on a schedule."""
    with house({"left": 2, "right": 2}) as here:
        event = make_event(here.target.database_url, SEATS, seats_per_buyer_max=1_000)
        wait_known(here.target, event)
        here.says("PUT", f"/events/{event.slug}/fleet", {"workers": WORKERS, "mode": "hot", "why": "bench"})
        moved, killed, seen = asyncio.run(_rounds(here, event, say, effort))
        lawful = judge_event(report, here.target.database_url, event, seen, "handovers", say)
    report.rows += [
        _longest("planned_handover", moved, "ms", HANDOVER_REACH_MS, lawful),
        _longest("handover_after_sigkill", killed, "s", KILL_REACH_SECONDS, lawful),
    ]


async def _rounds(
    here: House, event: StageEvent, say: Say, effort: Effort
) -> tuple[list[float], list[float], list[Seen]]:
    """(milliseconds of each planned move, seconds of each kill, what clients saw)"""
    wants = [named_seat(seat.guid) for seat in event.plan.seats]
    buyers = mint(here.target.token_secret, SOCKETS, "watcher")
    moved: list[float] = []
    killed: list[float] = []
    seen: list[Seen] = []
    url, slug = here.target.base_url, event.slug
    async with generator(url, slug, buyers, wants, Mode.OPEN_LOOP, churn=True) as clients:
        for number in range(1, effort.rounds(MOVES) + 1):
            say(f"handover: the event is moved to another host ({number})")
            moved.append(1_000 * await _gap(here, event, clients, seen, lambda now: _move(here, event, now)))
        for number in range(1, effort.rounds(KILLS) + 1):
            say(f"handover: its owner is killed ({number})")
            killed.append(await _gap(here, event, clients, seen, _kill))
    return moved, killed, seen


def _move(here: House, event: StageEvent, owner: Owner) -> None:
    to = "right" if owner.host == "left" else "left"
    here.says("POST", f"/events/{event.slug}/fleet/move", {"to": to, "why": "bench"})


def _kill(owner: Owner) -> None:
    os.kill(owner.process, signal.SIGKILL)


async def _gap(
    here: House, event: StageEvent, clients: Generator, seen: list[Seen], disturb: Callable[[Owner], None]
) -> float:
    """The longest time between two answers of a round in which the event gets another owner."""
    await asyncio.to_thread(here.wait_steady, [event], WORKERS)
    before = here.owner(event)
    assert before is not None, "a steady event has an owner"
    going = asyncio.create_task(
        clients.go(Mode.OPEN_LOOP, seconds=ROUND_SECONDS, rate_per_second=RATE_PER_SECOND)
    )
    await asyncio.sleep(DISTURB_AFTER_SECONDS)
    await asyncio.to_thread(disturb, before)
    done = await going
    assert not done.unanswered, f"{done.unanswered} of {done.sent} requests were not answered: {done.errors}"
    changed = lambda: here.owner(event) not in (None, before)  # noqa: E731 - said once, here
    await asyncio.to_thread(wait, changed, "another worker owns the event", ROUND_SECONDS)
    seen += done.seen
    return done.answer_gap_ns_max / 1e9


def _longest(name: str, rounds: list[float], unit: str, reach: float, lawful: bool) -> Row:
    """Reached is what the longest of all rounds reaches."""
    row = at_most(name, rounds, unit, reach, lawful=lawful, note=f"the longest: {max(rounds):,.3g} {unit}")
    return msgspec.structs.replace(row, reached=row.reached and max(rounds) <= reach)
