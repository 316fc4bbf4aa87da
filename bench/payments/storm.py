"""The storm: thousands of holds are paid for while everything breaks, and then all money is accounted for.

Two waves of buyers on events of their own, half of which give late money back, half of which ask for the
seats again. Holds are made and paid for over the API and the simulated provider's page; 20 % of its notices
come twice, 10 % out of order, 10 % of the buyers pay when their hold has run out; gateways, allocators,
chores and the provider are killed at random. In the second wave Redis is away from when the holds are made
until all have paid. Then everything is healed, comes to rest, and is judged from the tables, the provider's
book, a webhook sink and what buyers were told: see `bench.payments.storming.judge`.

    python -m bench.payments.storm [--holds 5000] [--seed 1] [--json out.json]

The exit code is 1 when anything is not zero.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import psycopg
from msgspec import Struct
from rich.console import Console

from bench.evidence import Finding
from bench.generator import mint
from bench.payments.storming import rows as tables
from bench.payments.storming.buyers import Crowd
from bench.payments.storming.evidence import Book, Intent, PaymentRow, Rows, Told
from bench.payments.storming.faults import Storm
from bench.payments.storming.judge import judge
from bench.payments.storming.plan import Fate, fates
from bench.payments.storming.results import Result, summed_up
from bench.payments.storming.show import storm_panel
from bench.payments.storming.stage import POLICIES, PaidStage, make_events, paid_stage
from bench.target import StageEvent, close_event
from onsale.commands.verify import check

HOLDS: Final = 5_000
TTL_SECONDS: Final = 15
HOLDS_PER_SECOND: Final = 60
"""By which the second wave's holds are expected to be made, at least; they run so long."""
PATIENCE_SECONDS: Final = 240.0
"""Beyond the time its holds run, for a wave to be paid for."""
SPARE_SEATS: Final = 1.02
ASKED_AT_ONCE: Final = 8
Say = Callable[[str], None]
Conn = psycopg.Connection[Any]


class Wave(Struct):
    """What one wave leaves for the judge."""

    on_sale: list[StageEvent]
    told: list[Told]
    held: int
    killed: Counter[str]
    clients: Counter[str]
    findings: list[Finding]
    away: tuple[float, float] | None
    """From when until when Redis was away (Unix seconds)."""


def storm(
    holds: int = HOLDS, seed: int = 1, *, ttl_seconds: int = TTL_SECONDS, tell: Say = lambda _: None
) -> Result:
    """A whole storm of two waves of `holds` buyers each, on an onsale of its own."""
    began = time.monotonic()
    with paid_stage() as stage:
        waves = []
        for number, redis_away in enumerate((False, True), start=1):
            ttl = ttl_seconds + (holds // HOLDS_PER_SECOND if redis_away else 0)
            who = fates(seed + number, holds, len(POLICIES))
            on_sale = make_events(stage, number, _seats(who), ttl)
            tell(f"wave {number}: {holds:,} buyers, holds run {ttl} s" + (", without Redis" * redis_away))
            blowing = _blow(stage, on_sale, who, seed + number, ttl, redis_away=redis_away, tell=tell)
            waves.append(asyncio.run(blowing))
        tell("judging")
        result = _judged(stage, waves, Result(seed, 2 * holds, waves=len(waves)))
    result.seconds = round(time.monotonic() - began, 1)
    return result


async def _blow(
    stage: PaidStage,
    on_sale: list[StageEvent],
    who: Sequence[Fate],
    seed: int,
    ttl_seconds: int,
    *,
    redis_away: bool,
    tell: Say,
) -> Wave:
    """One wave, from its first request until all is at rest."""
    await asyncio.to_thread(stage.set_rough, seed)
    tokens = mint(stage.stack.token_secret, len(who), f"storm-{seed}")
    away = None
    async with Crowd(stage.stack.base_urls, on_sale, who, tokens) as crowd:
        raging = Storm(stage, seed)
        if redis_away:
            await crowd.hold()
            tell(f"{crowd.can_pay:,} can pay; Redis goes away")
            await asyncio.to_thread(stage.kill, "valkey")
            began_at = time.time()
            paying = asyncio.create_task(crowd.pay())
        else:
            paying = asyncio.create_task(crowd.hold_and_pay())
        findings = await _pressed(crowd, paying, ttl_seconds, redis_away=redis_away)
        if redis_away:
            away = (began_at, time.time())
            await asyncio.to_thread(stage.start, "valkey")
        await asyncio.to_thread(raging.stop)
        tell(f"{crowd.pressed:,} have paid; everything heals")
        await asyncio.to_thread(stage.heal)
        trouble = [raging.trouble, await asyncio.to_thread(stage.rest, on_sale)]
        crowd.rest()
        await paying
        findings += [Finding("trouble", story) for story in trouble if story]
        held = sum(buyer.held is not None for buyer in crowd.buyers)
        return Wave(on_sale, crowd.told, held, raging.killed, crowd.counts, findings, away)


async def _pressed(
    crowd: Crowd, paying: asyncio.Task[None], ttl_seconds: int, *, redis_away: bool
) -> list[Finding]:
    """Until everybody who can pay has paid, or patience ends; what that says."""
    give_up_at = time.monotonic() + ttl_seconds + PATIENCE_SECONDS
    while not paying.done():
        settled = redis_away or all(buyer.settled for buyer in crowd.buyers)
        if settled and crowd.pressed >= crowd.can_pay:
            break
        if time.monotonic() > give_up_at:
            crowd.given_up = True
            return [Finding("trouble", f"{crowd.can_pay - crowd.pressed} buyers could not pay in time")]
        await asyncio.sleep(0.2)
    return []


def _seats(who: Sequence[Fate]) -> int:
    """Of each event: enough for all its buyers, and little more."""
    wanted = Counter[int]()
    for fate in who:
        wanted[fate.event] += fate.quantity
    return int(max(wanted.values()) * SPARE_SEATS) + 10


def _judged(stage: PaidStage, waves: Sequence[Wave], result: Result) -> Result:
    on_sale = [event for wave in waves for event in wave.on_sale]
    for wave in waves:
        result.held += wave.held
        result.findings += wave.findings
    result.findings += stage.alarms()
    result.killed = dict(sum((wave.killed for wave in waves), Counter[str]()))
    result.clients = dict(sorted(sum((wave.clients for wave in waves), Counter[str]()).items()))
    if result.clients.get("two checkouts for one hold"):
        result.findings.append(Finding("provider", "A hold had two pages to pay it at."))
    for event in on_sale:
        close_event(stage.database_url, event)
    with psycopg.connect(stage.database_url, autocommit=True) as conn:
        rows = _read(stage, conn, on_sale, [told for wave in waves for told in wave.told])
        result.reasons = tables.reasons(conn, on_sale)
        result.notices = tables.notices(conn, on_sale)
        for wave in waves:
            if wave.away is not None:
                result.paid_while_redis_away += tables.paid_during(conn, wave.on_sale, *wave.away)
    return summed_up(result, rows, judge(rows))


def _read(
    stage: PaidStage,
    conn: psycopg.Connection[tuple[object, ...]],
    on_sale: list[StageEvent],
    told: list[Told],
) -> Rows:
    payments = tables.payments(conn, on_sale)
    balance = stage.balance()
    return Rows(
        payments,
        tables.holds(conn, on_sale),
        tables.refunds(conn, on_sale),
        tables.outbox(conn, on_sale),
        _intents(stage, payments),
        told,
        Book(balance["paid"], balance["paid_minor"], balance["refunded_minor"]),
        stage.sink.got(),
        stage.sink.not_genuine,
        _verified(conn, on_sale),
    )


def _intents(stage: PaidStage, payments: Sequence[PaymentRow]) -> list[Intent]:
    known = [payment.intent for payment in payments if payment.intent is not None]
    with ThreadPoolExecutor(ASKED_AT_ONCE) as asking:
        return list(asking.map(stage.intent, known))


def _verified(conn: Conn, on_sale: Sequence[StageEvent]) -> list[str]:
    """What `./run verify` finds in each event."""
    found = []
    for event in on_sale:
        summary = check(conn, event.slug, Console(quiet=True))
        found += [f"{event.slug}: {one}" for one in (*summary["findings"], *summary["mismatches"])]
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit code."""
    parser = argparse.ArgumentParser(prog="storm", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--holds", type=int, default=HOLDS, help="buyers of each of the two waves")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, default=None, help="write everything here as well")
    said = parser.parse_args(arguments)
    notes = Console(stderr=True)
    result = storm(said.holds, said.seed, tell=notes.print)
    Console().print(storm_panel(result))
    if said.json is not None:
        said.json.write_text(json.dumps(result.as_json(), indent=2) + "\n")
    return 0 if result.passed else 1


if __name__ == "__main__":
    sys.exit(main())
