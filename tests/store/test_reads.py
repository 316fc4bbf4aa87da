"""What gateways read: decisions of their event's keys and no others, and a map of one moment."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from store import events, lookups
from store.venues.make import make
from store.venues.rows import save_venue

PLAN = make("arena", 20, standing=10)
ROW = (
    "INSERT INTO ledger (event_id, batch_no, position, kind, arrival, buyer, request_id, input, outcome,"
    " result) VALUES (%s, 1, %s, 'request', '1-1', %s, 'r1', '{}', %s, '{}')"
)


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def decisions(database_url: str, event_id: int, *buyers: str) -> dict[Any, Any]:
    async def run():
        async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as own:
            return await lookups.decisions(own, event_id, [(buyer, "r1") for buyer in buyers])

    return asyncio.run(run())


def test_a_key_of_another_event_or_buyer_is_not_known_here(conn, database_url):
    conn.execute(ROW, (1, 0, "ann", "held"))
    conn.execute(ROW, (2, 0, "bob", "held"))
    assert set(decisions(database_url, 1, "ann", "bob", "eve")) == {("ann", "r1")}


def test_a_conflict_is_never_the_decision_of_its_key(conn, database_url):
    """Whether it stands before or behind the decision, and also where there is no other row."""
    conn.execute(ROW, (1, 0, "ann", "conflict"))
    conn.execute(ROW, (1, 1, "ann", "held"))
    conn.execute(ROW, (1, 2, "ann", "conflict"))
    conn.execute(ROW, (1, 3, "bob", "conflict"))
    found = decisions(database_url, 1, "ann", "bob")
    assert set(found) == {("ann", "r1")}
    assert b'"outcome":"held"' in found["ann", "r1"].frame


class Meanwhile(psycopg.AsyncConnection[Any]):
    """A connection before whose look at the seats something happens, once."""

    happening: Any = None

    async def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        happening = type(self).happening
        if happening is not None and "FROM seat" in str(query):
            type(self).happening = None
            happening()
        return await super().execute(query, *args, **kwargs)


def test_a_seat_map_read_while_a_batch_commits_is_of_one_moment(conn, database_url):
    event = events.create_event(conn, "gig", "The gig", save_venue(conn, "arena", PLAN), PLAN)

    def batch() -> None:
        with conn.transaction():
            conn.execute("UPDATE event_cursor SET batch_no = batch_no + 1")
            conn.execute("UPDATE seat SET state = 'held', hold_id = 1 WHERE seat_no = 0")
            conn.execute("UPDATE area SET held = 4")

    async def run():
        async with await Meanwhile.connect(database_url, autocommit=True) as own:
            return await lookups.seat_map(own, event)

    Meanwhile.happening = batch
    seen = asyncio.run(run())
    assert Meanwhile.happening is None
    assert (seen.batch_no, seen.states[0], seen.areas_free) == (0, "a", [10])
