"""The floor under the allocator: the same rows by the same statements, with no logic in the way.

What the allocator's own writer would send for a backlog is recorded beforehand, batch by batch, and
sent again as it is by one connection: fence, COPY, conditional writes, COMMIT. What this reaches is
what Postgres and this machine allow for these rows and indexes; the allocator is measured against it.
Recorded through the batch loop and its writer themselves, so the floor stays the same statements when
those change.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple, cast

import msgspec
import psycopg

from allocator import lease, sql
from allocator.keys import Keys
from allocator.layout import Layout
from allocator.lease import Owned
from allocator.load import Connection
from allocator.loop import BatchLoop
from allocator.memory import Memory
from allocator.ports import Cursor
from allocator.truth import PostgresTruth
from bench.target import StageEvent, make_event
from store.database import connect
from store.events import load_policy
from store.stream.port import BEGINNING, REQUEST, RawEntry
from store.words import Arrival, EventState

STREAM_MILLISECONDS = 1_763_720_000_000
"""Arrivals look like those of a stream."""
CLOCK = STREAM_MILLISECONDS * 1_000
SIGN_OF_LIFE = """
-- Recording takes longer than an owner may be silent; its fence would find no row. Nobody has a hold to lose.
UPDATE lease SET renewed_at = clock_timestamp() WHERE event_id = %s
"""


class Statement(NamedTuple):
    text: Any
    given: Any


class Copy(NamedTuple):
    text: Any
    pieces: list[bytes]


class Recorded(NamedTuple):
    """One transaction: steps in order, those of one pipeline together."""

    steps: list[list[Statement] | Copy]
    rows: int


class _AnyCount(int):
    """A row count nobody doubts: a recording has no rows to count."""

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = int.__hash__


class _Result:
    rowcount = _AnyCount(0)

    def fetchone(self) -> tuple[int]:
        return (CLOCK,)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return []


class Recorder:
    """Stands where a connection stands and keeps what would be sent."""

    def __init__(self) -> None:
        self.steps: list[list[Statement] | Copy] = []
        self.transactions: list[list[list[Statement] | Copy]] = []
        self._pipelined: list[Statement] | None = None

    @contextmanager
    def pipeline(self) -> Iterator[None]:
        self._pipelined = []
        yield
        self.steps.append(self._pipelined)
        self._pipelined = None

    def execute(self, text: Any, given: Any = None) -> _Result:
        if self._pipelined is None:
            self.steps.append([Statement(text, given)])
        else:
            self._pipelined.append(Statement(text, given))
        return _Result()

    def cursor(self) -> Recorder:
        return self

    @contextmanager
    def copy(self, text: Any) -> Iterator[_Pieces]:
        pieces = _Pieces()
        yield pieces
        self.steps.append(Copy(text, pieces.written))

    def commit(self) -> None:
        self.transactions.append(self.steps)
        self.steps = []

    def forget(self) -> None:
        """What was sent so far is no part of any batch."""
        self.steps, self.transactions = [], []


class _Pieces:
    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, piece: bytes) -> None:
        self.written.append(bytes(piece))


class Floor(NamedTuple):
    """Recorded transactions and the connection that owns their event."""

    event: StageEvent
    connection: Connection
    batches: list[Recorded]

    def write(self) -> float:
        """Send them all; rows a second from the first batch's beginning to the last one's."""
        self.connection.execute(SIGN_OF_LIFE, (self.event.id,))
        self.connection.commit()
        begun: list[float] = []
        for batch in self.batches:
            begun.append(time.perf_counter())
            for step in batch.steps:
                _send(self.connection, step)
            self.connection.commit()
        seconds = begun[-1] - begun[0]
        return sum(batch.rows for batch in self.batches[:-1]) / seconds if seconds else 0.0


@contextmanager
def floor(database_url: str, seats: int, entries: Sequence[bytes], sizes: Sequence[int]) -> Iterator[Floor]:
    """A floor for this backlog in batches of these sizes, on an event no allocator works for (a draft)."""
    event = make_event(database_url, seats, hold_ttl_seconds=3_600, state=EventState.DRAFT)
    layout = Layout(event.plan)
    with connect(database_url, "onsale floor") as connection:
        seen = lease.look(connection, event.id)
        owned = lease.take(connection, event.id, seen, "floor")
        assert owned is not None, "nobody else works for a draft"
        policy = msgspec.structs.replace(load_policy(connection, event.id), state=EventState.OPEN)
        connection.execute("DELETE FROM fact WHERE event_id = %s", (event.id,))
        connection.commit()
        PostgresTruth(connection, database_url, event.id, owned, layout)  # makes the owner's settings
        yield Floor(event, connection, record(event, Memory(layout, policy), owned, entries, sizes))


def record(
    event: StageEvent, memory: Memory, owned: Owned, entries: Sequence[bytes], sizes: Sequence[int]
) -> list[Recorded]:
    """The transactions that the allocator's batch loop would send for these entries."""
    assert sum(sizes) == len(entries), "every entry is in a batch"
    recorder = Recorder()
    truth = PostgresTruth(cast("Connection", recorder), "", event.id, owned, memory.layout)
    recorder.forget()  # the owner's settings
    arrivals = Chunks(entries, sizes)
    cursor = Cursor(owned.epoch, memory.batch_no, Arrival("0-0"))
    loop = BatchLoop(event.slug, truth, arrivals, memory, cursor, Keys(), batch_size_max=max(sizes))
    try:
        for _ in sizes:
            loop.turn()
    finally:
        loop.close()
    return [Recorded(steps, size) for steps, size in zip(recorder.transactions, sizes, strict=True)]


class Chunks:
    """A stream that gives the entries in chunks of these sizes, one a read."""

    def __init__(self, entries: Sequence[bytes], sizes: Sequence[int]) -> None:
        self._after: dict[Arrival, list[RawEntry]] = {}
        first, after = 0, Arrival("0-0")
        for number, size in enumerate(sizes):
            chunk: list[RawEntry] = [
                (f"{STREAM_MILLISECONDS + number}-{place}".encode(), [REQUEST, entry])
                for place, entry in enumerate(entries[first : first + size])
            ]
            self._after[after] = chunk
            first, after = first + size, Arrival(chunk[-1][0].decode())

    def read(self, after: Arrival, *, count_max: int, block_ms: int) -> list[RawEntry]:
        return self._after.get(after, [])

    def publish(
        self,
        messages: Sequence[tuple[str, bytes]],
        *,
        trim_through: Arrival | None = None,
        after: Arrival = BEGINNING,
        seen: Sequence[Arrival] = (),
    ) -> bool:
        """Nobody waits."""
        return True

    def ensure_above(self, cursor: Arrival) -> bool:
        return False

    def below(self, through: Arrival, *, count_max: int) -> list[RawEntry]:
        return []

    def append(self, entries: Sequence[bytes]) -> list[Arrival]:
        raise AssertionError("a recording appends nothing")

    def trim_through(
        self, through: Arrival, *, after: Arrival = BEGINNING, seen: Sequence[Arrival] = ()
    ) -> bool:
        """Nothing is kept twice."""
        return True


def _send(connection: psycopg.Connection[Any], step: list[Statement] | Copy) -> None:
    if isinstance(step, Copy):
        with connection.cursor().copy(step.text) as copy:
            for piece in step.pieces:
                copy.write(piece)
        return
    with connection.pipeline() if len(step) > 1 else nullcontext():
        sent = [connection.execute(statement.text, statement.given) for statement in step]
    fences = [cursor.rowcount for cursor, (text, _) in zip(sent, step, strict=True) if text is sql.FENCE]
    assert fences in ([], [1]), "a batch is written by its owner, in turn"
