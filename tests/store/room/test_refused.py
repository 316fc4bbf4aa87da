"""Who was turned away, as rows: one per minute and reason, however many gateways count it."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from store.room import refused
from store.room.refused import ADDRESSES_MAX, Counted, Reason


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def add(database_url, *counted):
    async def run():
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
            await refused.add(connection, counted)

    asyncio.run(run())


def in_one_minute(conn):
    """As if all that was written had been within a minute."""
    conn.execute("UPDATE room_refused SET minute = date_trunc('minute', clock_timestamp())")


def test_gateways_add_to_one_row(database_url, conn):
    told = Counted(1, Reason.ADDRESS_JOINS, 7, {"a": 4, "b": 3})
    add(database_url, told)
    in_one_minute(conn)
    add(database_url, told, Counted(1, Reason.PROOF_USED, 1, {"c": 1}))
    rows = refused.read(conn, 1)
    joins = [row for row in rows if row.reason == Reason.ADDRESS_JOINS]
    assert sum(row.count for row in joins) == 14
    assert len(joins) == 1 or joins[0].minute != joins[1].minute
    assert {row.reason for row in rows} == {Reason.ADDRESS_JOINS, Reason.PROOF_USED}
    if len(joins) == 1:
        assert joins[0].addresses == {"a": 8, "b": 6}


def test_a_row_keeps_the_addresses_with_most_refusals(database_url, conn):
    first = {f"first-{n}": n + 1 for n in range(ADDRESSES_MAX)}
    add(database_url, Counted(1, Reason.ADDRESS_JOINS, 100, first))
    in_one_minute(conn)
    add(database_url, Counted(1, Reason.ADDRESS_JOINS, 100, {"busiest": 1_000, "first-0": 1}))
    newest = max(refused.read(conn, 1), key=lambda row: row.addresses.get("busiest", 0))
    assert newest.addresses["busiest"] == 1_000
    assert len(newest.addresses) <= ADDRESSES_MAX


def test_events_are_apart(database_url, conn):
    add(database_url, Counted(1, Reason.BUYER_JOINS, 1, {}), Counted(2, Reason.BUYER_JOINS, 2, {}))
    assert [row.count for row in refused.read(conn, 2)] == [2]


def test_old_rows_are_forgotten(database_url, conn):
    add(database_url, Counted(1, Reason.BUYER_JOINS, 1, {"a": 1}))
    conn.execute("UPDATE room_refused SET minute = minute - interval '10 days'")
    add(database_url, Counted(1, Reason.BUYER_JOINS, 2, {"a": 2}))

    async def run():
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
            return await refused.forget(connection, 9, 100)

    assert asyncio.run(run()) == 1
    assert [row.count for row in refused.read(conn, 1)] == [2]
