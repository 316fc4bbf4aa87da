"""Rows about everybody at once: 10,000 buyers for one seat, and 100,000 requests for one and for 5,000."""

from __future__ import annotations

import asyncio
import random

from bench.effort import Effort
from bench.generator import generator, mint, named_seat
from bench.judging import judge_event, note
from bench.labels import label
from bench.orders import Mode, Round
from bench.report import Curve, Report, Row, Say, at_most
from bench.rows_sockets import latencies, ms
from bench.stampede import HOLD_TTL_SECONDS, Options, Ran, run
from bench.target import StageEvent, Target, close_event, make_event, settle, throwaway_target, wait_known

STAMPEDES = 3
SOCKETS = 5_000
REQUESTS_EACH = 20
SEATS = 5_000
RUSHES = 3


def measure_stampede(report: Report, say: Say, effort: Effort) -> None:
    """`ten_thousand_on_one_gate_off` and `ten_thousand_on_one_gate_on`: 10,000 open sockets, one seat.

    First sending to last answer, the median of fresh stampedes in turn, each judged; a single finding or
    missing answer fails the row.
    """
    reaches = {"ten_thousand_on_one_gate_off": 0.8, "ten_thousand_on_one_gate_on": 0.5}
    ran: dict[str, list[Ran]] = {name: [] for name in reaches}
    rounds = effort.rounds(STAMPEDES)
    with throwaway_target() as (target, _):
        for number in range(1, rounds + 1):
            for name, done in ran.items():
                gate = name.endswith("_on")
                say(f"10,000 buyers, one seat, gate {'on' if gate else 'off'}: {number} of {rounds}")
                done.append(asyncio.run(run(Options(buyers=10_000, seats=1, gate=gate), target)))
    for name, done in ran.items():
        results = [each.result for each in done]
        seconds = [result.seconds_first_to_last for result in results]
        lawful = all(result.passed for result in results)
        report.rows.append(at_most(name, seconds, "s", reaches[name], lawful=lawful))
        report.curves.append(_curve(name, [each.round for each in done]))
        for number, result in enumerate(results, 1):
            decisions = result.held + result.rejected
            how = "checker, replay and what every client saw"
            note(report, f"{name}, {number}", decisions, result.findings, how)
        report.details[name] = {
            "p99_ms": [result.latency_ms.p99 for result in results],
            "decided": [result.held + result.rejected for result in results],
            "not_queued": [result.not_queued for result in results],
            "unanswered": sum(result.unanswered for result in results),
        }


def measure_rush(report: Report, say: Say, effort: Effort) -> None:
    """`hundred_thousand_on_one` and `hundred_thousand_on_five_thousand`: 100,000 requests, gate off.

    5,000 sockets ask at once and each asks again when it is answered, 20 times; every request is a key of its
    own and is decided. On 5,000 seats each seat is named 20 times, mixed, so holds are given all the time.
    First sending to last answer; every round is judged by checker and replay, the last one with what
    every client saw.
    """
    seats = {"hundred_thousand_on_one": (1, 6.0), "hundred_thousand_on_five_thousand": (SEATS, 8.0)}
    done: dict[str, list[Round]] = {name: [] for name in seats}
    lawful = dict.fromkeys(seats, True)
    rounds = effort.rounds(RUSHES)
    with throwaway_target() as (target, _):
        for number in range(1, rounds + 1):
            for name, (count, _reach) in seats.items():
                say(f"100,000 requests on {count:,}: {number} of {rounds}")
                event, one = asyncio.run(_rush(target, count, keep=number == rounds))
                done[name].append(one)
                what = f"{name}, {number}"
                lawful[name] &= judge_event(report, target.database_url, event, one.seen, what, say)
                lawful[name] &= not one.unanswered and one.outcomes.get("held") == count
                close_event(target.database_url, event)
    for name, (_count, reach) in seats.items():
        report.rows.append(_row(name, done[name], reach, lawful[name]))
        report.details[name] = {
            "p99_ms": [round(ms(each, 0.99), 1) for each in done[name]],
            "outcomes": done[name][-1].outcomes,
            "unanswered": sum(each.unanswered for each in done[name]),
        }
        report.curves.append(_curve(name, done[name]))


def _row(name: str, done: list[Round], reach: float, lawful: bool) -> Row:
    sockets = f"{SOCKETS:,} sockets, {REQUESTS_EACH} requests each, one after the other"
    return at_most(name, [each.seconds for each in done], "s", reach, lawful=lawful, note=sockets)


def _curve(name: str, done: list[Round]) -> Curve:
    return Curve.of(label(name), latencies(done), "at once")


async def _rush(target: Target, seats: int, *, keep: bool) -> tuple[StageEvent, Round]:
    event = await asyncio.to_thread(
        make_event,
        target.database_url,
        seats,
        hold_ttl_seconds=HOLD_TTL_SECONDS,
        seats_per_buyer_max=REQUESTS_EACH,
    )
    await asyncio.to_thread(wait_known, target, event)
    wants = [named_seat(seat.guid) for seat in event.plan.seats]
    if seats > 1:  # one want for each request
        wants *= SOCKETS * REQUESTS_EACH // seats
        random.Random(seats).shuffle(wants)
    buyers = await asyncio.to_thread(mint, target.token_secret, SOCKETS)
    async with generator(
        target.base_url,
        event.slug,
        buyers,
        wants,
        Mode.STAMPEDE,
        requests_each=REQUESTS_EACH,
        keep=keep,
    ) as clients:
        done = await clients.go()
    accepted = [arrival for one in done.seen for ask in one.asks for _, arrival in ask.accepted]
    await asyncio.to_thread(settle, target, event, accepted)
    return event, done
