"""The storm: thousands of holds are paid for while everything breaks, and then all money is accounted for.

Two waves of buyers (`bench.payments.storming.wave`), each on three events: one gives late money back, one
asks for the seats again, one is canceled in the middle. Holds are made and paid for over the API and the
simulated provider's page; a fifth of its notices come twice, a tenth out of order, a tenth of the buyers pay
when their hold has run out, the organiser takes orders back; gateways, allocators, chores and the provider
are killed at random. In the second wave Redis is away from when the holds are made until all have paid. Then
everything is healed, comes to rest, and is judged from the tables, the provider's book, the settlement, a
webhook sink and what buyers were told: see `bench.payments.storming.judge`. `./run storm` is the command.
"""

from __future__ import annotations

import asyncio
import math
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import psycopg
from rich.console import Console

from bench.evidence import Finding
from bench.payments.storming import journal
from bench.payments.storming import rows as tables
from bench.payments.storming.evidence import Book, Rows
from bench.payments.storming.judge import judge
from bench.payments.storming.plan import fates
from bench.payments.storming.results import Result, Took, summed_up
from bench.payments.storming.stage import PaidStage, make_events, paid_stage
from bench.payments.storming.wave import Say, Wave, blow
from bench.target import StageEvent, close_event
from onsale.commands.verify import check
from onsale.simulated.book import Entry

HOLDS: Final = 5_000
TTL_SECONDS: Final = 20
HOLDS_PER_SECOND: Final = 250
"""The first wave's holds run that much longer: nobody waits for that, as who pays late holds first. Those of
the second run longer again by what holding takes."""
HOLDING_ALONE: Final = 0.75
"""So much of the time it takes to hold and pay at once."""
Conn = psycopg.Connection[Any]


def storm(
    holds: int = HOLDS,
    seed: int = 1,
    *,
    ttl_seconds: int = TTL_SECONDS,
    tell: Say = lambda _: None,
    keep_in: Path | None = None,
) -> Result:
    """A whole storm of two waves of `holds` buyers each, and some for the canceled events.

    Where there are findings, logs, the provider's journal and all that was judged stay in `keep_in` (None: a
    new folder).
    """
    began = time.monotonic()
    tell("starting a throwaway onsale")
    with paid_stage() as stage:
        waves: list[Wave] = []
        ttl = ttl_seconds + holds // HOLDS_PER_SECOND
        for number, redis_away in enumerate((False, True), start=1):
            who = fates(seed + number, holds)
            wave = Wave(number, make_events(stage, number, who, ttl), len(who), ttl)
            waves.append(wave)
            asyncio.run(blow(stage, wave, who, seed + number, redis_away=redis_away, tell=tell))
            ttl += math.ceil(HOLDING_ALONE * wave.seconds_to_hold)
        tell("judging")
        result, rows = _judged(stage, waves, Result(seed, holds))
        if not result.passed:
            result.kept = _kept(stage, rows, keep_in)
    result.seconds = round(time.monotonic() - began, 1)
    return result


def _judged(stage: PaidStage, waves: Sequence[Wave], result: Result) -> tuple[Result, Rows]:
    began = time.monotonic()
    on_sale = [event for wave in waves for event in wave.on_sale]
    for wave in waves:
        result.add(wave.buyers, wave.held, wave.findings, Took.of(wave.ttl_seconds, wave.seconds, wave.waits))
    result.killed = dict(sum((wave.killed for wave in waves), Counter[str]()))
    result.clients = dict(sorted(sum((wave.clients for wave in waves), Counter[str]()).items()))
    if result.clients.get("two checkouts for one hold"):
        result.findings.append(Finding("provider", "A hold had two pages to pay it at."))
    canceled = {event for wave in waves for event in wave.canceled}
    for event in on_sale:
        if event.id not in canceled:  # that one is closed
            close_event(stage.database_url, event)
    entries = stage.journal()
    result.notices = journal.notices_of(entries)
    with psycopg.connect(stage.database_url, autocommit=True) as conn:
        rows = _read(stage, conn, on_sale, waves, entries)
        result.reasons = tables.reasons(conn, on_sale)
        result.paid_late = tables.paid_late(conn, on_sale)
        for wave in waves:
            if wave.away is not None:
                result.paid_while_redis_away += tables.paid_during(conn, wave.on_sale, *wave.away)
    result = summed_up(result, rows, judge(rows))
    result.seconds_judging = round(time.monotonic() - began, 1)
    return result, rows


def _read(
    stage: PaidStage, conn: Conn, on_sale: list[StageEvent], waves: Sequence[Wave], entries: list[Entry]
) -> Rows:
    balance = stage.balance()
    return Rows(
        tables.payments(conn, on_sale),
        tables.holds(conn, on_sale),
        tables.areas(conn, on_sale),
        tables.refunds(conn, on_sale),
        tables.outbox(conn, on_sale),
        journal.intents_of(entries),
        [told for wave in waves for told in wave.told],
        Book(balance["paid"], balance["paid_minor"], balance["refunded_minor"]),
        stage.sink.got(),
        tables.settled(conn, on_sale),
        [one for wave in waves for one in wave.returned],
        [event for wave in waves for event in wave.canceled],
        stage.sink.not_genuine,
        _verified(conn, on_sale),
    )


def _verified(conn: Conn, on_sale: Sequence[StageEvent]) -> list[str]:
    """What `./run verify` finds in each event."""
    found = []
    for event in on_sale:
        summary = check(conn, event.slug, Console(quiet=True))
        found += [f"{event.slug}: {one}" for one in (*summary["findings"], *summary["mismatches"])]
    return found


def _kept(stage: PaidStage, rows: Rows, keep_in: Path | None) -> str:
    """Copies what is needed to find a cause to a new folder, where it stays."""
    if keep_in is not None:
        keep_in.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="onsale-storm-", dir=keep_in))
    shutil.copytree(stage.logs, folder / "logs")
    shutil.copy(stage.stack.engines.data_dir.path / journal.JOURNAL, folder)
    (folder / "rows.json").write_bytes(msgspec.json.encode(rows))
    return str(folder)
