"""What operators do to seats while buyers buy them: off sale and on again, sold by hand, taken back.

Each change is asked for again until Postgres has answered it, as a person would who sees an error; a change
that was made though its answer was lost is refused or answered as it stands, and made once.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

import psycopg
from msgspec import Struct

from store import blocks, sales
from store.audit import Said
from store.errors import Conflicted, Unavailable
from store.plan import Plan
from store.words import HoldKind

CONNECT_SECONDS_MAX = 2
PATIENCE_SECONDS = 30.0
PAUSE_SECONDS = 0.1
BLOCKED_SEATS = 4
SOLD_SEATS = 3
BETWEEN_SECONDS = (0.1, 0.9)
HOUSE = Said("torture", "house seats")
BOX_OFFICE = Said("torture", "box office")
GUEST = "a guest at the box office"
T = TypeVar("T")
Conn = psycopg.Connection[Any]

FREE_SEATS = """
SELECT seat_no FROM seat WHERE event_id = %s AND state = 'available' ORDER BY random() LIMIT %s
"""
AN_ORDER = """
SELECT hold_id FROM hold WHERE event_id = %s AND state = 'paid' AND kind = 'buyer' ORDER BY random() LIMIT 1
"""
_numbers = count(1)


class AtWork:
    """Somebody who does the same turn after turn, whatever is broken, in a thread, from now until `close`."""

    def __init__(self, name: str) -> None:
        self.trouble = ""
        """What could not be done; then the work ended early."""
        self.closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def turn(self) -> None:
        """Once; ends soon when it is `closing`."""
        raise NotImplementedError

    def close(self) -> None:
        """Ends with the turn that is under way; `trouble` when it does not."""
        self.closing.set()
        self._thread.join(2 * PATIENCE_SECONDS)
        if self._thread.is_alive():
            self.trouble = "it was still at work when everything had settled"

    def _work(self) -> None:
        try:
            while not self.closing.is_set():
                self.turn()
        except Exception as error:  # told as trouble of the torturer, never hidden
            self.trouble = f"{self._thread.name}: {type(error).__name__}: {error}"


class BoxOffice(AtWork):
    """Sells by hand and takes back on one event; in the end what it sold last."""

    def __init__(self, database_url: str, slug: str, chance: random.Random) -> None:
        self._where = (database_url, slug)
        self._chance = chance
        super().__init__("box office")

    def turn(self) -> None:
        sale = sell(*self._where)
        self.closing.wait(self._chance.uniform(*BETWEEN_SECONDS))
        take_back(*self._where, sale)
        self.closing.wait(self._chance.uniform(*BETWEEN_SECONDS))


class Sale(Struct, frozen=True):
    """An order made by hand: its hold and what it has."""

    hold: int
    seats: tuple[str, ...]
    quantity: int


def as_operator(database_url: str, once: Callable[[Conn], T]) -> T:
    """What `once` gives, asked for again while Postgres is away or somebody locks what it needs."""
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            with psycopg.connect(database_url, connect_timeout=CONNECT_SECONDS_MAX) as conn:
                return once(conn)
        except (psycopg.OperationalError, Unavailable):
            if time.monotonic() > give_up_at:
                raise
            time.sleep(PAUSE_SECONDS)


def block(database_url: str, slug: str) -> list[str]:
    """Takes up to `BLOCKED_SEATS` seats that are free just now off sale; those that it took."""

    def once(conn: Conn) -> list[str]:
        event_id, plan = blocks.event_and_plan(conn, slug)
        names = _free(conn, event_id, plan, BLOCKED_SEATS)
        with contextlib.suppress(Conflicted):  # a buyer was faster
            if names:
                blocks.block(conn, event_id, plan, names, {}, HOUSE)
            return names
        return []

    return as_operator(database_url, once)


def unblock(database_url: str, slug: str, names: list[str]) -> None:
    """Puts seats on sale again that this operator blocked."""

    def once(conn: Conn) -> None:
        event_id, plan = blocks.event_and_plan(conn, slug)
        with contextlib.suppress(Conflicted):  # done before, and the answer was lost
            blocks.unblock(conn, event_id, plan, names, {}, HOUSE)

    if names:
        as_operator(database_url, once)


def sell(database_url: str, slug: str) -> Sale | None:
    """Sells seats that were blocked before, one that is free and a place; None if buyers were faster."""
    blocked = block(database_url, slug)
    kept, rest = blocked[:SOLD_SEATS], blocked[SOLD_SEATS:]

    def look(conn: Conn) -> tuple[list[str], dict[str, int]]:
        event_id, plan = blocks.event_and_plan(conn, slug)
        return [*kept, *_free(conn, event_id, plan, 1)], {plan.areas[0].guid: 1}

    sale, everything = None, as_operator(database_url, look)
    for seats, areas in (everything, (kept, {})):  # what was free may be gone
        if sale is None and seats:
            sale = as_operator(database_url, _selling(slug, seats, areas))
    unblock(database_url, slug, rest if sale else blocked)
    return sale


def _selling(slug: str, seats: list[str], areas: dict[str, int]) -> Callable[[Conn], Sale | None]:
    reference = f"sale {next(_numbers)}"

    def once(conn: Conn) -> Sale | None:
        event_id, plan = blocks.event_and_plan(conn, slug)
        with contextlib.suppress(Conflicted):  # a buyer was faster
            order = sales.sell(
                conn, event_id, plan, seats, areas, GUEST, HoldKind.BOX_OFFICE, BOX_OFFICE,
                reference=reference,
            )  # fmt: skip
            quantity = len(order.seats) + sum(order.areas.values())
            return Sale(int(order.hold), tuple(order.seats), quantity)
        return None

    return once


def take_back(database_url: str, slug: str, sale: Sale | None) -> None:
    """Takes a seat of the sale back to keep it off sale for a moment, then the rest; and a buyer's order."""

    def returned(hold: int, *seats: str, quantity: int | None = None) -> Callable[[Conn], None]:
        def once(conn: Conn) -> None:
            event_id, plan = blocks.event_and_plan(conn, slug)
            with contextlib.suppress(Conflicted):  # done before, and the answer was lost
                sales.take_back(
                    conn, event_id, plan, hold, BOX_OFFICE,
                    seats=seats, quantity=quantity, block=bool(seats),
                )  # fmt: skip

        return once

    def an_order(conn: Conn) -> int | None:
        event_id, _ = blocks.event_and_plan(conn, slug)
        row = conn.execute(AN_ORDER, (event_id,)).fetchone()
        return None if row is None else int(row[0])

    if sale is not None:
        first = sale.seats[0]
        as_operator(database_url, returned(sale.hold, first, quantity=sale.quantity))
        as_operator(database_url, returned(sale.hold))
        unblock(database_url, slug, [first])
    bought = as_operator(database_url, an_order)
    if bought is not None:
        as_operator(database_url, returned(bought))


def _free(conn: Conn, event_id: int, plan: Plan, most: int) -> list[str]:
    free = conn.execute(FREE_SEATS, (event_id, most)).fetchall()
    return [plan.seats[number].guid for (number,) in free]
