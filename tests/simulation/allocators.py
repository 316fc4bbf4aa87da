"""Allocators: the real worker, lease, follower, batch loop and decision, on virtual engines.

`on_virtual_engines` puts the virtual ones where the real code looks for engines, clocks and chance.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from uuid import UUID

import psycopg

from allocator import ballot, direction, follow, keeper, lease, loop, readahead, worker
from allocator.decide import Ask
from allocator.decided import Row
from allocator.intake import Sorted
from allocator.layout import Layout
from gateway.buyers import intake, reask
from gateway.room import acting, beginning, lookups, status, waiting_room
from gateway.room import joining as joins
from gateway.room import places as known_places
from store import blocks, holds, recategorise
from store.errors import ShortWrite, Unavailable
from store.payments import late, settle
from store.room import ballot as ballot_rows
from store.stream.port import RawEntry
from store.words import Arrival
from tests.simulation import load
from tests.simulation.gateways import EVENT
from tests.simulation.keepers import DoubtfulConnection, KeeperLog, StopAsked, VirtualKeeper, VirtualServer
from tests.simulation.postgres import Database
from tests.simulation.statements import Connection
from tests.simulation.stream import Stream, VirtualArrivals
from tests.simulation.truth import VirtualTruth
from tests.simulation.world import Host, Process, World

RENEW_SECONDS = 0.5


class Allocator:
    """One allocator process: a worker for the event, and the thread that renews its lease."""

    def __init__(self, world: World, database: Database, stream: Stream, name: str) -> None:
        self.world = world
        self.database = database
        self.stream = stream
        self.host = Host(world, name)
        self.loop: loop.BatchLoop | None = None
        self.follower: follow.Follower | None = None
        self.worker = worker.EventWorker("", "", 1, EVENT, name)
        self._process = self.host.start(name, self._work)
        self.host.start(f"{name} lease", self._renew)

    @property
    def owns(self) -> bool:
        return not self.host.dead and self.worker.owned is not None

    def _work(self, process: Process) -> None:
        process.allocator = self
        self.worker._stop_asked = StopAsked(process)  # type: ignore[assignment]
        self.worker.run()

    def _renew(self, process: Process) -> None:
        conn: Any = None
        while True:
            process.sleep(RENEW_SECONDS)
            if self.worker.owned is None or not self.worker.attends():
                continue
            try:
                if conn is None:
                    conn = Connection(self.database.connect(process))
                worker.renew(conn, [self.worker])
            except psycopg.OperationalError:
                conn = None


class CountedLoop(loop.BatchLoop):
    """The real loop; its rare paths are counted."""

    counters: Counter[str]
    _making = 0

    def attend(self) -> None:
        before = self.reappended
        super().attend()
        self.counters["reappended"] += self.reappended - before

    def _gather(self, entries: list[RawEntry]) -> list[list[RawEntry]]:
        self.counters["gathered"] += 1
        return super()._gather(entries)

    def _make_true(self, asks: Sequence[Ask], arrival: Arrival) -> list[Row]:
        before, self._making = self.redone, self._making + 1
        self.counters["halved"] += self._making > 1
        try:
            return super()._make_true(asks, arrival)
        finally:
            self._making -= 1
            self.counters["redone"] += self.redone > before

    def _attempt(self, asks: Sequence[Ask], arrival: Arrival) -> list[Row]:
        try:
            return super()._attempt(asks, arrival)
        except loop.PausedMeanwhile:
            self.counters["paused_meanwhile"] += 1
            raise
        except loop.PlanMoved:
            self.counters["plan_moved"] += 1
            raise


class CountedDirection(direction.Direction):
    """The real one; handovers by plan are counted."""

    def __init__(self, world: World) -> None:
        super().__init__(world.monotonic)
        self._world = world

    def handed_over(self, epoch: int) -> None:
        self._world.counters["handed_over"] += 1
        super().handed_over(epoch)

    def took(self, epoch: int) -> None:
        self._world.counters["taken_as_planned"] += self.expects
        super().took(epoch)


class AtOnce:
    """An executor without a thread: what is handed in is done before `submit` returns."""

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        pass

    def submit(self, work: Callable[..., Any], *args: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(work(*args))
        except Exception as error:
            done.set_exception(error)
        return done

    def shutdown(self) -> None:
        pass


class _Alerts:
    """The worker's log, of which only what must not happen is kept."""

    def __init__(self, world: World) -> None:
        self._world = world

    def exception(self, message: str, *_args: object) -> None:
        error = sys.exc_info()[1]
        if isinstance(error, ShortWrite):
            self._world.counters["stopped_by_short_writes"] += 1
        else:
            self._world.broken.append(f"the allocator stopped: {error!r}")

    def error(self, *_args: object) -> None:
        self._world.counters["mismatch"] += 1

    def warning(self, *_args: object) -> None:
        pass

    info = warning


@contextmanager
def on_virtual_engines(
    world: World, layout: Layout, batch_size_max: int, look_seconds: float, piece_max: int
) -> Iterator[None]:
    """Inside, the code under test finds these engines, this clock and this chance; and nothing is logged.

    `piece_max`: so many wishes of a ballot are appended at once.
    """

    def here() -> Process:
        assert world.current is not None, "only processes use engines"
        return world.current

    def connect(_url: str, _name: str) -> Connection:
        try:
            return Connection(here().allocator.database.connect(here()))
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error

    def connect_keeper(_url: str, _name: str) -> Connection:
        try:
            return DoubtfulConnection(here().allocator.database.connect(here()))
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error

    def read(conn: Connection, what: str) -> None:
        conn.session.step(what)

    def load_memory(conn: Connection, _event: int, of: Layout) -> Any:
        read(conn, "load memory")
        return load.load_memory(conn.session.database, of)

    def load_keys(conn: Connection, _event: int) -> Any:
        read(conn, "load keys")
        return load.load_keys(conn.session.database)

    def follower(*args: Any) -> follow.Follower:
        made = here().allocator.follower = follow.Follower(*args)
        return made

    def batch_loop(*args: Any, **more: Any) -> loop.BatchLoop:
        made = CountedLoop(*args, **more, batch_size_max=batch_size_max, monotonic=world.monotonic)
        made.counters = world.counters
        here().allocator.loop = made
        return made

    tell: Any = vars(loop)["tell_repeats"]

    def tell_repeats(*args: Any, **more: Any) -> Sorted:
        told: Sorted = tell(*args, **more)
        world.counters["repeated"] += len(told.repeats) + len(told.echoes)
        return told

    def sleep_here(seconds: float) -> None:
        here().sleep(seconds)

    async def sleep(seconds: float) -> None:
        sleep_here(seconds)

    clock = SimpleNamespace(monotonic=world.monotonic)
    places: list[tuple[Any, dict[str, Any]]] = [
        (worker, {
            "connect": connect,
            "load_layout": lambda conn, event: layout,
            "load_memory": load_memory,
            "load_keys": load_keys,
            "Follower": follower,
            "BatchLoop": batch_loop,
            "PostgresTruth": lambda conn, url, event, owned, of: VirtualTruth(conn.session, owned, of),
            "connect_stream": lambda url: SimpleNamespace(close=lambda: None),
            "RedisArrivals": lambda client, event: VirtualArrivals(here().allocator.stream, here()),
            "gc": SimpleNamespace(freeze=lambda: None),
            "time": clock,
            "log": _Alerts(world),
            "Direction": partial(CountedDirection, world),
            "Keeper": lambda *args: VirtualKeeper(here(), *args),
        }),
        (keeper, {
            "connect": connect_keeper,
            "connect_stream": lambda url: VirtualServer(here().allocator.stream, here()),
            "RedisArrivals": lambda client, event: VirtualArrivals(here().allocator.stream, here()),
            "Steps": partial(keeper.Steps, monotonic=world.monotonic),
            "log": KeeperLog(world),
        }),
        (direction, {"LOOK_SECONDS": look_seconds}),
        (ballot, {"PIECE_MAX": piece_max, "AHEAD_MAX": 2 * piece_max}),
        (ballot_rows, {"LET_IN_MAX": piece_max, "NEAR_MAX": piece_max}),
        (waiting_room, {"time": clock, "ShownStatus": partial(status.ShownStatus, world.monotonic)}),
        (status, {"jitter": world.random.uniform}),
        *[(module, {"time": clock}) for module in (known_places, lookups, acting)],
        (joins, {"time": clock, "jitter": world.random.uniform}),
        (beginning, {"time": clock, "jitter": world.random.uniform}),
        (recategorise, {"load_plan": lambda conn, venue: conn.session.database.plan}),
        (lease, {"uuid4": lambda: UUID(int=world.random.getrandbits(128))}),
        (readahead, {"ThreadPoolExecutor": AtOnce}),
        (loop, {"tell_repeats": tell_repeats}),
        (intake, {"time": clock, "jitter": world.random.uniform}),
        (reask, {"time": clock}),
        *[
            (module, {"asyncio": SimpleNamespace(sleep=sleep), "jitter": world.random.uniform})
            for module in (holds, settle, late)
        ],
        (blocks, {"time": SimpleNamespace(sleep=sleep_here), "jitter": world.random.uniform}),
    ]  # fmt: skip
    with ExitStack() as leaving:
        for module, names in places:
            leaving.enter_context(patch.multiple(module, **names))
        before = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        leaving.callback(logging.disable, before)
        yield
