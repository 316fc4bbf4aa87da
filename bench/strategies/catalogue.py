"""All strategies by name, in the order in which they are shown."""

from __future__ import annotations

from bench.strategies.conditional_update import ConditionalUpdate
from bench.strategies.decr_async import DecrAsync
from bench.strategies.floor import Floor
from bench.strategies.hot_counter import HotCounter
from bench.strategies.naive import Naive
from bench.strategies.pessimistic import Pessimistic
from bench.strategies.process_lock import ProcessLock
from bench.strategies.queue_table import QueueTable
from bench.strategies.redlock import Redlock
from bench.strategies.sale import Strategy
from bench.strategies.serializable import Serializable
from bench.strategies.set_nx import SetNx
from bench.strategies.skip_locked import SkipLocked
from bench.strategies.version_column import VersionColumn

STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy
    for strategy in (
        Naive,
        ProcessLock,
        Serializable,
        VersionColumn,
        Pessimistic,
        ConditionalUpdate,
        SetNx,
        HotCounter,
        Redlock,
        DecrAsync,
        SkipLocked,
        QueueTable,
    )
}
SELLING: dict[str, type[Strategy]] = STRATEGIES | {Floor.name: Floor}
"""What a server can be asked for."""
FLOORS = ("floor", "floor_asgi")
ONSALE = ("onsale", "onsale_gate")
NAMES = (*STRATEGIES, *FLOORS, *ONSALE)
