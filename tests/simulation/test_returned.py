"""The simulation notices whatever came back from an order without a cause, or with two."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from allocator.decided import Row
from store.tickets.items import SEAT
from store.words import Returned
from tests.simulation.postgres import Database, HoldRow, OutboxRow
from tests.simulation.returned import unexplained
from tests.simulation.run import Run

pytestmark = pytest.mark.simulation
ORDER, OTHER = 1 << 16, 2 << 16
AT = 5


@pytest.fixture
def database() -> Database:
    """Of one order an operator took seat 3 back; of another its buyer returned 4 and a place, and keeps 5."""
    made = Run(3, 0).sales[0].database
    rows, guids = made.rows, [seat.guid for seat in made.plan.seats]
    rows["hold"] |= {
        ORDER: HoldRow("ann", "r1", "refunded", 1, 0), OTHER: HoldRow("bob", "r2", "paid", 1, 0),
    }  # fmt: skip
    for seat, order in ((3, ORDER), (4, OTHER), (5, OTHER)):
        made.history.append((seat, AT, "sold", order, "buyer"))
    _comes_back(made, ORDER, (3,), (), "Olga")
    what = {"change": "return", "hold": str(ORDER), "seats": [guids[3]], "areas": {}}
    rows["audit"][1] = ("Olga", "why", msgspec.json.encode(what))
    _comes_back(made, OTHER, (4,), ((0, 1),), "buyer")
    rows["ticket"] |= {(OTHER, SEAT, 4): True, (OTHER, 0, 2): True}
    return made


def _comes_back(
    made: Database, order: int, seats: tuple[int, ...], areas: tuple[tuple[int, int], ...], by: str
) -> None:
    number = len(made.rows["ledger"])
    body = msgspec.json.encode(Returned("x", True, False, seats, areas)).decode()
    told = f'{{"fact":{number},"hold":"{order}","body":{body}}}'
    made.rows["ledger"][7, number] = Row("fact", "", "", "", told, "returned", "null")
    body = msgspec.json.encode({"order": str(order), "seats": seats, "areas": areas}).decode()
    made.rows["outbox"][number] = OutboxRow("order.changed", body.encode())
    made.history += [(seat, AT + 1, "available", order, by) for seat in seats]


def test_what_came_back_once_with_its_cause_is_explained(database):
    assert unexplained(database) == []


WRONG: dict[str, Callable[[Database], object]] = {
    "nobody was told": lambda made: made.rows["outbox"].pop(0),
    "it was told twice": lambda made: made.rows["outbox"].update({9: made.rows["outbox"][0]}),
    "the ledger does not know": lambda made: made.rows["ledger"].pop((7, 0)),
    "an operator's is not in the audit": lambda made: made.rows["audit"].clear(),
    "it is in the audit twice": lambda made: made.rows["audit"].update({2: made.rows["audit"][1]}),
    "a seat was freed by nobody": lambda made: made.history.append((5, AT, "available", OTHER, "buyer")),
    "a seat was not freed": lambda made: made.history.remove((4, AT + 1, "available", OTHER, "buyer")),
    "a ticket did not go": lambda made: made.rows["ticket"].pop((OTHER, SEAT, 4)),
    "a ticket went for nothing": lambda made: made.rows["ticket"].update({(OTHER, SEAT, 5): True}),
}


@pytest.mark.parametrize("hand", list(WRONG.values()), ids=list(WRONG))
def test_what_has_no_cause_or_two_is_told(database, hand):
    hand(database)
    assert [one for one in unexplained(database) if one.startswith("unexplained: ")]
