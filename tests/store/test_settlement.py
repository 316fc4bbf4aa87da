"""The settlement balances to the cent whatever was bought and given back; what does not is named."""

from __future__ import annotations

import csv
import io

import msgspec
import psycopg
import pytest

from store import holds, sales
from store.calling_off import begin
from store.payments import settlement_csv
from store.payments.begin import Prices
from store.payments.settlement import Counted, Entry, settlement
from store.plan import encode
from store.words import HoldKind
from tests.store import test_holds
from tests.store.calling_off.calling import FLOOR, GUID, SAID, paid_event, to_the_end
from tests.store.payments import test_settle
from tests.store.payments.paying import TERMS, begun, notice, told
from tests.store.payments.test_refunds import give_all, late_payment
from tests.store.test_holds import HOLD, NUMBERS, PLAN, change, hold

conn, free_event, event = test_holds.conn, test_holds.event, test_settle.event
LATE, UNPAID, FREE = 2 << 16, 3 << 16, 4 << 16
EXPIRED = "UPDATE hold SET expires_at = clock_timestamp() - interval '1 s' WHERE hold_id = %s"


def a_sale(conn, event):
    """Paid: 3, 4, two places, with 30 for the provider; 4 is given back and refunded, a place is due.
    One came too late and is due; one is unresolved. By hand: 10, and three places for nothing. Its payments.
    """
    hold(conn, event)
    paid = begun(conn, event)
    told(conn, notice(paid, provider_fee_minor=30))
    sales.take_back(conn, event, PLAN, HOLD, SAID, seats=[GUID[4]])
    give_all(conn)
    sales.take_back(conn, event, PLAN, HOLD, SAID, areas={FLOOR: 1}, quantity=3)
    hold(conn, event, hold_id=LATE, buyer="eve", seats=(20,), places=0)
    late = begun(conn, event, LATE, "eve")
    conn.execute(EXPIRED, (LATE,))
    told(conn, notice(late, provider_fee_minor=5))
    hold(conn, event, hold_id=UNPAID, buyer="joe", seats=(21,), places=0)
    unpaid = begun(conn, event, UNPAID, "joe")
    sales.sell(conn, event, PLAN, [GUID[10]], {}, "bob", HoldKind.BOX_OFFICE, SAID)
    sales.sell(conn, event, PLAN, [], {FLOOR: 3}, "bob", HoldKind.COMPLIMENTARY, SAID)
    return paid, late, unpaid


def test_all_of_a_sale_adds_up_and_stands_in_its_place(conn, event):
    paid, late, unpaid = a_sale(conn, event)
    costs = {line.seat if line.area is None else "place": line.total_minor for line in paid.lines}
    found = settlement(conn, "gig")
    assert (found.balances, found.imbalances) == (True, [])
    assert found.money_in_minor == paid.amount_minor + late.amount_minor
    assert found.refunded_minor == costs[4]
    assert found.refund_due_minor == costs["place"] + late.amount_minor
    assert found.standing_minor == costs[3] + costs["place"]
    assert found.fee_minor == 2 * TERMS.fee_minor
    tax = {line.seat if line.area is None else "place": line.tax_minor for line in paid.lines}
    assert found.tax_minor == tax[3] + tax["place"]
    assert (found.orders, found.provider_fee_minor) == (1, 35)
    assert found.payout_minor == found.standing_minor - 35
    assert found.open.refund_due == Counted(2, found.refund_due_minor)
    assert found.open.unresolved == Counted(1, unpaid.amount_minor)
    assert found.open.late == Counted(0, 0)
    assert [(one.kind, one.orders, one.places) for one in found.apart] == [
        ("box_office", 1, 1), ("complimentary", 1, 3),
    ]  # fmt: skip
    assert sum(one.net_minor for one in found.categories) == found.standing_minor
    assert sum(one.gross_minor for one in found.categories) == found.money_in_minor
    assert sum(one.places for one in found.categories) == 2


def test_the_example_of_the_documentation_is_true(conn, event):
    """docs/settlement.md: Ann gives one of three back, Bob's is owed, Eve is too late."""
    plan = msgspec.structs.replace(
        PLAN,
        categories=tuple([msgspec.structs.replace(one, price_minor=5_000) for one in PLAN.categories]),
    )
    conn.execute("UPDATE venue SET plan = %s", (encode(plan).decode(),))
    prices = Prices(plan, "", TERMS, NUMBERS)
    buyers = [(HOLD, "ann", (1, 2, 3)), (LATE, "eve", (5,)), (FREE, "bob", (4,))]
    for hold_id, buyer, seats in buyers:
        hold(conn, event, hold_id=hold_id, buyer=buyer, seats=seats, places=0)
        payment = begun(conn, event, hold_id, buyer, prices)
        if buyer == "eve":
            conn.execute(EXPIRED, (LATE,))
        told(conn, notice(payment, provider_fee_minor=30))
        if buyer == "ann":
            sales.take_back(conn, event, plan, HOLD, SAID, seats=[GUID[1]])
            give_all(conn)
    sales.take_back(conn, event, plan, FREE, SAID)
    found = settlement(conn, "gig")
    assert found.balances
    assert (found.money_in_minor, found.refunded_minor, found.refund_due_minor) == (25_750, 5_150, 10_300)
    assert (found.standing_minor, found.fee_minor, found.tax_minor) == (10_300, 300, 1_644)
    assert (found.provider_fee_minor, found.payout_minor) == (90, 10_210)
    assert sum(one.returned_minor for one in found.categories) == 15_450


def test_money_that_asks_for_its_seats_again_is_open_and_no_order(conn, event):
    payment = late_payment(conn, event)
    found = settlement(conn, "gig")
    assert found.balances
    assert found.open.late == Counted(1, payment.amount_minor)
    assert (found.standing_minor, found.orders) == (0, 0)


def test_an_event_nobody_paid_for_balances_at_nothing(conn, free_event):
    hold(conn, free_event)
    change(conn, holds.confirm, free_event)
    found = settlement(conn, "gig")
    assert (found.balances, found.money_in_minor, found.payout_minor) == (True, 0, 0)
    assert [(one.kind, one.orders, one.places) for one in found.apart] == [("free", 1, 4)]


def test_each_payment_and_each_order_without_one_is_a_line_that_says_nobodys_name(conn, event):
    paid, late, _ = a_sale(conn, event)
    entries: list[Entry] = []
    found = settlement(conn, "gig", entries.append)
    text = settlement_csv.header() + "".join([settlement_csv.line(one) for one in entries])
    rows = list(csv.DictReader(io.StringIO(text)))
    assert tuple(rows[0]) == settlement_csv.COLUMNS
    assert [(row["payment"], row["kind"], row["state"]) for row in rows] == [
        (str(paid.id), "paid", "succeeded"), (str(late.id), "nothing_bought", "refund_due"),
        ("", "box_office", "paid"), ("", "complimentary", "paid"),
    ]  # fmt: skip
    for column in ("refunded_minor", "refund_due_minor", "provider_fee_minor", "standing_minor"):
        assert sum(int(row[column]) for row in rows) == getattr(found, column)
    assert sum(int(row["amount_minor"]) for row in rows) == found.money_in_minor
    assert not {"ann", "eve", "bob"} & {value for row in rows for value in row.values()}


def test_what_others_wrote_is_no_formula_to_a_spreadsheet_and_amounts_are_numbers():
    for text in ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"):
        [[cell]] = csv.reader(io.StringIO(settlement_csv.line_of([text]), newline=""))
        assert cell == "'" + text.replace("\t", " ").replace("\r", " ")
    assert settlement_csv.line_of([-1, "pi_1", None, 'a "b",c']) == '-1,pi_1,,"a ""b"",c"\n'


def test_of_an_event_that_was_canceled_all_is_due_and_then_given_and_it_balances(conn, event):
    paid, late, _ = a_sale(conn, event)
    came_in = paid.amount_minor + late.amount_minor
    begin.cancel(conn, "gig", SAID)
    to_the_end(conn)
    due = settlement(conn, "gig")
    assert (due.balances, due.standing_minor, due.orders) == (True, 0, 0)
    assert due.refunded_minor + due.refund_due_minor == came_in == due.money_in_minor
    assert due.open.refund_due == Counted(2, due.refund_due_minor)
    give_all(conn)
    given = settlement(conn, "gig")
    assert (given.balances, given.refunded_minor, given.refund_due_minor) == (True, came_in, 0)
    assert given.payout_minor == -given.provider_fee_minor
    assert all(one.gross_minor == one.returned_minor for one in given.categories)


A_CENT_LESS = """
ALTER TABLE payment DROP CONSTRAINT payment_all_refunded;
UPDATE refund SET amount_minor = amount_minor - 1 WHERE payment_id = 2;
UPDATE payment SET refund_due_minor = refund_due_minor - 1 WHERE id = 2
"""
WRONG = {
    "a cent too much came in": ("UPDATE payment SET amount_minor = amount_minor + 1 WHERE id = 1", "lines"),
    "a fee that is not its lines'": ("UPDATE payment SET fee_minor = fee_minor + 1 WHERE id = 1", "lines"),
    "a tax that is not its lines'": ("UPDATE payment SET tax_minor = tax_minor - 1 WHERE id = 1", "lines"),
    "another currency": ("UPDATE payment SET currency = 'USD' WHERE id = 1", "it is in USD"),
    "a refund that is gone": ("DELETE FROM refund WHERE state = 'refunded'", "its refunds say 0 given"),
    "a refund that nobody owes": (
        "INSERT INTO refund (payment_id, event_id, amount_minor, reason) VALUES (1, 1, 7, 'x')",
        "its refunds say",
    ),
    "an order that is taken back with the money left": (
        f"UPDATE hold SET state = 'refunded' WHERE hold_id = {HOLD}",
        f"its order {HOLD} is refunded",
    ),
    "an order that is another's": (
        f"UPDATE hold SET buyer = 'zoe' WHERE hold_id = {HOLD}",
        "another buyer's",
    ),
    "an order that is not there": ("UPDATE payment SET order_id = 99 WHERE id = 1", "order 99 is not there"),
    "a seat that left its order": ("DELETE FROM hold_seat WHERE seat_no = 3", "of the money is left"),
    "a seat in an order that nobody paid for": (
        f"INSERT INTO hold_seat VALUES (1, 50, {HOLD}); UPDATE hold SET quantity = 3 WHERE hold_id = {HOLD}",
        "not all of them paid for",
    ),
    "money that asks for its seats again and goes back": (
        "UPDATE payment SET state = 'late' WHERE id = 2",
        "it asks for its seats again with 0 of",
    ),
    "money back that is in no refund": (
        A_CENT_LESS,
        "and 1 is not in a refund",
    ),
    "money back, and the order stands": (
        f"UPDATE payment SET order_id = {HOLD} WHERE id = 2",
        f"its order {HOLD} stands",
    ),
}


@pytest.mark.parametrize(("hand", "story"), list(WRONG.values()), ids=list(WRONG))
def test_what_does_not_balance_is_named_with_its_payment(new_database, hand, story):
    with psycopg.connect(new_database(), autocommit=True) as own:
        event = paid_event(own)
        a_sale(own, event)
        assert event == 1
        own.execute("DROP INDEX payment_order")
        for statement in hand.split(";"):
            own.execute(statement)
        found = settlement(own, "gig")
        assert not found.balances
        assert [one for one in found.imbalances if story in one.story and one.payment is not None]


def test_the_same_money_is_named_once_more_in_all(conn, event):
    a_sale(conn, event)
    conn.execute("UPDATE payment SET amount_minor = amount_minor + 1 WHERE id = 1")
    stories = [one.story for one in settlement(conn, "gig").imbalances if one.payment is None]
    assert len(stories) == 2
    assert "neither went back nor is owed" in stories[0]
    assert "the categories come to" in stories[1]


def test_many_imbalances_are_told_up_to_a_bound_and_none_makes_it_balance(conn, event, monkeypatch):
    a_sale(conn, event)
    monkeypatch.setattr("store.payments.settlement.IMBALANCES_MAX", 0)
    conn.execute("UPDATE payment SET fee_minor = fee_minor + 1 WHERE id = 1")
    found = settlement(conn, "gig")
    assert (found.balances, found.imbalances) == (False, [])


def test_the_file_is_told_in_pieces_of_one_moment_and_little_is_read_ahead(conn, event, monkeypatch):
    a_sale(conn, event)
    for number in range(40, 46):
        sales.sell(conn, event, PLAN, [GUID[number]], {}, "bob", HoldKind.BOX_OFFICE, SAID)
    whole: list[Entry] = []
    settlement(conn, "gig", whole.append)
    monkeypatch.setattr("store.payments.settlement.ROWS_AT_ONCE", 2)
    monkeypatch.setattr(settlement_csv, "LINES_AT_A_TIME", 3)
    pieces = settlement_csv.pieces(conn, "gig")
    begun = [next(pieces), next(pieces)]
    rows = conn.execute("SELECT count(*) FROM pg_cursors WHERE name = 'settlement'").fetchone()
    assert rows == (1,), "by a cursor of the server's, also orders without a payment"
    with psycopg.connect(test_holds.url_of(conn), autocommit=True) as other:
        sales.sell(other, event, PLAN, [GUID[50]], {}, "bob", HoldKind.BOX_OFFICE, SAID)
    told = [*begun, *pieces]
    assert [piece.count(b"\n") for piece in told] == [1, 3, 3, 3, 1]
    assert b"".join(told[1:]).decode() == "".join([settlement_csv.line(entry) for entry in whole])


def test_it_is_read_of_one_moment_and_locks_nobody(conn, event):
    paid, *_ = a_sale(conn, event)
    before = settlement(conn, "gig")
    with psycopg.connect(test_holds.url_of(conn), autocommit=True) as other:

        def meanwhile(entry):
            if entry.payment == paid.id:
                sales.sell(other, event, PLAN, [GUID[40]], {}, "bob", HoldKind.BOX_OFFICE, SAID)
                other.execute("UPDATE payment SET state = 'canceled', intent_ended = true WHERE id = 3")

        found = settlement(conn, "gig", meanwhile)
    assert (found.apart, found.open) == (before.apart, before.open)
    after = settlement(conn, "gig")
    assert (after.apart[0].orders, after.open.unresolved.count) == (2, 0)
