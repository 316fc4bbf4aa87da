"""At the door: in once, by a ticket that counts; and what doors that are cut off must know."""

from __future__ import annotations

import pytest

from store import audit, sales
from store.errors import BadRequest
from store.tickets import checks
from store.tickets.checks import Door
from store.tickets.items import SEAT, Item
from store.tickets.revoked import Revoked
from store.words import HoldKind
from tests.store.test_holds import HOLD, PLAN, conn, hold  # noqa: F401
from tests.store.test_holds import event as open_event  # noqa: F401
from tests.store.tickets.holding import (
    PLACES,
    SEAT_3,
    SEAT_4,
    all_revoked,
    allow,
    at_once,
    check_in,
    claim,
    give_back,
    offer,
    order,
)

SAID = audit.said("Olga", "a broken seat")


@pytest.fixture
def event(conn, open_event):  # noqa: F811
    allow(conn)
    order(conn, open_event)
    return open_event


@pytest.mark.parametrize("item", [SEAT_3, PLACES[1]])
def test_a_ticket_lets_in_once_and_the_same_device_hears_the_same_again(conn, event, item):  # noqa: F811
    first = check_in(conn, event, item)
    assert (first.door, first.again, first.checked_by, first.kind) == (
        Door.VALID,
        False,
        "north",
        HoldKind.BUYER,
    )
    again = check_in(conn, event, item)
    assert (again.door, again.again, again.checked_at) == (Door.VALID, True, first.checked_at)
    other = check_in(conn, event, item, device="south")
    assert (other.door, other.checked_at, other.checked_by) == (
        Door.CHECKED_IN_BEFORE, first.checked_at, "north",
    )  # fmt: skip
    assert conn.execute("SELECT checked_by FROM ticket").fetchall() == [("north",)]


def test_what_the_order_has_not_lets_nobody_in(conn, event):  # noqa: F811
    hold(conn, event, hold_id=HOLD + 1, seats=(7,), places=0)
    assert check_in(conn, event, Item(SEAT, 7)).door is Door.REVOKED
    assert check_in(conn, event, Item(SEAT, 7), order_id=HOLD + 1).door is Door.REVOKED
    assert check_in(conn, event, PLACES[2]).door is Door.REVOKED
    assert check_in(conn, event, order_id=HOLD + 2).door is Door.REVOKED
    assert conn.execute("SELECT count(*) FROM ticket").fetchone() == (0,)


def test_of_a_ticket_that_was_given_on_only_the_new_token_counts(conn, event):  # noqa: F811
    claim(conn, offer(conn, event))
    assert check_in(conn, event, serial=1).door is Door.REVOKED
    assert check_in(conn, event, serial=3).door is Door.REVOKED
    assert check_in(conn, event, serial=2).door is Door.VALID


def test_what_was_returned_or_taken_back_counts_no_longer(conn, event):  # noqa: F811
    give_back(conn, event, SEAT_3, PLACES[0])
    assert check_in(conn, event, SEAT_3).door is Door.REVOKED
    assert check_in(conn, event, PLACES[0]).door is Door.REVOKED
    assert check_in(conn, event, PLACES[1]).door is Door.VALID
    sales.take_back(conn, event, PLAN, HOLD, SAID)
    for item in (SEAT_4, PLACES[1]):
        assert check_in(conn, event, item).door is Door.REVOKED


def test_a_seat_that_was_sold_again_is_not_had_with_the_old_ticket(conn, event):  # noqa: F811
    give_back(conn, event, SEAT_3)
    order(conn, event, HOLD + 1, "bob", seats=(3,), places=0)
    assert check_in(conn, event, SEAT_3).door is Door.REVOKED
    assert check_in(conn, event, SEAT_3, order_id=HOLD + 1).door is Door.VALID


def test_of_many_doors_at_once_one_lets_in(conn, event, database_url):  # noqa: F811
    doors = [f"door-{number}" for number in range(5)]
    said = at_once(
        database_url, *[lambda own, door=door: check_in(own, event, device=door).door for door in doors]
    )
    assert sorted(said) == [Door.CHECKED_IN_BEFORE] * 4 + [Door.VALID]


def test_the_statement_alone_remembers_the_first(conn, event):  # noqa: F811
    values = {"event": event, "hold": HOLD, "area": SEAT, "number": 3, "device": "north"}
    assert conn.execute(checks.CHECK_IN, values).rowcount == 1
    assert conn.execute(checks.CHECK_IN, values | {"device": "south"}).rowcount == 0


# --- doors that are cut off ---


def test_doors_hear_of_orders_taken_back_of_tickets_that_went_and_of_older_serials(conn, event):  # noqa: F811
    order(conn, event, HOLD + 1, "bob", seats=(7, 8), places=0)
    assert all_revoked(conn, event) == []
    claim(conn, offer(conn, event))
    give_back(conn, event, PLACES[0])
    check_in(conn, event, SEAT_4)
    give_back(conn, event, buyer="bob", order_id=HOLD + 1)
    assert all_revoked(conn, event) == [
        Revoked(str(HOLD), "3", 2),
        Revoked(str(HOLD), "0-1"),
        Revoked(str(HOLD + 1)),
    ]
    sales.take_back(conn, event, PLAN, HOLD, SAID)
    assert all_revoked(conn, event) == [Revoked(str(HOLD)), Revoked(str(HOLD + 1))]
    assert all_revoked(conn, event + 1) == []


def test_pages_of_what_is_revoked_miss_nothing(conn, event):  # noqa: F811
    for number in range(3):
        order(conn, event, HOLD + 1 + number, "bob", seats=(10 + number,), places=0)
        give_back(conn, event, buyer="bob", order_id=HOLD + 1 + number)
    give_back(conn, event, SEAT_3, PLACES[1])
    whole = all_revoked(conn, event)
    paged, after = [], ""
    while page := all_revoked(conn, event, after=after, limit=2):
        paged += page
        after = page[-1].place
    assert paged == whole
    assert len(whole) == 5


@pytest.mark.parametrize("after", ["x", "1/x", "-1", "9" * 19, "1/1/1", "٣"])
def test_a_page_after_nothing_there_could_be_is_refused(conn, event, after):  # noqa: F811
    with pytest.raises(BadRequest) as refused:
        all_revoked(conn, event, after=after)
    assert refused.value.code == "invalid_after"
