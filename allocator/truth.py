"""`Truth` in Postgres: one owner's connection to one event.

A batch takes the same few round trips whatever its size: BEGIN, the fence with the facts, COPY of
the ledger, the conditional writes, COMMIT. Counts are checked against what was decided. What is
retried at once is only what Postgres says may be (deadlock, serialization); a constraint that
fires is an alert.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
from psycopg import errors as pg

from allocator import lease, sql
from allocator.decide import CODE_VERSION, EXPIRIES_PER_BATCH_MAX, Fact
from allocator.decided import Claim, Decided, Moved
from allocator.layout import Layout
from allocator.lease import Owned
from allocator.load import Connection, load_memory
from allocator.memory import Hold, Memory
from allocator.ports import Begun, Cursor, Key, Known
from store import opening
from store.database import connect
from store.errors import Fenced, OutcomeUnknown, ShortWrite, Unavailable
from store.ledger import GENESIS, batch_hash, copy_lines
from store.lookups import PLAN_BY_KEY
from store.words import Arrival, HoldId

log = logging.getLogger("onsale.allocator")

Counted = tuple[psycopg.Cursor[Any], int, str]
"""(a write that ran, how many rows it must have won, what they are)"""

_MAY_RETRY = (pg.DeadlockDetected, pg.SerializationFailure)
"""Decided again at once. A lock not had in time is `Unavailable`: no smaller batch would get it, and it
says nothing against any request."""


class PostgresTruth:
    """See `allocator.ports.Truth`. `conn` is the connection that took the event (`allocator.lease`)."""

    def __init__(
        self, conn: Connection, database_url: str, event_id: int, owned: Owned, layout: Layout
    ) -> None:
        self._conn = conn
        self._url = database_url
        self._event_id = event_id
        self._owned = owned
        self._layout = layout
        self._due = {"event": event_id, **owned._asdict(), "most": EXPIRIES_PER_BATCH_MAX}
        self._pending = 0
        self._last_hash: tuple[int, bytes] | None = None
        self._next_hash = b""
        self._prepare()

    def close(self) -> None:
        self._conn.close()

    def give_back(self) -> None:
        """A planned stop: whoever stands by takes over at once."""
        lease.give_back(self._conn, self._event_id, self._owned)

    def begin(self, after_batch: int, arrival: Arrival) -> Begun:
        try:
            with self._conn.pipeline():
                self._conn.execute("BEGIN")
                fence = self._conn.execute(sql.FENCE, (arrival, self._event_id, *self._owned, after_batch))
                self._conn.execute(sql.LOCK_DUE, self._due | {"batch": after_batch + 1})
                facts = self._conn.execute(sql.TAKE_FACTS, (self._event_id,))
        except _MAY_RETRY as error:
            self.rollback()
            raise ShortWrite(str(error)) from error
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error
        clock = fence.fetchone()
        if clock is None:
            self.rollback()
            raise Fenced
        rows = sorted(facts.fetchall())
        return Begun(clock[0], [Fact(*row) for row in rows])

    def elsewhere(self, tour_id: int, buyers: Sequence[str]) -> dict[str, int]:
        given = {"tour": tour_id, "event": self._event_id, "buyers": _text_array(buyers)}
        try:
            with self._conn.pipeline():
                self._conn.execute(sql.LOCK_TOUR_BUYERS, given)
                found = self._conn.execute(sql.READ_ELSEWHERE, given)
        except _MAY_RETRY as error:
            raise ShortWrite(str(error)) from error
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error
        return dict(found.fetchall())

    def write(self, batch_no: int, begun: Begun, arrival: Arrival, pieces: Iterator[Decided]) -> Decided:
        expected: list[Counted] = []
        try:
            decided, digests = self._copy_ledger(batch_no, pieces)
            head = (batch_no, self._owned.epoch, begun.batch_time, arrival, CODE_VERSION, digests)
            self._next_hash = batch_hash(self._hash_of(batch_no - 1), *head)
            with self._conn.pipeline():
                expected += self._end(decided.expired, decided.moved, begun.batch_time)
                expected += self._wait(decided)
                expected += self._free(decided.expired, decided.moved)
                expected += self._claim(decided.claims, decided.tour_id)
                expected += self._carry(decided.moved)
                expected += self._plans(batch_no, decided)
                self._conn.execute(sql.WRITE_BATCH, (self._event_id, *head, self._next_hash))
            for cursor, count, what in expected:
                if cursor.rowcount != count:
                    raise ShortWrite(f"{what}: {cursor.rowcount} of {count}")
        except _MAY_RETRY as error:
            raise ShortWrite(str(error)) from error
        except psycopg.IntegrityError as error:
            log.error("ALERT: a constraint refused batch %d of event %d: %s", batch_no, self._event_id, error)
            raise ShortWrite(str(error)) from error
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error
        self._pending = batch_no
        return decided

    def _copy_ledger(self, batch_no: int, pieces: Iterator[Decided]) -> tuple[Decided, bytes]:
        """Send rows as they are decided; the whole result and the rows' digests."""
        decided = Decided()
        digests: list[bytes] = []
        sent = 0
        with self._conn.cursor().copy(sql.COPY_LEDGER) as copy:
            for decided in pieces:
                rows = decided.rows[sent:]
                if rows:
                    lines, their_digests = copy_lines(self._event_id, batch_no, rows, sent)
                    copy.write(lines)
                    digests.append(their_digests)
                    sent += len(rows)
        return decided, b"".join(digests)

    def commit(self) -> None:
        try:
            self._conn.commit()
        except psycopg.OperationalError as error:
            raise OutcomeUnknown(str(error)) from error
        self._last_hash = (self._pending, self._next_hash)

    def rollback(self) -> None:
        try:
            self._conn.rollback()
        except psycopg.Error as error:  # the connection is gone, and the transaction with it
            log.warning("rollback of event %d: %s", self._event_id, error)

    def committed(self, batch_no: int) -> bool:
        self._conn.close()
        self._conn = connect(self._url, f"onsale allocator {self._event_id}")
        self._prepare()
        try:
            # the backend we lost sight of may still be about to commit; the lease row names it
            self._conn.execute(lease.END_BACKEND, (self._event_id, self._owned.owner))
            self._conn.execute(sql.MOVE_LEASE, (self._event_id, self._owned.owner))
            row = self._conn.execute(sql.READ_CURSOR, (self._event_id,)).fetchone()
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error
        assert row is not None, "an event has a cursor row"
        epoch, owner, at_batch = row
        if (epoch, owner) != self._owned:
            raise Fenced
        self._last_hash = None
        return bool(at_batch == batch_no)

    def known(self, keys: Sequence[Key]) -> dict[Key, Known]:
        buyers, request_ids = [buyer for buyer, _ in keys], [request_id for _, request_id in keys]
        try:
            rows = self._conn.execute(sql.KNOWN_KEYS, (buyers, request_ids, self._event_id)).fetchall()
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error
        return {(buyer, request_id): Known(*row) for buyer, request_id, *row in rows}

    def conflicts(self, arrivals: Sequence[Arrival]) -> set[Arrival]:
        try:
            rows = self._conn.execute(sql.CONFLICTS, (self._event_id, list(arrivals))).fetchall()
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error
        return {arrival for (arrival,) in rows}

    def has_facts(self) -> bool:
        try:
            row = self._conn.execute(sql.HAS_FACTS, (self._event_id,)).fetchone()
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error
        return row is not None

    def open_when_due(self) -> int | None:
        try:
            return opening.open_when_due(self._conn, self._event_id)
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error

    def load(self) -> tuple[Memory, Cursor]:
        try:
            return load_memory(self._conn, self._event_id, self._layout)
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error

    def _prepare(self) -> None:
        """BEGIN is sent with the fence, not before it; and plans are made by key, however large a batch is.

        Planned for its values, a large batch reads the whole seat table (or ledger) into a hash.
        """
        try:
            self._conn.autocommit = True
            self._conn.execute(PLAN_BY_KEY)
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error

    def _hash_of(self, batch_no: int) -> bytes:
        if batch_no == 0:
            return GENESIS
        if self._last_hash is None or self._last_hash[0] != batch_no:
            row = self._conn.execute(sql.LAST_HASH, (self._event_id, batch_no)).fetchone()
            assert row is not None, "batches are numbered without gaps"
            self._last_hash = (batch_no, bytes(row[0]))
        return self._last_hash[1]

    def _end(
        self, expired: Sequence[tuple[HoldId, Hold]], moved: Sequence[Moved], batch_time: int
    ) -> list[Counted]:
        """Statements for holds that ran out or are moved, each with the count it must reach."""
        done = []
        if expired:
            holds = _array([hold_id for hold_id, _ in expired])
            given: dict[str, object] = {"event": self._event_id, "holds": holds, "now": batch_time}
            done.append((self._conn.execute(sql.EXPIRE_HOLDS, given), len(expired), "holds that ran out"))
        if moved:
            given = self._moved(moved)
            done.append((self._conn.execute(sql.MOVE_HOLDS, given), len(moved), "holds that are moved"))
        return done

    def _wait(self, decided: Decided) -> list[Counted]:
        """Statements for who goes on the waiting list and who comes off it."""
        waits, offered = decided.waits, decided.offered
        done = []
        if waits:
            given: dict[str, object] = {
                "event": self._event_id,
                "waits": _array([new.wait_id for new in waits]),
                "buyers": _text_array([new.buyer for new in waits]),
                "requests": _text_array([new.request_id for new in waits]),
            }
            done.append((self._conn.execute(sql.PUT_ON_LIST, given), len(waits), "requests that wait"))
        if offered:
            given = {
                "event": self._event_id,
                "waits": _array([offer.wait_id for offer in offered]),
                "holds": _array([offer.hold_id for offer in offered]),
            }
            done.append((self._conn.execute(sql.TAKE_OFF_LIST, given), len(offered), "requests served"))
        return done

    def _free(self, expired: Sequence[tuple[HoldId, Hold]], moved: Sequence[Moved]) -> list[Counted]:
        """Statements for what holds that ended had, each with the count it must reach."""
        ended = [*expired, *((old.hold_id, old.hold) for old in moved)]
        pairs = sorted((seat, hold_id) for hold_id, hold in ended for seat in hold.seats)
        places = [(hold_id, area, quantity) for hold_id, hold in ended for area, quantity in hold.areas]
        done = []
        if pairs:
            given: dict[str, object] = self._seats(pairs) | {"moved": _array([old.hold_id for old in moved])}
            done.append((self._conn.execute(sql.FREE_SEATS, given), len(pairs), "seats of holds that ended"))
            done.append((self._conn.execute(sql.FREE_HOLD_SEATS, given), len(pairs), "hold_seat rows"))
        if places:
            given = self._places(places)
            done.append((self._conn.execute(sql.FREE_HOLD_AREAS, given), len(places), "hold_area rows"))
            done.append(self._move_areas([(hold_id, area, -count) for hold_id, area, count in places]))
        return done

    def _carry(self, moved: Sequence[Moved]) -> list[Counted]:
        """What a hold that was moved keeps of the one before."""
        if not moved:
            return []
        news = _array([old.to for old in moved])
        given = self._moved(moved) | {"news": news}
        return [(self._conn.execute(sql.CARRY_EXTENSIONS, given), len(moved), "extensions of moved holds")]

    def _plans(self, batch_no: int, decided: Decided) -> list[Counted]:
        """From which row on a plan with seats in other categories counts."""
        return [
            (self._conn.execute(sql.PLAN_COUNTS, (batch_no << 16 | row, self._event_id, version)), 1, "plan")
            for version, row in decided.plans
        ]

    def _moved(self, moved: Sequence[Moved]) -> dict[str, object]:
        return {
            "event": self._event_id,
            "holds": _array([old.hold_id for old in moved]),
            "buyers": _text_array([old.hold.buyer for old in moved]),
            "expiries": _array([old.hold.expires_at for old in moved]),
        }

    def _claim(self, claims: Sequence[Claim], tour_id: int | None) -> list[Counted]:
        """Statements for new holds, each with the count it must reach."""
        if not claims:
            return []
        pairs = sorted((seat, claim.hold_id) for claim in claims for seat in claim.hold.seats)
        places = [(claim.hold_id, area, count) for claim in claims for area, count in claim.hold.areas]
        given: dict[str, object] = {
            "event": self._event_id,
            "holds": _array([claim.hold_id for claim in claims]),
            "buyers": _text_array([claim.hold.buyer for claim in claims]),
            "requests": _text_array([claim.request_id for claim in claims]),
            "quantities": _array([claim.hold.quantity for claim in claims]),
            "expiries": _array([claim.hold.expires_at for claim in claims]),
            "tour": tour_id,
        }
        done = [(self._conn.execute(sql.CLAIM_HOLDS, given), len(claims), "holds")]
        if pairs:
            seats = self._seats(pairs)
            done.append((self._conn.execute(sql.CLAIM_SEATS, seats), len(pairs), "seats claimed"))
        if places:
            done.append(self._move_areas(places))
            given = self._places(places)
            done.append((self._conn.execute(sql.CLAIM_HOLD_AREAS, given), len(places), "hold_area rows"))
        return done

    def _seats(self, pairs: Sequence[tuple[int, HoldId]]) -> dict[str, object]:
        seats = _array([seat for seat, _ in pairs])
        return {"event": self._event_id, "seats": seats, "holds": _array([hold_id for _, hold_id in pairs])}

    def _places(self, places: Sequence[tuple[HoldId, int, int]]) -> dict[str, object]:
        return {
            "event": self._event_id,
            "holds": _array([hold_id for hold_id, _, _ in places]),
            "areas": _array([area for _, area, _ in places]),
            "quantities": _array([quantity for _, _, quantity in places]),
        }

    def _move_areas(self, places: Sequence[tuple[HoldId, int, int]]) -> Counted:
        moved: dict[int, int] = {}
        for _, area, quantity in places:
            moved[area] = moved.get(area, 0) + quantity
        areas = sorted(moved)
        quantities = _array([moved[area] for area in areas])
        given = {"event": self._event_id, "areas": _array(areas), "quantities": quantities}
        return self._conn.execute(sql.MOVE_AREAS, given), len(areas), "area counters"


def _array(numbers: Sequence[int]) -> str:
    """A Postgres array literal."""
    return "{" + ",".join(map(str, numbers)) + "}"


def _text_array(texts: Sequence[str]) -> str:
    if not texts:
        return "{}"
    quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in texts]
    return '{"' + '","'.join(quoted) + '"}'
