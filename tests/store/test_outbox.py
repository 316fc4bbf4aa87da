"""Whoever reads on from a position misses no row, however long a transaction takes to commit."""

from __future__ import annotations

import psycopg
import pytest

from store import outbox
from store.outbox import Told

EVENT = 7


@pytest.fixture
def connect(database_url):
    made = []

    def connect(*, autocommit=True):
        made.append(psycopg.connect(database_url, autocommit=autocommit))
        return made[-1]

    yield connect
    for conn in made:
        conn.close()


def write(conn, order, event=EVENT):
    outbox.write(conn, event, Told.ORDER_PAID, {"order": order})


def orders(rows):
    return [row.body.decode() for row in rows]


def numbers(rows):
    return [row.number for row in rows]


def test_who_writes_second_waits_for_the_first_and_comes_after_it(connect):
    first, second, reader = connect(autocommit=False), connect(), connect()
    write(first, 1)
    second.execute("SET lock_timeout = 50")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        write(second, 2)
    assert outbox.read_after(reader, EVENT, 0) == []
    first.commit()
    write(second, 2)
    rows = outbox.read_after(reader, EVENT, 0)
    assert (orders(rows), numbers(rows)) == (['{"order":1}', '{"order":2}'], [1, 2])


def test_what_was_rolled_back_leaves_no_gap(connect):
    slow, reader = connect(autocommit=False), connect()
    write(slow, "given up")
    slow.rollback()
    write(slow, "kept")
    slow.commit()
    assert numbers(outbox.read_after(reader, EVENT, 0)) == [1]


def test_rows_of_one_statement_keep_their_order_and_each_event_has_its_own(connect):
    conn = connect()
    write(conn, "before")
    rows = [(event, Told.ORDER_PAID, {"order": n}) for n in range(4) for event in (EVENT + 1, EVENT)]
    conn.execute(outbox.INSERT, outbox.telling(rows))
    read, after = [], 0
    while found := outbox.read_after(conn, EVENT, after, limit=1):
        read += found
        after = found[-1].number
    assert numbers(read) == [1, 2, 3, 4, 5]
    assert orders(read) == ['{"order":"before"}', *[f'{{"order":{n}}}' for n in range(4)]]
    assert numbers(outbox.read_after(conn, EVENT + 1, 2)) == [3, 4]
