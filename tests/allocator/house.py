"""A small house for allocator tests: a plan, an open event, and an owner's loop on the real engines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import psycopg

from allocator import lease
from allocator.lease import Owned
from allocator.load import load_keys, load_layout, load_memory
from allocator.loop import BatchLoop
from allocator.truth import PostgresTruth
from store.database import connect
from store.events import create_event, set_state
from store.plan import Area, Category, Plan, Seat, Section, number
from store.stream.redis_stream import APPEND, RedisArrivals
from store.stream.redis_stream import connect as connect_stream
from store.venues.rows import save_venue
from store.wire import Entry, canonical_want, encode_entry, stream_key
from store.words import Arrival, Best, EventState, Want


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


def open_event(database_url: str, plan: Plan, slug: str = "gala", **policy: Any) -> int:
    """An open event of that plan; returns its id."""
    with connect(database_url, "test") as conn:
        venue = save_venue(conn, f"venue-of-{slug}", plan)
        event_id = create_event(conn, slug, slug.title(), venue, plan, **policy)
        set_state(conn, slug, EventState.OPEN)
        return event_id


def entry(buyer: str, request_id: str, want: Want, *, gateway: str = "g1", first_arrival: str = "") -> bytes:
    return encode_entry(Entry(buyer, request_id, _raw(canonical_want(want)), gateway, first_arrival))


def _raw(text: bytes) -> Any:
    import msgspec

    return msgspec.Raw(text)


def seats(*guids: str) -> Want:
    return Want(seats=guids)


def best(quantity: int, **described: str) -> Want:
    return Want(best=Best(quantity, **described))


class Owner:
    """An owner of an event: takes it over at once, like a standby whose owner is gone."""

    def __init__(self, database_url: str, redis_url: str, event_id: int, slug: str = "gala") -> None:
        self.database_url, self.event_id, self.slug = database_url, event_id, slug
        self.conn = connect(database_url, "test owner")
        seen = lease.look(self.conn, event_id)
        owned = lease.take(self.conn, event_id, seen, "test")
        assert isinstance(owned, Owned)
        self.owned = owned
        layout = load_layout(self.conn, event_id)
        memory, cursor = load_memory(self.conn, event_id, layout)
        self.truth = PostgresTruth(self.conn, database_url, event_id, owned, layout)
        self.redis = connect_stream(redis_url)
        self.arrivals = RedisArrivals(self.redis, slug)
        keys = load_keys(self.conn, event_id)
        self.loop = BatchLoop(slug, self.truth, self.arrivals, memory, cursor, keys)
        self.loop.attend()

    def append(self, entries: Sequence[bytes]) -> list[Arrival]:
        return [Arrival(i.decode()) for i in self.redis.eval(APPEND, 1, stream_key(self.slug), *entries)]

    def ask(self, *entries: bytes) -> list[tuple[str, str]]:
        """Append, decide, and return (outcome, result) of each by ledger, in the order given."""
        self.append(entries)
        self.loop.turn()
        return [self.answer(e) for e in entries]

    def answer(self, raw: bytes) -> tuple[str, str]:
        from store.wire import decode_entry

        asked = decode_entry(raw)
        row = self.query(
            "SELECT outcome, result::text FROM ledger WHERE event_id = %s AND buyer = %s AND request_id = %s"
            " ORDER BY batch_no DESC, position DESC LIMIT 1",
            self.event_id,
            asked.buyer,
            asked.request_id,
        )
        return row[0]

    def query(self, text: str, *values: object) -> list[Any]:
        with psycopg.connect(self.database_url, autocommit=True) as conn:
            return conn.execute(text, values).fetchall()

    def close(self) -> None:
        self.truth.close()
        self.redis.close()
