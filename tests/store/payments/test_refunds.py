"""What is owed is what was paid for it, it is given once, and what is left is known to the cent."""

from __future__ import annotations

from msgspec.structs import replace

from store import audit, sales
from store.payments import answered, late, refunds
from store.payments.begin import Prices
from store.payments.invariant import mismatches
from store.payments.settlement import settlement
from store.payments.states import PaymentState
from store.plan import encode
from store.prices import PriceTerms
from tests.allocator.waiting import held_up, is_free
from tests.store.payments.paying import begun, money_is_answered_for, notice, read, run, told
from tests.store.payments.test_settle import event  # noqa: F401
from tests.store.test_holds import HOLD, NUMBERS, PLAN, conn, hold, url_of  # noqa: F401
from tests.store.test_holds import event as free_event  # noqa: F401

WHO = audit.said("olga", "a broken seat")


def take_back(conn, event, **what):  # noqa: F811
    return sales.take_back(conn, event, PLAN, HOLD, WHO, **what)


def give_all(conn):  # noqa: F811
    """What a chore does; how much was given."""
    due = run(conn, refunds.take)
    for one in due:
        assert run(conn, lambda own, one=one: refunds.given(own, one, f"re_{one.id}"))
        assert not run(conn, lambda own, one=one: refunds.given(own, one, f"re_{one.id}"))
    return sum(one.amount_minor for one in due)


def test_parts_that_are_taken_back_are_owed_and_the_last_of_them_is_all(conn, event):  # noqa: F811
    hold(conn, event)
    payment = begun(conn, event)
    told(conn, notice(payment))
    costs = {line.seat: line.total_minor for line in payment.lines}
    take_back(conn, event, seats=[PLAN.seats[3].guid])
    assert give_all(conn) == costs[3]
    after = read(conn, payment)
    assert (after.state, after.refunded_minor) == (PaymentState.SUCCEEDED, costs[3])
    take_back(conn, event)
    assert read(conn, payment).state is PaymentState.REFUND_DUE
    assert money_is_answered_for(conn)
    assert give_all(conn) == payment.amount_minor - costs[3]
    assert read(conn, payment).state is PaymentState.REFUNDED
    kinds = [kind for (kind,) in conn.execute("SELECT kind FROM outbox ORDER BY number")]
    assert kinds == ["order.paid", "order.changed", "payment.refunded", "order.refunded", "payment.refunded"]
    assert money_is_answered_for(conn)


def test_what_cost_nothing_stands_once_all_the_money_went_back(conn, event):  # noqa: F811
    """A child comes along for free: their seat stays when the other is given back, and nobody is alarmed."""
    seats = list(PLAN.seats)
    seats[3] = replace(seats[3], category=1)
    categories = [replace(one, price_minor=0 if no == 1 else 5_000) for no, one in enumerate(PLAN.categories)]
    plan = replace(PLAN, seats=tuple(seats), categories=tuple(categories))
    conn.execute("UPDATE venue SET plan = %s", (encode(plan).decode(),))
    conn.execute("DELETE FROM event_price")
    hold(conn, event, places=1)
    payment = begun(conn, event, prices=Prices(plan, "", PriceTerms(), NUMBERS))
    told(conn, notice(payment))
    for seats_back, places_back in ([plan.seats[4].guid], {}), ([], {plan.areas[0].guid: 1}):
        assert run(conn, answers).wrong == []
        take_back(conn, event, seats=seats_back, areas=places_back, quantity=3 - bool(places_back))
    assert read(conn, payment).state is PaymentState.REFUND_DUE
    assert (run(conn, answers).wrong, settlement(conn, "gig").balances) == ([], True)
    give_all(conn)
    assert read(conn, payment).state is PaymentState.REFUNDED
    assert (run(conn, answers).wrong, settlement(conn, "gig").balances) == ([], True)
    assert mismatches(conn, event) == []
    conn.execute("UPDATE hold_seat SET seat_no = 4")
    assert ([one.payment for one in run(conn, answers).wrong], settlement(conn, "gig").balances) == (
        [payment.id], False,
    )  # fmt: skip
    conn.execute("DELETE FROM hold_seat")
    conn.execute("INSERT INTO hold_area VALUES (%s, %s, 0, 1)", (event, HOLD))
    assert [one.payment for one in run(conn, answers).wrong] == [payment.id]


def test_standing_places_that_cost_nothing_stand_too(conn, event):  # noqa: F811
    plan = replace(PLAN, areas=tuple([replace(one, category=1) for one in PLAN.areas]))
    plan = replace(plan, categories=tuple(
        [replace(one, price_minor=0 if no == 1 else 5_000) for no, one in enumerate(PLAN.categories)]
    ))  # fmt: skip
    hold(conn, event)
    told(conn, notice(begun(conn, event, prices=Prices(plan, "", PriceTerms(), NUMBERS))))
    take_back(conn, event, seats=[plan.seats[3].guid, plan.seats[4].guid])
    assert (run(conn, answers).wrong, settlement(conn, "gig").balances) == ([], True)


def answers(own):
    return answered.look(own, 0)


def test_who_takes_a_refund_has_it_alone_and_one_that_failed_comes_again(conn, event):  # noqa: F811
    hold(conn, event)
    payment = begun(conn, event)
    conn.execute("UPDATE hold SET expires_at = clock_timestamp() - interval '1 second'")
    told(conn, notice(payment))
    [one] = run(conn, refunds.take)
    assert (one.intent, one.amount_minor, one.reason) == (payment.intent, payment.amount_minor, "late")
    assert run(conn, refunds.take) == []
    run(conn, lambda own: refunds.not_given(own, one, "the provider is away"))
    conn.execute("UPDATE refund SET next_at = clock_timestamp()")
    assert [two.attempts for two in run(conn, refunds.take)] == [2]


def test_a_payment_is_locked_before_its_refund_as_by_who_owes_and_moves(conn, event):  # noqa: F811
    hold(conn, event)
    payment = begun(conn, event)
    told(conn, notice(payment))
    take_back(conn, event)
    [due] = run(conn, refunds.take)

    def give():
        run(conn, lambda own: refunds.given(own, due, "re_1"))

    with held_up(url_of(conn), f"SELECT 1 FROM payment WHERE id = {payment.id} FOR UPDATE", give) as other:
        assert is_free(other, f"FROM refund WHERE id = {due.id}")
    assert read(conn, payment).state is PaymentState.REFUNDED


def late_payment(conn, event):  # noqa: F811
    conn.execute("UPDATE event SET late_payment = 'reacquire'")
    hold(conn, event)
    payment = begun(conn, event)
    conn.execute("UPDATE hold SET expires_at = clock_timestamp() - interval '1 second'")
    told(conn, notice(payment))
    return payment


def decide(conn, event, payment, outcome, result="null"):  # noqa: F811
    conn.execute(
        "INSERT INTO ledger (event_id, batch_no, position, kind, arrival, buyer, request_id, input, outcome,"
        " result) VALUES (%s, 2, 7, 'request', '2-1', 'ann', %s, '{}', %s, %s)",
        (event, late.request_of(payment.id), outcome, result),
    )


def test_a_late_payment_whose_seats_are_gone_goes_back(conn, event):  # noqa: F811
    payment = late_payment(conn, event)
    asks = run(conn, lambda own: late.resolve(own, payment.id))
    want = late.want_of(asks, PLAN)
    assert want.seats == (PLAN.seats[3].guid, PLAN.seats[4].guid)
    assert list(want.areas.values()) == [2]
    assert run(conn, late.find_late) == [(payment.id, "gig")]
    decide(conn, event, payment, "taken")
    assert run(conn, lambda own: late.resolve(own, payment.id)).became is PaymentState.REFUND_DUE
    assert run(conn, lambda own: late.resolve(own, payment.id)) is None
    assert give_all(conn) == payment.amount_minor
    assert money_is_answered_for(conn)


def test_a_late_payment_that_was_given_its_seats_again_buys_them(conn, event):  # noqa: F811
    payment = late_payment(conn, event)
    conn.execute("UPDATE hold SET state = 'expired'")
    conn.execute("DELETE FROM hold_seat; DELETE FROM hold_area; UPDATE area SET held = 0")
    conn.execute("UPDATE seat SET state = 'available', hold_id = NULL")
    again, before = 2 << 16, read(conn, payment)
    hold(conn, event, hold_id=again)
    decide(conn, event, payment, "held", f'{{"hold":"{again}","seats":[],"areas":{{}},"expires_at":1}}')
    assert run(conn, lambda own: late.resolve(own, payment.id)).order_id == again
    after = read(conn, payment)
    assert (after.state, after.order_id, after.hold_id) == (PaymentState.SUCCEEDED, again, HOLD)
    assert after.succeeded_at == before.succeeded_at
    assert money_is_answered_for(conn)


def test_a_late_payment_whose_new_hold_ran_out_too_goes_back(conn, event):  # noqa: F811
    payment = late_payment(conn, event)
    decide(conn, event, payment, "held", f'{{"hold":"{HOLD}","seats":[],"areas":{{}},"expires_at":1}}')
    change = run(conn, lambda own: late.resolve(own, payment.id))
    assert (change.became, change.reason) == (PaymentState.REFUND_DUE, "late")
    assert money_is_answered_for(conn)
