"""A ticket is given away once: to who says the code first, and then it is nobody else's."""

from __future__ import annotations

import json

import pytest

from store import audit, sales
from store.errors import Conflicted, NotFound
from store.tickets import transfers
from store.tickets.items import SEAT, Item
from tests.allocator.waiting import held_up
from tests.store.test_blocks import all_of, locking
from tests.store.test_holds import HOLD, PLAN, conn, hold  # noqa: F401
from tests.store.test_holds import event as open_event  # noqa: F401
from tests.store.tickets.holding import (
    PLACES,
    SEAT_3,
    SEAT_4,
    allow,
    at_once,
    check_in,
    claim,
    give_back,
    items,
    offer,
    order,
    seen,
    told,
    withdraw,
)

SAID = audit.said("Olga", "a broken seat")


@pytest.fixture
def event(conn, open_event):  # noqa: F811
    """An event whose organiser allows everything, and an order of ann's."""
    allow(conn)
    order(conn, open_event)
    return open_event


def tickets(conn):  # noqa: F811
    return conn.execute("SELECT * FROM ticket ORDER BY 1, 2, 3, 4").fetchall()


def refused(work, *given, kind=Conflicted, **named):
    with pytest.raises(kind) as error:
        work(*given, **named)
    return error.value.code


@pytest.mark.parametrize("item", [SEAT_3, PLACES[1]])
def test_what_was_offered_is_the_claimers_under_the_next_serial(conn, event, item):  # noqa: F811
    before = all_of(conn)
    code = offer(conn, event, item)
    assert items(conn, event, "bob") == []
    claimed = claim(conn, code)
    assert (claimed.event, claimed.order, claimed.item, claimed.serial) == ("gig", HOLD, item, 2)
    assert items(conn, event, "bob") == [item]
    mine = dict(seen(conn, event).items)
    assert (mine[item].holder, mine[item].serial) == ("bob", 2)
    body = {"order": str(HOLD), "ticket": item.name, "serial": 2, "from": "ann", "to": "bob"}
    assert told(conn)[-1] == ("ticket.transferred", body)
    assert all_of(conn) == before, "the order is as it was"


def test_offering_again_gives_the_same_code_and_another_ticket_another(conn, event):  # noqa: F811
    code = offer(conn, event)
    assert offer(conn, event) == code
    assert len(code) == 26
    assert offer(conn, event, SEAT_4) != code


def test_claiming_again_gives_the_same_ticket_once(conn, event):  # noqa: F811
    code = offer(conn, event)
    first = claim(conn, code)
    before = tickets(conn), told(conn)
    assert claim(conn, code) == first
    assert (tickets(conn), told(conn)) == before


def test_a_code_is_good_for_one(conn, event):  # noqa: F811
    code = offer(conn, event)
    claim(conn, code)
    before = tickets(conn)
    assert refused(claim, conn, code, "carl") == "code_claimed"
    assert refused(claim, conn, code, "ann") == "code_claimed"
    assert tickets(conn) == before


def test_no_code_claims_nothing(conn, event):  # noqa: F811
    offer(conn, event)
    assert refused(claim, conn, "A" * 26, kind=NotFound) == "code_not_found"


def test_what_was_given_can_be_given_on_and_back(conn, event):  # noqa: F811
    claim(conn, offer(conn, event))
    assert refused(offer, conn, event, kind=NotFound) == "ticket_not_found"
    assert claim(conn, offer(conn, event, buyer="bob"), "carl").serial == 3
    assert items(conn, event, "bob") == []
    back = claim(conn, offer(conn, event, buyer="carl"), "ann")
    assert back.serial == 4
    assert dict(seen(conn, event).items)[SEAT_3].holder is None
    assert told(conn)[-1][1]["from"] == "carl"


def test_after_a_restore_nobody_gets_the_serial_of_somebody_whose_transfer_is_lost(conn, event):  # noqa: F811
    """The token would be the same one, and let in who came first with it."""
    restored = json.dumps({"restored": {"taken_at": "then", "batch_no": 1, "goes_on_at": 100_000_001}})
    serial = claim(conn, offer(conn, event, SEAT_3)).serial
    assert serial == 2
    for above in (1_000, 2_000):
        conn.execute(
            "INSERT INTO audit (event_id, who, why, what) VALUES (%s, 'restore', 'a backup', %s)",
            (event, restored),
        )
        assert claim(conn, offer(conn, event, SEAT_4)).serial == above + 1
        assert claim(conn, offer(conn, event, SEAT_4, "bob"), "ann").serial == above + 2
    conn.execute(
        "INSERT INTO audit (event_id, who, why, what) VALUES (%s, 'restore', 'a name', %s)",
        (event, json.dumps({"change": "state"})),
    )
    assert claim(conn, offer(conn, event, SEAT_4)).serial == 2_003, "only a restore counts"


def test_an_offer_is_taken_back_and_its_code_means_nothing_then(conn, event):  # noqa: F811
    code = offer(conn, event)
    withdraw(conn, event)
    withdraw(conn, event)
    assert refused(claim, conn, code, kind=NotFound) == "code_not_found"
    assert offer(conn, event) != code


def test_only_its_holder_offers_a_ticket_or_takes_the_offer_back(conn, event):  # noqa: F811
    offer(conn, event)
    before = tickets(conn)
    for work in (offer, withdraw):
        assert refused(work, conn, event, buyer="bob", kind=NotFound) == "ticket_not_found"
        for item in (PLACES[2], Item(SEAT, 7), Item(1, 1)):
            assert refused(work, conn, event, item, kind=NotFound) == "ticket_not_found"
    claim(conn, offer(conn, event, SEAT_4))
    assert refused(withdraw, conn, event, SEAT_4, kind=NotFound) == "ticket_not_found"
    assert refused(offer, conn, event, order_id=HOLD + 1, kind=NotFound) == "order_not_found"
    assert [row for row in tickets(conn) if row[3] != 4] == before


def test_nobody_claims_from_themselves(conn, event):  # noqa: F811
    code = offer(conn, event)
    assert refused(claim, conn, code, "ann") == "own_ticket"
    assert claim(conn, code).serial == 2


def test_where_the_organiser_allows_no_giving_nothing_is_offered_and_what_was_can_be_claimed(conn, event):  # noqa: F811
    code = offer(conn, event)
    allow(conn, transfers_allowed=False)
    assert refused(offer, conn, event, SEAT_4) == "transfers_not_allowed"
    assert offer(conn, event) == code
    assert claim(conn, code).serial == 2


def test_who_came_in_with_a_ticket_cannot_give_it_away(conn, event):  # noqa: F811
    code = offer(conn, event, SEAT_4)
    check_in(conn, event)
    check_in(conn, event, SEAT_4)
    assert refused(offer, conn, event) == "checked_in"
    assert refused(claim, conn, code) == "code_claimed"
    assert items(conn, event, "bob") == []


def test_a_hold_has_no_tickets_to_give(conn, event):  # noqa: F811
    hold(conn, event, hold_id=HOLD + 9, seats=(7,), places=0)
    assert refused(offer, conn, event, Item(SEAT, 7), order_id=HOLD + 9, kind=NotFound) == "ticket_not_found"


def test_what_went_cannot_be_claimed(conn, event):  # noqa: F811
    seat, place = offer(conn, event), offer(conn, event, PLACES[0])
    give_back(conn, event, SEAT_3)
    assert refused(claim, conn, seat) == "ticket_gone"
    sales.take_back(conn, event, PLAN, HOLD, SAID)
    assert refused(claim, conn, place) == "ticket_gone"
    assert items(conn, event, "bob") == []


def test_a_ticket_that_was_given_away_ends_with_its_order(conn, event):  # noqa: F811
    claim(conn, offer(conn, event))
    sales.take_back(conn, event, PLAN, HOLD, SAID, seats=[PLAN.seats[3].guid])
    assert items(conn, event, "bob") == []
    assert refused(offer, conn, event, buyer="bob", kind=NotFound) == "ticket_not_found"


# --- at once ---


@pytest.mark.parametrize("_", range(3))
def test_of_many_who_claim_at_once_one_has_it(conn, event, database_url, _):  # noqa: F811
    code = offer(conn, event)
    names = ["bob", "carl", "dora", "emil"]
    answers = at_once(database_url, *[lambda own, name=name: claim(own, code, name).serial for name in names])
    assert sorted(map(str, answers)) == ["2", *["code_claimed"] * 3]
    assert [len(items(conn, event, name)) for name in names].count(1) == 1
    assert [kind for kind, _ in told(conn)].count("ticket.transferred") == 1


def test_who_claims_waits_for_whoever_changes_the_order(conn, event, database_url):  # noqa: F811
    code = offer(conn, event)
    there = f"FROM hold WHERE hold_id = {HOLD}"
    for work in (
        lambda: claim(conn, code),
        lambda: offer(conn, event, SEAT_4),
        lambda: check_in(conn, event, SEAT_4),
    ):
        with held_up(database_url, locking(there), work):
            pass


# --- each guard alone ---


def test_each_statement_stands_alone_against_what_is_not_as_it_must_be(conn, event):  # noqa: F811
    code = offer(conn, event)
    values = {"event": event, "hold": HOLD, "area": SEAT, "number": 3, "code": code}
    values |= {"buyer": "bob", "owner": "ann"}

    def won(statement, **other):
        with conn.transaction(force_rollback=True):
            return conn.execute(statement, values | other).rowcount

    assert won(transfers.CLAIM) == 1
    assert won(transfers.CLAIM, code="other") == 0
    assert won(transfers.CLAIM, number=4) == 0
    assert won(transfers.OFFER) == 0
    assert won(transfers.WITHDRAW) == 1
    claim(conn, code)
    assert won(transfers.CLAIM) == 0
    assert won(transfers.WITHDRAW) == 0
    conn.execute("UPDATE ticket SET gone = true")
    assert won(transfers.OFFER) == 0


def test_a_code_is_of_one_ticket_by_the_table_itself(conn, event):  # noqa: F811
    code = offer(conn, event)
    offer(conn, event, SEAT_4)
    with pytest.raises(Exception, match="ticket_offer"):
        conn.execute("UPDATE ticket SET offer_code = %s WHERE number = 4", (code,))
