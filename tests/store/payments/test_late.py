"""What the event's stream decided of a late payment becomes true: seats again, or the money back."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from store import events
from store.payments import late
from store.payments.records import Change, Known
from store.payments.states import PaymentState
from store.words import EventState
from tests.allocator.waiting import WAITING
from tests.gateway.rig import until
from tests.store.payments.paying import begun, money_is_answered_for, notice, read, run, told
from tests.store.payments.test_settle import event  # noqa: F401
from tests.store.test_holds import PLAN, RUN_OUT, conn, hold, url_of  # noqa: F401
from tests.store.test_holds import event as free_event  # noqa: F401

AGAIN = 9 << 16
DECIDED = """
INSERT INTO ledger (event_id, batch_no, position, kind, arrival, buyer, request_id, input, outcome, result)
VALUES (%s, 10, 0, 'request', '9-1', 'ann', %s, '{}', %s, %s)
"""


@pytest.fixture
def payment(conn, event):  # noqa: F811
    """Late: its hold ran out, and its seats are free."""
    conn.execute("UPDATE event SET late_payment = 'reacquire'")
    hold(conn, event)
    made = begun(conn, event)
    conn.execute("UPDATE hold SET state = 'expired', expires_at = clock_timestamp() - interval '1 second'")
    conn.execute("DELETE FROM hold_seat; DELETE FROM hold_area; UPDATE area SET held = 0")
    conn.execute("UPDATE seat SET state = 'available', hold_id = NULL")
    [done] = told(conn, notice(made))
    assert done.state is PaymentState.LATE
    return made


def resolve(conn, payment):  # noqa: F811
    return run(conn, lambda own: late.resolve(own, payment.id))


def decide(conn, event, payment, outcome, result):  # noqa: F811
    conn.execute(DECIDED, (event, late.request_of(payment.id), outcome, result))


def test_it_waits_for_its_decision_and_asks_for_what_it_was_made_for(conn, event, payment):  # noqa: F811
    waiting = resolve(conn, payment)
    assert isinstance(waiting, Known)
    want = late.want_of(waiting, PLAN)
    assert (set(want.seats), want.areas) == (
        {PLAN.seats[3].guid, PLAN.seats[4].guid},
        {PLAN.areas[0].guid: 2},
    )
    assert run(conn, late.find_late) == [(payment.id, "gig")]


@pytest.mark.parametrize(
    ("outcome", "result"),
    [
        ("taken", '{"taken":["x"],"instead":[]}'),
        ("sold_out", '{"reason":"area_full","free":0}'),
        ("closed", "{}"),
        ("limit_reached", '{"reason":"limit","limit":8}'),
    ],
)
def test_refused_seats_send_the_money_back(conn, event, payment, outcome, result):  # noqa: F811
    decide(conn, event, payment, outcome, result)
    change = resolve(conn, payment)
    assert isinstance(change, Change)
    after = read(conn, payment)
    assert (after.state, after.reason, after.order_id) == (PaymentState.REFUND_DUE, "seats_gone", None)
    assert money_is_answered_for(conn)
    assert resolve(conn, payment) is None


def test_seats_that_were_given_before_the_event_closed_are_bought(conn, event, payment):  # noqa: F811
    hold(conn, event, hold_id=AGAIN)
    decide(conn, event, payment, "held", f'{{"hold":"{AGAIN}","seats":[]}}')
    conn.execute("UPDATE event SET state = 'closed'")
    resolve(conn, payment)
    after = read(conn, payment)
    assert (after.state, after.order_id) == (PaymentState.SUCCEEDED, AGAIN)
    assert money_is_answered_for(conn)


def test_seats_that_were_given_and_lost_again_send_the_money_back(conn, event, payment):  # noqa: F811
    hold(conn, event, hold_id=AGAIN, seconds=RUN_OUT)
    decide(conn, event, payment, "held", f'{{"hold":"{AGAIN}","seats":[]}}')
    resolve(conn, payment)
    after = read(conn, payment)
    assert (after.state, after.reason) == (PaymentState.REFUND_DUE, "late")
    assert money_is_answered_for(conn)


def test_undecided_money_goes_back_once_nothing_is_sold_any_more(conn, event, payment):  # noqa: F811
    events.set_state(conn, "gig", EventState.PAUSED)
    assert isinstance(resolve(conn, payment), Known)
    events.set_state(conn, "gig", EventState.CLOSED)
    assert isinstance(resolve(conn, payment), Change)
    after = read(conn, payment)
    assert (after.state, after.reason) == (PaymentState.REFUND_DUE, "late")
    assert money_is_answered_for(conn)


def test_money_that_comes_late_for_a_closed_event_asks_for_nothing(conn, event):  # noqa: F811
    conn.execute("UPDATE event SET late_payment = 'reacquire'")
    hold(conn, event)
    made = begun(conn, event)
    events.set_state(conn, "gig", EventState.CLOSED)
    conn.execute("UPDATE hold SET expires_at = clock_timestamp() - interval '1 second'")
    [done] = told(conn, notice(made))
    assert (done.state, done.reason) == (PaymentState.REFUND_DUE, "late")


def test_what_the_last_batch_decides_as_the_event_closes_counts(conn, event, payment):  # noqa: F811
    async def meet():
        async with await psycopg.AsyncConnection.connect(url_of(conn), autocommit=True) as own:
            resolving = asyncio.create_task(late.resolve(own, payment.id))
            await until(lambda: conn.execute(WAITING).fetchone() != (0,) or resolving.done())
            conn.execute("COMMIT")
            return await resolving

    events.set_state(conn, "gig", EventState.CLOSED)
    conn.execute("BEGIN")
    conn.execute("SELECT 1 FROM event_cursor FOR UPDATE")  # a batch that began before
    hold(conn, event, hold_id=AGAIN)
    decide(conn, event, payment, "held", f'{{"hold":"{AGAIN}","seats":[]}}')
    assert asyncio.run(meet()).order_id == AGAIN
    assert money_is_answered_for(conn)
