"""Notices in any order and number have one outcome: seats for the money, or the money back."""

from __future__ import annotations

import asyncio
import itertools

import msgspec
import psycopg
import pytest
from msgspec.structs import replace

from store import events, hold_parts, holds
from store.errors import Conflicted, NotFound, OnsaleError
from store.payments import records
from store.payments import settle as settling
from store.payments.settle import settle
from store.payments.states import NoticeKind, PaymentState
from tests.store.payments.paying import TERMS, begun, money_is_answered_for, notice, read, run, told
from tests.store.test_holds import HOLD, RUN_OUT, change, conn, everything, hold, url_of  # noqa: F401
from tests.store.test_holds import event as free_event  # noqa: F401

FAILED, SUCCEEDED, CANCELED = NoticeKind.FAILED, NoticeKind.SUCCEEDED, NoticeKind.CANCELED


@pytest.fixture
def event(conn, free_event):  # noqa: F811
    conn.execute("UPDATE event SET payment = 'required'")
    conn.execute(
        "INSERT INTO event_price VALUES (%s, %s, 0, %s, true)",
        (free_event, TERMS.fee_minor, TERMS.tax_basis_points),
    )
    return free_event


def test_a_payment_costs_what_its_seats_and_places_cost(conn, event):  # noqa: F811
    hold(conn, event)
    payment = begun(conn, event)
    assert payment.amount_minor == sum(line.count * line.total_minor for line in payment.lines)
    assert payment.fee_minor == 4 * TERMS.fee_minor
    assert [(line.seat, line.area, line.count) for line in payment.lines] == [
        (3, None, 1),
        (4, None, 1),
        (None, 0, 2),
    ]


def test_money_makes_the_hold_an_order_and_tells_everybody(conn, event):  # noqa: F811
    hold(conn, event)
    payment = begun(conn, event)
    [done] = told(conn, notice(payment))
    assert (done.state, done.order_id, done.repeated) == (PaymentState.SUCCEEDED, HOLD, False)
    assert everything(conn) == {
        "hold": [("paid",)],
        "seats": [(3, "sold", HOLD), (4, "sold", HOLD)],
        "hold_seat": [(3, HOLD), (4, HOLD)],
        "area": [(0, 2)],
        "hold_area": [(HOLD, 2)],
        "facts": [("paid", HOLD)],
        "history": [(3, "sold", HOLD, "buyer"), (4, "sold", HOLD, "buyer")],
    }
    [(kind, body)] = conn.execute("SELECT kind, body FROM outbox").fetchall()
    assert kind == "order.paid"
    assert (body["order"], body["payment"], body["seats"]) == (str(HOLD), payment.id, [3, 4])


@pytest.mark.parametrize("order", list(itertools.permutations([FAILED, SUCCEEDED, CANCELED, SUCCEEDED])))
def test_any_order_of_notices_ends_with_the_seats_paid_once(conn, event, order):  # noqa: F811
    hold(conn, event)
    payment = begun(conn, event)
    for number, kind in enumerate(order):
        [answer] = told(conn, notice(payment, kind, number))
        assert not isinstance(answer, OnsaleError)  # or its provider would tell it for days
    after = read(conn, payment)
    assert (after.state, after.order_id) == (PaymentState.SUCCEEDED, HOLD)
    assert conn.execute("SELECT count(*) FROM outbox WHERE kind = 'order.paid'").fetchone() == (1,)
    assert conn.execute("SELECT count(*) FROM fact").fetchone() == (1,)
    assert money_is_answered_for(conn)


def test_the_same_notice_again_changes_nothing_and_the_moment_stays(conn, event):  # noqa: F811
    hold(conn, event)
    payment = begun(conn, event)
    told(conn, notice(payment))
    before, paid = read(conn, payment), conn.execute("SELECT paid_at FROM hold").fetchall()
    for number in (1, 1, 2):
        [again] = told(conn, notice(payment, number=number))
        assert again.repeated
    assert read(conn, payment) == before
    assert conn.execute("SELECT paid_at FROM hold").fetchall() == paid


def test_many_at_once_and_repeats_among_them_are_one_transaction_for_most(conn, event):  # noqa: F811
    payments = []
    for number in range(5):
        hold(conn, event, hold_id=HOLD + number, buyer=f"b{number}", seats=(number,), places=1)
        payments.append(begun(conn, event, HOLD + number, f"b{number}"))
    answers = told(
        conn, *[notice(one) for one in payments], notice(payments[0]), notice(payments[1], number=2)
    )
    assert [one.repeated for one in answers] == [False] * 5 + [True, True]
    assert conn.execute("SELECT held, sold FROM area").fetchall() == [(0, 5)]
    assert conn.execute("SELECT count(DISTINCT xmin::text), count(*) FROM outbox").fetchone() == (1, 5)
    assert money_is_answered_for(conn)


def test_two_gateways_are_told_the_same_at_once(conn, event):  # noqa: F811
    hold(conn, event)
    payment = begun(conn, event)

    async def one():
        async with await psycopg.AsyncConnection.connect(url_of(conn), autocommit=True) as own:
            return await settle(own, [notice(payment)])

    async def both():
        return await asyncio.gather(*[one() for _ in range(6)])

    answers = [answer for [answer] in asyncio.run(both())]
    assert sorted(one.repeated for one in answers) == [False] + [True] * 5
    assert conn.execute("SELECT count(*) FROM outbox").fetchone() == (1,)


@pytest.mark.parametrize(
    ("policy", "state"), [("refund", PaymentState.REFUND_DUE), ("reacquire", PaymentState.LATE)]
)
def test_money_that_comes_too_late_is_accounted_for(conn, event, policy, state):  # noqa: F811
    conn.execute("UPDATE event SET late_payment = %s", (policy,))
    hold(conn, event)
    payment = begun(conn, event)
    conn.execute("UPDATE hold SET expires_at = clock_timestamp() - interval '1 second'")
    [done] = told(conn, notice(payment))
    assert (done.state, done.reason) == (state, "late")
    assert everything(conn)["seats"] == [(3, "held", HOLD), (4, "held", HOLD)]
    assert conn.execute("SELECT kind FROM outbox").fetchall() == [
        ("payment.refund_due" if state is PaymentState.REFUND_DUE else "payment.late",)
    ]
    assert money_is_answered_for(conn)


def test_money_for_a_hold_that_was_given_back_or_made_smaller_goes_back(conn, event):  # noqa: F811
    conn.execute("UPDATE event SET late_payment = 'reacquire'")
    hold(conn, event)
    hold(conn, event, hold_id=HOLD + 1, seats=(7, 8), places=0)
    whole, part = begun(conn, event), begun(conn, event, HOLD + 1)
    change(conn, holds.release, event)

    async def smaller(own, event_id, hold_id, buyer, numbers):
        return await hold_parts.release_some(own, event_id, hold_id, buyer, numbers, [7], {})

    change(conn, smaller, event, hold_id=HOLD + 1)
    first, second = told(conn, notice(whole), notice(part))
    assert [(one.state, one.reason) for one in (first, second)] == [
        (PaymentState.REFUND_DUE, "hold_released"),
        (PaymentState.REFUND_DUE, "hold_changed"),
    ]
    again = begun(conn, event, HOLD + 1)
    assert again.id != part.id
    assert again.quantity == 1
    assert money_is_answered_for(conn)


def test_a_second_payment_for_the_same_hold_goes_back(conn, event):  # noqa: F811
    hold(conn, event)
    first = begun(conn, event)
    told(conn, notice(first, CANCELED))
    second = begun(conn, event)
    assert second.id != first.id
    bought, twice = told(conn, notice(second), notice(first))
    assert bought.state is PaymentState.SUCCEEDED
    assert (twice.state, twice.reason) == (PaymentState.REFUND_DUE, "paid_twice")
    assert money_is_answered_for(conn)


@pytest.mark.parametrize("together", [True, False])
def test_one_id_for_two_payments_hides_no_money_and_stops_nobody(conn, event, together):  # noqa: F811
    payments = []
    for number in range(3):
        hold(conn, event, hold_id=HOLD + number, buyer=f"b{number}", seats=(number,), places=0)
        payments.append(begun(conn, event, HOLD + number, f"b{number}"))
    one, other, third = [notice(payment) for payment in payments]
    other = msgspec.structs.replace(other, id=one.id)
    sent = [one, other, third]
    answers = told(conn, *sent) if together else [told(conn, each)[0] for each in sent]
    assert [answers[0].state, answers[2].state] == [PaymentState.SUCCEEDED] * 2
    assert (type(answers[1]), answers[1].code) == (Conflicted, "notice_of_another")
    assert read(conn, payments[1]).state is PaymentState.CREATED
    [done] = told(conn, notice(payments[1]))
    assert done.state is PaymentState.SUCCEEDED


def test_what_is_not_ours_or_does_not_fit_changes_nothing(conn, event):  # noqa: F811
    hold(conn, event)
    payment = begun(conn, event)
    before = everything(conn), read(conn, payment)
    wrong = [
        notice(payment, amount_minor=payment.amount_minor - 1),
        notice(payment, currency="xxx"),
        notice(payment, intent="pi_other"),
        notice(payment, provider="stripe"),
    ]
    for one in wrong:
        [error] = told(conn, one)
        assert isinstance(error, (NotFound, Conflicted)), one
    assert (everything(conn), read(conn, payment)) == before
    assert conn.execute("SELECT count(*) FROM payment_notice").fetchone() == (0,)


def test_who_read_a_payment_that_somebody_else_changed_writes_nothing(conn, event):  # noqa: F811
    hold(conn, event)
    payment = begun(conn, event)

    async def two(own):
        known = (await records.read(own, [payment.id]))[payment.id]
        conn.execute("UPDATE payment SET state = 'failed'")
        await records.write(own, [records.Change(known, PaymentState.CANCELED)])

    with pytest.raises(records.Changed):
        run(conn, two)
    assert read(conn, payment).state is PaymentState.FAILED


def test_a_payment_that_changes_after_it_was_read_is_read_anew(conn, event, monkeypatch):  # noqa: F811
    hold(conn, event)
    payment = begun(conn, event)
    seen = settling._seen

    async def meanwhile(own, notices):
        monkeypatch.setattr(settling, "_seen", seen)
        conn.execute("UPDATE payment SET state = 'failed', declines = 1")
        return await seen(own, notices)

    monkeypatch.setattr(settling, "_seen", meanwhile)
    [done] = told(conn, notice(payment))
    assert (done.state, done.order_id, done.repeated) == (PaymentState.SUCCEEDED, HOLD, False)
    assert read(conn, payment).declines == 1
    assert money_is_answered_for(conn)


def test_a_hold_that_was_made_smaller_has_a_payment_of_its_own(conn, event):  # noqa: F811
    hold(conn, event)
    whole = begun(conn, event)
    assert begun(conn, event) == whole

    async def smaller(own, event_id, hold_id, buyer, numbers):
        return await hold_parts.release_some(own, event_id, hold_id, buyer, numbers, [3], {})

    change(conn, smaller, event)
    part = begun(conn, event)
    assert (part.id != whole.id, part.quantity, part.seats) == (True, 3, [4])
    assert read(conn, whole).state is PaymentState.CANCELED


def test_a_declined_card_is_tried_again_in_the_same_hold(conn, event):  # noqa: F811
    hold(conn, event)
    payment = begun(conn, event)
    told(conn, notice(payment, FAILED, 1), notice(payment, FAILED, 2))
    declined = begun(conn, event)
    assert (declined.id, declined.state, declined.declines) == (payment.id, PaymentState.FAILED, 2)
    [done] = told(conn, notice(payment))
    assert done.state is PaymentState.SUCCEEDED


def test_only_a_hold_that_runs_can_be_paid_for_and_only_by_its_holder(conn, event):  # noqa: F811
    hold(conn, event, seconds=RUN_OUT)
    with pytest.raises(Conflicted) as refused:
        begun(conn, event)
    assert refused.value.code == "hold_expired"
    hold(conn, event, hold_id=HOLD + 1, seats=(9,), places=0)
    with pytest.raises(NotFound):
        begun(conn, event, HOLD + 1, buyer="eve")
    assert conn.execute("SELECT count(*) FROM payment").fetchone() == (0,)


def test_how_holds_are_bought_is_settled_when_the_sale_begins(conn, event):  # noqa: F811
    with pytest.raises(Conflicted) as refused:
        events.set_policy(conn, "gig", payment="none")
    assert refused.value.code == "payment_fixed"
    assert events.set_policy(conn, "gig", late_payment="reacquire").late_payment == "reacquire"


def test_a_payment_whose_rows_contradict_each_other_fails_alone(conn, event):  # noqa: F811
    payments = []
    for number in range(3):
        hold(conn, event, hold_id=HOLD + number, buyer=f"b{number}", seats=(number,), places=0)
        payments.append(begun(conn, event, HOLD + number, f"b{number}"))
    conn.execute("DELETE FROM hold_seat WHERE seat_no = 1")
    conn.execute("UPDATE seat SET state = 'available', hold_id = NULL WHERE seat_no = 1")
    first, second, third = told(conn, *[notice(one) for one in payments])
    assert (first.state, third.state) == (PaymentState.SUCCEEDED, PaymentState.SUCCEEDED)
    assert type(second) is OnsaleError
    assert read(conn, payments[1]).state is PaymentState.CREATED
    assert conn.execute("SELECT state FROM hold ORDER BY hold_id").fetchall() == [
        ("paid",), ("active",), ("paid",),
    ]  # fmt: skip


def test_what_postgres_cannot_keep_fails_alone_and_declines_are_counted_to_a_bound(conn, event):  # noqa: F811
    payments = []
    for number in range(3):
        hold(conn, event, hold_id=HOLD + number, buyer=f"b{number}", seats=(number,), places=0)
        payments.append(begun(conn, event, HOLD + number, f"b{number}"))
    conn.execute("UPDATE payment SET declines = 9999 WHERE id = %s", (payments[2].id,))
    wrong = replace(notice(payments[1]), id="evt\x00")
    first, second, third = told(conn, notice(payments[0]), wrong, notice(payments[2], FAILED))
    assert (first.state, third.state) == (PaymentState.SUCCEEDED, PaymentState.FAILED)
    assert type(second) is OnsaleError
    assert (read(conn, payments[1]).state, read(conn, payments[2]).declines) == (PaymentState.CREATED, 9_999)


def test_an_intent_that_is_another_payments_fails_alone(conn, event):  # noqa: F811
    payments = []
    for number in range(2):
        hold(conn, event, hold_id=HOLD + number, buyer=f"b{number}", seats=(number,), places=0)
        payments.append(begun(conn, event, HOLD + number, f"b{number}"))
    conn.execute("UPDATE payment SET intent = NULL WHERE id = %s", (payments[1].id,))
    wrong = notice(payments[1], intent=payments[0].intent)
    first, second = told(conn, notice(payments[0]), wrong)
    assert first.state is PaymentState.SUCCEEDED
    assert type(second) is OnsaleError
    assert read(conn, payments[1]).state is PaymentState.CREATED
