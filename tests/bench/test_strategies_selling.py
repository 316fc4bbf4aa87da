"""Each strategy on real engines: what it promises, and the fault it is known for, forced and judged."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest
import redis

from bench.strategies import (
    conditional_update,
    decr_async,
    naive,
    pessimistic,
    queue_table,
    redlock,
    serializable,
    tables,
    version_column,
)
from bench.strategies.catalogue import STRATEGIES
from bench.strategies.drift import drift_of
from bench.strategies.judge import Asked, Verdict, judge
from bench.strategies.loads import Load
from bench.strategies.measure import measure
from bench.strategies.rig import Rig, rig
from bench.strategies.sale import Answer, Booking, take
from bench.strategies.server import Desk, desk_of
from bench.strategies.tables import Stage
from store.settings import EngineUrls
from store.venues.make import make

PLAN = make("theatre", 12)
SAFE = sorted(set(STRATEGIES) - {"naive"})
FINDING = sorted(name for name in SAFE if STRATEGIES[name].finds_seats)


class Ground:
    """The strategies' tables in a database of this test's own."""

    def __init__(self, urls: EngineUrls) -> None:
        self.urls = urls
        self.connection = psycopg.connect(urls.database_url, autocommit=True)
        self.client = redis.Redis.from_url(urls.redis_url)
        tables.create(self.connection)
        self.event = 0

    def stage(self, strategy: str, *, finding: bool = False) -> Stage:
        self.event += 1
        return tables.fill(self.connection, self.client, self.event, strategy, PLAN, finding=finding)

    def sell(self, stage: Stage, bookings: list[Booking]) -> list[Asked]:
        """All at once, through a server's desk; a strategy's worker works beside it until nothing is left."""

        async def all_at_once() -> list[Asked]:
            async with desk_of(self.urls, 4) as desk:
                return list(await asyncio.gather(*(ask(desk, booking) for booking in bookings)))

        with Worker(self.urls, stage.strategy):
            asked = asyncio.run(all_at_once())
            while stage.strategy in ("decr_async", "queue_table") and tables.unwritten(
                self.connection, self.client, stage.strategy
            ):
                time.sleep(0.01)
        return asked

    def judge(self, stage: Stage, asked: list[Asked]) -> Verdict:
        return judge(asked, tables.read(self.connection, self.client, stage).bookings, stage.blocks)

    def close(self) -> None:
        self.connection.close()
        self.client.close()


class Worker:
    """A strategy's worker in a thread of the test, for as long as the block lasts."""

    def __init__(self, urls: EngineUrls, strategy: str) -> None:
        self._urls = urls
        self._done = threading.Event()
        work = {"decr_async": self._write, "queue_table": self._decide}.get(strategy)
        self._thread = threading.Thread(target=work) if work else None

    def __enter__(self) -> Worker:
        if self._thread:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread:
            self._thread.join()

    def _write(self) -> None:
        with (
            psycopg.connect(self._urls.database_url, autocommit=True) as connection,
            redis.Redis.from_url(self._urls.redis_url, decode_responses=True) as client,
        ):
            while not self._done.is_set():
                decr_async.work_once(connection, client, wait_seconds=0.05)

    def _decide(self) -> None:
        with psycopg.connect(self._urls.database_url, autocommit=True) as connection:
            while not self._done.wait(0.002):
                queue_table.work_once(connection)


async def ask(desk: Desk, booking: Booking) -> Asked:
    sent_ns = time.monotonic_ns()
    answer: Answer = await desk.book(booking)
    now = time.monotonic_ns()
    return Asked(booking.request, tuple(booking.seats), sent_ns, now, answer.outcome, tuple(answer.seats))


@pytest.fixture
def ground(new_database, redis_url) -> Iterator[Ground]:
    made = Ground(EngineUrls(new_database(migrated=False), redis_url))
    yield made
    made.close()


@pytest.fixture
def patient(monkeypatch) -> None:
    """Nobody gives up: what is asked here is what they sell, not how long they wait on a busy machine."""
    monkeypatch.setattr(redlock, "WAIT_SECONDS_MAX", 60.0)
    monkeypatch.setattr(redlock, "LOCK_SECONDS", 60.0)
    monkeypatch.setattr(queue_table, "WAIT_SECONDS_MAX", 60.0)
    for module in (serializable, version_column, pessimistic, conditional_update):
        monkeypatch.setattr(module, "TRIES_MAX", 1_000)


@pytest.mark.usefixtures("patient")
def test_those_called_safe_sell_each_seat_once_and_answer_everybody(ground):
    for name in SAFE:
        stage = ground.stage(name)
        asked = ground.sell(
            stage, [Booking(event=stage.event, request=f"r{n}", seats=[n % 3]) for n in range(24)]
        )
        outcomes = [one.outcome for one in asked]
        assert (outcomes.count("held"), outcomes.count("taken")) == (3, 21), name
        verdict = ground.judge(stage, asked)
        assert (verdict.oversold, verdict.lost, verdict.no_winner) == (0, 0, 0), name


@pytest.mark.usefixtures("patient")
def test_those_who_find_seats_sell_all_of_them_once(ground):
    for name in FINDING:
        stage = ground.stage(name, finding=True)
        asked = ground.sell(
            stage, [Booking(event=stage.event, request=f"r{n}", quantity=2) for n in range(8)]
        )
        held = [one for one in asked if one.outcome == "held"]
        assert {one.outcome for one in asked} <= {"held", "sold_out"}, name
        assert 4 <= len(held) <= 6, (
            name
        )  # pairs together may leave single seats, and SKIP LOCKED may miss some
        verdict = ground.judge(stage, asked)
        assert (verdict.oversold, verdict.lost) == (0, 0), name
        if name not in ("skip_locked", "decr_async"):
            assert verdict.split == 0, name


def test_naive_oversells_when_two_read_before_either_writes(ground, monkeypatch):
    both_have_read = asyncio.Barrier(2)

    async def slowly(*given):
        await both_have_read.wait()
        await take(*given)

    monkeypatch.setattr(naive, "take", slowly)
    stage = ground.stage("naive")
    asked = ground.sell(
        stage, [Booking(event=stage.event, request=name, seats=[5]) for name in ("ann", "bob")]
    )
    verdict = ground.judge(stage, asked)
    assert verdict.oversold == 1
    assert "seat 5 was given to 2" in verdict.stories[0]


def test_skip_locked_splits_a_pair_beside_a_seat_somebody_looks_at(ground):
    stage = ground.stage("skip_locked", finding=True)
    with ground.connection.transaction():
        ground.connection.execute(
            "SELECT 1 FROM seat WHERE event_id = %s AND seat_no = 1 FOR UPDATE", (stage.event,)
        )
        asked = ground.sell(stage, [Booking(event=stage.event, request="pair", quantity=2)])
    assert asked[0].seats == (0, 2)
    assert ground.judge(stage, asked).split == 1


def test_decr_drifts_when_its_worker_dies_with_orders_in_hand(ground):
    stage = ground.stage("decr_async")

    async def book():
        async with desk_of(ground.urls, 2) as desk:
            return [await ask(desk, Booking(event=stage.event, request=f"r{n}", seats=[n])) for n in range(3)]

    asked = asyncio.run(book())
    assert [one.outcome for one in asked] == ["held"] * 3
    dead = psycopg.connect(ground.urls.database_url)
    dead.close()
    with (
        redis.Redis.from_url(ground.urls.redis_url, decode_responses=True) as client,
        pytest.raises(psycopg.OperationalError),
    ):
        decr_async.work_once(dead, client, wait_seconds=0.05)
    sold = tables.read(ground.connection, ground.client, stage)
    assert tables.unwritten(ground.connection, ground.client, "decr_async") == 0
    assert (sold.in_redis, sold.in_postgres) == (3, 0)
    assert ground.judge(stage, asked).lost == 3


def test_set_nx_keeps_a_seat_from_everybody_when_its_process_died_in_between(ground):
    stage = ground.stage("set_nx")
    ground.client.set(f"seat:{stage.event}:4", "the one that died")
    asked = ground.sell(stage, [Booking(event=stage.event, request="ann", seats=[4])])
    assert asked[0].outcome == "taken"
    assert ground.judge(stage, asked).no_winner == 1
    sold = tables.read(ground.connection, ground.client, stage)
    assert (sold.in_redis, sold.in_postgres) == (1, 0)


@pytest.fixture(scope="module")
def running() -> Iterator[Rig]:
    with rig(counts=(1,)) as made:
        yield made


SMALL = Load("small", 60, 12, 20, spread=3, seconds=20.0)
PAIRS = Load("pairs", 4, 60, 4, together=2, seconds=20.0)


@pytest.mark.parametrize("transport", ["http", "ws"])
@pytest.mark.parametrize("name", ["conditional_update", "onsale", "onsale_gate"])
def test_both_sides_are_asked_and_judged_over_both_ways(running, name, transport):
    figures, verdict = measure(running, name, transport, SMALL, 1)
    assert (figures.decided, figures.held, figures.unanswered, figures.errors) == (60, 3, 0, 0)
    assert verdict == Verdict()
    assert figures.decisions_per_second > 0


def test_a_sale_that_is_over_keeps_no_connection_of_an_allocator(running):
    """Dozens of sales follow each other in one run, and Postgres has a bounded number of connections."""
    measure(running, "onsale", "ws", SMALL, 1)
    kept = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE application_name LIKE 'onsale allocator stampede%' AND datname = current_database()"
    )
    with psycopg.connect(running.target.database_url, autocommit=True) as connection:
        give_up_at = time.monotonic() + 30
        while connection.execute(kept).fetchone() != (0,):
            assert time.monotonic() < give_up_at, "allocators still work for a sale that is over"
            time.sleep(0.05)


@pytest.mark.parametrize("name", ["queue_table", "onsale"])
def test_pairs_are_found_together(running, name):
    figures, verdict = measure(running, name, "http", PAIRS, 1)
    assert (figures.decided, figures.held, figures.split) == (4, 4, 0)
    assert (verdict.oversold, verdict.lost) == (0, 0)


@pytest.mark.parametrize("name", ["floor", "floor_asgi"])
def test_floors_answer_and_sell_nothing(running, name):
    for transport in ("http", "ws"):
        figures, _ = measure(running, name, transport, SMALL, 1)
        assert (figures.decided, figures.held) == (60, 0)


def test_a_kill_leaves_nothing_adrift_in_onsale_and_servers_come_back(running):
    found = drift_of(running, "onsale", 1)
    assert (found.lost, found.drift, found.oversold) == (0, 0, 0)
    assert drift_of(running, "conditional_update", 1).lost == 0
    assert measure(running, "conditional_update", "http", SMALL, 1)[0].held == 3
