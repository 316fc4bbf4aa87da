"""Who was turned away, as rows: one per minute and reason, however many gateways count it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import psycopg
import pytest

from store.errors import BadRequest
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


def test_a_range_has_its_first_minute_and_not_its_last(database_url, conn):
    for ago, count in ((3, 30), (2, 20), (1, 10)):
        add(database_url, Counted(1, Reason.BUYER_JOINS, count, {"a": count}))
        conn.execute(
            "UPDATE room_refused SET minute = timestamptz '2030-05-01 10:00Z' - make_interval(mins => %s)"
            " WHERE count = %s",
            (ago, count),
        )
    first, last = (datetime(2030, 5, 1, 9, minute, tzinfo=UTC) for minute in (58, 59))
    assert [row.count for row in refused.read(conn, 1)] == [10, 20, 30]
    assert [row.count for row in refused.read(conn, 1, since=first)] == [10, 20]
    assert [row.count for row in refused.read(conn, 1, until=last)] == [20, 30]
    assert [row.count for row in refused.read(conn, 1, since=first, until=last)] == [20]
    assert [row.count for row in refused.read(conn, 1, 1, until=last)] == [20]
    with pytest.raises(BadRequest) as told:
        refused.read(conn, 1, since=last, until=last)
    assert told.value.code == "invalid_range"


def test_old_rows_are_forgotten(database_url, conn):
    add(database_url, Counted(1, Reason.BUYER_JOINS, 1, {"a": 1}))
    conn.execute("UPDATE room_refused SET minute = minute - interval '10 days'")
    add(database_url, Counted(1, Reason.BUYER_JOINS, 2, {"a": 2}))

    async def run():
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
            return await refused.forget(connection, 9, 100)

    assert asyncio.run(run()) == 1
    assert [row.count for row in refused.read(conn, 1)] == [2]
