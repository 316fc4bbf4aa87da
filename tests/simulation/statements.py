"""The statements of leases, followers, holders and operators, as the virtual Postgres runs them.

Each function is one statement of the code under test, found by that statement's own text: one that is
not here is an error, so nothing is simulated that no longer exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from typing import Any

from psycopg.types.json import Jsonb

from allocator import follow, lease
from store import audit, blocks, events, lookups, lost_time
from store.room import ballot, draw
from store.terms import DECIDED_BY, TERMS
from store.words import EventState
from tests.simulation.holder_statements import HOLDERS, free_seats
from tests.simulation.load import policy_of
from tests.simulation.payment_statements import PAYMENTS
from tests.simulation.plan_statements import MOVES
from tests.simulation.postgres import ONE, AreaRow, CursorRow, EventRow, FactRow, HoldRow, LeaseRow, Session
from tests.simulation.room_statements import ROOMS, moment
from tests.simulation.sale_statements import SALES
from tests.simulation.ticket_statements import TICKETS
from tests.simulation.world import SECOND

Rows = list[tuple[Any, ...]]
Statement = Callable[[Session, Any], Rows]

# --- leases ---


def _look(session: Session, values: Sequence[Any]) -> Rows:
    cursor, row = session.get("cursor", ONE), session.get("lease", ONE)
    free, now = session.database.lease_is_free(values[0]), session.database.clock()
    given_back = row.owner is None and row.renewed_at > now - int(lease.PRECEDENCE_SECONDS * SECOND)
    return [(cursor.epoch, row.owner, free, cursor.batch_no, given_back)]


def end_backend(session: Session, owner: Any) -> None:
    """END_BACKEND: at once, whatever becomes of the transaction that says it.

    Now and then a backend does not end within the time it is given; then the fence is what is left.
    """
    row: LeaseRow = session.get("lease", ONE)
    backend = session.database.backends.get(row.backend)
    if row.owner == owner and backend is not None and backend is not session:
        if session.world.wrong("backend does not end"):
            session.world.counters["backend_not_ended"] += 1
        else:
            session.world.counters["backend_ended"] += 1
            backend.end()


def _end_backend(session: Session, values: Sequence[Any]) -> Rows:
    end_backend(session, values[1])
    return []


def raise_epoch(session: Session, values: Sequence[Any]) -> Rows:
    owner, _, epoch = values
    session.lock("cursor", ONE)
    row: CursorRow = session.get("cursor", ONE)
    if row.epoch != epoch:
        return []
    session.put("cursor", ONE, row._replace(epoch=epoch + 1, owner=owner))
    return [(epoch + 1,)]


def _take(session: Session, values: Sequence[Any]) -> Rows:
    owner, worker, _ = values
    session.lock("lease", ONE)
    if session.database.out_since(_paused_until(session), session) is not None:
        return []
    now, row = session.database.clock(), session.get("lease", ONE)
    session.put("lease", ONE, LeaseRow(owner, worker, session.number, now, row.given_until))
    session.world.counters["takeover"] += 1
    return [(True,)]


def _renew(session: Session, values: Sequence[Any]) -> Rows:
    database = session.database

    def renews() -> bool:
        return session.get("lease", ONE).owner in values[1] and database.out_since(database.clock()) is None

    if renews():
        session.lock("lease", ONE)
        if renews():
            session.put("lease", ONE, session.get("lease", ONE)._replace(renewed_at=database.clock()))
            return [(ONE,)]
    return []


def _clock(session: Session, values: Sequence[Any]) -> Rows:
    return [(session.database.clock(),)]


def move_lease(session: Session, owner: Any) -> None:
    """MOVE_LEASE."""
    session.lock("lease", ONE)
    row: LeaseRow = session.get("lease", ONE)
    if row.owner == owner:
        session.put("lease", ONE, row._replace(backend=session.number))


# --- followers ---


def _heads(session: Session, values: Sequence[Any]) -> Rows:
    _, after, limit = values
    batches = session.database.rows["ledger_batch"]
    found: Rows = []
    while len(found) < limit and (row := batches.get(after + 1)) is not None:
        after += 1
        found.append((after, row.batch_time, row.arrival))
    return found


def _changes(session: Session, values: Sequence[Any]) -> Rows:
    _, after, last = values
    ledger = session.database.rows["ledger"]
    found: Rows = []
    for batch_no in range(after + 1, last + 1):
        position = 0
        while (row := ledger.get((batch_no, position))) is not None:
            changes = row.kind != "request" or row.outcome == "waitlisted"
            given, what = (row.input, str(row.outcome)) if changes else (None, None)
            result = row.result if row.outcome in ("held", "offered") else None
            found.append((batch_no, position, str(row.kind), row.buyer, row.request_id, given, what, result))
            position += 1
    return found


# --- operators ---


def _read_event(session: Session, _values: Any) -> Rows:
    row: EventRow = session.get("event", ONE)
    return [
        events.Event(  # type: ignore[list-item]  # the row factory's work is done here
            id=1, slug="gala", name="Gala", venue_id=1, state=EventState(row.state),
            opens_at=moment(row.opens_at), lobby_opens_at=moment(row.lobby_opens_at),
            paused_at=moment(row.paused_at),
            created_at=datetime.fromtimestamp(0, UTC),
            **{term: getattr(row, term) for term in TERMS if term in row._fields},
        )
    ]  # fmt: skip


def _read_event_locked(session: Session, values: Any) -> Rows:
    session.lock("event", ONE, 5.0)
    return _read_event(session, values)


def _set_state(session: Session, values: Mapping[str, Any]) -> Rows:
    row: EventRow = session.get("event", ONE)
    paused_at = session.database.clock() if values["to"] == "paused" else None
    session.put("event", ONE, row._replace(state=values["to"], paused_at=paused_at))
    return []


def _set_policy(session: Session, values: Mapping[str, Any]) -> Rows:
    row: EventRow = session.get("event", ONE)
    given = {term: values[term] for term in TERMS if term in row._fields and values[term] is not None}
    changed = {term: value.obj if isinstance(value, Jsonb) else value for term, value in given.items()}
    session.put("event", ONE, row._replace(**changed))
    return []


def _read_policy(session: Session, _values: Any) -> Rows:
    policy = policy_of(session.get("event", ONE))
    tour = (None, None) if policy.tour is None else (policy.tour.id, policy.tour.seats_per_buyer_max)
    return [(policy.state, policy.paused_at, *tour, *(getattr(policy, term) for term in DECIDED_BY))]


def _read_categories(session: Session, _values: Any) -> Rows:
    return [([category.name for category in session.database.plan.categories],)]


def _lock_cursor(session: Session, _values: Any) -> Rows:
    session.lock("cursor", ONE, 5.0)
    return [(1,)]


def _paused_until(session: Session) -> int:
    paused_at = session.get("event", ONE).paused_at
    return int(session.database.clock() if paused_at is None else paused_at)


def _lock_event_shared(session: Session, _values: Any) -> Rows:
    session.lock("event", ONE)
    return [(1,)]


def _read_outage(session: Session, _values: Any) -> Rows:
    since = session.database.out_since(_paused_until(session))
    return [] if since is None else [(since,)]


def _read_pause(session: Session, _values: Any) -> Rows:
    return [(session.get("event", ONE).paused_at,)]


def _paused_for(session: Session, values: Mapping[str, Any]) -> Rows:
    now = session.database.clock()
    return [(now - values["since"], now)]


def _out_for(session: Session, values: Mapping[str, Any]) -> Rows:
    return [(_paused_until(session) - values["since"], session.database.clock())]


def _ran(session: Session, since: int) -> list[int]:
    """With what this transaction did to them."""
    rows = {no: session.get("hold", no) for no in session.database.rows["hold"]}
    return sorted(no for no, row in rows.items() if row.state == "active" and row.expires_at > since)


def _lock_holds(session: Session, values: Mapping[str, Any]) -> Rows:
    for hold_id in _ran(session, values["since"]):
        session.lock("hold", hold_id, 5.0)
    return [(1,) for _ in _ran(session, values["since"])]


def _extend_holds(session: Session, values: Mapping[str, Any]) -> Rows:
    for hold_id in _ran(session, values["since"]):
        session.lock("hold", hold_id, 5.0)
        row: HoldRow = session.get("hold", hold_id)
        if row.state == "active":
            session.put("hold", hold_id, row._replace(expires_at=row.expires_at + values["lost"]))
    return []


def _given_until(session: Session, values: Mapping[str, Any]) -> Rows:
    session.lock("lease", ONE)
    session.put("lease", ONE, session.get("lease", ONE)._replace(given_until=values["now"]))
    return []


def _tell_allocator(session: Session, values: Sequence[Any]) -> Rows:
    _, kind, body = values
    fact = session.database.next_fact()
    session.insert("fact", fact, FactRow(kind, None, body))
    return []


# --- operators' changes of seats ---


def _lock_cursor_briefly(session: Session, _values: Any) -> Rows:
    session.lock("cursor", ONE, 1.0)
    return [(1,)]


def _lock_named_seats(session: Session, values: Mapping[str, Any]) -> Rows:
    for seat in values["seats"]:
        session.lock("seat", seat, 1.0)
    return [(seat, *session.get("seat", seat)) for seat in values["seats"]]


def _turn_seats(session: Session, values: Mapping[str, Any]) -> Rows:
    turned = [seat for seat in values["seats"] if session.get("seat", seat)[0] == values["was"]]
    for seat in turned:
        session.put("seat", seat, (values["becomes"], None))
        session.remember(seat, values["becomes"], None, values["who"])
    return [(seat,) for seat in turned]


def _lock_named_areas(session: Session, values: Mapping[str, Any]) -> Rows:
    found: Rows = []
    for area in values["areas"]:
        session.lock("area", area, 1.0)
        row: AreaRow = session.get("area", area)
        found.append((area, row.capacity - row.held - row.sold - row.blocked, row.blocked))
    return found


def _move_blocked(session: Session, values: Mapping[str, Any]) -> Rows:
    moved: Rows = []
    for area, places in zip(values["areas"], values["quantities"], strict=True):
        row: AreaRow = session.get("area", area)
        blocked = row.blocked + places
        if blocked >= 0 and row.held + row.sold + blocked <= row.capacity:
            session.put("area", area, row._replace(blocked=blocked))
            moved.append((area,))
    return moved


def _release(session: Session, values: Mapping[str, Any]) -> Rows:
    session.lock("hold", values["hold"], 1.0)
    row: HoldRow | None = session.get("hold", values["hold"])
    if row is None or row.state != "active":
        return []
    session.put("hold", values["hold"], row._replace(state="released"))
    return [(row.quantity, row.buyer)]


def _read_any_hold(session: Session, values: Mapping[str, Any]) -> Rows:
    row: HoldRow | None = session.get("hold", values["hold"])
    return [] if row is None else [(row.state, row.buyer)]


def _insert_blocks(session: Session, values: Mapping[str, Any]) -> Rows:
    fact = session.database.next_fact()
    session.insert("fact", fact, FactRow(values["kind"], values["hold"], values["body"] or "null"))
    return []


def _audit(session: Session, values: Mapping[str, Any]) -> Rows:
    session.database.last_audit += 1
    number = session.database.last_audit
    session.insert("audit", number, (values["who"], values["why"], values["what"]))
    return [(number, datetime.fromtimestamp(session.database.clock() / 1e6, UTC))]


HINTS = frozenset({lookups.PLAN_BY_KEY, draw.PLANNED, ballot.IN_ORDER, ballot.READ_ONCE})
"""What only tells Postgres how to go about it."""

STATEMENTS: dict[str, tuple[str, Statement]] = {
    **HOLDERS,
    lease.LOOK: ("look at the lease", _look),
    lease.END_BACKEND: ("end the owner's backend", _end_backend),
    lease.RAISE_EPOCH: ("raise the epoch", raise_epoch),
    lease.TAKE: ("take the lease", _take),
    lease.CLOCK: ("read the clock", _clock),
    lease.RENEW: ("renew the lease", _renew),
    follow.HEADS: ("follow: batches", _heads),
    follow.CHANGES: ("follow: changes", _changes),
    blocks.LOCK_CURSOR: ("lock the cursor to put on sale", _lock_cursor_briefly),
    blocks.LOCK_SEATS: ("lock named seats", _lock_named_seats),
    blocks.TURN_SEATS: ("turn seats", _turn_seats),
    blocks.LOCK_AREAS: ("lock named areas", _lock_named_areas),
    blocks.MOVE_PLACES: ("move blocked places", _move_blocked),
    blocks.RELEASE: ("release by hand", _release),
    blocks.READ_HOLD: ("read any hold", _read_any_hold),
    blocks.FREE_SEATS: ("free seats by hand", free_seats),
    blocks.INSERT_FACT: ("insert fact by hand", _insert_blocks),
    audit.INSERT: ("write audit", _audit),
    **SALES,
    **TICKETS,
    **PAYMENTS,
    **MOVES,
    **ROOMS,
    events._READ: ("read event", _read_event),
    events._READ_LOCKED: ("lock event", _read_event_locked),
    events._SET_STATE: ("set state", _set_state),
    events._SET_POLICY: ("set policy", _set_policy),
    events._READ_POLICY: ("read policy", _read_policy),
    events._READ_CATEGORIES: ("read categories", _read_categories),
    lost_time.LOCK_EVENT: ("lock event before a takeover", _lock_event_shared),
    lost_time.LOCK_CURSOR: ("lock cursor", _lock_cursor),
    lost_time.READ_OUTAGE: ("look for an outage", _read_outage),
    lost_time.READ_PAUSE: ("look for the pause", _read_pause),
    lost_time.PAUSED_US: ("paused for", _paused_for),
    lost_time.OUT_US: ("out for", _out_for),
    lost_time.LOCK_HOLDS: ("lock holds", _lock_holds),
    lost_time.EXTEND_HOLDS: ("extend holds", _extend_holds),
    lost_time.GIVEN_UNTIL: ("given until", _given_until),
    lost_time.INSERT_FACT: ("tell the allocator", _tell_allocator),
}


class Result:
    """What a statement returned; its rows can be awaited too."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.rowcount = len(rows)

    def fetchone(self) -> Any:
        return self._rows[0] if self._rows else None

    def fetchall(self) -> Rows:
        return self._rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._rows)


class Connection:
    """As much of psycopg's connection as the code under test uses."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def execute(self, statement: str | bytes, values: Any = None) -> Result:
        if isinstance(statement, bytes):  # with its bound in the text
            statement, _, number = statement.decode().rpartition(" ")
            statement, values = f"{statement} ", {**values, "most": int(number)}
        if statement.startswith("SET LOCAL") or statement in HINTS:
            return Result([])
        what, run = STATEMENTS[statement]
        self.session.step(what)
        return Result(run(self.session, values))

    def cursor(self, row_factory: Any = None) -> Cursor:
        return Cursor(self)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.session.began_us = self.session.database.clock()
        try:
            yield
        except BaseException:
            self.rollback()
            raise
        self.commit()

    def commit(self) -> None:
        session = self.session
        if session.locked:  # the end of a transaction that only read is nothing others can see
            session.step("commit")
        session.commit()

    def rollback(self) -> None:
        if not self.session.cut:
            self.session.rollback()

    def close(self) -> None:
        """Say goodbye; who is dead or cut off cannot."""
        if not self.session.process.host.dead and not self.session.cut:
            self.session.end()


class Cursor:
    """Statements on the same connection; leaving it ends nothing."""

    def __init__(self, connection: Connection) -> None:
        self.execute = connection.execute

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_exception: object) -> None:
        pass


class AsyncConnection:
    """The same for asynchronous code, which runs in a process of its own and never really waits."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def execute(self, statement: str, values: Any = None) -> AsyncResult:
        return AsyncResult(self._connection.execute(statement, values))

    @asynccontextmanager
    async def transaction(self) -> Any:
        with self._connection.transaction():
            yield


class AsyncResult:
    def __init__(self, result: Result) -> None:
        self._result = result
        self.rowcount = result.rowcount

    async def fetchone(self) -> Any:
        return self._result.fetchone()

    async def fetchall(self) -> Rows:
        return self._result.fetchall()


def run_at_once(work: Any) -> Any:
    """Drive a coroutine whose awaits are all done when they return."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("nothing here really waits")
