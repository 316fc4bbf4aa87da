"""Does everything that came back from orders have exactly one cause? Of a virtual Postgres that is at rest.

A return is one fact in the ledger. It was told to the world once. An operator's is in the audit once, with
who and why; any other is its buyer's, and says so in the history of each seat. Tickets are remembered as gone
for what orders that go on have lost, and for nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from allocator.follow import decode_fact
from store.tickets.items import SEAT
from store.words import Returned
from tests.simulation.postgres import Database

BUYER = "buyer"
_decode_body = msgspec.json.Decoder(Returned).decode


class Back(NamedTuple):
    """What came back of an order at once, by number of the plan."""

    order: int
    seats: tuple[int, ...]
    areas: tuple[tuple[int, int], ...]


def unexplained(database: Database) -> list[str]:
    """What has no cause, or more than one."""
    ledger = Counter(_in_ledger(database))
    told = Counter(_told(database))
    audited = Counter(_audited(database))
    found = []
    if ledger != told:
        found.append(f"unexplained: the world was told of {told - ledger}, and not of {ledger - told}")
    if audited - ledger:
        found.append(f"unexplained: operators took {audited - ledger} back, and the ledger does not know")
    by_whom = Counter(_seats_of(audited, by_operator=True))
    by_whom += Counter(_seats_of(ledger - audited, by_operator=False))
    freed = Counter(_freed(database))
    if by_whom != freed:
        story = f"{freed - by_whom} were freed with no cause, {by_whom - freed} have one and were not"
        found.append(f"unexplained: of seats of orders {story}")
    return found + list(_gone(database, ledger))


def _in_ledger(database: Database) -> Iterator[Back]:
    for _, row in sorted(database.rows["ledger"].items()):
        if row.kind == "fact" and row.outcome == "returned":
            fact = decode_fact(row.input)
            assert fact.hold is not None, "a return is of an order"
            body = _decode_body(fact.body)
            yield Back(int(fact.hold), tuple(sorted(body.seats)), tuple(sorted(body.areas)))


def _told(database: Database) -> Iterator[Back]:
    for kind, text, _ in database.rows["outbox"].values():
        if kind in ("order.changed", "order.refunded"):
            body = msgspec.json.decode(text)
            areas = sorted((area, count) for area, count in body["areas"])
            yield Back(int(body["order"]), tuple(sorted(body["seats"])), tuple(areas))


def _audited(database: Database) -> Iterator[Back]:
    seats = {seat.guid: number for number, seat in enumerate(database.plan.seats)}
    areas = {area.guid: number for number, area in enumerate(database.plan.areas)}
    for _, _, what in database.rows["audit"].values():
        change = msgspec.json.decode(what)
        if change["change"] == "return":
            named = sorted(seats[guid] for guid in change["seats"])
            places = sorted((areas[guid], count) for guid, count in change["areas"].items())
            yield Back(int(change["hold"]), tuple(named), tuple(places))


def _seats_of(backs: Counter[Back], *, by_operator: bool) -> Iterator[tuple[int, int, bool]]:
    for back in backs.elements():
        for seat in back.seats:
            yield back.order, seat, by_operator


def _freed(database: Database) -> Iterator[tuple[int, int, bool]]:
    """(order, seat, whether an operator did it) of each seat that was sold and is not any more."""
    sold = set()
    for seat, _, became, hold, by in database.history:
        if became == "sold":
            sold.add((seat, hold))
        elif (seat, hold) in sold:
            assert hold is not None, "a sold seat names its order"
            sold.remove((seat, hold))
            yield hold, seat, by != BUYER


def _gone(database: Database, ledger: Counter[Back]) -> Iterator[str]:
    """Orders that go on remember which of their tickets went."""
    lost: Counter[tuple[int, int]] = Counter()
    for back in ledger.elements():
        lost += Counter({(back.order, area): count for area, count in [(SEAT, len(back.seats)), *back.areas]})
    went = Counter((order, area) for order, area, _ in database.rows["ticket"])
    for order, area in sorted(lost.keys() | went.keys()):
        stands = database.rows["hold"][order].state == "paid"
        if went[order, area] != lost[order, area] and (stands or went[order, area] > lost[order, area]):
            counts = f"{lost[order, area]} came back of area {area}, {went[order, area]} tickets went"
            yield f"unexplained: of order {order} {counts}"
