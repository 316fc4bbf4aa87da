"""One round: put a sale on, let the generator ask, read what came of it, judge it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import psycopg

from bench.generator import mint
from bench.strategies import tables
from bench.strategies.floor import Floor
from bench.strategies.judge import Asked, Verdict, judge
from bench.strategies.loads import CONNECTIONS_MAX, Load, wants_of
from bench.strategies.orders import Open, Told
from bench.strategies.rig import LockSampler, Rig
from bench.strategies.rows import Figures, speed
from bench.strategies.server import BARE
from bench.strategies.wire import Transport, heard
from bench.target import StageEvent, close_event, make_event, wait_known
from store.plan import Plan
from store.venues.make import make

PATIENCE_SECONDS = 4.0
ONSALE_BOOKINGS = """
SELECT seat_no, request_id FROM hold_seat JOIN hold USING (event_id, hold_id) WHERE hold_seat.event_id = %s
"""
END_HOLDS = "UPDATE hold SET state = 'released' WHERE event_id = %s AND state = 'active'"
HOLD_SECONDS = 3600
"""Beyond any run, so that no hold ends while somebody looks."""
SEATS_PER_BUYER_MAX = 1_000


@functools.cache
def plan_of(seats: int) -> Plan:
    """The seating plan of that size; the same for everybody."""
    return make("theatre", seats)


class Seller:
    """One side's part: a sale put on, a line to it, and its tables."""

    event: str
    line: str
    onsale = False
    name: str

    def __init__(self, rig: Rig, name: str, load: Load) -> None:
        self.rig = rig
        self.name = name
        self.load = load
        self.plan = plan_of(load.seats)

    def bookings(self) -> list[tuple[int, str]]:
        raise NotImplementedError

    def seat_number(self, told: Any) -> int:
        return int(told)

    def close(self) -> None:
        """The sale is over."""


class StrategySeller(Seller):
    """A strategy with its servers, or a floor."""

    def __init__(self, rig: Rig, name: str, transport: Transport, load: Load, workers: int) -> None:
        super().__init__(rig, name, load)
        strategy = Floor.name if name == "floor_asgi" else name
        self.stage = tables.fill(
            rig.connection, rig.client, rig.next_event(), strategy, self.plan, finding=bool(load.together)
        )
        self.event = str(self.stage.event)
        path = "/book" if transport == "http" else "/socket"
        if name == "floor_asgi":
            path = BARE + path
        self.line = f"{transport}-{workers}{path}"
        rig.load.open(Open(self.line, transport, rig.servers.ports[workers], path))

    def bookings(self) -> list[tuple[int, str]]:
        return tables.read(self.rig.connection, self.rig.client, self.stage).bookings


class OnsaleSeller(Seller):
    """onsale, with an event of its own."""

    onsale = True

    def __init__(self, rig: Rig, name: str, transport: Transport, load: Load) -> None:
        super().__init__(rig, name, load)
        self.staged: StageEvent = make_event(
            rig.target.database_url,
            load.seats,
            gate=name == "onsale_gate",
            hold_ttl_seconds=HOLD_SECONDS,
            seats_per_buyer_max=SEATS_PER_BUYER_MAX,
        )
        wait_known(rig.target, self.staged)
        self.event = self.staged.slug
        self._numbers = {seat.guid: number for number, seat in enumerate(self.plan.seats)}
        self.line = f"onsale-{transport}"
        port = int(rig.target.base_url.rpartition(":")[2])
        hello = self.event if transport == "ws" else ""
        rig.load.open(
            Open(self.line, transport, [port], "/v1/socket", _tokens(rig.target.token_secret), hello)
        )

    def bookings(self) -> list[tuple[int, str]]:
        with psycopg.connect(self.rig.target.database_url) as connection:
            return connection.execute(ONSALE_BOOKINGS, (self.staged.id,)).fetchall()

    def seat_number(self, told: Any) -> int:
        return self._numbers[told]

    def close(self) -> None:
        """Closed, and no hold left running: until its last hold has ended, allocators stay with a closed
        event, and so do their connections to Postgres."""
        close_event(self.rig.target.database_url, self.staged)
        with psycopg.connect(self.rig.target.database_url) as connection:
            connection.execute(END_HOLDS, (self.staged.id,))


@functools.cache
def _tokens(secret: str) -> list[str]:
    return [token for _, token in mint(secret, CONNECTIONS_MAX)]


def seller(rig: Rig, name: str, transport: Transport, load: Load, workers: int) -> Seller:
    """Puts the sale on."""
    if name in ("onsale", "onsale_gate"):
        return OnsaleSeller(rig, name, transport, load)
    return StrategySeller(rig, name, transport, load, workers)


def start(selling: Seller, load: Load, patience_seconds: float = PATIENCE_SECONDS) -> None:
    """Let the generator begin."""
    selling.rig.load.start(
        selling.line,
        selling.event,
        wants_of(load, selling.plan, names=selling.onsale),
        connections=load.connections,
        requests=load.requests,
        seconds=load.seconds,
        onsale=selling.onsale,
        patience_seconds=patience_seconds,
    )


def measure(rig: Rig, name: str, transport: Transport, load: Load, workers: int) -> tuple[Figures, Verdict]:
    """One round of one strategy."""
    selling = seller(rig, name, transport, load, workers)
    database_url = rig.target.database_url if selling.onsale else rig.servers.urls.database_url
    with LockSampler(database_url) as locks:
        start(selling, load)
        told = rig.load.finish()
    rig.settle(name, given_up=bool(told.unanswered))
    asked, retries, deadlocks = read_told(told, load, selling.seat_number)
    sells = not name.startswith("floor")
    verdict = judge(asked, selling.bookings(), tables.blocks_of(selling.plan)) if sells else Verdict()
    selling.close()
    figures = figures_of(asked, told, verdict)
    figures.retries, figures.deadlocks, figures.lock_wait_share = retries, deadlocks, locks.share
    return figures, verdict


def read_told(told: Told, load: Load, seat_number: Callable[[Any], int]) -> tuple[list[Asked], int, int]:
    """What every client asked and heard, with the retries and deadlocks the servers told of."""
    asked = []
    retries = deadlocks = 0
    for number, sent_ns, answered_ns, _, body in told.answers:
        answer = heard(body)
        retries += answer.retries
        deadlocks += answer.deadlocks
        wanted = () if load.together else (number % load.spread,)
        seats = tuple(map(seat_number, answer.seats))
        asked.append(Asked(f"r{number}", wanted, sent_ns, answered_ns, answer.outcome, seats))
    for number, sent_ns in told.unanswered:
        wanted = () if load.together else (number % load.spread,)
        asked.append(Asked(f"r{number}", wanted, sent_ns, 0, ""))
    return asked, retries, deadlocks


def figures_of(asked: list[Asked], told: Told, verdict: Verdict) -> Figures:
    """The figures of a round; errors are answers, but no decisions."""
    decided = [one for one in asked if one.answered_ns and one.outcome != "error"]
    answered = [one for one in asked if one.answered_ns]
    seconds = 0.0
    if answered:
        first = min(one.sent_ns for one in asked)
        seconds = (max(one.answered_ns for one in answered) - first) / 1e9
    rate, p50, p95, p99 = speed([one.answered_ns - one.sent_ns for one in decided], seconds)
    return Figures(
        decisions_per_second=rate,
        p50_ms=p50,
        p95_ms=p95,
        p99_ms=p99,
        decided=len(decided),
        held=sum(one.outcome == "held" for one in decided),
        not_queued=sum(one.outcome == "not_queued" for one in decided),
        unanswered=len(told.unanswered),
        errors=len(answered) - len(decided),
        oversold=verdict.oversold,
        no_winner=verdict.no_winner,
        overtaken=verdict.overtaken,
        split=verdict.split,
        lost=verdict.lost,
        cut_off=told.cut_off,
    )
