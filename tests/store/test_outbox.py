"""The outbox: what its readers are given, and in which order."""

from __future__ import annotations

import psycopg
import pytest

from store import outbox
from store.outbox import Position, Told

START = Position()


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def told(conn, number, event=1):
    outbox.write(conn, event, Told.ORDER_PAID, {"n": number})


def numbers(conn, after=START, event=1, **how):
    return [int(row.body.split(b":")[1].strip(b" }")) for row in outbox.read_after(conn, event, after, **how)]


def until_nothing_runs(conn):
    """What else runs in this Postgres comes to its end: rows written so far may be read."""
    over = "SELECT max(xid) < pg_snapshot_xmin(pg_current_snapshot())::text::bigint FROM outbox"
    while conn.execute(over).fetchone() != (True,):
        pass


def test_nothing_is_read_above_a_transaction_that_still_runs(conn, database_url):
    told(conn, 0)
    until_nothing_runs(conn)
    with psycopg.connect(database_url) as late:
        told(late, 1)
        told(conn, 2)
        assert numbers(conn) == [0]
        late.commit()
    until_nothing_runs(conn)
    assert numbers(conn) == [0, 1, 2]


def test_rows_come_in_the_order_of_transactions_and_within_one_as_they_were_written(conn, database_url):
    with psycopg.connect(database_url) as first, psycopg.connect(database_url) as second:
        told(first, 0)
        told(second, 2)
        told(first, 1)
        second.commit()
        first.commit()
    until_nothing_runs(conn)
    assert numbers(conn) == [0, 1, 2]


def test_who_reads_on_gets_what_comes_after_of_its_event_and_at_most_so_many(conn):
    for number in range(4):
        told(conn, number)
    told(conn, 9, event=2)
    until_nothing_runs(conn)
    first, second, *_ = outbox.read_after(conn, 1, START)
    assert numbers(conn, first.position) == [1, 2, 3]
    assert numbers(conn, second.position, limit=1) == [2]
    assert numbers(conn, event=2) == [9]
    assert numbers(conn, limit=outbox.ROWS_MAX * 10) == [0, 1, 2, 3]


def test_a_row_says_when_it_was_written_by_postgres_clock(conn):
    told(conn, 0)
    until_nothing_runs(conn)
    [row] = outbox.read_after(conn, 1, START)
    at = conn.execute("SELECT (extract(epoch FROM at) * 1000000)::bigint, kind FROM outbox").fetchone()
    assert (row.at, row.kind) == at
