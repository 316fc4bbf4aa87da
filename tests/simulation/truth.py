"""`Truth` on the virtual Postgres: the statements of `allocator.sql`, with their conditions and counts.

What it promises and raises is `allocator.truth.PostgresTruth`'s, statement for statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import psycopg
from psycopg import errors as pg

from allocator.decide import CODE_VERSION, EXPIRIES_PER_BATCH_MAX, Fact
from allocator.decided import Claim, Decided, Moved, Row
from allocator.layout import Layout
from allocator.lease import Owned
from allocator.memory import Hold, Memory
from allocator.ports import Begun, Cursor, Key, Known
from store import opening
from store.errors import Fenced, OutcomeUnknown, ShortWrite, Unavailable
from store.ledger import GENESIS, batch_hash, row_digest
from store.words import Arrival, HoldId, LedgerKind, Outcome
from tests.simulation.keepers import DoubtfulConnection
from tests.simulation.load import load_memory
from tests.simulation.plan_statements import plan_counts
from tests.simulation.postgres import (
    ONE,
    AreaRow,
    BatchRow,
    CursorRow,
    Database,
    HoldRow,
    Session,
    WaitingRow,
)
from tests.simulation.statements import end_backend, move_lease

_MAY_RETRY = (pg.DeadlockDetected, pg.SerializationFailure)
FACTS_MAX = 10_000
Counted = tuple[int, int, str]
"""(rows won, rows there must be, what they are)"""


class VirtualTruth:
    """See `allocator.ports.Truth`."""

    def __init__(self, session: Session, owned: Owned, layout: Layout) -> None:
        self._session = session
        self._database: Database = session.database
        self._process = session.process
        self._world = session.world
        self._owned = owned
        self._layout = layout
        self._pending = 0
        self._last_hash: tuple[int, bytes] | None = None
        self._next_hash = b""

    def close(self) -> None:
        if not self._process.host.dead and not self._session.cut:
            self._session.end()

    def give_back(self) -> None:
        session = self._session
        session.step("give back")
        session.lock("lease", ONE)
        row = session.get("lease", ONE)
        if row.owner == self._owned.owner:
            now = self._database.clock()
            at = now if self.attended() else row.renewed_at
            session.put("lease", ONE, row._replace(owner=None, renewed_at=at))
        session.commit()

    # --- a batch ---

    def begin(self, after_batch: int, arrival: Arrival) -> Begun:
        session = self._session
        try:
            session.step(f"begin batch {after_batch + 1}")
            self._maybe_refuse()
            batch_time = self.fence(after_batch, arrival)
            if batch_time is not None:
                self._lock_due(batch_time)
                if self._world.chance(0.1):
                    session.step("take facts")
                facts = self._take_facts()
        except _MAY_RETRY as error:
            self.rollback()
            raise ShortWrite(str(error)) from error
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error
        if batch_time is None:
            self._world.counters["fenced"] += 1
            self.rollback()
            raise Fenced
        return Begun(batch_time, facts)

    def fence(self, after_batch: int, arrival: Arrival) -> int | None:
        """FENCE: the batch's time, or None when this owner lost the event or the batch is true already."""
        session = self._session
        session.lock("cursor", ONE)
        row: CursorRow = session.get("cursor", ONE)
        if (row.epoch, row.owner, row.batch_no) != (*self._owned, after_batch):
            return None
        if not self.attended():
            self._world.counters["unattended"] += 1
            return None
        now = max(row.batch_time, self._database.clock())
        session.put(
            "cursor", ONE, row._replace(batch_no=after_batch + 1, arrival=str(arrival), batch_time=now)
        )
        return now

    def attended(self) -> bool:
        """Of FENCE: no outage has to be given back first."""
        return self._database.out_since(self._database.clock()) is None

    def _lock_due(self, batch_time: int) -> None:
        """LOCK_DUE."""
        active = [
            (row.expires_at, no) for no, row in self._database.rows["hold"].items() if row.state == "active"
        ]
        due = sorted(one for one in active if one[0] <= batch_time)
        for hold_id in sorted(no for _, no in due[:EXPIRIES_PER_BATCH_MAX]):
            self._session.lock("hold", hold_id)

    def _take_facts(self) -> list[Fact]:
        session = self._session
        facts = []
        for fact_id in sorted(self._database.rows["fact"])[:FACTS_MAX]:
            session.lock("fact", fact_id)
            row = session.get("fact", fact_id)
            if row is not None:
                session.put("fact", fact_id, None)
                hold_id = None if row.hold_id is None else HoldId(row.hold_id)
                facts.append(Fact(fact_id, row.kind, hold_id, row.body))
        return facts

    def elsewhere(self, tour_id: int, buyers: Sequence[str]) -> dict[str, int]:
        """LOCK_TOUR_BUYERS, READ_ELSEWHERE."""
        session = self._session
        try:
            session.step(f"lock buyers of tour {tour_id}")
            self.lock_tour_buyers(tour_id, self._asking(buyers))
            session.step("read what they have on other dates")
            return self._read_elsewhere(tour_id, self._asking(buyers))
        except _MAY_RETRY as error:
            raise ShortWrite(str(error)) from error
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error

    def _asking(self, buyers: Sequence[str]) -> list[str]:
        """ASKING, by name."""
        waiting = self._database.rows["waiting"].values()
        return sorted({*buyers, *(row.buyer for row in waiting if row.state == "waiting")})

    def lock_tour_buyers(self, tour_id: int, buyers: Sequence[str]) -> None:
        for buyer in buyers:
            self._session.lock_tour_buyer(tour_id, buyer)

    def _read_elsewhere(self, tour_id: int, buyers: Sequence[str]) -> dict[str, int]:
        others = [one for one in self._database.server.databases if one is not self._database]
        counts = dict.fromkeys(buyers, 0)
        for other in others:
            for row in other.rows["hold"].values():
                if row.tour_id == tour_id and row.buyer in counts and row.state in ("active", "paid"):
                    counts[row.buyer] += row.quantity
        return {buyer: count for buyer, count in counts.items() if count}

    def write(self, batch_no: int, begun: Begun, arrival: Arrival, pieces: Iterator[Decided]) -> Decided:
        session = self._session
        expected: list[Counted] = []
        decided = Decided()
        try:
            digests, sent = b"", 0
            for decided in pieces:
                if rows := decided.rows[sent:]:
                    session.step(f"write ledger of batch {batch_no}: {len(rows)} rows")
                    digests += self._write_ledger(batch_no, rows, sent)
                    sent += len(rows)
            session.step(f"end ledger of batch {batch_no}")
            head = (batch_no, self._owned.epoch, begun.batch_time, str(arrival), CODE_VERSION, digests)
            self._next_hash = batch_hash(self._hash_of(batch_no - 1), *head)
            if decided.expired or decided.claims or decided.moved or decided.waits:
                session.step(f"write seats: {len(decided.expired)} expired, {len(decided.claims)} claimed")
                self._maybe_refuse()
                expected += [*self._expire(decided.expired, begun.batch_time), *self._leave(decided.moved)]
                expected += self._wait(decided)
                expected += self._free(
                    [(hold_id, hold, "expiry") for hold_id, hold in decided.expired]
                    + [(old.hold_id, old.hold, "buyer") for old in decided.moved]
                )
                expected += self._claim(decided.claims, decided.tour_id)
                expected += self._carry(decided.moved)
            for version, row in decided.plans:
                expected.append((plan_counts(session, batch_no << 16 | row, version), 1, "plan"))
            session.insert("ledger_batch", batch_no, BatchRow(*head[1:], self._next_hash))
            self.check_counts(expected)
        except _MAY_RETRY as error:
            raise ShortWrite(str(error)) from error
        except psycopg.IntegrityError as error:
            self._world.broken.append(f"alert: a constraint refused batch {batch_no}: {error}")
            raise ShortWrite(str(error)) from error
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error
        self._pending = batch_no
        return decided

    def check_counts(self, expected: Sequence[Counted]) -> None:
        for won, count, what in expected:
            if won != count:
                self._world.counters["short_write"] += 1
                raise ShortWrite(f"{what}: {won} of {count}")

    def _write_ledger(self, batch_no: int, rows: Sequence[Row], first_position: int) -> bytes:
        session = self._session
        digests = []
        for position, row in enumerate(rows, first_position):
            digests.append(row_digest(row))
            session.insert("ledger", (batch_no, position), row)
            if row.kind == LedgerKind.REQUEST and row.outcome != Outcome.CONFLICT:
                session.insert("ledger_key", (row.buyer, row.request_id), (batch_no, position))
        return b"".join(digests)

    def _maybe_refuse(self) -> None:
        """What Postgres may do to any transaction."""
        if self._world.wrong("serialization failure"):
            self._world.counters["serialization_failure"] += 1
            raise pg.SerializationFailure("could not serialize access")

    def _wait(self, decided: Decided) -> list[Counted]:
        """PUT_ON_LIST, TAKE_OFF_LIST."""
        session, served = self._session, 0
        for wait_id, buyer, request_id in decided.waits:
            session.insert("waiting", wait_id, WaitingRow(buyer, request_id, "waiting", None))
        for wait_id, hold_id, _ in sorted(decided.offered):
            row: WaitingRow | None = session.get("waiting", wait_id)
            if row is not None and row.state == "waiting":
                session.lock("waiting", wait_id)
                row = session.get("waiting", wait_id)
                if row is not None and row.state == "waiting":
                    session.put("waiting", wait_id, row._replace(state="offered", hold_id=hold_id))
                    served += 1
        if served < len(decided.offered):
            self._world.counters["offer_lost_race"] += 1
        return [(served, len(decided.offered), "requests served")]

    def _leave(self, moved: Sequence[Moved]) -> list[Counted]:
        """MOVE_HOLDS."""
        session, holds = self._session, 0

        def leaves(old: Moved) -> HoldRow | None:
            row: HoldRow | None = session.get("hold", old.hold_id)
            same = row is not None and row.buyer == old.hold.buyer and row.expires_at == old.hold.expires_at
            return row if same and row is not None and row.state == "active" else None

        for old in sorted(moved, key=lambda old: old.hold_id):
            if leaves(old) is not None:
                session.lock("hold", old.hold_id)
                row = leaves(old)
                if row is not None:
                    session.put("hold", old.hold_id, row._replace(state="released"))
                    holds += 1
        return [(holds, len(moved), "holds that are moved")]

    def _carry(self, moved: Sequence[Moved]) -> list[Counted]:
        """CARRY_EXTENSIONS."""
        session = self._session
        for old in moved:
            row = session.get("hold", old.to)
            before = session.get("hold", old.hold_id)
            session.put("hold", old.to, row._replace(extensions=before.extensions))
        return []

    def _expire(self, expired: Sequence[tuple[HoldId, Hold]], now: int) -> list[Counted]:
        """EXPIRE_HOLDS."""
        session, holds = self._session, 0
        for hold_id, _ in sorted(expired, key=lambda pair: pair[0]):
            row: HoldRow | None = session.get("hold", hold_id)
            if row is not None and row.state == "active":
                session.lock("hold", hold_id)
                row = session.get("hold", hold_id)
                if row is not None and row.state == "active" and row.expires_at <= now:
                    session.put("hold", hold_id, row._replace(state="expired"))
                    holds += 1
        return [(holds, len(expired), "holds that ran out")]

    def _free(self, ended: Sequence[tuple[HoldId, Hold, str]]) -> list[Counted]:
        """FREE_SEATS, FREE_HOLD_SEATS, FREE_HOLD_AREAS, MOVE_AREAS; each hold with who ended it."""
        session = self._session
        seats = kept = areas = 0
        pairs = sorted((seat, hold_id, by) for hold_id, hold, by in ended for seat in hold.seats)
        for seat, hold_id, by in pairs:
            session.lock("seat", seat)
            if session.get("seat", seat) == ("held", hold_id):
                session.put("seat", seat, ("available", None))
                session.remember(seat, "available", hold_id, by)
                seats += 1
        for seat, hold_id, _ in pairs:
            session.lock("hold_seat", seat)
            if session.get("hold_seat", seat) == hold_id:
                session.put("hold_seat", seat, None)
                kept += 1
        places = [(hold_id, area, count) for hold_id, hold, _ in ended for area, count in hold.areas]
        for hold_id, area, count in places:
            session.lock("hold_area", (hold_id, area))
            if session.get("hold_area", (hold_id, area)) == count:
                session.put("hold_area", (hold_id, area), None)
                areas += 1
        return [
            (seats, len(pairs), "seats of holds that ended"),
            (kept, len(pairs), "hold_seat rows"),
            (areas, len(places), "hold_area rows"),
            self._move_areas([(area, -count) for _, area, count in places]),
        ]

    def _claim(self, claims: Sequence[Claim], tour_id: int | None) -> list[Counted]:
        """CLAIM_HOLDS, CLAIM_SEATS, MOVE_AREAS, CLAIM_HOLD_AREAS."""
        if not claims:
            return []
        session = self._session
        for hold_id, hold, request_id in claims:
            row = HoldRow(hold.buyer, request_id, "active", hold.quantity, hold.expires_at, tour_id=tour_id)
            session.insert("hold", hold_id, row)
        pairs = sorted((seat, claim.hold_id) for claim in claims for seat in claim.hold.seats)
        if any(seat in self._database.poisoned for seat, _ in pairs):
            raise pg.SerializationFailure("could not serialize access")
        seats = 0
        for seat, hold_id in pairs:
            if session.get("seat", seat)[0] == "available":
                session.lock("seat", seat)
                if session.get("seat", seat)[0] == "available":
                    session.put("seat", seat, ("held", hold_id))
                    session.remember(seat, "held", hold_id, "allocator")
                    session.insert("hold_seat", seat, hold_id)
                    seats += 1
        places = [(claim.hold_id, area, count) for claim in claims for area, count in claim.hold.areas]
        moved = self._move_areas([(area, count) for _, area, count in places])
        for hold_id, area, count in places:
            session.insert("hold_area", (hold_id, area), count)
        return [(seats, len(pairs), "seats claimed"), moved]

    def _move_areas(self, places: Sequence[tuple[int, int]]) -> Counted:
        moved: dict[int, int] = {}
        for area, quantity in places:
            moved[area] = moved.get(area, 0) + quantity
        session, won = self._session, 0
        for area in sorted(moved):
            session.lock("area", area)
            row: AreaRow = session.get("area", area)
            held = row.held + moved[area]
            if held >= 0 and held + row.sold + row.blocked <= row.capacity:
                session.put("area", area, row._replace(held=held))
                won += 1
        return won, len(moved), "area counters"

    def commit(self) -> None:
        session, world = self._session, self._world
        try:
            session.step(f"commit batch {self._pending}")
        except psycopg.OperationalError as error:
            world.counters["outcome_unknown_not_committed"] += 1
            raise OutcomeUnknown(str(error)) from error
        fate = world.random.random() if world.wrong("commit unknown") else 1.0
        if fate < 0.3:
            world.counters["outcome_unknown_not_committed"] += 1
            session.cut = True
            session.end()
            raise OutcomeUnknown
        if fate < 0.6:  # on its way: it arrives, unless the backend is ended before
            session.cut = True
            world.after(world.random.uniform(0.0, 0.02), session.commit_late)
            raise OutcomeUnknown
        session.commit()
        if fate < 1.0:
            world.counters["outcome_unknown_committed"] += 1
            session.lost()
            raise OutcomeUnknown
        self._last_hash = (self._pending, self._next_hash)

    def rollback(self) -> None:
        if not self._process.host.dead and not self._session.cut:
            self._session.rollback()

    def committed(self, batch_no: int) -> bool:
        self._session.cut = True
        try:
            self._session = session = self._database.connect(self._process)
            session.step("end the backend lost sight of")
            end_backend(session, self._owned.owner)
            session.step("move the lease")
            move_lease(session, self._owned.owner)
            session.step("read the cursor")
            row: CursorRow = session.get("cursor", ONE)
            session.commit()
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error
        if (row.epoch, row.owner) != self._owned:
            self._world.counters["fenced"] += 1
            raise Fenced
        self._last_hash = None
        return row.batch_no == batch_no

    # --- reads ---

    def known(self, keys: Sequence[Key]) -> dict[Key, Known]:
        self._read(f"look up {len(keys)} keys")
        return known_keys(self._database, keys)

    def conflicts(self, arrivals: Sequence[Arrival]) -> set[Arrival]:
        self._read(f"look for conflicts of {len(arrivals)} arrivals")
        asked = set(arrivals)
        return {
            Arrival(row.arrival)
            for row in self._database.rows["ledger"].values()
            if row.outcome == Outcome.CONFLICT and row.arrival in asked
        }

    def open_when_due(self) -> int | None:
        """Only events with a waiting room have a schedule here."""
        row = self._database.rows["event"][ONE]
        if row.opens_at is None and row.lobby_opens_at is None:
            return None
        try:
            return opening.open_when_due(cast("Any", DoubtfulConnection(self._session)), 1)
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error

    def has_facts(self) -> bool:
        self._read("look for facts")
        return bool(self._database.rows["fact"])

    def load(self) -> tuple[Memory, Cursor]:
        self._read("load memory")
        self._world.counters["reloaded"] += 1
        return load_memory(self._database, self._layout)

    def _read(self, what: str) -> None:
        try:
            self._session.step(what)
        except psycopg.OperationalError as error:
            raise Unavailable(str(error)) from error

    def _hash_of(self, batch_no: int) -> bytes:
        if batch_no == 0:
            return GENESIS
        if self._last_hash is None or self._last_hash[0] != batch_no:
            self._last_hash = (batch_no, self._session.get("ledger_batch", batch_no).hash)
        return self._last_hash[1]


def known_keys(database: Database, keys: Sequence[Key]) -> dict[Key, Known]:
    """KNOWN_KEYS: what the ledger says of these keys."""
    found = {}
    where, ledger = database.rows["ledger_key"], database.rows["ledger"]
    for key in keys:
        at = where.get(key)
        if at is not None:
            row = ledger[at]
            found[key] = Known(row.input, row.arrival, row.outcome, row.result)
    return found
