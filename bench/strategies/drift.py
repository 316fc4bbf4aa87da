"""Kill the servers in the middle of a sale, start them again, compare what was told with what is stored."""

from __future__ import annotations

import time

from msgspec import Struct

from bench.strategies import tables
from bench.strategies.judge import judge
from bench.strategies.loads import Load
from bench.strategies.measure import OnsaleSeller, Seller, StrategySeller, read_told, seller, start
from bench.strategies.rig import Rig
from bench.target import wait_known

LOAD = Load("kill", 10_000, 5_000, 200, spread=5_000, seconds=5.0)
KILLED_AFTER_SECONDS = 0.7


class Drift(Struct):
    """After a kill. `drift` is what stays once the servers run again and nothing is under way."""

    strategy: str
    told_held: int
    lost: int
    """Told `held`, and no row says so."""
    redis_minus_postgres_at_kill: int
    redis_minus_postgres: int
    oversold: int

    @property
    def drift(self) -> int:
        """The larger of the two kinds."""
        return max(self.lost, abs(self.redis_minus_postgres))


def drift_of(rig: Rig, name: str, workers: int) -> Drift:
    """The same kill for everybody: every server process of the strategy, or of onsale, by SIGKILL."""
    selling = seller(rig, name, "http", LOAD, workers)
    start(selling, LOAD, patience_seconds=1.0)
    time.sleep(KILLED_AFTER_SECONDS)
    _kill(selling)
    at_kill = _difference(selling)
    told = rig.load.finish()
    _start_again(selling)
    rig.settle(name)
    asked, _, _ = read_told(told, LOAD, selling.seat_number)
    verdict = judge(asked, selling.bookings(), tables.blocks_of(selling.plan))
    held = sum(one.outcome == "held" for one in asked)
    found = Drift(name, held, verdict.lost, at_kill, _difference(selling), verdict.oversold)
    selling.close()
    return found


def _kill(selling: Seller) -> None:
    if isinstance(selling, OnsaleSeller):
        for process in list(selling.rig.stack.processes):
            selling.rig.stack.kill(process)
    else:
        selling.rig.servers.kill()


def _start_again(selling: Seller) -> None:
    if isinstance(selling, OnsaleSeller):
        for process in list(selling.rig.stack.processes):
            selling.rig.stack.start_again(process)
        wait_known(selling.rig.target, selling.staged)
    else:
        selling.rig.servers.start()


def _difference(selling: Seller) -> int:
    """Seats sold by Redis beyond those sold by Postgres; onsale's Redis counts none."""
    if not isinstance(selling, StrategySeller):
        return 0
    sold = tables.read(selling.rig.connection, selling.rig.client, selling.stage)
    return 0 if sold.in_redis is None else sold.in_redis - sold.in_postgres
