"""`cold_events`: two hundred events that share one worker, and another that stands by for all of them."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Any

import aiohttp
import psutil

from bench.effort import Effort
from bench.fleet.house import House, house, wait
from bench.generator import mint
from bench.judging import note
from bench.orders import percentile
from bench.report import Report, Say, at_least, at_most, for_the_record
from bench.target import StageEvent, examine, make_event, wait_known

EVENTS = 200
SEATS = 20
REQUESTS_EACH = 10
REQUESTS_PER_SECOND = 100.0
IDLE_SECONDS = 10.0
CONNECTIONS_REACH = 40
ANSWER_SECONDS_MAX = 30
HOSTS = 2

CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'onsale%'"


def measure_cold(report: Report, say: Say, effort: Effort) -> None:
    """What they cost while nobody asks, then requests to all of them in random order on a schedule."""
    count = effort.size(EVENTS, EVENTS // 4)
    with house({"left": 1, "right": 1}) as here:
        say(f"cold events: making {count}")
        events = [make_event(here.target.database_url, SEATS) for _ in range(count)]
        wait(lambda: len(here.owned(events)) == 1 and here.owned(events)[0][1] == count, "one owns them all")
        here.wait_steady(events, HOSTS)
        wait_known(here.target, events[-1])
        cores, connections = _at_rest(here, say)
        done = asyncio.run(_ask(here, events, say))
        (process, owned), *others = here.owned(events)
        assert not others, "they share one worker all the time"
        workers = {each.pid for each in here.stack.workers()}
        standing_by = max((_resident_mib(pid) for pid in workers - {process}), default=0.0)
        memory = _resident_mib(process)
        report.details["cold_events"] = {"owned_by_one": owned, "standing_by_mib": standing_by}
        findings, decisions = [], 0
        for event in events:
            found, truth = examine(here.target.database_url, event, [])
            findings += found
            decisions += sum(row.kind == "request" for row in truth.ledger)
        lawful = note(report, f"{count} cold events", decisions, findings, "checker and replay")
    latencies = sorted(nanoseconds for _, nanoseconds in done)
    answered = len({event for event, _ in done})
    report.rows += [
        at_least("cold_events", [float(answered)], "events", count, lawful=lawful, note="on one worker"),
        for_the_record("cold_events_p99", [percentile(latencies, 0.99) / 1e6], "ms"),
        at_most("cold_events_connections", [float(connections)], "connections", CONNECTIONS_REACH),
        for_the_record("cold_events_memory", [memory], "MiB", note=f"who stands by: {standing_by:,g} MiB"),
        for_the_record("cold_events_cpu", [cores], "cores", note="owner, standby, both engines"),
    ]


def _at_rest(here: House, say: Say) -> tuple[float, int]:
    """(cores of hosts and engines, connections to Postgres)"""
    say("cold events: what they cost while nobody asks")
    names = [name for name in here.stack.processes if name.startswith("host")] + ["postgres", "valkey"]
    trees = [psutil.Process(here.stack.pid(name)) for name in names]
    before, began = sum(map(_cpu_seconds, trees)), time.monotonic()
    time.sleep(IDLE_SECONDS)
    cores = (sum(map(_cpu_seconds, trees)) - before) / (time.monotonic() - began)
    row = here.conn.execute(CONNECTIONS).fetchone()
    assert row is not None, "a count always gives a row"
    return cores, row[0]


def _cpu_seconds(tree: psutil.Process) -> float:
    """Of a process and all it started that still run."""
    times = [process.cpu_times() for process in (tree, *tree.children(recursive=True))]
    return float(sum(each.user + each.system for each in times))


def _resident_mib(process: int) -> float:
    return float(round(psutil.Process(process).memory_info().rss / 2**20, 1))


async def _ask(here: House, events: list[StageEvent], say: Say) -> list[tuple[int, int]]:
    """(event, nanoseconds from when a request was due to its decision), of all that were decided."""
    wanted = [event for event in events for _ in range(REQUESTS_EACH)]
    random.Random(1).shuffle(wanted)
    buyers = mint(here.target.token_secret, len(wanted), "cold")
    say(f"cold events: {len(wanted):,} requests")
    limits = aiohttp.ClientTimeout(total=ANSWER_SECONDS_MAX)
    async with aiohttp.ClientSession(here.target.base_url, timeout=limits) as session:
        begun = time.monotonic()
        asking = [
            _one(session, event, token, begun + number / REQUESTS_PER_SECOND)
            for number, (event, (_, token)) in enumerate(zip(wanted, buyers, strict=True))
        ]
        return [done for done in await asyncio.gather(*asking) if done is not None]


async def _one(
    session: aiohttp.ClientSession, event: StageEvent, token: str, due: float
) -> tuple[int, int] | None:
    await asyncio.sleep(max(0.0, due - time.monotonic()))
    headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": "r1", "Prefer": "wait=20"}
    want: dict[str, Any] = {"best": {"quantity": 2}}
    path = f"/v1/events/{event.slug}/requests"
    async with session.post(path, json=want, headers=headers) as answer:
        told = await answer.json()
    return (event.id, int((time.monotonic() - due) * 1e9)) if told.get("outcome") else None
