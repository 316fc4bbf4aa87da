"""The row about the sweep: 500 holds that ran out where nobody attends to the event, ended and freed in one
transaction, in an event that has many more. As the chore does it, looking for events included.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

import psycopg

from bench.effort import Effort
from bench.evidence import Finding
from bench.judging import note
from bench.report import Report, Say, at_most
from bench.target import StageEvent, make_event
from onsale.processes import throwaway_stack
from store import invariant, sweeping
from store.database import OPTIONS

ROUNDS: Final = 7
SWEPT: Final = 500
RUNNING: Final = 10_000
"""Holds of the event that have not run out."""
SEATS_EACH: Final = 2
REACH_MS: Final = 300

FILL: Final = """
-- The first of them ran out.
WITH held AS (
  INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at)
  SELECT %(event)s, 65536 + n, 'buyer-' || n, 'r1', %(each)s,
         clock_timestamp() + CASE WHEN n < %(swept)s THEN interval '-10 minutes' ELSE interval '1 hour' END
    FROM generate_series(0, %(holds)s - 1) AS n),
seats AS (
  INSERT INTO hold_seat (event_id, seat_no, hold_id)
  SELECT %(event)s, n, 65536 + n / %(each)s FROM generate_series(0, %(holds)s * %(each)s - 1) AS n)
UPDATE seat SET state = 'held', hold_id = 65536 + seat_no / %(each)s
 WHERE event_id = %(event)s AND seat_no < %(holds)s * %(each)s
"""
LEAVE: Final = """
-- Nobody has attended to the event for a minute.
WITH silent AS (
  UPDATE lease SET renewed_at = clock_timestamp() - interval '1 minute' WHERE event_id = %(event)s)
UPDATE event_cursor SET batch_time = clock_timestamp() - interval '1 minute' WHERE event_id = %(event)s
"""


def measure_sweep(report: Report, say: Say, effort: Effort) -> None:
    """`sweep_of_500`: the median of several, each of an event of its own."""
    with throwaway_stack(gateways=0, allocators=0) as stack:
        url = stack.urls.database_url
        took_ms: list[float] = []
        findings: list[Finding] = []
        rounds = effort.rounds(ROUNDS)
        for number in range(rounds + 1):
            say(f"{SWEPT} of {SWEPT + RUNNING:,} holds ran out: round {number} of {rounds}")
            event = make_event(url, (SWEPT + RUNNING) * SEATS_EACH)
            with psycopg.connect(url, autocommit=True) as conn:
                _fill(conn, event)
                seconds = asyncio.run(_sweep(url, event))
                findings += _wrong(conn, event)
            if number:
                took_ms.append(seconds * 1e3)
    lawful = note(report, "sweep", SWEPT * (rounds + 1), findings, "every seat adds up")
    report.rows.append(at_most("sweep_of_500", took_ms, "ms", REACH_MS, lawful=lawful))


def _fill(conn: psycopg.Connection[Any], event: StageEvent) -> None:
    values = {"event": event.id, "holds": SWEPT + RUNNING, "swept": SWEPT, "each": SEATS_EACH}
    conn.execute(FILL, values)
    conn.execute(LEAVE, values)


async def _sweep(url: str, event: StageEvent) -> float:
    """Seconds."""
    async with await psycopg.AsyncConnection.connect(url, autocommit=True, options=OPTIONS) as connection:
        began = time.perf_counter()
        found = await sweeping.find(connection)
        swept = await sweeping.sweep(connection, event.id)
        seconds = time.perf_counter() - began
    assert event.id in found, "the sweep finds the event"
    assert swept == SWEPT, f"{swept} holds were swept"
    return seconds


def _wrong(conn: psycopg.Connection[Any], event: StageEvent) -> list[Finding]:
    capacity = invariant.read_capacity(conn, event.id)
    return [Finding("sweep", str(one)) for one in invariant.mismatches(conn, event.id, capacity)]
