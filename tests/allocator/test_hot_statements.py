"""Query plans of the statements of a batch, on 100,000 analysed seats: by key, whatever the batch's size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from allocator import sql
from store.lookups import PLAN_BY_KEY

SEATS = 100_000


@pytest.fixture(scope="module")
def big(worker_database: Any) -> Iterator[psycopg.Connection[Any]]:
    """An event of 100,000 seats, a third held, each by a hold of its own, with a ledger of all of them."""
    worker_database.empty()
    with psycopg.connect(worker_database.url, autocommit=True) as conn:
        for statement in FILL:
            conn.execute(statement)
        yield conn
    worker_database.empty()


FILL = (
    f"""INSERT INTO seat
        SELECT e, n, CASE WHEN n % 3 = 0 THEN 'held' ELSE 'available' END,
               CASE WHEN n % 3 = 0 THEN n << 16 END
          FROM generate_series(1, 2) e, generate_series(0, {SEATS - 1}) n""",
    "INSERT INTO hold_seat SELECT event_id, seat_no, hold_id FROM seat WHERE hold_id IS NOT NULL",
    """INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at)
       SELECT event_id, hold_id, 'b' || seat_no, 'r', 1, clock_timestamp()
         FROM seat WHERE hold_id IS NOT NULL""",
    f"""INSERT INTO ledger
        SELECT e, n / 100 + 1, n % 100, 'request', '1-' || n, 'b' || n, 'r', '{{}}', 'held', '{{}}'
          FROM generate_series(1, 2) e, generate_series(0, {SEATS // 2}) n""",
    "INSERT INTO event_cursor (event_id) SELECT generate_series(1, 500)",
    "INSERT INTO lease (event_id) SELECT generate_series(1, 500)",
    "INSERT INTO area (event_id, area_no, capacity) SELECT n / 10, n % 10, 9 FROM generate_series(0, 5000) n",
    "INSERT INTO hold_area SELECT 1, n, n % 10, 1 FROM generate_series(1, 9000) n",
    """INSERT INTO ledger_batch
       SELECT 1, n, 1, clock_timestamp(), '1-1', 1, '', '' FROM generate_series(1, 5000) n""",
    "INSERT INTO fact (event_id, kind) SELECT n % 500, 'paid' FROM generate_series(1, 5000) n",
    "ANALYZE",
)


def plan_of(conn: psycopg.Connection[Any], statement: str) -> str:
    """How an owner's connection runs it: planned once, for any values."""
    numbers: dict[str, int] = {}

    def dollar(name: re.Match[str]) -> str:
        return f"${numbers.setdefault(name[1] or str(len(numbers)), len(numbers) + 1)}"

    text = re.sub(r"%(?:\((\w+)\))?s", dollar, statement)
    return "\n".join(line for (line,) in conn.execute(f"EXPLAIN (GENERIC_PLAN) {text}").fetchall())


BY_KEY = pytest.mark.parametrize(
    ("statement", "indexes"),
    [
        (sql.FENCE, {"event_cursor_pkey", "lease_pkey"}),
        (sql.LOCK_DUE, {"event_cursor_pkey", "hold_active", "hold_pkey"}),
        (sql.CLAIM_SEATS, {"seat_pkey"}),
        (sql.FREE_SEATS, {"seat_pkey"}),
        (sql.FREE_HOLD_SEATS, {"hold_seat_pkey"}),
        (sql.FREE_HOLD_AREAS, {"hold_area_pkey"}),
        (sql.EXPIRE_HOLDS, {"hold_pkey"}),
        (sql.MOVE_HOLDS, {"hold_pkey"}),
        (sql.CARRY_EXTENSIONS, {"hold_pkey"}),
        (sql.MOVE_AREAS, {"area_pkey"}),
        (sql.KNOWN_KEYS, {"ledger_key"}),
        (sql.LAST_HASH, {"ledger_batch_pkey"}),
        (sql.TAKE_FACTS, {"fact_event"}),
        (sql.HAS_FACTS, {"fact_event"}),
    ],
    ids=lambda value: value.split()[1] if isinstance(value, str) else "",
)


@BY_KEY
def test_every_statement_of_a_batch_finds_its_rows_by_a_key(big, statement, indexes):
    by_key(plan_of(big, statement), indexes)


@BY_KEY
def test_every_statement_does_so_too_when_it_was_planned_before_there_were_rows(
    database_url, statement, indexes
):
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute(PLAN_BY_KEY)
        by_key(plan_of(conn, statement), indexes)


def by_key(plan: str, indexes: set[str]) -> None:
    scans = set(re.findall(r"(?:using|Index Scan on) (\w+)", plan))
    assert indexes <= scans, plan
    assert "Seq Scan" not in plan, plan
