"""Rows about buying: notices through the webhook endpoint, beside an allocator at half its speed.

One throwaway onsale. The event's allocator first decides a backlog as fast as it can; then its stream is fed
with half of that, steadily, while notices arrive. Notices are real: signed one by one, each over a connection
that stays open, answered once Postgres has the order on disk.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any, Final
from urllib.parse import urlsplit

import psycopg
from msgspec import Raw, Struct
from msgspec.structs import replace

from bench.backlog import Alone, Decided, mixed
from bench.effort import Effort
from bench.orders import percentile
from bench.payments.begun import TERMS, Begun, begin_all
from bench.payments.judging import judge_bought
from bench.payments.pacing import paced
from bench.payments.teller import Notices, TellerOrders, Told
from bench.payments.telling import TellerProcess, teller_process
from bench.processes import cpu_by_name, spent, tree_cpu_seconds
from bench.report import Curve, Report, Say, at_least, for_the_record
from bench.target import StageEvent, Target, wait_known
from onsale.processes import Stack, throwaway_stack
from store import event_prices, events
from store.audit import said
from store.plan import Plan
from store.stream.redis_stream import RedisArrivals, connect
from store.venues.make import make
from store.venues.rows import save_venue
from store.wire import Entry, encode_entry, encode_want
from store.words import EventState, Want

ROUNDS: Final = 3
CONFIRMATIONS: Final = 4_000
"""Of each round, and half as many to warm up."""
SEATS: Final = 100_000
SEATS_EACH: Final = 2
CONNECTIONS: Final = 200
BACKLOG: Final = 100_000
"""From which the allocator's full speed is measured."""
HELD_ONE_IN: Final = 10
SHARE: Final = 0.5
SPARE: Final = 1.02
"""The stream is fed a little more, for a clock that ticks in steps."""
FED_SECONDS: Final = 5.0
"""A round, on the average, for which there are entries. A longer one runs dry, and says so."""
SETTLING_SECONDS: Final = 0.5
REACH_PER_SECOND: Final = 1_000
REACH_SHARE: Final = 0.5
BUYERS: Final = "payer-"
SUCCEEDED: Final = "200 succeeded"
PART: Final = ("gateway-1", "allocator-1", "postgres", "valkey")
FOR_GATEWAYS: Final = "postgres for the gateway"

DECIDED: Final = """
-- Rows a second of the batches of a time, but the first: it began before. By Postgres' clock.
SELECT coalesce(sum(rows) FILTER (WHERE batch_time > began)
                / nullif(extract(epoch FROM max(batch_time) - min(began)), 0), 0)
  FROM (SELECT octet_length(row_digests) / 16 AS rows, batch_time, min(batch_time) OVER () AS began
          FROM ledger_batch
         WHERE event_id = %(event)s
           AND batch_time BETWEEN to_timestamp(%(began)s) AND to_timestamp(%(ended)s)) AS batch
"""
BACKENDS: Final = "SELECT pid FROM pg_stat_activity WHERE application_name = 'onsale gateway'"


class Bought(Struct):
    """One round."""

    told: Told
    decided_per_second: float
    """By the allocator meanwhile."""
    cpu: dict[str, float]
    """Seconds, by process."""
    fed: int
    ran_dry: bool
    """There was nothing left to decide before the round's end."""

    @property
    def bought(self) -> int:
        return self.told.answers.get(SUCCEEDED, 0)

    @property
    def per_second(self) -> float:
        return self.bought / self.told.seconds


class Till:
    """One event that is paid for, its allocator, and who tells of payments."""

    def __init__(self, stack: Stack, event: StageEvent, teller: TellerProcess) -> None:
        self.stack = stack
        self.event = event
        self.conn: psycopg.Connection[Any] = psycopg.connect(stack.urls.database_url, autocommit=True)
        self._teller = teller
        self._arrivals = RedisArrivals(connect(stack.urls.redis_url), event.slug)

    def buy(self, begun: Sequence[Begun], entries: Sequence[bytes], per_second: float) -> Bought:
        """A round: all these payments are told of, while entries are fed at that rate."""
        self._teller.sign(Notices([one.notice() for one in begun]))
        with paced(self._arrivals, entries, per_second) as pace:
            pace.wait(SETTLING_SECONDS)
            before, began = self._cpu(), time.time()
            told = self._teller.tell()
            cpu, ended = spent(before, self._cpu()), time.time()
            ran_dry = pace.ran_dry
        return Bought(told, self._decided_per_second(began, ended), cpu, pace.fed, ran_dry)

    def _cpu(self) -> dict[str, float]:
        """Seconds so far, by process; of Postgres what works for the gateway on its own, too."""
        by_name = cpu_by_name(self.stack.pid, PART)
        pids = self.conn.execute(BACKENDS).fetchall()
        return by_name | {FOR_GATEWAYS: sum(tree_cpu_seconds(pid) for (pid,) in pids)}

    def _decided_per_second(self, began: float, ended: float) -> float:
        values = {"event": self.event.id, "began": began, "ended": ended}
        row = self.conn.execute(DECIDED, values).fetchone()
        assert row is not None, "an aggregate gives a row"
        return float(row[0])


def measure_confirmations(report: Report, say: Say, effort: Effort) -> None:
    """`confirmations`, `confirmation_p99`, `allocator_full_speed`, `allocator_meanwhile` and
    `server_cpu_per_confirmation`."""
    rounds, each = effort.rounds(ROUNDS), effort.size(CONFIRMATIONS, CONFIRMATIONS // 2)
    with throwaway_stack(allocators=1, payments=True) as stack, _till(stack) as till:
        plan = till.event.plan
        for_payments = (each // 2 + rounds * each) * SEATS_EACH
        for_backlog = for_payments + BACKLOG // HELD_ONE_IN
        full = _full_speed(till, _among(plan, for_payments, for_backlog), say)
        begun = _begin(till, _among(plan, 0, for_payments), say)
        per_second = full.per_second * SHARE
        to_feed = int(per_second * SPARE * FED_SECONDS * (rounds + 1))
        rest = _among(plan, for_backlog, len(plan.seats))
        fed = mixed(rest, to_feed, min(to_feed // HELD_ONE_IN, len(rest.seats)), "f")
        bought: list[Bought] = []
        for number in range(rounds + 1):
            say(f"confirmations beside {per_second:,.0f} decisions/s: round {number} of {rounds}")
            count = each if number else each // 2
            bought.append(till.buy(begun[:count], fed, per_second * SPARE))
            begun, fed = begun[count:], fed[bought[-1].fed :]
        answered = sum(one.bought for one in bought)
        lawful = judge_bought(report, till.conn, till.event, answered, "confirmations", say)
    _sum_up(report, bought[1:], full, lawful)


@contextmanager
def _till(stack: Stack) -> Iterator[Till]:
    """An event that asks for money, open and known to the gateway, and who tells of payments."""
    target = Target(stack.base_url, stack.urls.database_url, stack.token_secret)
    event = make_paid_event(target.database_url, "confirmations", SEATS)
    wait_known(target, event)
    address = urlsplit(stack.base_url)
    assert address.hostname is not None, "a base URL has one"
    assert address.port is not None, "a base URL has one"
    orders = TellerOrders(address.hostname, address.port, stack.provider_secret, CONNECTIONS)
    with teller_process(orders) as teller:
        till = Till(stack, event, teller)
        yield till
        till.conn.close()


def make_paid_event(database_url: str, slug: str, seats: int) -> StageEvent:
    """An event whose holds are paid for, on sale."""
    plan = make("theatre", seats)
    why = said("bench", "measured")
    with psycopg.connect(database_url, autocommit=True) as conn:
        venue = save_venue(conn, slug, plan)
        how: dict[str, Any] = {"hold_ttl_seconds": 3_600, "fast_gate": False, "payment": "required"}
        number = events.create_event(conn, slug, "Paid for", venue, plan, **how)
        event_prices.set_terms(conn, slug, TERMS, why)
        events.set_state(conn, slug, EventState.OPEN)
    return StageEvent(number, slug, plan)


def _among(plan: Plan, start: int, end: int) -> Plan:
    """The same with some of its seats only."""
    return replace(plan, seats=plan.seats[start:end])


def _full_speed(till: Till, plan: Plan, say: Say) -> Decided:
    say(f"the allocator's full speed: {BACKLOG:,} waiting, one in {HELD_ONE_IN} held")
    with _alone(till) as alone:
        return alone.decide(mixed(plan, BACKLOG, BACKLOG // HELD_ONE_IN, "b"))


def _begin(till: Till, plan: Plan, say: Say) -> list[Begun]:
    """A payment was begun for every `SEATS_EACH` seats of the plan."""
    say(f"{len(plan.seats) // SEATS_EACH:,} buyers hold {SEATS_EACH} seats each and begin to pay")
    entries = []
    for start in range(0, len(plan.seats), SEATS_EACH):
        want = Want(seats=tuple(sorted(seat.guid for seat in plan.seats[start : start + SEATS_EACH])))
        entries.append(encode_entry(Entry(f"{BUYERS}{start:06d}", "r1", Raw(encode_want(want)), "bench")))
    with _alone(till) as alone:
        alone.decide(entries)
    begun = begin_all(till.conn, till.event, BUYERS)
    assert len(begun) == len(entries), f"{len(begun)} of {len(entries)} buyers have a hold"
    return begun


@contextmanager
def _alone(till: Till) -> Iterator[Alone]:
    alone = Alone(till.stack, till.event)
    try:
        yield alone
    finally:
        alone.close()


def _sum_up(report: Report, bought: Sequence[Bought], full: Decided, lawful: bool) -> None:
    answered = all(one.told.answers.keys() == {SUCCEEDED} for one in bought)
    fed = not any(one.ran_dry for one in bought)
    shares = [one.decided_per_second / full.per_second for one in bought]
    p99s = [percentile(sorted(one.told.latencies_ns), 0.99) / 1e6 for one in bought]
    cpu = [_us_each(one)["gateway-1"] + _us_each(one)[FOR_GATEWAYS] for one in bought]
    meanwhile = f"beside {median(one.decided_per_second for one in bought):,.0f} decisions/s"
    rates = [one.per_second for one in bought]
    report.rows += [
        at_least(
            "confirmations",
            rates,
            "confirmations/s",
            REACH_PER_SECOND,
            lawful=lawful and answered and fed,
            note=meanwhile,
        ),
        for_the_record("allocator_full_speed", [full.per_second], "decisions/s"),
        at_least("allocator_meanwhile", shares, "ratio", REACH_SHARE, lawful=lawful and fed),
        for_the_record("confirmation_p99", p99s, "ms"),
        for_the_record("server_cpu_per_confirmation", cpu, "µs"),
    ]
    report.curves.append(
        Curve.of(
            "a notice, until its order is on disk", [ns for one in bought for ns in one.told.latencies_ns]
        )
    )
    report.details["confirmations"] = {
        "connections": CONNECTIONS,
        "decided_per_second": [round(one.decided_per_second) for one in bought],
        "answers": [one.told.answers for one in bought],
        "cpu_us_each": [_us_each(one) for one in bought],
    }


def _us_each(one: Bought) -> dict[str, float]:
    """Microseconds of CPU for each notice; what is the allocator's is in there."""
    cpu = one.cpu | {"who tells (not the server)": one.told.cpu_seconds}
    return {name: round(seconds / max(1, one.bought) * 1e6, 1) for name, seconds in cpu.items()}
