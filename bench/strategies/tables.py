"""The strategies' tables and stock: made once, filled anew before each measurement, read after it."""

from __future__ import annotations

from typing import Any

import psycopg
import redis
from msgspec import Struct, field

from bench.strategies.decr_async import ORDERS, stock, stock_key
from bench.strategies.set_nx import seat_key
from store.plan import Plan

SCHEMA = """
CREATE TABLE event (id int PRIMARY KEY, strategy text NOT NULL, seats int NOT NULL, seats_left int NOT NULL);
CREATE TABLE seat (
    event_id int NOT NULL, seat_no int NOT NULL, block_no int NOT NULL,
    status text NOT NULL DEFAULT 'available', buyer text, version int NOT NULL DEFAULT 0,
    PRIMARY KEY (event_id, seat_no));
CREATE TABLE booking (
    id bigserial PRIMARY KEY, event_id int NOT NULL, seat_no int NOT NULL, request text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE ticket_request (
    id bigserial PRIMARY KEY, event_id int NOT NULL, request text NOT NULL, channel text NOT NULL,
    seats int[] NOT NULL, quantity int NOT NULL, outcome text);
CREATE INDEX ticket_request_undecided ON ticket_request (id) WHERE outcome IS NULL;
"""
FREE_SEATS_INDEX = (
    "CREATE INDEX IF NOT EXISTS seat_free ON seat (event_id, seat_no) WHERE status = 'available'"
)
FILL = """
INSERT INTO seat (event_id, seat_no, block_no)
SELECT %s, seat_no - 1, block_no FROM unnest(%s::int[]) WITH ORDINALITY AS plan (block_no, seat_no)
"""
BOOKINGS = "SELECT seat_no, request FROM booking WHERE event_id = %s ORDER BY id"
UNDECIDED = "SELECT count(*) FROM ticket_request WHERE outcome IS NULL"
AT_WORK = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND application_name = 'strategies' AND state <> 'idle'
"""
WRITING = """
SELECT count(*) FROM pg_stat_activity
 WHERE datname = current_database() AND application_name = 'decr worker' AND state <> 'idle'
"""
HELD = "SELECT count(*) FROM seat WHERE event_id = %s AND status <> 'available'"


class Stage(Struct, frozen=True):
    """One sale of one plan, ready to be asked for."""

    event: int
    strategy: str
    blocks: list[int]
    """The block of each seat: neighbours in it sit together."""


class Sold(Struct):
    """What the stores hold after a sale."""

    bookings: list[tuple[int, str]] = field(default_factory=list)
    """(seat, request), in the order written"""
    in_postgres: int = 0
    in_redis: int | None = None
    """Seats that Redis takes for sold; None where Redis counts none."""


def blocks_of(plan: Plan) -> list[int]:
    """The block number of each seat."""
    return [number for number, block in enumerate(plan.blocks) for _ in range(block.length)]


def create(connection: psycopg.Connection[Any]) -> None:
    """Make the tables, in a database that has none."""
    connection.execute(SCHEMA)


def fill(
    connection: psycopg.Connection[Any],
    client: redis.Redis,
    event: int,
    strategy: str,
    plan: Plan,
    *,
    finding: bool,
) -> Stage:
    """Empty everything and put one sale on. The index on free seats is there only where seats are sought:
    it would make every named seat dearer to write."""
    blocks = blocks_of(plan)
    with connection.transaction():
        connection.execute("TRUNCATE event, seat, booking, ticket_request")
        connection.execute(FREE_SEATS_INDEX if finding else "DROP INDEX IF EXISTS seat_free")
        seats = len(blocks)
        connection.execute("INSERT INTO event VALUES (%s, %s, %s, %s)", (event, strategy, seats, seats))
        connection.execute(FILL, (event, blocks))
    connection.execute("ANALYZE event, seat, booking, ticket_request")
    client.flushdb()
    if strategy == "decr_async":
        client.mset(stock(event, len(blocks)))
    return Stage(event, strategy, blocks)


def read(connection: psycopg.Connection[Any], client: redis.Redis, stage: Stage) -> Sold:
    """What is sold now, by Postgres and by Redis."""
    rows = connection.execute(BOOKINGS, (stage.event,)).fetchall()
    count = connection.execute(HELD, (stage.event,)).fetchone()
    assert count is not None, "count(*) always has a row"
    return Sold([(seat, request) for seat, request in rows], count[0], _in_redis(client, stage))


def unwritten(connection: psycopg.Connection[Any], client: redis.Redis, strategy: str) -> int:
    """How much a strategy's worker has still to do, what it is just doing included."""
    if strategy == "decr_async":
        length: Any = client.llen(ORDERS)
        busy = connection.execute(WRITING).fetchone()
        assert busy is not None, "count(*) always has a row"
        return int(length) + int(busy[0])
    undecided = connection.execute(UNDECIDED).fetchone()
    assert undecided is not None, "count(*) always has a row"
    return int(undecided[0])


def at_work(connection: psycopg.Connection[Any]) -> bool:
    """Whether a server is in the middle of a statement or transaction."""
    row = connection.execute(AT_WORK).fetchone()
    assert row is not None, "count(*) always has a row"
    return bool(row[0])


def _in_redis(client: redis.Redis, stage: Stage) -> int | None:
    seats = range(len(stage.blocks))
    if stage.strategy == "decr_async":
        named: Any = client.mget([stock_key(stage.event, seat) for seat in seats])
        total: Any = client.get(stock_key(stage.event))
        return sum(int(value) == 0 for value in named) + len(stage.blocks) - int(total)
    if stage.strategy == "set_nx":
        keys: Any = client.mget([seat_key(stage.event, seat) for seat in seats])
        return sum(key is not None for key in keys)
    return None
