"""Rows about who waits: sockets of one gateway and of two, and how soon all hear that the line moved."""

from __future__ import annotations

import resource
import time
from contextlib import ExitStack
from typing import Final

import psycopg

from bench.effort import Effort
from bench.generator import mint
from bench.processes import resident_bytes
from bench.report import Report, Say, at_least, at_most
from bench.target import StageEvent, Target, wait_known
from bench.waiting_room.crowds import begin_sale, make_room
from bench.waiting_room.listener import Listeners, listeners
from onsale.processes import Stack, throwaway_stack
from store.room.news import encode, room_channel
from store.room.words import RoomTerms
from store.stream.redis_stream import connect

SOCKETS: Final = 18_000
WARM_SOCKETS: Final = 100
CHANGES: Final = 7
BYTES_REACH: Final = 30
HEARD_SECONDS_REACH: Final = 1.5
SETTLE_SECONDS: Final = 2.0

SERVE: Final = """
-- As an admission does that calls one more.
UPDATE room SET next_position = next_position + 1, serving = serving + 1, version = version + 1,
       rate = %(rate)s
 WHERE event_id = %(event)s RETURNING version
"""
RATE: Final = 1_000_000.0
"""Called a minute: nobody's turn is far away, so nobody is told less often."""


def measure_sockets(report: Report, say: Say, effort: Effort) -> None:
    """`sockets`, `memory_per_waiting_socket`, `serving_number_heard`, and the same on two gateways."""
    count = effort.size(SOCKETS, SOCKETS // 10)
    for gateways in (1, 2):
        env = {"ONSALE_SOCKETS_MAX": str(SOCKETS + WARM_SOCKETS)}
        with throwaway_stack(gateways=gateways, allocators=1, env=env) as stack:
            _wait_in_line(report, say, effort, stack, gateways, count)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    report.details["sockets"] = {"open_files_soft": soft, "open_files_hard": hard, "each_gateway": count}


def _wait_in_line(report: Report, say: Say, effort: Effort, stack: Stack, gateways: int, count: int) -> None:
    target = Target(stack.base_url, stack.urls.database_url, stack.token_secret)
    event = make_room(target.database_url, RoomTerms(pace=1))
    begin_sale(target.database_url, event)
    wait_known(target, event)
    tokens = [token for _, token in mint(target.token_secret, gateways * count + WARM_SOCKETS, event.slug)]
    for url in stack.base_urls:
        with listeners(url, event.slug, tokens[-WARM_SOCKETS:]) as warm:
            warm.answer()
    time.sleep(SETTLE_SECONDS)
    before = resident_bytes(stack.pid("gateway-1"))
    say(f"{gateways * count:,} sockets come in, to {gateways} gateways")
    with ExitStack() as leaving:
        crowds = [
            leaving.enter_context(listeners(url, event.slug, tokens[n * count : (n + 1) * count]))
            for n, url in enumerate(stack.base_urls)
        ]
        for crowd in crowds:
            crowd.answer()
        time.sleep(SETTLE_SECONDS)
        memory = (resident_bytes(stack.pid("gateway-1")) - before) / count
        seconds = []
        for number in range(effort.rounds(CHANGES) + 1):
            say(f"the serving number changes: {number} of {effort.rounds(CHANGES)}")
            took = _change(stack, event, crowds)
            if number:
                seconds.append(took)
            time.sleep(SETTLE_SECONDS)
    name = "" if gateways == 1 else "_two_gateways"
    reach = gateways * SOCKETS if count == SOCKETS else gateways * count
    report.rows += [
        at_least(f"sockets{name}", [gateways * count], "sockets", reach),
        at_most(f"memory_per_waiting_socket{name}", [memory / 1024], "KB", BYTES_REACH),
        at_most(f"serving_number_heard{name}", seconds, "s", HEARD_SECONDS_REACH, note="by the last of all"),
    ]


def _change(stack: Stack, event: StageEvent, crowds: list[Listeners]) -> float:
    """Seconds from the commit to the last socket that hears of it."""
    with psycopg.connect(stack.urls.database_url, autocommit=True) as conn:
        row = conn.execute(SERVE, {"event": event.id, "rate": RATE}).fetchone()
    assert row is not None, "the event has a waiting room"
    begun_ns = time.monotonic_ns()
    for crowd in crowds:
        crowd.ask(str(row[0]).encode())
    with connect(stack.urls.redis_url) as client:
        client.publish(room_channel(event.slug), encode(row[0]))
    return (max(crowd.answer().at_ns for crowd in crowds) - begun_ns) / 1e9
