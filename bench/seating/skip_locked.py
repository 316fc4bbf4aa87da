"""SKIP LOCKED writers: several at once, each takes the first free seats that nobody else has locked.

As people publish it (see bench/strategies/skip_locked.py): in one transaction SELECT … ORDER BY … LIMIT n
FOR UPDATE SKIP LOCKED, then UPDATE and INSERT; fewer than n and it rolls back and tries the party's next
choice. Same order of seats as the greedy picker. Every writer has its own connection to the embedded
Postgres and takes the next party in line as soon as it has done one. Who sits where is read from the table.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg

from bench.seating.greedy import seats_in_order
from bench.seating.house import House
from bench.seating.judge import Seated
from onsale.processes import Stack
from store.words import Best, Choice, Want

DATABASE = "seating"
WRITERS = 8
SCHEMA = """
DROP TABLE IF EXISTS seat, booking;
CREATE TABLE seat (
    seat_no int PRIMARY KEY, place int NOT NULL, section text NOT NULL, category text NOT NULL,
    price_minor int NOT NULL, status text NOT NULL DEFAULT 'available', party int);
CREATE INDEX seat_free ON seat (place) WHERE status = 'available';
CREATE INDEX seat_free_section ON seat (section, place) WHERE status = 'available';
CREATE INDEX seat_free_category ON seat (category, place) WHERE status = 'available';
CREATE TABLE booking (seat_no int PRIMARY KEY, party int NOT NULL, choice int NOT NULL, part int NOT NULL);
"""
COPY_SEATS = "COPY seat (seat_no, place, section, category, price_minor) FROM STDIN"
FIRST_FREE = """
SELECT seat_no FROM seat WHERE status = 'available' {described}
 ORDER BY place LIMIT %(quantity)s FOR UPDATE SKIP LOCKED
"""
NAMED = """
SELECT seat_no FROM seat WHERE seat_no = ANY(%(seats)s) AND status = 'available' FOR UPDATE SKIP LOCKED
"""
TAKE = "UPDATE seat SET status = 'held', party = %s WHERE seat_no = ANY(%s)"
BOOK = "INSERT INTO booking (seat_no, party, choice, part) SELECT unnest(%s::int[]), %s, %s, %s"
BOOKINGS = "SELECT party, choice, part, seat_no FROM booking ORDER BY party, part, seat_no"


class _Short(Exception):
    """Fewer seats than asked for: the transaction is rolled back."""


@contextmanager
def database_beside(stack: Stack) -> Iterator[str]:
    """The URL of a database of its own on the stack's Postgres."""
    with psycopg.connect(stack.urls.database_url, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {DATABASE}")
        try:
            yield stack.postgres.url_of(DATABASE)
        finally:
            admin.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


def sell(
    database_url: str, house: House, wants: Sequence[Want], writers: int = WRITERS
) -> list[Seated | None]:
    """Who gets what. Raises what a writer raised."""
    _fill(database_url, house)
    line = iter(enumerate(wants))
    next_in_line, failures = threading.Lock(), []

    def write() -> None:
        try:
            with psycopg.connect(database_url, autocommit=True, prepare_threshold=1) as connection:
                while True:
                    with next_in_line:
                        number, want = next(line, (-1, None))
                    if want is None:
                        return
                    _seat(connection, house, number, want)
        except psycopg.Error as error:
            failures.append(error)

    threads = [threading.Thread(target=write, name=f"writer {number}") for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    with psycopg.connect(database_url) as connection:
        return _read(connection, len(wants))


def _fill(database_url: str, house: House) -> None:
    plan = house.plan
    with psycopg.connect(database_url) as connection:
        connection.execute(SCHEMA)
        with connection.cursor().copy(COPY_SEATS) as copy:
            for place, number in enumerate(seats_in_order(house, Best(1))):
                seat = plan.seats[number]
                category = plan.categories[seat.category]
                section = plan.sections[seat.section].name
                copy.write_row((number, place, section, category.name, category.price_minor))
        connection.execute("ANALYZE seat")


def _seat(connection: psycopg.Connection[Any], house: House, number: int, want: Want) -> None:
    """The first choice for which enough seats were found."""
    for index, choice in enumerate(want.choices):
        try:
            with connection.transaction():
                _take(connection, house, number, index, choice)
            return
        except _Short:
            continue


def _take(connection: psycopg.Connection[Any], house: House, number: int, index: int, choice: Choice) -> None:
    statements = [(*_first_free(best), best.quantity) for best in choice.parties]
    if choice.seats:
        named = {"seats": [house.seat_of[guid] for guid in choice.seats]}
        statements = [(NAMED.encode(), named, len(choice.seats))]
    for part, (statement, values, quantity) in enumerate(statements):
        found = [seat for (seat,) in connection.execute(statement, values).fetchall()]
        if len(found) < quantity:
            raise _Short
        connection.execute(TAKE, (number, found))
        connection.execute(BOOK, (found, number, index, part))


def _first_free(best: Best) -> tuple[bytes, dict[str, Any]]:
    conditions = {
        "section": "AND section = %(section)s",
        "category": "AND category = %(category)s",
        "price_min": "AND price_minor >= %(price_min)s",
        "price_max": "AND price_minor <= %(price_max)s",
    }
    values = {name: value for name in conditions if (value := getattr(best, name)) is not None}
    described = " ".join(conditions[name] for name in values)
    return FIRST_FREE.format(described=described).encode(), {**values, "quantity": best.quantity}


def _read(connection: psycopg.Connection[Any], parties: int) -> list[Seated | None]:
    seats: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    choices: dict[int, int] = {}
    for party, choice, part, seat in connection.execute(BOOKINGS).fetchall():
        choices[party] = choice
        seats[party][part].append(seat)
    return [
        Seated(choices[party], tuple(map(tuple, seats[party].values()))) if party in choices else None
        for party in range(parties)
    ]
