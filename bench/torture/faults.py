"""How each fault is done to a running onsale, and healed."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct

from bench.evidence import Loss
from bench.torture import office
from bench.torture.proxy import Link
from bench.torture.schedule import LOSES_THE_STREAM, Fault, Kind, Slot
from bench.torture.stage import Stage
from store.stream.redis_stream import connect
from store.words import EventState

STOP_SECONDS_MAX = 15.0
ASKED_SECONDS = 2.0
"""After a loss: by then whoever waits has noticed, asked again, and was gathered."""
LATE_SECONDS = 10.0
"""After the last healing: by then whoever was cut off has asked again and is decided."""

Heal = Callable[[], None]


class Broken(Struct):
    """A fault that took place. Times are Unix seconds."""

    kind: str
    victim: str
    """What it really hit: `owner` has become an allocator's name."""
    at: float
    healed_at: float
    trouble: str = ""
    """What the torturer could not do; then the run says nothing about onsale."""

    def story(self, since: float = 0.0) -> str:
        """In a few words, times counted from `since`."""
        return f"{self.at - since:.2f}–{self.healed_at - since:.2f} s {self.kind}: {self.victim}"


def losses(broken: Sequence[Broken]) -> list[Loss]:
    """Where the stream was lost and something else was broken too, before all could have asked again."""
    found = []
    for loss in broken:
        if loss.kind not in LOSES_THE_STREAM:
            continue
        during = [
            other
            for other in broken
            if other is not loss and other.at < loss.healed_at + ASKED_SECONDS and other.healed_at > loss.at
        ]
        if during:
            over_at = max(loss.healed_at, *(other.healed_at for other in during)) + LATE_SECONDS
            found.append(Loss(int(loss.healed_at * 1000), int(over_at * 1000)))
    return found


def inflict(stage: Stage, fault: Fault) -> tuple[str, Heal]:
    """Break it now; returns what it hit and how to heal it."""
    kind = fault.kind
    action = _DIRECT.get(kind)
    if action is not None:
        return fault.target, action(stage, fault.target)
    cut = _CUTS.get(kind)
    if cut is not None:
        return _cut(stage, fault, *cut)
    name = {"owner": stage.owner, "standby": stage.standby}.get(fault.target, lambda: fault.target)()
    if kind in (Kind.FREEZE_OWNER, Kind.FREEZE_OWNER_LONG, Kind.FREEZE_GATEWAY):
        stage.stack.kill(name, signal.SIGSTOP)
        return name, lambda: stage.stack.kill(name, signal.SIGCONT)
    if kind in (Kind.STOP_OWNER, Kind.STOP_GATEWAY):
        gently = stage.stop(name, STOP_SECONDS_MAX)
        assert gently, f"{name} did not end within {STOP_SECONDS_MAX:g} s of SIGTERM"
    else:
        stage.kill(name)
    return name, lambda: stage.start(name)


def _kill_engine(stage: Stage, name: str) -> Heal:
    stage.kill(name)
    return lambda: stage.start(name)


def _restart_engine(stage: Stage, name: str) -> Heal:
    (stage.stack.postgres if name == "postgres" else stage.stack.valkey).stop()
    return lambda: stage.start(name)


def _wipe(stage: Stage, name: str) -> Heal:
    stage.kill(name)
    stage.stack.valkey.wipe()
    return lambda: stage.start(name)


def _flush(stage: Stage, _name: str) -> Heal:
    with contextlib.closing(connect(stage.stack.urls.redis_url)) as client:
        client.flushall()
    return lambda: None


def _freeze_engine(stage: Stage, name: str) -> Heal:
    server = stage.stack.postgres if name == "postgres" else stage.stack.valkey
    server.pause()
    return server.resume


def _pause_event(stage: Stage, _name: str) -> Heal:
    stage.set_state(EventState.PAUSED)
    return lambda: stage.set_state(EventState.OPEN)


def _block_seats(stage: Stage, _name: str) -> Heal:
    """House seats, out of what is free just then."""
    blocked = office.block(stage.database_url, stage.slug)
    return lambda: office.unblock(stage.database_url, stage.slug, blocked)


_DIRECT: dict[Kind, Callable[[Stage, str], Heal]] = {
    Kind.KILL_POSTGRES: _kill_engine,
    Kind.KILL_VALKEY: _kill_engine,
    Kind.RESTART_POSTGRES: _restart_engine,
    Kind.RESTART_VALKEY: _restart_engine,
    Kind.WIPE_VALKEY: _wipe,
    Kind.FLUSH_VALKEY: _flush,
    Kind.FREEZE_POSTGRES: _freeze_engine,
    Kind.FREEZE_VALKEY: _freeze_engine,
    Kind.PAUSE_EVENT: _pause_event,
    Kind.BLOCK_SEATS: _block_seats,
}

_CUTS: dict[Kind, tuple[str, Callable[[Link], None]]] = {
    Kind.CUT_POSTGRES: ("postgres", Link.cut),
    Kind.CUT_VALKEY: ("valkey", Link.cut),
    Kind.CUT_REPLY_POSTGRES: ("postgres", Link.cut_replies),
    Kind.CUT_REPLY_VALKEY: ("valkey", Link.cut_replies),
    Kind.HALF_OPEN_POSTGRES: ("postgres", Link.half_open),
    Kind.HALF_OPEN_VALKEY: ("valkey", Link.half_open),
    Kind.PART_POSTGRES: ("postgres", Link.part),
    Kind.PART_VALKEY: ("valkey", Link.part),
}


def _cut(stage: Stage, fault: Fault, engine: str, how: Callable[[Link], None]) -> tuple[str, Heal]:
    links = stage.links[engine]
    names = list(links) if fault.target == "everyone" else [fault.target]
    if fault.target == "owner":
        names = [stage.owner()]
    for name in names:
        how(links[name])

    def heal() -> None:
        for name in names:
            links[name].heal()

    return ", ".join(names), heal


class Torturer:
    """Goes through slots, healing every fault of one before the next."""

    def __init__(self, stage: Stage, on_broken: Callable[[Broken], None] = lambda _: None) -> None:
        self._stage = stage
        self._on_broken = on_broken
        self.broken: list[Broken] = []

    def go(self, slot: Slot) -> None:
        """One slot: wait, break, heal; returns when everything runs again."""
        time.sleep(slot.quiet_seconds)
        with ThreadPoolExecutor(len(slot.faults)) as hands:
            for broken in hands.map(self._one, slot.faults):
                self.broken.append(broken)
                self._on_broken(broken)
        self._stage.revive()

    def _one(self, fault: Fault) -> Broken:
        broken = Broken(fault.kind.value, fault.target, time.time(), 0.0)
        try:
            broken.victim, heal = inflict(self._stage, fault)
            time.sleep(fault.seconds)
            heal()
        except Exception as error:  # told as trouble of the torturer, never hidden
            broken.trouble = f"{type(error).__name__}: {error}"
        broken.healed_at = time.time()
        return broken
