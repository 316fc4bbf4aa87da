"""How tests have tickets: orders of buyers, and the store's calls on a connection of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import psycopg

from store import events, holds
from store.errors import Conflicted, NotFound
from store.tickets import checks, reads, returns, revoked, transfers
from store.tickets.items import SEAT, Item
from tests.store.test_holds import HOLD, NUMBERS, PLAN, change, hold, url_of

SEAT_3, SEAT_4 = Item(SEAT, 3), Item(SEAT, 4)
PLACES = [Item(0, number) for number in (1, 2, 3, 4)]


def order(conn: psycopg.Connection, event: int, hold_id: int = HOLD, buyer: str = "ann", **given: Any) -> int:
    """An order of seats 3 and 4 and two standing places, unless told; it cost nothing."""
    hold(conn, event, hold_id=hold_id, buyer=buyer, **given)
    change(conn, holds.confirm, event, buyer=buyer, hold_id=hold_id)
    conn.execute("DELETE FROM fact")
    return hold_id


def allow(conn: psycopg.Connection, **terms: Any) -> None:
    """What the organiser allows; both unless told."""
    events.set_policy(conn, "gig", **({"returns_allowed": True, "transfers_allowed": True} | terms))


def run(conn: psycopg.Connection, work: Callable[[Any], Any]) -> Any:
    """What `work` returns on an asynchronous connection to the same database."""

    async def on_its_own():
        async with await psycopg.AsyncConnection.connect(url_of(conn), autocommit=True) as own:
            return await work(own)

    return asyncio.run(on_its_own())


def give_back(conn, event, *items, buyer="ann", order_id=HOLD):
    return returns.give_back(conn, event, PLAN, order_id, buyer, items or None)


def offer(conn, event, item=SEAT_3, buyer="ann", order_id=HOLD):
    return run(conn, lambda own: transfers.offer(own, event, order_id, item, buyer))


def withdraw(conn, event, item=SEAT_3, buyer="ann"):
    return run(conn, lambda own: transfers.withdraw(own, event, HOLD, item, buyer))


def claim(conn, code, buyer="bob"):
    return run(conn, lambda own: transfers.claim(own, code, buyer))


def check_in(conn, event, item=SEAT_3, serial=1, device="north", order_id=HOLD):
    return run(conn, lambda own: checks.check_in(own, event, order_id, item, serial, device))


def seen(conn, event, buyer="ann", order_id=HOLD):
    return run(conn, lambda own: reads.order(own, event, order_id, buyer, NUMBERS))


def mine(conn, event, buyer="ann", **page):
    return run(conn, lambda own: reads.orders(own, event, buyer, NUMBERS, **page))


def items(conn, event, buyer="ann"):
    """What a buyer sees of the order."""
    found = seen(conn, event, buyer)
    return [] if found is None else [item for item, _ in found.items]


def all_revoked(conn, event, **page):
    return run(conn, lambda own: revoked.read(own, event, **page))


def told(conn):
    """The outbox."""
    return conn.execute("SELECT kind, body FROM outbox ORDER BY id").fetchall()


def at_once(database_url, *works):
    """What each of these gives, all at the same time; a refusal by its code."""
    answers: list[object] = []
    start = threading.Barrier(len(works))

    def one(work):
        with psycopg.connect(database_url, autocommit=True) as own:
            start.wait(30)
            try:
                answers.append(work(own))
            except (Conflicted, NotFound) as error:
                answers.append(error.code)

    workers = [threading.Thread(target=one, args=[work]) for work in works]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)
    return answers
