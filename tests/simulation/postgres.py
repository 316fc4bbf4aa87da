"""A virtual Postgres: events' rows, row locks, READ COMMITTED transactions, backends that can be ended.

A transaction's writes are its own until COMMIT; a row that another one changed is waited for and read
again after the wait, as an UPDATE's WHERE is. Constraints hold whatever the statements do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg import errors as pg

from store.lost_time import OUTAGE_SECONDS
from store.plan import Plan
from store.words import TourLimit
from tests.simulation.world import SECOND, Host, Process, World

Key = Any
Locked = tuple[int, str, Key]
"""(event, table, key); a tour's buyers are of no event: 0"""
IDLE_IN_TRANSACTION_SECONDS = 10.0
NO_LIMIT_US = 1 << 62


class HoldRow(NamedTuple):
    buyer: str
    request_id: str
    state: str
    quantity: int
    expires_at: int
    extensions: int = 0
    kind: str = "buyer"
    tour_id: int | None = None


class WaitingRow(NamedTuple):
    buyer: str
    request_id: str
    state: str
    hold_id: int | None


class AreaRow(NamedTuple):
    capacity: int
    held: int
    sold: int
    blocked: int


class EventRow(NamedTuple):
    state: str
    paused_at: int | None
    hold_ttl_seconds: int
    seats_per_buyer_max: int
    extensions_max: int = 1
    extension_seconds: int = 120
    offer_ttl_seconds: int = 600
    limits: Mapping[str, int] = MappingProxyType({})
    tour: TourLimit | None = None
    opens_at: int | None = None
    lobby_opens_at: int | None = None


class CursorRow(NamedTuple):
    epoch: int
    owner: Any
    batch_no: int
    arrival: str
    batch_time: int


class LeaseRow(NamedTuple):
    owner: Any
    worker: str
    backend: int
    renewed_at: int
    given_until: int = 0


class FactRow(NamedTuple):
    kind: str
    hold_id: int | None
    body: str


class OutboxRow(NamedTuple):
    kind: str
    body: bytes
    at: int = 0


class PlanRow(NamedTuple):
    plan: str
    ledger_at: int | None


class BatchRow(NamedTuple):
    epoch: int
    batch_time: int
    arrival: str
    code_version: int
    digests: bytes
    hash: bytes


ONE = 1
"""The key of the one row of `event`, `cursor` and `lease`."""


class Server:
    """What all events of a Postgres share: locks, backends and a clock of its own."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.skew_us = 0
        self.jumped_us = 0
        """By how much its clock was ever set forward."""
        self.away_until_us = 0
        self.locks: dict[Locked, Session] = {}
        self.waiting: dict[Locked, list[Session]] = {}
        self.backends: dict[int, Session] = {}
        self.last_backend = 0
        self.databases: list[Database] = []
        """Each event's."""

    def jump(self, by_us: int) -> None:
        """Its clock is set."""
        self.skew_us += by_us
        self.jumped_us += max(0, by_us)

    @property
    def gone_by_us(self) -> int:
        """No two looks at its clock, one after the other, are farther apart than this says."""
        return self.world.now_us + self.jumped_us


class Database:
    """One event on the server: its rows as every new statement sees them."""

    def __init__(self, world: World, plan: Plan, event: EventRow, server: Server | None = None) -> None:
        self.world = world
        self.plan = plan
        self.server = server = server or Server(world)
        server.databases.append(self)
        self.number = len(server.databases)
        self.locks, self.waiting, self.backends = server.locks, server.waiting, server.backends
        self.rows: dict[str, dict[Key, Any]] = {
            "event": {ONE: event},
            "cursor": {ONE: CursorRow(0, None, 0, "0-0", world.now_us)},
            "lease": {ONE: LeaseRow(None, "", 0, 0)},
            "seat": dict.fromkeys(range(len(plan.seats)), ("available", None)),
            "area": {number: AreaRow(area.capacity, 0, 0, 0) for number, area in enumerate(plan.areas)},
            "hold": {},
            "hold_seat": {},
            "hold_area": {},
            "ticket": {},
            "outbox": {},
            "outbox_count": {},
            "payment": {},
            "payment_notice": {},
            "refund": {},
            "waiting": {},
            "fact": {},
            "audit": {},
            "event_plan": {},
            "ledger": {},
            "ledger_key": {},
            "ledger_batch": {},
            "room": {},
            "place": {},
            "place_live": {},
            "line": {},
            "line_place": {},
            "ballot_wish": {},
            "room_code": {},
            "mail": {},
        }
        self.history: list[tuple[int, int, str, int | None, str]] = []
        """(seat, when, what it became, hold, by), in the order of COMMITs."""
        self.last_fact = 0
        self.last_audit = 0
        self.last_mail = 0
        self.place_of: Callable[[str], UUID] = lambda buyer: UUID(int=world.random.getrandbits(128))
        """The id that a buyer's new place is given."""
        self.last_payment = 0
        self.last_refund = 0
        self.late_payment = "refund"
        self.looks: list[Callable[[Session], None]] = []
        """Each looks at a transaction before it becomes true."""
        self.on_room_read: Callable[[], None] = lambda: None
        """Called when an owner begins to decide who is admitted."""
        self.poisoned: set[int] = set()
        """Seats whose claim always fails with a serialization error."""

    @property
    def away(self) -> bool:
        return self.server.away_until_us > self.world.now_us

    def clock(self) -> int:
        return self.world.now_us + self.server.skew_us

    def next_fact(self) -> int:
        self.last_fact += 1
        return self.last_fact

    def next_mail(self) -> int:
        self.last_mail += 1
        return self.last_mail

    def connect(self, process: Process) -> Session:
        """A new backend; raises as psycopg does when the server is away."""
        process.step("connect")
        if self.away:
            raise psycopg.OperationalError("the server is away")
        return Session(self, process)

    def restart(self, away_seconds: float) -> None:
        """Every backend ends; nothing uncommitted stays."""
        self.server.away_until_us = self.world.now_us + int(away_seconds * SECOND)
        for session in list(self.backends.values()):
            session.end()

    def lease_is_free(self, lease_seconds: float) -> bool:
        lease: LeaseRow = self.rows["lease"][ONE]
        stale = lease.renewed_at < self.clock() - int(lease_seconds * SECOND)
        return lease.owner is None or stale or lease.backend not in self.backends

    def last_sign(self, session: Session | None = None) -> int:
        """LAST_SIGN, as everybody sees it or a transaction does."""
        lease: LeaseRow = self.rows["lease"][ONE] if session is None else session.get("lease", ONE)
        cursor: CursorRow = self.rows["cursor"][ONE]
        return max(lease.renewed_at, lease.given_until, cursor.batch_time)

    def out_since(self, at: int, session: Session | None = None) -> int | None:
        """Since when nobody attends to the event, if by `at` that is an outage."""
        since = self.last_sign(session)
        return since if since < at - OUTAGE_SECONDS * SECOND else None

    def run_by(self) -> int:
        """RUN_BY."""
        paused_at = self.rows["event"][ONE].paused_at
        at = self.clock() if paused_at is None else paused_at
        since = self.out_since(at)
        return int(at if since is None else since)


class Session:
    """A backend and the client's end of its connection."""

    def __init__(self, database: Database, process: Process) -> None:
        self.database = database
        self.process = process
        self.world = database.world
        database.server.last_backend += 1
        self.number = database.server.last_backend
        self.alive = True
        self.cut = False
        """The client has lost it, whether or not the backend knows."""
        self.transaction = 0
        self.pending: dict[str, dict[Key, Any]] = {}
        self.pending_history: list[tuple[int, str, int | None, str]] = []
        self.locked: list[Locked] = []
        self.waits_for: Locked | None = None
        self.began_us = 0
        """When the transaction under way began."""
        self.looked_us = 0
        """When it looked at the waiting room last, by `Server.gone_by_us`."""
        self._canceled = False
        database.backends[self.number] = self
        process.host.on_kill.append(self.lost)

    # --- the client's side ---

    def step(self, what: str) -> None:
        """One statement arrives; raises as psycopg does when the connection is gone."""
        self.process.step(what)
        world = self.world
        if self.cut or not self.alive:
            raise psycopg.OperationalError("the connection is closed")
        if world.wrong("connection cut"):
            world.counters["connection_cut"] += 1
            self.lost()
            raise psycopg.OperationalError("server closed the connection unexpectedly")

    def lost(self) -> None:
        """The client is gone: the backend notices now or, busy or cut off, later."""
        self.cut = True
        if self.alive:
            if self.world.chance(0.6):
                self.end()
            else:
                self.world.after(self.world.random.uniform(0.05, 6.0), self.end)

    def end(self) -> None:
        """The backend is gone, and what it had not committed."""
        if self.alive:
            self.rollback()
            self.alive = False
            del self.database.backends[self.number]
            if self.waits_for is not None:
                self.process.nudge()

    def cancel(self) -> None:
        """A statement that waits is ended."""
        if self.waits_for is not None:
            self._canceled = True
            self.process.nudge()

    # --- inside a transaction ---

    def get(self, table: str, key: Key) -> Any:
        mine = self.pending.get(table)
        if mine is not None and key in mine:
            return mine[key]
        return self.database.rows[table].get(key)

    def put(self, table: str, key: Key, value: Any) -> None:
        """Write a row that is locked; None deletes it."""
        database = self.database
        assert database.locks.get((database.number, table, key)) is self, "only a locked row is changed"
        mine = self.pending.get(table)
        if mine is None:
            self.pending[table] = {key: value}
        else:
            mine[key] = value

    def insert(self, table: str, key: Key, value: Any) -> None:
        """A new row; waits for whoever inserts or deletes the same key, as a unique index does."""
        self.lock(table, key)
        if self.get(table, key) is not None:
            self.world.counters["constraint_fired"] += 1
            raise pg.UniqueViolation(f"duplicate key {key} in {table}")
        self.put(table, key, value)

    def lock(self, table: str, key: Key, wait_seconds: float = 2.0) -> None:
        """The row is ours until the transaction ends. What was read of it before must be read again."""
        self._lock((self.database.number, table, key), wait_seconds)

    def lock_tour_buyer(self, tour_id: int, buyer: str) -> None:
        """The one row that batches of different events want."""
        self._lock((0, "tour_buyer", (tour_id, buyer)), 2.0)

    def try_lock(self, table: str, key: Key) -> bool:
        """As `lock`, or at once False where somebody else has it."""
        if self.database.locks.get((self.database.number, table, key), self) is not self:
            return False
        self.lock(table, key)
        return True

    def unlock(self, table: str, key: Key) -> None:
        """What no row is: a lock that was needed for a moment."""
        full = (self.database.number, table, key)
        self.locked.remove(full)
        self._free(full)

    def _lock(self, full: Locked, wait_seconds: float) -> None:
        locks = self.database.locks
        deadline_us = -1
        while (holder := locks.get(full)) is not self:
            if holder is None:
                locks[full] = self
                self.locked.append(full)
                return
            if deadline_us < 0:
                deadline_us = self.world.now_us + int(wait_seconds * SECOND)
            self._wait(full, holder, deadline_us)

    def _wait(self, full: Locked, holder: Session, deadline_us: int) -> None:
        self.world.counters["lock_wait"] += 1
        self.world.counters["tour_wait"] += not full[0]
        ahead: Session | None = holder
        while ahead is not None and ahead.waits_for is not None:
            ahead = self.database.locks.get(ahead.waits_for)
            if ahead is self:
                self.world.counters["deadlock"] += 1
                raise pg.DeadlockDetected("deadlock detected")
        self.waits_for = full
        self.database.waiting.setdefault(full, []).append(self)
        try:
            self.process.park(deadline_us)
        finally:
            self.waits_for = None
        if not self.alive or self.cut:
            raise psycopg.OperationalError("terminating connection due to administrator command")
        if self._canceled:
            self._canceled = False
            raise pg.QueryCanceled("canceling statement due to user request")
        if self.world.now_us >= deadline_us and self.database.locks.get(full) is not None:
            self.world.counters["lock_timeout"] += 1
            raise pg.LockNotAvailable("canceling statement due to lock timeout")

    def remember(self, seat: int, state: str, hold_id: int | None, by: str) -> None:
        """A row of the seat's history."""
        self.pending_history.append((seat, state, hold_id, by))

    def commit(self) -> None:
        """What was written is true."""
        if not self.alive:
            return
        database = self.database
        if self.pending:
            for look in database.looks:
                look(self)
        for table, changes in self.pending.items():
            rows = database.rows[table]
            for key, value in changes.items():
                if value is None:
                    rows.pop(key, None)
                else:
                    rows[key] = value
        now = database.clock()
        database.history.extend(
            [(seat, now, state, hold_id, by) for seat, state, hold_id, by in self.pending_history]
        )
        self._end_transaction()

    def commit_late(self) -> None:
        """A COMMIT that was on its way when the client lost sight of it, and found its backend alive."""
        if self.alive:
            self.world.counters["outcome_unknown_committed_late"] += 1
            self.world.note(self.process.name, "its commit arrives late")
            self.commit()
            self.end()

    def rollback(self) -> None:
        if self.alive:
            self._end_transaction()

    def _end_transaction(self) -> None:
        self.transaction += 1
        self.pending = {}
        self.pending_history = []
        for full in self.locked:
            self._free(full)
        self.locked = []

    def _free(self, full: Locked) -> None:
        del self.database.locks[full]
        for waiter in self.database.waiting.pop(full, ()):
            waiter.process.nudge()

    @property
    def idle_in_transaction(self) -> bool:
        return bool(self.locked)


def time_out_idle(host: Host, database: Database) -> None:
    """A stopped client's open transactions are ended by `idle_in_transaction_session_timeout`."""

    def after_timeout(session: Session, transaction: int) -> None:
        if session.transaction == transaction and session.idle_in_transaction and host.stopped:
            session.end()

    for session in list(database.backends.values()):
        if session.process.host is host and session.idle_in_transaction:
            database.world.after(
                IDLE_IN_TRANSACTION_SECONDS, partial(after_timeout, session, session.transaction)
            )
