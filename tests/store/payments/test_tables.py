"""What Postgres itself refuses of payments, whatever the application does."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors as pg

PAYMENT = """
INSERT INTO payment (event_id, hold_id, buyer, provider, currency, amount_minor, fee_minor, tax_minor,
                     charged, quantity, seats, state, succeeded_at, order_id, refund_due_minor,
                     refunded_minor)
VALUES (1, {hold}, 'ann', 'p', 'EUR', 100, 0, 0, '{{}}', 1, '{{}}', '{state}', {at}, {order}, {due}, {back})
"""


def payment(state="created", *, hold=1, at="NULL", order="NULL", due=0, back=0):
    return PAYMENT.format(state=state, hold=hold, at=at, order=order, due=due, back=back)


NOTICE = (
    "INSERT INTO payment_notice (provider, notice_id, payment_id, kind, became) VALUES ('p','1',1,'x','y')"
)
REFUSED = {
    "two open payments for a hold": ([payment(), payment("failed")], pg.UniqueViolation),
    "two payments for an order": (
        [
            payment("succeeded", at="now()", order=1),
            payment("refund_due", hold=2, at="now()", order=1, due=100),
        ],
        pg.UniqueViolation,
    ),
    "more back than came": ([payment("succeeded", at="now()", order=1, due=60, back=41)], pg.CheckViolation),
    "less than nothing back": ([payment("succeeded", at="now()", order=1, due=-1)], pg.CheckViolation),
    "money that came without its moment": ([payment("late")], pg.CheckViolation),
    "a moment without money": ([payment(at="now()")], pg.CheckViolation),
    "money without seats": ([payment("succeeded", at="now()")], pg.CheckViolation),
    "late money with seats": ([payment("late", at="now()", order=1)], pg.CheckViolation),
    "refunded, and not all of it": ([payment("refunded", at="now()", back=99)], pg.CheckViolation),
    "all of it back, and not refunded": (
        [payment("succeeded", at="now()", order=1, back=100)],
        pg.CheckViolation,
    ),
    "due, and not all of it": ([payment("refund_due", at="now()", due=99)], pg.CheckViolation),
    "no known state": ([payment("eaten")], pg.CheckViolation),
    "a notice twice": ([NOTICE, NOTICE], pg.UniqueViolation),
}


@pytest.mark.parametrize("what", REFUSED)
def test_postgres_refuses(database_url, what):
    *before, last = REFUSED[what][0]
    with psycopg.connect(database_url) as conn:
        for statement in before:
            conn.execute(statement)
        with pytest.raises(REFUSED[what][1]):
            conn.execute(last)
