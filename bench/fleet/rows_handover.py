"""`planned_handover` (and `…_shared`), `handover_after_sigkill`: how long nobody is answered when an event
changes hands."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import msgspec

from bench.effort import Effort
from bench.evidence import Seen
from bench.fleet.house import House, Owner, house, wait
from bench.generator import Generator, generator, mint, named_seat
from bench.judging import judge_event
from bench.orders import Mode
from bench.report import Report, Row, Say, at_most
from bench.target import StageEvent, make_event, wait_known
from store.errors import OnsaleError

SEATS = 2_000
SOCKETS = 400
RATE_PER_SECOND = 1_000.0
ROUND_SECONDS = 5.0
DISTURB_AFTER_SECONDS = 1.0
AFTERWARDS_SECONDS = 1.0
"""So long after the event has its new owner a time without answers still counts as the handover's."""
MOVES, KILLS = 7, 3
HANDOVER_REACH_MS, KILL_REACH_SECONDS = 200, 2
WORKERS = 2
NS = 1_000_000_000


class Handover(NamedTuple):
    """One round: the longest time between two answers that has a part in the handover, and the longest of the
    second before, in which nothing happened."""

    gap_ns: int
    quiet_ns: int
    seen: list[Seen]


def measure_handover(report: Report, say: Say, effort: Effort) -> None:
    """All three rows, on two hosts, under 1,000 requests a second on a schedule."""
    with house({"left": 2, "right": 2}) as here:
        own, shared = _event(here, "hot"), _event(here, "cold")
        moved = asyncio.run(_rounds(here, own, effort.rounds(MOVES), _move, say, "an event is moved"))
        killed = asyncio.run(_rounds(here, own, effort.rounds(KILLS), _kill, say, "its owner is killed"))
        together = asyncio.run(
            _rounds(here, shared, effort.rounds(MOVES), _move, say, "a shared one is moved")
        )
        lawful = _judge(report, here, own, [*moved, *killed], "handovers", say)
        lawful_shared = _judge(report, here, shared, together, "handovers of a shared event", say)
    report.details["handovers"] = {
        name: {"gap_ms": [each.gap_ns / 1e6 for each in rounds], "undisturbed_ms": _quiet_ms(rounds)}
        for name, rounds in (("planned", moved), ("sigkill", killed), ("planned_shared", together))
    }
    report.rows += [
        longest("planned_handover", moved, "ms", HANDOVER_REACH_MS, lawful),
        longest("planned_handover_shared", together, "ms", HANDOVER_REACH_MS, lawful_shared),
        longest("handover_after_sigkill", killed, "s", KILL_REACH_SECONDS, lawful),
    ]


def _event(here: House, mode: str) -> StageEvent:
    event = make_event(here.target.database_url, SEATS, seats_per_buyer_max=1_000)
    wait_known(here.target, event)
    here.says("PUT", f"/events/{event.slug}/fleet", {"workers": WORKERS, "mode": mode, "why": "bench"})
    return event


async def _rounds(
    here: House, event: StageEvent, count: int, disturb: Callable[[House, StageEvent, Owner], None], say: Say,
    what: str,
) -> list[Handover]:  # fmt: skip
    """`count` handovers, after a round that warms everything up and does not count."""
    done: list[Handover] = []
    async with _clients(here, event) as clients:
        say(f"handover: warming up, before {what}")
        await asyncio.to_thread(here.wait_steady, [event], WORKERS)
        warm = await clients.go(Mode.OPEN_LOOP, seconds=ROUND_SECONDS, rate_per_second=RATE_PER_SECOND)
        for number in range(1, count + 1):
            say(f"handover: {what} ({number} of {count})")
            done.append(await _handover(here, event, clients, disturb))
    done[0].seen.extend(warm.seen)
    return done


@asynccontextmanager
async def _clients(here: House, event: StageEvent) -> AsyncIterator[Generator]:
    wants = [named_seat(seat.guid) for seat in event.plan.seats]
    buyers = mint(here.target.token_secret, SOCKETS, f"watcher-{event.id}")
    url, slug = here.target.base_url, event.slug
    async with generator(url, slug, buyers, wants, Mode.OPEN_LOOP, churn=True) as clients:
        yield clients


def _move(here: House, event: StageEvent, owner: Owner) -> None:
    to = "right" if owner.host == "left" else "left"
    here.says("POST", f"/events/{event.slug}/fleet/move", {"to": to, "why": "bench"})


def _kill(_here: House, _event: StageEvent, owner: Owner) -> None:
    os.kill(owner.process, signal.SIGKILL)


async def _handover(
    here: House, event: StageEvent, clients: Generator, disturb: Callable[[House, StageEvent, Owner], None]
) -> Handover:
    """A round of requests in which the event gets another owner."""
    await asyncio.to_thread(here.wait_steady, [event], WORKERS)
    before = here.owner(event)
    assert before is not None, "a steady event has an owner"
    going = asyncio.create_task(
        clients.go(Mode.OPEN_LOOP, seconds=ROUND_SECONDS, rate_per_second=RATE_PER_SECOND)
    )
    await asyncio.sleep(DISTURB_AFTER_SECONDS)
    since = time.monotonic_ns()
    await asyncio.to_thread(disturb, here, event, before)
    changed = lambda: here.owner(event) not in (None, before)  # noqa: E731 - said once, here
    await asyncio.to_thread(wait, changed, "another worker owns the event")
    until = time.monotonic_ns() + int(AFTERWARDS_SECONDS * NS)
    done = await going
    if done.unanswered:
        raise OnsaleError(f"{done.unanswered} of {done.sent} requests were not answered: {done.errors}")
    if until > done.last_answer_ns:
        raise OnsaleError(f"The event changed hands when the {ROUND_SECONDS:g} s of requests were over.")
    quiet = max((long for end, long in done.answer_gaps if end < since), default=0)
    return Handover(done.answer_gap_ns_within(since, until), quiet, done.seen)


def _judge(
    report: Report, here: House, event: StageEvent, rounds: list[Handover], what: str, say: Say
) -> bool:
    seen = [client for each in rounds for client in each.seen]
    return judge_event(report, here.target.database_url, event, seen, what, say)


def _quiet_ms(rounds: list[Handover]) -> list[float]:
    return [each.quiet_ns / 1e6 for each in rounds]


def longest(name: str, rounds: list[Handover], unit: str, reach: float, lawful: bool) -> Row:
    """Reached is what the longest of all rounds reaches, not only their median."""
    gaps = [each.gap_ns / (1e6 if unit == "ms" else 1e9) for each in rounds]
    note = f"the longest: {max(gaps):,.3g} {unit}; undisturbed: {max(_quiet_ms(rounds)):,.3g} ms"
    row = at_most(name, gaps, unit, reach, lawful=lawful, note=note)
    return msgspec.structs.replace(row, reached=row.reached and max(gaps) <= reach)
