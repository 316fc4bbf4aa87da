"""Late payments ask for their seats at growing pauses, once decided have their answer, and never twice."""

from __future__ import annotations

import pytest

from onsale.chores.late import late
from store.errors import Unavailable
from store.payments.states import PaymentState
from tests.onsale.chores.doings import doing
from tests.store.payments.paying import money_is_answered_for, read
from tests.store.payments.test_refunds import decide, late_payment
from tests.store.test_holds import hold


class Asked:
    """What was asked for in the stream."""

    def __init__(self) -> None:
        self.payments: list[tuple[str, int]] = []
        self.away = False

    async def __call__(self, connection, settings, slug, payment) -> None:
        if self.away:
            raise Unavailable("The stream is away.")
        self.payments.append((slug, payment.id))


@pytest.fixture
def asked():
    return Asked()


def test_it_is_asked_for_at_growing_pauses_until_it_is_decided(conn, event, database_url, asked):
    payment = late_payment(conn, event)
    for _ in range(3):
        doing(database_url, late, ask=asked)
    assert asked.payments == [("gig", payment.id)]
    conn.execute("UPDATE payment_try SET next_at = clock_timestamp()")
    doing(database_url, late, ask=asked)
    assert asked.payments == [("gig", payment.id)] * 2
    decide(conn, event, payment, "taken")
    assert doing(database_url, late, ask=asked).done == 1
    assert read(conn, payment).state is PaymentState.REFUND_DUE
    assert len(asked.payments) == 2
    assert money_is_answered_for(conn)


def test_seats_that_were_given_again_are_bought(conn, event, database_url, asked):
    payment = late_payment(conn, event)
    conn.execute("UPDATE hold SET state = 'expired'")
    conn.execute("DELETE FROM hold_seat; DELETE FROM hold_area; UPDATE area SET held = 0")
    conn.execute("UPDATE seat SET state = 'available', hold_id = NULL")
    again = 2 << 16
    hold(conn, event, hold_id=again)
    decide(conn, event, payment, "held", f'{{"hold":"{again}","seats":[],"areas":{{}},"expires_at":1}}')
    assert doing(database_url, late, ask=asked).done == 1
    assert doing(database_url, late, ask=asked).done == 0
    assert read(conn, payment).order_id == again
    assert asked.payments == []
    assert money_is_answered_for(conn)


def test_a_stream_that_is_away_is_asked_later(conn, event, database_url, asked):
    payment = late_payment(conn, event)
    asked.away = True
    assert "The stream is away." in doing(database_url, late, ask=asked).told()
    asked.away = False
    conn.execute("UPDATE payment_try SET next_at = clock_timestamp()")
    doing(database_url, late, ask=asked)
    assert asked.payments == [("gig", payment.id)]
