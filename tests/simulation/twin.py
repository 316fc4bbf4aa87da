"""One waiting room twice, in a real Postgres and in the virtual one: all that is done is done to both by the
same functions, at the same moment by the same clock, and must come to the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import psycopg
from msgspec import structs

from allocator.ballot import BallotKeeper
from allocator.keeper import Steps
from store import events, opening, outbox
from store.errors import OnsaleError
from store.room import rooms
from store.room.words import RoomTerms
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import Arrival
from tests.simulation.postgres import ONE, BatchRow, Database, EventRow, HoldRow, Session
from tests.simulation.room_rows import CodeRow, RoomRow
from tests.simulation.statements import AsyncConnection, Connection, Result, run_at_once
from tests.simulation.world import START_US, World

PLAN = make("theatre", 40)
SLUG = "gala"
SCHEMA = "twin"
ON_PATH = f"-c search_path={SCHEMA},pg_catalog,public"
CLOCK = f"""
CREATE SCHEMA {SCHEMA};
CREATE TABLE {SCHEMA}.clock (at timestamptz);
INSERT INTO {SCHEMA}.clock VALUES (to_timestamp({START_US / 1_000_000}));
CREATE FUNCTION {SCHEMA}.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
 AS 'SELECT at FROM {SCHEMA}.clock';
CREATE FUNCTION {SCHEMA}.now() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT at FROM {SCHEMA}.clock';
ALTER TABLE place ALTER joined_at SET DEFAULT {SCHEMA}.clock_timestamp();
ALTER TABLE ballot_wish ALTER filed_at SET DEFAULT {SCHEMA}.clock_timestamp();
ALTER TABLE outbox ALTER at SET DEFAULT {SCHEMA}.clock_timestamp()
"""
"""Both have the same clock: these names are found before Postgres' own."""
_US = "(extract(epoch FROM {}) * 1000000)::bigint"
_TIMES = ("joined_at", "admitted_at", "begin_by", "begun_at", "until", "ended_at", "bought_at")
PLACES = f"""
SELECT id, buyer, lane, in_draw, {_US.format("joined_at")}, state, returned, email, code_sha256,
       {", ".join(_US.format(name) for name in _TIMES[1:])}, more, gives_back, version FROM place
"""
ROOM = f"""
SELECT admission, {_US.format("lobby_ended_at")}, drawn, {_US.format("drawn_at")},
       {_US.format("ballot_ended_at")}, next_position, next_priority, serving, serving_priority, joined,
       version, edition, admitted, {_US.format("decided_at")}, credit, factor, told, rate, reason,
       step_ms
  FROM room
"""
TABLES = {
    "line": "SELECT lane, position, place_id FROM line",
    "ballot_wish": f"SELECT place_id, buyer, want, {_US.format('filed_at')} FROM ballot_wish",
    "room_code": f"SELECT code_sha256, label, uses_max, uses, {_US.format('revoked_at')} FROM room_code",
    "mail": "SELECT address, (body ->> 'place')::uuid FROM mail",
}


class _Process:
    """Somebody nothing happens to."""

    name = "twin"
    host = SimpleNamespace(on_kill=[], dead=False)

    def step(self, _what: str) -> None:
        pass


class _Server:
    """The stream's, to which nobody else says anything."""

    def pipeline(self, *, transaction: bool) -> Any:
        nothing = SimpleNamespace(time=lambda: None, xrange=lambda *_, **__: None)
        nothing.execute = lambda: ((0, 0), [])
        assert not transaction, "what is only read needs none"
        return _Within(nothing)

    def publish(self, _channel: str, _message: bytes) -> None:
        pass


class _Within:
    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline

    def __enter__(self) -> Any:
        return self._pipeline

    def __exit__(self, *_: object) -> None:
        pass


class _Pieces:
    """Where a ballot's wishes go: remembered, and gone when `lost`."""

    def __init__(self) -> None:
        self.appended: list[bytes] = []
        self.lost = False

    def append(self, entries: Any) -> list[Arrival]:
        self.appended += entries
        self.lost = False
        return [Arrival(f"9-{len(self.appended) - len(entries) + n}") for n in range(len(entries))]

    def append_behind(self, _last: Any, entries: Any) -> list[Arrival] | None:
        return None if self.lost else self.append(entries)


class _Heard(Connection):
    """Remembers what was said."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.heard: set[str] = set()

    def execute(self, statement: str | bytes, values: Any = None) -> Result:
        text = statement if isinstance(statement, str) else f"{statement.decode().rpartition(' ')[0]} "
        self.heard.add(text)
        return super().execute(statement, values)


class Twin:
    """The two rooms, in their lobby."""

    def __init__(self, url: str, seed: int, terms: RoomTerms) -> None:
        self.real: Any = psycopg.connect(url, autocommit=True)
        self.real.execute(CLOCK)
        self.real.close()
        self.real = psycopg.connect(url, autocommit=True, options=ON_PATH)
        self.event = events.create_event(self.real, SLUG, "Gala", save_venue(self.real, "v", PLAN), PLAN)
        assert self.event == ONE, "the virtual one has that number"
        rooms.make(self.real, SLUG, terms)
        self.world = World(seed)
        lobby_at = self.world.now_us
        self.real.execute("UPDATE event SET lobby_opens_at = to_timestamp(%s / 1000000.0)", (lobby_at,))
        self.world.calm = True
        self.database = Database(self.world, PLAN, EventRow("draft", None, 480, 8, lobby_opens_at=lobby_at))
        self.database.place_of = self._as_the_real_one
        self.real.execute(f"UPDATE event_cursor SET batch_time = {SCHEMA}.clock_timestamp()")
        self.real.execute(f"UPDATE lease SET renewed_at = {SCHEMA}.clock_timestamp()")
        lease = self.database.rows["lease"]
        lease[ONE] = lease[ONE]._replace(renewed_at=self.world.now_us)
        row = self.real.execute("SELECT seed FROM room").fetchone()
        self.database.rows["room"][ONE] = RoomRow(terms, bytes(row[0]))
        process: Any = _Process()
        self.virtual: Any = _Heard(self.database.connect(process))
        self._runner = asyncio.Runner()
        self._own: Any = self._runner.run(
            psycopg.AsyncConnection.connect(url, autocommit=True, options=ON_PATH)
        )
        self.pieces = (_Pieces(), _Pieces())
        self.holds = 0
        self.anew()
        assert self.both(lambda conn: opening.open_when_due(conn, ONE)) == 0, "their lobby begins"

    def close(self) -> None:
        self._runner.run(self._own.close())
        self._runner.close()
        self.real.close()

    @property
    def said(self) -> set[str]:
        """What was said to the virtual one."""
        heard: set[str] = self.virtual.heard
        return heard

    def anew(self) -> None:
        """Other keepers."""
        self._seconds = 0.0
        server: Any = _Server()
        self.keepers = [
            Steps(conn, server, ONE, SLUG, BallotKeeper(ONE, pieces), lambda: self._seconds)
            for conn, pieces in zip((self.real, self.virtual), self.pieces, strict=True)
        ]

    # --- what is done to both ---

    def both(self, does: Callable[[Any], Any]) -> Any:
        """What it comes to."""
        return self._same(_outcome(lambda: does(self.real)), _outcome(lambda: does(self.virtual)))

    def both_at_once(self, does: Callable[[Any], Awaitable[Any]]) -> Any:
        """The same of what is asynchronous; the real one first, for it chooses the ids of places."""

        async def alone() -> Any:
            return await does(self._own)

        virtual: Any = AsyncConnection(self.virtual)
        real = _outcome(lambda: self._runner.run(alone()))
        return self._same(real, _outcome(lambda: run_at_once(does(virtual))))

    def step(self) -> None:
        """A step of each keeper."""
        self._seconds += 6.0
        real, virtual = (_outcome(keeper.step) for keeper in self.keepers)
        self._same(real, virtual)
        assert self.pieces[0].appended == self.pieces[1].appended, "the same wishes, in the same order"

    def goes_by(self, seconds: float, *, attended: bool = True) -> None:
        """By both clocks; without an owner unless `attended`."""
        self.world.now_us += int(seconds * 1_000_000) + 1
        now = self.world.now_us
        self.real.execute(f"UPDATE {SCHEMA}.clock SET at = to_timestamp(%s / 1000000.0)", (now,))
        if attended:
            self.real.execute("UPDATE lease SET renewed_at = to_timestamp(%s / 1000000.0)", (now,))
            lease = self.database.rows["lease"]
            lease[ONE] = lease[ONE]._replace(renewed_at=now)

    def hold(self, buyer: str, request: str, state: str, seconds: float) -> None:
        """Somebody holds, or has bought, something; the ledger says why."""
        self.holds += 1
        number, ends = self.holds << 16, self.world.now_us + int(seconds * 1_000_000)
        self.real.execute(
            "INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at, state, paid_at)"
            " VALUES (1, %(no)s, %(buyer)s, %(request)s, 1, to_timestamp(%(ends)s / 1000000.0), %(state)s,"
            "  CASE WHEN %(state)s = 'paid' THEN twin.clock_timestamp() END)",
            {"no": number, "buyer": buyer, "request": request, "ends": ends, "state": state},
        )
        self.database.rows["hold"][number] = HoldRow(buyer, request, state, 1, ends)
        self.decided(buyer, request, self.holds)

    def decided(self, buyer: str, request: str, batch: int = 0) -> None:
        """The ledger has that request."""
        at = (batch or 1_000_000 + self.holds, 0 if batch else len(self.database.rows["ledger"]))
        self.real.execute(
            "INSERT INTO ledger (event_id, batch_no, position, kind, arrival, buyer, request_id, input,"
            " outcome, result) VALUES (1, %s, %s, 'request', '1-1', %s, %s, '{}', 'held', '{}')",
            (*at, buyer, request),
        )
        now = self.world.now_us
        self.real.execute(
            "INSERT INTO ledger_batch (event_id, batch_no, epoch, batch_time, arrival, code_version,"
            " row_digests, hash) VALUES (1, %s, 1, to_timestamp(%s / 1000000.0), '1-1', 1, '', '')"
            " ON CONFLICT DO NOTHING",
            (at[0], now),
        )
        self.database.rows["ledger_batch"].setdefault(at[0], BatchRow(1, now, "1-1", 1, b"", b""))
        self.database.rows["ledger"][at] = SimpleNamespace(kind="request", request_id=request)
        self.database.rows["ledger_key"][buyer, request] = at

    def ends_holds(self) -> None:
        """All that run."""
        self.real.execute("UPDATE hold SET state = 'released' WHERE state = 'active'")
        rows = self.database.rows["hold"]
        rows |= {no: row._replace(state="released") for no, row in rows.items() if row.state == "active"}

    def buys(self, buyer: str, kind: str) -> None:
        """The outbox says so."""
        told = outbox.telling([(ONE, outbox.Told.ORDER_PAID, {"buyer": buyer, "kind": kind})])
        for conn in (self.real, self.virtual):
            with conn.transaction():
                conn.execute(outbox.INSERT, told)

    def code(self, sha256: bytes, uses: int) -> None:
        self.real.execute(
            "INSERT INTO room_code (event_id, code_sha256, label, uses_max) VALUES (1, %s, 'fans', %s)",
            (sha256, uses),
        )
        self.database.rows["room_code"][sha256] = CodeRow("fans", uses)

    def _as_the_real_one(self, buyer: str) -> Any:
        text = "SELECT id FROM place WHERE buyer = %s ORDER BY joined_at DESC LIMIT 1"
        return self.real.execute(text, (buyer,)).fetchone()[0]

    # --- what must be the same ---

    def _same(self, real: Any, virtual: Any) -> Any:
        assert virtual == real, f"the virtual Postgres says {virtual}, the real one {real}"
        return real

    def compare(self) -> None:
        """All tables of the room."""
        rows = self.database.rows
        places = {place: tuple(row) for place, row in rows["place"].items()}
        self._same({row[0]: row[1:] for row in self._all(PLACES)}, places)
        room = rows["room"][ONE]
        self._same(self._all(ROOM), [tuple(room)[2:]])
        live = {row.buyer: place for place, row in rows["place"].items() if row.live}
        assert rows["place_live"] == live, "the index is of live places"
        assert rows["line_place"] == {place: at for (_, at), place in rows["line"].items()}
        virtual = {
            "line": [(*key, place) for key, place in rows["line"].items()],
            "ballot_wish": [(key, *row) for key, row in rows["ballot_wish"].items()],
            "room_code": [(key, *row) for key, row in rows["room_code"].items()],
            "mail": [row[:2] for row in rows["mail"].values()],
        }
        for table, text in TABLES.items():
            self._same(sorted(self._all(text), key=str), sorted(virtual[table], key=str))

    def _all(self, text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.real.execute(text).fetchall()]


def _outcome(does: Callable[[], Any]) -> Any:
    """What it returns or raises, told alike."""
    try:
        found = does()
    except OnsaleError as error:
        return type(error).__name__, getattr(error, "code", "")
    with suppress(TypeError):
        if isinstance(found, dict):
            return {key: _plain(one) for key, one in found.items()}
    return _plain(found)


def _plain(found: Any) -> Any:
    """Rooms and places as their values; errors by their code."""
    if isinstance(found, OnsaleError):
        return type(found).__name__, getattr(found, "code", "")
    return structs.asdict(found) if hasattr(found, "__struct_fields__") else found
