"""The ledger, decided again: by a standby to stay warm, by `./run verify` to prove every answer.

Both feed what the ledger says went in to the very function that decided, and compare what comes out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import psycopg

from allocator.decide import CODE_VERSION, Ask, Fact, Row, decide
from allocator.keys import Keys
from allocator.load import load_layout
from allocator.memory import Memory, Overlay
from allocator.wishes import Wish, Wishes
from store.ledger import DIGEST_BYTES, GENESIS, batch_hash, row_digest
from store.words import Arrival, EventState, HoldId, LedgerKind, Outcome, Policy

Connection = psycopg.Connection[Any]

BATCHES_AT_A_TIME = 64


class Batch(NamedTuple):
    """A batch as the ledger has it."""

    batch_no: int
    epoch: int
    batch_time: int
    arrival: Arrival
    code_version: int
    digests: bytes
    hash: bytes
    rows: list[Row]


class Finding(NamedTuple):
    """Something in the ledger that cannot be as it was written."""

    batch_no: int
    position: int | None
    story: str


class _FactInput(msgspec.Struct):
    fact: int
    hold: str | None
    body: msgspec.Raw


_decode_fact = msgspec.json.Decoder(_FactInput).decode


def read_batches(conn: Connection, event_id: int, after: int) -> Iterator[Batch]:
    """Batches above `after` in order, until there is none."""
    while True:
        heads = conn.execute(
            "SELECT batch_no, epoch, (extract(epoch FROM batch_time) * 1000000)::bigint, arrival,"
            "       code_version, row_digests, hash"
            "  FROM ledger_batch WHERE event_id = %s AND batch_no > %s ORDER BY batch_no LIMIT %s",
            (event_id, after, BATCHES_AT_A_TIME),
        ).fetchall()
        if not heads:
            conn.commit()
            return
        rows: dict[int, list[Row]] = {}
        for batch_no, *row in conn.execute(
            "SELECT batch_no, kind, coalesce(arrival, ''), coalesce(buyer, ''), coalesce(request_id, ''),"
            "       input::text, outcome, result::text"
            "  FROM ledger WHERE event_id = %s AND batch_no > %s AND batch_no <= %s"
            " ORDER BY batch_no, position",
            (event_id, after, heads[-1][0]),
        ):
            rows.setdefault(batch_no, []).append(Row(*row))
        conn.commit()
        for batch_no, epoch, batch_time, arrival, code_version, digests, digest in heads:
            head = (
                batch_no,
                epoch,
                batch_time,
                Arrival(arrival),
                code_version,
                bytes(digests),
                bytes(digest),
            )
            yield Batch(*head, rows.get(batch_no, []))
        after = heads[-1][0]


def decide_again(memory: Memory, wishes: Wishes, batch: Batch) -> list[Row]:
    """What must have come out of this batch. Moves `memory` to after it."""
    facts: list[Fact] = []
    asks: list[Ask] = []
    for row in batch.rows:
        if row.kind == LedgerKind.FACT:
            given = _decode_fact(row.input)
            hold_id = None if given.hold is None else HoldId(int(given.hold))
            facts.append(Fact(given.fact, row.outcome, hold_id, bytes(given.body).decode()))
        elif row.kind == LedgerKind.REQUEST:
            wish = wishes.read(row.input.encode())
            if row.result == '{"reason":"undecidable"}':
                wish = Wish("undecidable")
            conflict = row.outcome == Outcome.CONFLICT
            asks.append(Ask(Arrival(row.arrival), row.buyer, row.request_id, row.input, wish, conflict))
    overlay = Overlay(memory)
    decided = decide(memory, overlay, batch.batch_no, batch.batch_time, facts, asks)
    overlay.keep(batch.batch_no, batch.batch_time)
    return decided.rows


class Follower:
    """A standby's warm memory: decides each new batch again. `mismatch` says when that went wrong."""

    def __init__(self, conn: Connection, event_id: int, memory: Memory, keys: Keys) -> None:
        self._conn = conn
        self._event_id = event_id
        self._wishes = Wishes(memory.layout)
        self.memory = memory
        self.keys = keys
        self.arrival: Arrival | None = None
        """The cursor after the last batch followed; None until there was one."""

    def catch_up(self) -> Finding | None:
        """Follow the ledger to its end. A finding means that memory must be loaded anew."""
        for batch in read_batches(self._conn, self._event_id, self.memory.batch_no):
            if decide_again(self.memory, self._wishes, batch) != batch.rows:
                return Finding(batch.batch_no, None, "a standby decides this batch differently")
            for row in batch.rows:
                if row.kind == LedgerKind.REQUEST:
                    self.keys.suspect((row.buyer, row.request_id))
            self.arrival = batch.arrival
        return None


def verify(conn: Connection, event_id: int) -> Iterator[Finding | Batch]:
    """Decide an event's whole ledger again from its first batch. Yields each good batch, and each finding.

    After a batch whose rows were changed, its own story is the finding and the replay goes on from
    what the ledger says, as far as it makes sense: the first finding is the one to look at.
    """
    layout = load_layout(conn, event_id)
    memory = Memory(layout, Policy(EventState.DRAFT))
    wishes = Wishes(layout)
    wants: dict[tuple[str, str], str] = {}
    before = GENESIS
    expected = 1
    for batch in read_batches(conn, event_id, 0):
        found = list(_changed(batch, before, expected))
        if batch.code_version != CODE_VERSION:
            story = f"was decided by version {batch.code_version} of the decision; this is {CODE_VERSION}"
            found.append(Finding(batch.batch_no, None, story))
        if not found:
            found = [*_conflicts(batch, wants), *_differences(batch, decide_again(memory, wishes, batch))]
        if found:
            yield from found
            return
        yield batch
        before, expected = batch.hash, batch.batch_no + 1
    yield from _missing_end(conn, event_id, expected - 1)


def _changed(batch: Batch, before: bytes, expected: int) -> Iterator[Finding]:
    """Rows and batches that are not what was hashed."""
    if batch.batch_no != expected:
        yield Finding(expected, None, f"batches {expected} to {batch.batch_no - 1} are missing")
        return
    digests = [batch.digests[i : i + DIGEST_BYTES] for i in range(0, len(batch.digests), DIGEST_BYTES)]
    if len(digests) != len(batch.rows):
        yield Finding(batch.batch_no, None, f"has {len(batch.rows)} rows; {len(digests)} were written")
        return
    for position, (row, digest) in enumerate(zip(batch.rows, digests, strict=True)):
        if row_digest(row) != digest:
            who = f"buyer {row.buyer!r}, request {row.request_id!r}" if row.buyer else row.kind
            yield Finding(batch.batch_no, position, f"the row was changed after it was written ({who})")
    head = (batch.batch_no, batch.epoch, batch.batch_time, batch.arrival, batch.code_version)
    if batch_hash(before, *head, batch.digests) != batch.hash:
        yield Finding(batch.batch_no, None, "its hash does not follow from the batch before it and its rows")


def _conflicts(batch: Batch, wants: dict[tuple[str, str], str]) -> Iterator[Finding]:
    """A key is decided once; a conflict has an earlier request of other content."""
    for position, row in enumerate(batch.rows):
        if row.kind != LedgerKind.REQUEST:
            continue
        earlier = wants.setdefault((row.buyer, row.request_id), row.input)
        if row.outcome == Outcome.CONFLICT and earlier == row.input:
            yield Finding(batch.batch_no, position, "is called a conflict, but nothing else was asked before")


def _differences(batch: Batch, again: Sequence[Row]) -> Iterator[Finding]:
    if len(again) != len(batch.rows):
        story = f"deciding again gives {len(again)} rows, the ledger has {len(batch.rows)}"
        yield Finding(batch.batch_no, None, story)
        return
    for position, (row, other) in enumerate(zip(batch.rows, again, strict=True)):
        if row != other:
            story = f"says {row.outcome} {row.result}; deciding again gives {other.outcome} {other.result}"
            yield Finding(batch.batch_no, position, story)


def _missing_end(conn: Connection, event_id: int, last: int) -> Iterator[Finding]:
    row = conn.execute("SELECT batch_no FROM event_cursor WHERE event_id = %s", (event_id,)).fetchone()
    conn.commit()
    assert row is not None, "an event has a cursor row"
    if row[0] > last:
        yield Finding(last + 1, None, f"batches {last + 1} to {row[0]} are missing")
