"""The owner's keeper of the waiting room: the real one, on virtual engines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from redis.exceptions import ConnectionError as RedisConnectionError

from allocator import keeper
from store.stream.port import RawEntry
from tests.simulation.statements import Connection
from tests.simulation.stream import Stream
from tests.simulation.world import SECOND, Process, World


class DoubtfulConnection(Connection):
    """One whose COMMIT may get no reply: it was lost, or done, or is on its way."""

    def commit(self) -> None:
        session = self.session
        if session.cut or not session.alive:
            raise psycopg.OperationalError("the connection is closed")
        if not session.locked or not session.world.wrong("commit unknown"):
            super().commit()
            return
        session.step("commit")
        fate = session.world.random.random()
        session.world.counters["room_outcome_unknown"] += 1
        if fate < 0.4:
            session.commit()
        elif fate < 0.7:
            session.world.after(session.world.random.uniform(0.0, 0.02), session.commit_late)
        else:
            session.end()
        session.cut = True
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    def cancel_safe(self, *, timeout: float) -> None:
        """End a statement that waits."""
        self.session.cancel()


class VirtualServer:
    """As much of a client of the stream's server as a keeper uses."""

    def __init__(self, stream: Stream, process: Process) -> None:
        self._stream = stream
        self._process = process

    def publish(self, channel: str, message: bytes) -> None:
        self._asked("tell of the room")
        self._stream.fan_out([(channel, message)])

    @contextmanager
    def pipeline(self, *, transaction: bool) -> Iterator[Any]:
        assert not transaction, "what is only read needs none"
        yield _LookAtLag(self, self._stream)

    def _asked(self, what: str) -> None:
        self._process.step(what)
        if self._stream.away or self._stream.world.wrong("read fails"):
            raise RedisConnectionError("the stream is away")

    def close(self) -> None:
        pass


class _LookAtLag:
    """The clock, and the first entry above the cursor."""

    def __init__(self, server: VirtualServer, stream: Stream) -> None:
        self._server = server
        self._stream = stream
        self._found: list[RawEntry] = []
        self._after = ""

    def time(self) -> None:
        pass

    def xrange(self, _key: str, first: str, _last: str, *, count: int) -> None:
        self._after = first.removeprefix("(")

    def execute(self) -> tuple[tuple[int, int], list[RawEntry]]:
        self._server._asked("look how long requests wait")
        now_us = self._stream.world.now_us + self._stream.skew_us
        return (now_us // SECOND, now_us % SECOND), self._stream.above(self._after, 1)


class VirtualKeeper(keeper.Keeper):
    """A process of its owner's host."""

    def __init__(self, owner: Process, *args: Any) -> None:
        super().__init__(*args)
        self._owner = owner
        self._over = False
        self._process: Process | None = None

    def start(self) -> None:
        owner = self._owner
        self._process = owner.host.start(f"{owner.name} keeper", self._work)
        self._process.allocator = owner.allocator
        self._process.counted = False
        self._stop_asked = StopAsked(self._process)  # type: ignore[assignment]

    def _work(self, _process: Process) -> None:
        try:
            self.run()
        finally:
            self._over = True

    def stop(self) -> None:
        super().stop()
        if self._process is not None:
            self._process.nudge()

    def join(self, timeout: float | None = None) -> None:
        """Who is dead waits for nobody."""
        owner, world = self._owner, self._owner.world
        until_us = world.now_us + int((timeout or 0.0) * SECOND)
        while not self._over and not owner.host.dead and world.now_us < until_us:
            owner.sleep(0.02)


class StopAsked:
    """As `threading.Event`, for a process that is never asked to stop but by its counterpart here."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True

    def wait(self, seconds: float) -> bool:
        if not self._set:
            self._process.sleep(seconds)
        return self._set


class KeeperLog:
    """What a keeper says that must not happen breaks a law."""

    def __init__(self, world: World) -> None:
        self._world = world

    def error(self, message: str, *args: object) -> None:
        self._world.broken.append(f"alert: {message % args}")

    def exception(self, message: str, *args: object) -> None:
        self._world.broken.append(f"alert: {message % args}: {sys.exc_info()[1]!r}")

    def info(self, *_args: object) -> None:
        pass

    warning = debug = info
