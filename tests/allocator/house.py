"""A small house for allocator tests: a plan, an open event, and an owner's loop on the real engines."""

from __future__ import annotations

import asyncio
import heapq
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from allocator import lease
from allocator.follow import Follower
from allocator.lease import Owned
from allocator.load import load_keys, load_layout, load_memory
from allocator.loop import BatchLoop
from allocator.memory import Memory
from allocator.seating import Seating
from allocator.truth import PostgresTruth
from store import audit, blocks, hold_parts, holds, sales
from store.database import connect
from store.events import create_event, set_state
from store.invariant import mismatches, read_capacity
from store.plan import Area, Category, Plan, Seat, Section, number
from store.recategorise import recategorise
from store.stream.port import POKE
from store.stream.redis_stream import APPEND, RedisArrivals
from store.stream.redis_stream import connect as connect_stream
from store.venues.rows import save_venue
from store.wire import Entry, canonical_want, decode_entry, encode_entry, stream_key
from store.words import BATCH_SIZE_MAX, Arrival, Best, EventState, HoldId, HoldKind, Want

SLUG = f"gala-{os.getpid()}"
"""The name of events: each process that runs tests has its own, for channels are the whole server's."""


def plan_of(rows: int = 4, seats_a_row: int = 10, standing: int = 20) -> Plan:
    """Seats `A-1` … in straight rows before the stage, row A in category Gold, the rest Silver."""
    categories = [Category("Gold", 9000, "EUR", "#aa8800"), Category("Silver", 5000, "EUR", "#888888")]
    letters = [chr(ord("A") + row) if row < 26 else f"R{row}" for row in range(rows)]
    seats = [
        Seat(f"{letter}-{n + 1}", 0, letter, str(n + 1), min(row, 1), float(n), float(row + 1))
        for row, letter in enumerate(letters)
        for n in range(seats_a_row)
    ]
    areas = [Area("floor", "Floor", 1, standing, 0.0, 0.0, 5.0, 5.0)] if standing else []
    size = (float(seats_a_row), float(rows + 2))
    return number(
        "House", "EUR", categories, [Section("Stalls")], seats, areas, focal=(seats_a_row / 2, 0), size=size
    )


def open_event(database_url: str, plan: Plan, slug: str = SLUG, **policy: Any) -> int:
    """An open event of that plan; returns its id."""
    with connect(database_url, "test") as conn:
        venue = save_venue(conn, f"venue-of-{slug}", plan)
        event_id = create_event(conn, slug, slug.title(), venue, plan, **policy)
        set_state(conn, slug, EventState.OPEN)
        return event_id


def change_event(database_url: str, to: EventState, slug: str = SLUG) -> None:
    """As an operator does; the allocator has not heard of it yet."""
    with connect(database_url, "test operator") as conn:
        set_state(conn, slug, to)


def entry(buyer: str, request_id: str, want: Want, *, gateway: str = "g1", first_arrival: str = "") -> bytes:
    raw = msgspec.Raw(canonical_want(want))
    return encode_entry(Entry(buyer, request_id, raw, gateway, first_arrival))


def seats(*guids: str) -> Want:
    return Want(seats=guids)


def best(quantity: int, **described: Any) -> Want:
    return Want(best=Best(quantity, **described))


def snapshot(memory: Memory) -> dict[str, Any]:
    """All of a memory, comparable: every slot as plain values, expiries as they will be seen."""
    looked_at = {
        "areas_free": list(memory.areas_free),
        "batch_no": memory.batch_no,
        "batch_time": memory.batch_time,
        "category_limits": dict(memory.category_limits),
        "count_by_buyer": dict(memory.count_by_buyer),
        "count_by_category": dict(memory.count_by_category),
        "elsewhere": dict(memory.elsewhere),
        "expiries": _as_seen(memory),
        "free": bytes(memory.seating.free),
        "runs": _runs(memory),
        "hold_of": list(memory.hold_of),
        "holds": {
            hold_id: (hold.buyer, hold.seats, hold.areas, hold.expires_at)
            for hold_id, hold in memory.holds.items()
        },
        "policy": memory.policy,
        "plan": (memory.layout.version, memory.layout.plan),
        "offers_owed": memory.offers_owed,
        "reflected": memory.reflected,
        "seats_free": memory.seats_free,
        "waiting": _who_waits(memory),
    }
    seen = (looked_at.keys() - {"free", "runs", "plan"}) | {"seating", "layout"}
    assert seen == set(Memory.__slots__), "a new slot must be compared too"
    return looked_at


def _runs(memory: Memory) -> tuple[list[int], list[int]]:
    """Which blocks seat how many, as kept; and they are what is found by looking at every block anew."""
    kept, anew = memory.seating, Seating(memory.layout)
    anew.free[:] = kept.free
    kept.refresh()
    anew.refresh()
    assert (kept.fits, kept.leaving_none) == (anew.fits, anew.leaving_none), "what is kept of runs is true"
    return list(kept.fits), list(kept.leaving_none)


def _who_waits(memory: Memory) -> list[tuple[int, str, str, Any]]:
    """In the list's order; who sleeps is no part of it. And what is kept beside it is true of it."""
    waiting = memory.waiting
    seen = [(wait_id, who.buyer, who.request_id, who.group.wish.options) for wait_id, who in waiting]
    assert list(waiting.order) == sorted(waiting.entries) == [wait_id for wait_id, *_ in seen]
    assert waiting.count_by_buyer == Counter(buyer for _, buyer, *_ in seen)
    groups: dict[Any, list[int]] = {}
    for wait_id, _, _, options in seen:
        groups.setdefault(options, []).append(wait_id)
    assert {options: list(group.waits) for options, group in waiting.groups.items()} == groups
    assert waiting.restless.keys() <= groups.keys()
    assert {group for group in waiting.groups.values() if not group.lacks} == waiting.awake
    return list(seen)


def _as_seen(memory: Memory) -> list[tuple[int, int]]:
    """What `next_expiry` would say, hold after hold; looks at a copy of the heap."""
    kept, memory.expiries = memory.expiries, sorted(memory.expiries)
    seen: list[tuple[int, int]] = []
    while memory.next_expiry() is not None:
        if memory.expiries[0] not in seen:
            seen.append(memory.expiries[0])
        heapq.heappop(memory.expiries)
    memory.expiries = kept
    return seen


LEAVE = """
UPDATE waiting SET state = 'left'
 WHERE event_id = %s AND buyer = %s AND request_id = %s AND state = 'waiting' RETURNING wait_id
"""


class Owner:
    """An owner of an event: takes it over at once, like a standby whose owner is gone.

    `by_way_of` is another address of the same database, for the owner's own connections.
    """

    def __init__(
        self,
        database_url: str,
        redis_url: str,
        event_id: int,
        slug: str = SLUG,
        *,
        batch_size_max: int = BATCH_SIZE_MAX,
        by_way_of: str = "",
    ) -> None:
        self.database_url, self.redis_url = database_url, redis_url
        self.event_id, self.slug = event_id, slug
        self.conn = connect(by_way_of or database_url, "test owner")
        seen = lease.look(self.conn, event_id)
        owned = lease.take(self.conn, event_id, seen, "test")
        assert isinstance(owned, Owned)
        self.owned = owned
        self.attend_for_ever()
        layout = load_layout(self.conn, event_id)
        memory, cursor = load_memory(self.conn, event_id, layout)
        self.truth = PostgresTruth(self.conn, by_way_of or database_url, event_id, owned, layout)
        self.redis = connect_stream(redis_url)
        self.arrivals = RedisArrivals(self.redis, slug)
        keys = load_keys(self.conn, event_id)
        self.loop = BatchLoop(
            slug, self.truth, self.arrivals, memory, cursor, keys, batch_size_max=batch_size_max
        )
        self.loop.attend()

    def follower(self, conn: psycopg.Connection[Any]) -> Follower:
        """A standby that loads on this connection what is true now."""
        memory, _ = load_memory(conn, self.event_id, self.memory.layout)
        return Follower(conn, self.event_id, memory, load_keys(conn, self.event_id))

    def attend_for_ever(self) -> None:
        """Nobody renews a test's lease, and a test may take its time: that is no outage."""
        self.query_nothing("UPDATE lease SET renewed_at = 'infinity' WHERE event_id = %s", self.event_id)

    @property
    def memory(self) -> Memory:
        return self.loop.memory

    def append(self, entries: Sequence[bytes]) -> list[Arrival]:
        return [Arrival(i.decode()) for i in self.redis.eval(APPEND, 1, stream_key(self.slug), *entries)]

    def lose_all_of_redis(self) -> None:
        """What comes later has later arrivals, too: a stream made anew within its millisecond would give the
        same ones again.
        """
        lost_at = _milliseconds(self.redis)
        self.redis.flushdb()
        while _milliseconds(self.redis) <= lost_at:
            pass

    def poke(self) -> None:
        self.redis.xadd(stream_key(self.slug), {POKE: b"1"}, nomkstream=True)

    def settle_down(self) -> None:
        """Decide the facts there are and pass the stream's marker, so that what follows is a test's own."""
        self.poke()
        self.loop.turn()

    def ask(self, *entries: bytes) -> list[tuple[str, str]]:
        """Append, decide, and return (outcome, result) of each by ledger, in the order given."""
        self.append(entries)
        self.loop.turn()
        return [self.answer(e) for e in entries]

    def outcomes(self, *entries: bytes) -> list[str]:
        return [outcome for outcome, _ in self.ask(*entries)]

    def answer(self, raw: bytes) -> tuple[str, str]:
        asked = decode_entry(raw)
        row = self.query(
            "SELECT outcome, result::text FROM ledger WHERE event_id = %s AND buyer = %s AND request_id = %s"
            " ORDER BY batch_no DESC, position DESC LIMIT 1",
            self.event_id,
            asked.buyer,
            asked.request_id,
        )
        outcome, result = row[0]
        return outcome, result

    def hold_of(self, buyer: str) -> HoldId:
        """The buyer's last hold."""
        rows = self.query(
            "SELECT hold_id FROM hold WHERE event_id = %s AND buyer = %s ORDER BY hold_id DESC LIMIT 1",
            self.event_id,
            buyer,
        )
        return HoldId(rows[0][0])

    def confirm(self, buyer: str, hold_id: int | None = None) -> None:
        """The buyer pays; the allocator has not heard of it yet."""
        self._as_holder(holds.confirm, buyer, hold_id)

    def release(self, buyer: str, hold_id: int | None = None) -> None:
        """The buyer gives a hold back; the allocator has not heard of it yet."""
        self._as_holder(holds.release, buyer, hold_id)

    def extend(self, buyer: str, hold_id: int | None = None) -> None:
        """The buyer extends a hold from the end it has now; the allocator has not heard of it yet."""
        hold_id = self.hold_of(buyer) if hold_id is None else hold_id
        ends_ms = self.query(
            "SELECT floor(extract(epoch FROM expires_at) * 1000)::bigint FROM hold"
            " WHERE event_id = %s AND hold_id = %s", self.event_id, hold_id,
        )[0][0]  # fmt: skip

        async def extend(conn: Any, event_id: int, hold_id: int, buyer: str) -> None:
            await holds.extend(conn, event_id, hold_id, buyer, ends_ms)

        self._as_holder(extend, buyer, hold_id)

    def release_some(
        self, buyer: str, named: Sequence[int] = (), places: int = 0, hold_id: int | None = None
    ) -> None:
        """The buyer gives back these seats and so many places of area 0."""
        numbers = {seat.guid: number for number, seat in enumerate(self.memory.layout.plan.seats)}

        async def give_back(conn: Any, event_id: int, hold_id: int, buyer: str) -> None:
            areas = {0: places} if places else {}
            await hold_parts.release_some(conn, event_id, hold_id, buyer, numbers, named, areas)

        self._as_holder(give_back, buyer, hold_id)

    def leave(self, buyer: str, request_id: str) -> bool:
        """The buyer leaves the waiting list, and the allocator has not heard of it; whether in time."""
        with psycopg.connect(self.database_url) as conn:
            row = conn.execute(LEAVE, (self.event_id, buyer, request_id)).fetchone()
            if row is not None:
                conn.execute(
                    "INSERT INTO fact (event_id, kind, body) VALUES (%s, 'left', %s)",
                    (self.event_id, f'{{"wait":"{row[0]}"}}'),
                )
        return row is not None

    def waiting(self) -> list[Any]:
        """(buyer, request id, state) in the list's order, of the table."""
        return self.query(
            "SELECT buyer, request_id, state FROM waiting WHERE event_id = %s ORDER BY wait_id", self.event_id
        )

    def _as_holder(self, change: Callable[..., Any], buyer: str, hold_id: int | None) -> None:
        hold_id = self.hold_of(buyer) if hold_id is None else hold_id

        async def run() -> None:
            async with await psycopg.AsyncConnection.connect(self.database_url) as connection:
                await change(connection, self.event_id, hold_id, buyer)

        asyncio.run(run())

    def block(self, *guids: str, places: int = 0) -> None:
        """An operator takes seats and places of the first area off sale; nobody has told the allocator."""
        self._as_operator(blocks.block, guids, self._floor(places))

    def unblock(self, *guids: str, places: int = 0) -> None:
        """And puts them on sale again."""
        self._as_operator(blocks.unblock, guids, self._floor(places))

    def sell(self, buyer: str, *guids: str, places: int = 0, reference: str = "") -> int:
        """An operator sells seats and places of the first area; the order's number."""
        order = self._as_operator(
            partial(sales.sell, kind=HoldKind.BOX_OFFICE, reference=reference),
            guids,
            self._floor(places),
            buyer,
        )
        return int(order.hold)

    def take_back(self, hold_id: int, *guids: str, places: int = 0, block: bool = False) -> None:
        """An operator takes an order back, whole or these seats and places of it."""
        text = "SELECT quantity FROM hold WHERE event_id = %s AND hold_id = %s"
        has = self.query(text, self.event_id, hold_id)
        take = partial(
            sales.take_back, seats=guids, areas=self._floor(places), quantity=has[0][0], block=block
        )
        self._as_operator(take, hold_id)

    def recategorise(self, category: str, *guids: str, areas: Sequence[str] = ()) -> int:
        """An operator gives seats and areas another category; the plan's version. Nobody has heard of it."""
        said = audit.said("Olga", "for this test")
        with psycopg.connect(self.database_url, autocommit=True) as conn:
            return recategorise(conn, self.slug, category, guids, areas, said).version

    def release_by_hand(self, hold_id: int) -> None:
        """An operator takes a hold from its buyer."""
        self._as_operator(blocks.release_hold, hold_id)

    def _floor(self, places: int) -> dict[str, int]:
        return {self.memory.layout.plan.areas[0].guid: places} if places else {}

    def _as_operator(self, change: Callable[..., Any], *args: object) -> Any:
        said = audit.said("Olga", "for this test")
        with psycopg.connect(self.database_url, autocommit=True) as conn:
            return change(conn, self.event_id, self.memory.layout.plan, *args, said=said)

    def make_holds_old(self) -> None:
        """Every active hold ran out yesterday, in the table and in memory (loaded anew)."""
        self.query_nothing(
            "UPDATE hold SET expires_at = expires_at - interval '1 day'"
            " WHERE event_id = %s AND state = 'active'",
            self.event_id,
        )
        self.reload()

    def reload(self) -> None:
        self.loop.memory, self.loop.cursor = self.truth.load()

    def ledger(self) -> list[tuple[int, str, str, str, str]]:
        """(batch, kind, arrival, buyer, outcome) in order."""
        return [
            tuple(row)
            for row in self.query(
                "SELECT batch_no, kind, coalesce(arrival, ''), coalesce(buyer, ''), outcome FROM ledger"
                " WHERE event_id = %s ORDER BY batch_no, position",
                self.event_id,
            )
        ]

    def query(self, text: str, *values: object) -> list[Any]:
        with psycopg.connect(self.database_url, autocommit=True) as conn:
            return conn.execute(text, values).fetchall()

    def query_nothing(self, text: str, *values: object) -> None:
        """A statement without rows, behind the allocator's back; append-only tables are no obstacle."""
        with psycopg.connect(self.database_url, autocommit=True) as conn:
            conn.execute("SET session_replication_role = replica")
            conn.execute(text, values)

    def close(self) -> None:
        self.loop.close()
        self.truth.close()
        self.redis.close()


def _milliseconds(redis: Any) -> int:
    seconds, microseconds = redis.time()
    return int(seconds) * 1000 + int(microseconds) // 1000


@contextmanager
def owner_of(database_url: str, redis_url: str, plan: Plan | None = None, **policy: Any) -> Iterator[Owner]:
    """An open event and its owner, past the first batch."""
    owner = Owner(database_url, redis_url, open_event(database_url, plan or plan_of(), **policy))
    try:
        owner.settle_down()
        yield owner
    finally:
        owner.close()


@contextmanager
def wire_of(conn: psycopg.Connection[Any]) -> Iterator[Counter[str]]:
    """Protocol messages between here and Postgres, counted when the block ends.

    `ReadyForQuery` is one per round trip.
    """
    seen: Counter[str] = Counter()
    with tempfile.NamedTemporaryFile("r") as file:
        conn.pgconn.trace(file.fileno())
        try:
            yield seen
        finally:
            conn.pgconn.untrace()
            seen.update(re.findall(r"^[^\t]+\t[FB]\t\d+\t(\w+)", Path(file.name).read_text(), re.MULTILINE))


def check_laws(database_url: str, event_id: int) -> None:
    """What must be true of the tables whatever happened: all is accounted for, and once."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        for law, text in LAWS.items():
            assert conn.execute(text, {"event": event_id}).fetchall() == [], law
        assert mismatches(conn, event_id, read_capacity(conn, event_id)) == []


LAWS = {
    "a held or sold seat is in exactly its hold, and a hold's seats name it": """
        SELECT * FROM (SELECT * FROM seat WHERE event_id = %(event)s AND hold_id IS NOT NULL) AS s
          FULL JOIN (SELECT * FROM hold_seat WHERE event_id = %(event)s) AS h USING (seat_no)
         WHERE s.hold_id IS DISTINCT FROM h.hold_id""",
    "only active and paid holds have seats, and they have all they count": """
        SELECT hold_id FROM hold WHERE event_id = %(event)s
           AND (state IN ('active', 'paid'))::int * quantity IS DISTINCT FROM
               (SELECT count(*) FROM hold_seat AS s
                 WHERE s.event_id = hold.event_id AND s.hold_id = hold.hold_id)
             + (SELECT coalesce(sum(a.quantity), 0) FROM hold_area AS a
                 WHERE a.event_id = hold.event_id AND a.hold_id = hold.hold_id)""",
    "a seat is sold when its hold is paid and held when it is active": """
        SELECT seat_no FROM seat JOIN hold USING (event_id, hold_id)
         WHERE event_id = %(event)s
           AND seat.state <> CASE hold.state WHEN 'paid' THEN 'sold' WHEN 'active' THEN 'held' END""",
    "an area's counters are the sums of its holds": """
        SELECT area_no FROM area WHERE event_id = %(event)s AND held + sold <>
          (SELECT coalesce(sum(a.quantity), 0) FROM hold_area AS a
            WHERE a.event_id = area.event_id AND a.area_no = area.area_no)""",
    "a key is decided once": """
        SELECT buyer, request_id FROM ledger WHERE event_id = %(event)s AND kind = 'request'
           AND outcome <> 'conflict' GROUP BY 1, 2 HAVING count(*) > 1""",
    "every hold was decided, at the place its id says, and every decision to hold has its hold": """
        SELECT * FROM (SELECT hold_id, buyer, request_id FROM hold
                        WHERE event_id = %(event)s AND kind = 'buyer') AS h
          FULL JOIN (SELECT batch_no << 16 | position AS hold_id, buyer, request_id FROM ledger
                      WHERE event_id = %(event)s AND outcome IN ('held', 'offered'))
               AS l USING (hold_id, buyer, request_id)
         WHERE h.* IS NULL OR l.* IS NULL""",
    "a request is on the waiting list, or was, exactly when that was its decision": """
        SELECT * FROM (SELECT wait_id, buyer, request_id FROM waiting WHERE event_id = %(event)s) AS w
          FULL JOIN (SELECT batch_no << 16 | position AS wait_id, buyer, request_id FROM ledger
                      WHERE event_id = %(event)s AND outcome = 'waitlisted')
               AS l USING (wait_id, buyer, request_id)
         WHERE w.* IS NULL OR l.* IS NULL""",
    "an offer is one hold of who waited, and of each who was offered one there is one": """
        SELECT * FROM (SELECT hold_id, buyer, request_id, wait_id::text FROM waiting
                        WHERE event_id = %(event)s AND state = 'offered') AS w
          FULL JOIN (SELECT batch_no << 16 | position AS hold_id, buyer, request_id, input->>'wait' AS wait_id
                       FROM ledger WHERE event_id = %(event)s AND kind = 'offer')
               AS l USING (hold_id, buyer, request_id, wait_id)
         WHERE w.* IS NULL OR l.* IS NULL""",
    "every operator's sale is in the ledger once, or its fact waits": """
        SELECT hold_id FROM hold WHERE event_id = %(event)s AND kind <> 'buyer' AND 1 <>
          (SELECT count(*) FROM ledger AS l WHERE l.event_id = hold.event_id AND outcome = 'sold'
              AND l.input ->> 'hold' = hold_id::text)
        + (SELECT count(*) FROM fact AS f WHERE f.event_id = hold.event_id AND f.kind = 'sold'
              AND f.hold_id = hold.hold_id)""",
    "batches are numbered without gaps up to the cursor": """
        SELECT event_id FROM event_cursor WHERE event_id = %(event)s AND batch_no <>
          (SELECT count(*) FROM ledger_batch AS b WHERE b.event_id = event_cursor.event_id)""",
    "a seat's history ends with what it is": """
        SELECT seat_no FROM seat WHERE event_id = %(event)s AND (state, coalesce(hold_id, 0)) <> (
          SELECT h.state, CASE WHEN h.state IN ('held', 'sold') THEN h.hold_id ELSE 0 END
            FROM seat_history AS h
           WHERE h.event_id = seat.event_id AND h.seat_no = seat.seat_no ORDER BY at DESC LIMIT 1)""",
}
