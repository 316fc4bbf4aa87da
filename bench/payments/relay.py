"""How many webhooks a second a relay delivers to a subscriber on this machine.

The relay and the sink are processes of their own. The outbox is filled before the relay starts; the rate is
counted between the first look that finds a tenth delivered and the one that finds all: what starting costs is
not in it. Every message arrives, each at least once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import psycopg
from msgspec import Struct

from bench.processes import tree_cpu_seconds
from store.audit import said
from store.outbox import Told
from store.subscribers import edit
from store.subscribers.addresses import ALLOW_PRIVATE
from store.venues.make import make
from store.venues.rows import save_venue

LOOK_SECONDS: Final = 0.02
SECONDS_MAX: Final = 60.0
ENDING_SECONDS_MAX: Final = 5.0

EVENTS: Final = """
INSERT INTO event (slug, name, venue_id) SELECT 'relay-' || n, 'Relay', %(venue)s
  FROM generate_series(1, %(events)s) AS n RETURNING id
"""
FILL: Final = """
INSERT INTO outbox (event_id, number, kind, body)
SELECT (%(events)s::int[])[1 + n %% %(count)s], 1 + n / %(count)s, %(kind)s, json_build_object(
         'payment', n, 'hold', (65536 * n)::text, 'order', (65536 * n)::text, 'buyer', 'buyer-' || n,
         'kind', 'buyer', 'amount_minor', 9000, 'currency', 'EUR', 'fee_minor', 300, 'tax_minor', 1437,
         'seats', json_build_array(n %% 900, 1 + n %% 900), 'areas', json_build_array(),
         'lines', json_build_array(json_build_array(n %% 900, NULL, 1, 0, 4350, 150, 718, 4500),
                                   json_build_array(1 + n %% 900, NULL, 1, 0, 4350, 150, 719, 4500)))
  FROM generate_series(0, %(messages)s - 1) AS n
"""


class RelayRate(Struct, frozen=True):
    """What was measured."""

    messages: int
    events: int
    relays: int
    seconds: float
    deliveries_per_second: float
    received: int
    """With those sent twice; none where nothing broke."""
    relay_cpu_us_each: float = 0.0
    """Microseconds of CPU of all relays for each message."""


def measure_relay(
    database_url: str, *, messages: int = 20_000, events: int = 32, relays: int = 1
) -> RelayRate:
    """Delivers `messages` of `events` events; the database is migrated, and gets events and a subscriber."""
    with sink() as port, psycopg.connect(database_url, autocommit=True) as conn:
        _fill(conn, port, messages, events)
        with _relays(database_url, relays) as pids:
            begun, at_begin = _reached(port, messages // 10)
            before = sum(map(tree_cpu_seconds, pids))
            ended, _ = _reached(port, messages)
            cpu = sum(map(tree_cpu_seconds, pids)) - before
        received = _received(port)["received"]
    if at_begin >= messages:
        raise AssertionError(f"{messages} messages were there before anybody looked: deliver more")
    seconds, count = ended - begun, messages - at_begin
    cpu_us_each = round(cpu / count * 1e6, 1)
    return RelayRate(messages, events, relays, seconds, count / seconds, received, cpu_us_each)


def _fill(conn: psycopg.Connection[Any], port: int, messages: int, events: int) -> None:
    venue = save_venue(conn, "relay", make("arena", 1_000))
    numbers = [row[0] for row in conn.execute(EVENTS, {"venue": venue, "events": events}).fetchall()]
    values = {"events": numbers, "count": events, "messages": messages, "kind": Told.ORDER_PAID.value}
    conn.execute(FILL, values)
    conn.execute("ANALYZE outbox")
    url = f"http://127.0.0.1:{port}/hook"
    edit.add(conn, url, said("bench", "measured"), from_start=True, allow_private=True)


@contextmanager
def sink() -> Iterator[int]:
    """A subscriber's port: `http://127.0.0.1:{port}/hook`."""
    with _process("bench.payments.sink", {}, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None, "it was asked for"
        yield int(process.stdout.readline())


@contextmanager
def _relays(database_url: str, count: int) -> Iterator[list[int]]:
    """Their process ids."""
    environ = {"DATABASE_URL": database_url, "REDIS_URL": "redis://none", ALLOW_PRIVATE: "1"}
    with ExitStack() as running:
        relays = [running.enter_context(_process("notifier", environ)) for _ in range(count)]
        yield [one.pid for one in relays]


@contextmanager
def _process(module: str, environ: dict[str, str], **how: Any) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", module], stdin=subprocess.PIPE, env=os.environ | environ, **how
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate(timeout=ENDING_SECONDS_MAX)


def _reached(port: int, count: int) -> tuple[float, int]:
    """When at least `count` different messages had arrived, and how many then."""
    until = time.monotonic() + SECONDS_MAX
    while time.monotonic() < until:
        there = _received(port)["different"]
        if there >= count:
            return time.monotonic(), there
        time.sleep(LOOK_SECONDS)
    raise AssertionError(f"the sink has {there} of {count} messages after {SECONDS_MAX:g} s")


def _received(port: int) -> dict[str, int]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
        told: dict[str, int] = json.load(answer)
    return told
