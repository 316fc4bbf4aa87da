"""The ledger, decided again: `./run verify` proves every answer.

What the ledger says went in is fed to the very function that decided, of the version that each batch names
(`allocator.versions`), and what comes out compared. A batch of a version that this code does not have is
followed as a standby follows it, and said to be unproven; those after it are proven again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec
import psycopg

from allocator.decide import Ask, Fact, decide
from allocator.decided import Row
from allocator.follow import Follower, Mismatch, decode_fact
from allocator.keys import Keys
from allocator.load import load_first_layout, load_layout
from allocator.memory import Memory, Overlay
from allocator.offering import OffersFirst
from allocator.versions import VERSIONS, Decide
from allocator.wishes import Wish, Wishes
from store.erasure import erase
from store.erasure.words import names_pseudonym
from store.ledger import DIGEST_BYTES, GENESIS, batch_hash, row_digest
from store.restored import goes_on_at
from store.words import Arrival, EventState, LedgerKind, Outcome, Policy

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
    positions: list[int]
    """Where the ledger has each of `rows`: 0, 1, 2 …"""


class Finding(NamedTuple):
    """Something in the ledger that cannot be as it was written."""

    batch_no: int
    position: int | None
    story: str


class Unproven(NamedTuple):
    """A batch that is as it was written, and that this code cannot decide again."""

    batch: Batch
    story: str


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
        positions: dict[int, list[int]] = {}
        for batch_no, position, *row in conn.execute(
            "SELECT batch_no, position, kind, coalesce(arrival, ''), coalesce(buyer, ''),"
            "       coalesce(request_id, ''), input::text, outcome, result::text"
            "  FROM ledger WHERE event_id = %s AND batch_no > %s AND batch_no <= %s"
            " ORDER BY batch_no, position",
            (event_id, after, heads[-1][0]),
        ):
            rows.setdefault(batch_no, []).append(Row(*row))
            positions.setdefault(batch_no, []).append(position)
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
            yield Batch(*head, rows.get(batch_no, []), positions.get(batch_no, []))
        after = heads[-1][0]


def decide_again(memory: Memory, wishes: Wishes, batch: Batch, decide: Decide = decide) -> list[Row]:
    """What must have come out of this batch. Moves `memory` to after it. `wishes` are by its layout, and they
    and `decide` of the version that decided it.
    """
    facts: list[Fact] = []
    asks: list[Ask] = []
    for row in batch.rows:
        if row.kind == LedgerKind.FACT:
            facts.append(decode_fact(row.input).as_fact(row.outcome))
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


def verify(conn: Connection, event_id: int) -> Iterator[Finding | Unproven | Batch]:
    """Decide an event's whole ledger again from its first batch. Yields each good batch, each that cannot be
    proven, and each finding.

    After a batch whose rows were changed, its own story is the finding and the replay goes on from
    what the ledger says, as far as it makes sense: the first finding is the one to look at.
    """
    layout = load_first_layout(conn, event_id)
    memory = Memory(layout, Policy(EventState.DRAFT))
    wishes = {number: version.wishes(layout) for number, version in VERSIONS.items()}
    wants: dict[tuple[str, str], str] = {}
    erased = erase.digests(conn, event_id)
    before = GENESIS
    restored = goes_on_at(conn, event_id)
    expected = restored.get(0, 1)
    until = _batches_committed(conn, event_id)  # first: a sale goes on while its ledger is read
    for batch in read_batches(conn, event_id, 0):
        found = list(_changed(batch, before, expected, erased.get(batch.batch_no, {})))
        number = batch.code_version
        if not found and number in VERSIONS:
            wishes[number] = wishes[number].by(memory.layout)
            again = _decided_again(memory, wishes[number], batch, VERSIONS[number].decide)
            found = [*_conflicts(batch, wants), *again]
        elif not found:
            found = [*_conflicts(batch, wants), *_followed(conn, event_id, memory, batch)]
        if found:
            yield from found
            return
        if number in VERSIONS:
            yield batch
        else:
            known = ", ".join(map(str, VERSIONS))
            yield Unproven(batch, f"was decided by version {number} of the decision; this code has {known}")
        before, expected = batch.hash, restored.get(batch.batch_no, batch.batch_no + 1)
    if until >= expected:
        yield Finding(expected, None, f"batches {expected} to {until} are missing")
    now, by_ledger = load_layout(conn, event_id), memory.layout
    moved_on = now.version > by_ledger.version  # a sale goes on while its ledger is read
    if not moved_on and (now.version, now.plan) != (by_ledger.version, by_ledger.plan):
        yield Finding(until, None, "the event's plan is not the one that the ledger's moves lead to")
    yield from _rows_of_no_batch(conn, event_id)


def _changed(batch: Batch, before: bytes, expected: int, erased: Mapping[int, bytes]) -> Iterator[Finding]:
    """Rows and batches that are not what was hashed, or since a buyer was erased not what was kept of that
    (position → digest). The chain is over what was hashed.
    """
    if batch.batch_no != expected:
        yield Finding(expected, None, f"batches {expected} to {batch.batch_no - 1} are missing")
        return
    digests = [batch.digests[i : i + DIGEST_BYTES] for i in range(0, len(batch.digests), DIGEST_BYTES)]
    if len(digests) != len(batch.rows):
        now = [row_digest(row) for row in batch.rows]
        first = next(at for at, (was, is_) in enumerate(zip_longest(digests, now)) if was != is_)
        story = f"has {len(batch.rows)} rows; {len(digests)} were written, and they differ from here on"
        yield Finding(batch.batch_no, first, story)
        return
    for position, (at, row, digest) in enumerate(zip(batch.positions, batch.rows, digests, strict=True)):
        if row_digest(row) != erased.get(position, digest):
            who = f"buyer {row.buyer!r}, request {row.request_id!r}" if row.buyer else row.kind
            yield Finding(batch.batch_no, position, f"the row was changed after it was written ({who})")
        elif position in erased and not names_pseudonym(row.buyer + row.input):
            yield Finding(batch.batch_no, position, "is said to be erased, and names no pseudonym")
        elif at != position:
            yield Finding(batch.batch_no, position, f"the row was moved to position {at}")
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


def _followed(conn: Connection, event_id: int, memory: Memory, batch: Batch) -> Iterator[Finding]:
    """Memory goes where the ledger says; a finding where it cannot."""
    changes = [
        (
            *(batch.batch_no, position, row.kind, row.buyer, row.request_id),
            *((row.input, row.outcome) if row.kind != LedgerKind.REQUEST or _waits(row) else (None, None)),
            row.result if row.outcome in (Outcome.HELD, "offered") else None,
        )
        for position, row in enumerate(batch.rows)
    ]
    try:
        Follower(conn, event_id, memory, Keys()).apply(batch.batch_no, batch.batch_time, changes)
    except Mismatch as mismatch:
        yield Finding(batch.batch_no, None, f"cannot be followed: {mismatch}")


def _waits(row: Row) -> bool:
    return row.outcome == Outcome.WAITLISTED


def _decided_again(memory: Memory, wishes: Wishes, batch: Batch, decide: Decide) -> Iterator[Finding]:
    """What comes out otherwise; or nothing can, such as of a block of a seat that somebody has."""
    try:
        again = decide_again(memory, wishes, batch, decide)
    except (AssertionError, OffersFirst, msgspec.DecodeError) as error:
        yield Finding(batch.batch_no, None, f"cannot be decided again: {error}")
    else:
        yield from _differences(batch, again)


def _differences(batch: Batch, again: Sequence[Row]) -> Iterator[Finding]:
    if len(again) != len(batch.rows):
        story = f"deciding again gives {len(again)} rows, the ledger has {len(batch.rows)}"
        yield Finding(batch.batch_no, None, story)
        return
    for position, (row, other) in enumerate(zip(batch.rows, again, strict=True)):
        if row != other:
            story = f"says {row.outcome} {row.result}; deciding again gives {other.outcome} {other.result}"
            yield Finding(batch.batch_no, position, story)


def _batches_committed(conn: Connection, event_id: int) -> int:
    row = conn.execute("SELECT batch_no FROM event_cursor WHERE event_id = %s", (event_id,)).fetchone()
    conn.commit()
    assert row is not None, "an event has a cursor row"
    return int(row[0])


def _rows_of_no_batch(conn: Connection, event_id: int) -> Iterator[Finding]:
    """Rows that were put into the ledger under a number that no batch has."""
    found = conn.execute(
        "SELECT batch_no, position FROM ledger WHERE event_id = %s AND NOT EXISTS"
        " (SELECT FROM ledger_batch AS batch"
        "   WHERE batch.event_id = ledger.event_id AND batch.batch_no = ledger.batch_no)"
        " ORDER BY batch_no, position LIMIT 100",
        (event_id,),
    ).fetchall()
    conn.commit()
    for batch_no, position in found:
        yield Finding(batch_no, position, "belongs to no batch")
