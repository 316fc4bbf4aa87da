"""Intents end when holds end, lost notices are looked up, and money that came is answered for."""

from __future__ import annotations

import pytest

from onsale.chores.payments import payments
from store import holds
from store.payments import ending
from store.payments.states import NoticeKind, PaymentState
from tests.onsale.chores.doings import Killed, at_once, doing
from tests.store.payments.paying import begun, money_is_answered_for, notice, read, told
from tests.store.test_holds import HOLD, change, hold


def ends(conn, hold_id=HOLD):
    conn.execute("UPDATE hold SET state = 'expired' WHERE hold_id = %s", (hold_id,))


def for_long(conn):
    conn.execute("UPDATE payment SET created_at = created_at - interval '2 minutes'")


def not_ended(conn):
    return [row[0] for row in conn.execute("SELECT id FROM payment WHERE NOT intent_ended ORDER BY id")]


def test_a_payment_whose_hold_is_over_can_be_paid_by_nobody(conn, event, provider, database_url):
    hold(conn, event)
    payment = begun(conn, event)
    ends(conn)
    doing(database_url, payments, provider)
    assert read(conn, payment).state is PaymentState.CANCELED
    assert provider.ended == [payment.intent]
    doing(database_url, payments, provider)
    assert (provider.ended, not_ended(conn)) == ([payment.intent], [])


def test_a_payment_whose_hold_runs_stays_open(conn, event, provider, database_url):
    hold(conn, event)
    payment = begun(conn, event)
    run = doing(database_url, payments, provider)
    assert (read(conn, payment).state, provider.ended, run.done) == (PaymentState.CREATED, [], 0)


def test_a_hold_that_may_get_time_back_keeps_its_payment_open(conn, event, provider, database_url):
    hold(conn, event, seconds=-3.0)
    conn.execute("UPDATE lease SET renewed_at = clock_timestamp()")
    payment = begun_before(conn, event)
    doing(database_url, payments, provider)
    assert read(conn, payment).state is PaymentState.CREATED
    conn.execute("UPDATE hold SET expires_at = expires_at - interval '10 seconds'")
    doing(database_url, payments, provider)
    assert read(conn, payment).state is PaymentState.CANCELED


def begun_before(conn, event):
    """A payment that was begun while the hold ran."""
    [(was,)] = conn.execute("SELECT expires_at FROM hold").fetchall()
    conn.execute("UPDATE hold SET expires_at = clock_timestamp() + interval '1 minute'")
    payment = begun(conn, event)
    conn.execute("UPDATE hold SET expires_at = %s", (was,))
    return payment


def test_a_hold_that_has_less_is_not_paid_for_as_it_was(conn, event, provider, database_url):
    hold(conn, event)
    payment = begun(conn, event)
    conn.execute("UPDATE hold SET quantity = 3")
    doing(database_url, payments, provider)
    assert (read(conn, payment).state, provider.ended) == (PaymentState.CANCELED, [payment.intent])


def test_two_who_end_payments_at_once_do_what_one_does(conn, event, provider, database_url):
    made = []
    for number in range(20):
        hold(conn, event, hold_id=HOLD + number, buyer=f"b{number}", seats=(number,), places=0)
        made.append(begun(conn, event, HOLD + number, f"b{number}"))
    conn.execute("UPDATE hold SET state = 'expired'")
    at_once(database_url, payments, provider, times=3)
    assert {read(conn, one).state for one in made} == {PaymentState.CANCELED}
    assert set(provider.ended) == {one.intent for one in made}
    assert not_ended(conn) == []


def test_who_is_killed_after_the_provider_ended_it_ends_it_once_more(conn, event, provider, database_url):
    hold(conn, event)
    payment = begun(conn, event)
    ends(conn)

    def killed():
        raise Killed

    provider.killed_after = killed
    with pytest.raises(Killed):
        doing(database_url, payments, provider)
    assert not_ended(conn) == [payment.id]
    provider.killed_after = lambda: None
    doing(database_url, payments, provider)
    assert (provider.ended, not_ended(conn)) == ([payment.intent] * 2, [])


def test_money_that_came_before_the_end_is_settled(conn, event, provider, database_url):
    hold(conn, event)
    payment = begun(conn, event)
    provider.takes_money(payment)
    ends(conn)
    doing(database_url, payments, provider)
    after = read(conn, payment)
    assert (after.state, after.reason) == (PaymentState.REFUND_DUE, "late")
    assert not_ended(conn) == []
    assert money_is_answered_for(conn)


def test_a_provider_that_is_away_is_asked_again_and_loses_nothing(conn, event, provider, database_url):
    hold(conn, event)
    payment = begun(conn, event)
    ends(conn)
    provider.away = True
    run = doing(database_url, payments, provider)
    assert "does not answer" in run.told()
    assert not_ended(conn) == [payment.id]
    provider.away = False
    doing(database_url, payments, provider)
    assert not_ended(conn) == []


def test_one_that_cannot_be_ended_stops_nobody_behind_it(conn, event, provider, database_url):
    bad, good = 0, 0
    for number in range(2):
        hold(conn, event, hold_id=HOLD + number, buyer=f"b{number}", seats=(number,), places=0)
        payment = begun(conn, event, HOLD + number, f"b{number}")
        bad, good = bad or payment.id, payment.id
    conn.execute("UPDATE hold SET state = 'expired'")
    conn.execute("UPDATE payment SET provider = 'nobody' WHERE id = %s", (bad,))
    run = doing(database_url, payments, provider)
    assert (len(run.errors), not_ended(conn)) == (1, [bad])
    assert "ONSALE" in run.told() or "not configured" in run.told()
    assert provider.ended == [f"pi_{good}"]


def test_those_whose_money_is_on_the_way_stop_nobody_and_are_asked_again(conn, event, provider, database_url):
    made = []
    for number in range(8):
        hold(conn, event, hold_id=HOLD + number, buyer=f"b{number}", seats=(number,), places=0)
        made.append(begun(conn, event, HOLD + number, f"b{number}"))
    conn.execute("UPDATE hold SET state = 'expired' WHERE hold_id < %s", (HOLD + 7,))
    provider.on_their_way = {one.intent for one in made[:6]}
    for_long(conn)
    run = doing(database_url, payments, provider)
    assert (run.told(), not_ended(conn)) == (None, [one.id for one in [*made[:6], made[7]]])
    assert provider.looked == [made[7].intent]
    doing(database_url, payments, provider)
    assert len(provider.ended) == 7
    conn.execute("UPDATE payment_try SET next_at = clock_timestamp()")
    provider.on_their_way = set()
    doing(database_url, payments, provider)
    assert not_ended(conn) == [made[7].id]


def test_a_payment_whose_notice_was_lost_is_looked_up_and_buys_its_seats(conn, event, provider, database_url):
    hold(conn, event)
    payment = begun(conn, event)
    provider.takes_money(payment)
    doing(database_url, payments, provider)
    assert provider.looked == []
    for_long(conn)
    doing(database_url, payments, provider)
    assert read(conn, payment).state is PaymentState.SUCCEEDED
    assert money_is_answered_for(conn)


def test_an_open_payment_is_looked_up_at_growing_pauses(conn, event, provider, database_url):
    hold(conn, event)
    payment = begun(conn, event)
    for_long(conn)
    for _ in range(2):
        doing(database_url, payments, provider)
    assert provider.looked == [payment.intent]
    conn.execute("UPDATE payment_try SET next_at = clock_timestamp()")
    for _ in range(2):
        doing(database_url, payments, provider)
    assert provider.looked == [payment.intent] * 2
    pause = "SELECT tries, next_at > clock_timestamp() + interval '100 seconds' FROM payment_try"
    assert conn.execute(pause).fetchall() == [(2, True)]


def test_money_that_came_in_time_gets_its_seats_before_the_hold_ends(conn, event, provider, database_url):
    hold(conn, event, seconds=ending.LAST_LOOK_SECONDS - 5)
    payment = begun(conn, event)
    provider.takes_money(payment)
    doing(database_url, payments, provider)
    assert (read(conn, payment).state, read(conn, payment).order_id) == (PaymentState.SUCCEEDED, HOLD)
    assert money_is_answered_for(conn)


def test_a_hold_that_ends_is_looked_up_once_for_that(conn, event, provider, database_url):
    hold(conn, event, seconds=ending.LAST_LOOK_SECONDS + 60)
    payment = begun(conn, event)
    doing(database_url, payments, provider)
    assert provider.looked == []
    conn.execute("UPDATE hold SET expires_at = clock_timestamp() + interval '15 seconds'")
    for _ in range(2):
        doing(database_url, payments, provider)
    assert provider.looked == [payment.intent]
    conn.execute("UPDATE payment_try SET next_at = clock_timestamp()")  # it was extended and ends again
    doing(database_url, payments, provider)
    assert provider.looked == [payment.intent] * 2


def test_a_notice_that_comes_after_all_changes_nothing_more(conn, event, provider, database_url):
    hold(conn, event)
    payment = begun(conn, event)
    provider.takes_money(payment)
    for_long(conn)
    doing(database_url, payments, provider)
    [late] = told(conn, notice(payment, NoticeKind.SUCCEEDED))
    assert late.repeated
    assert conn.execute("SELECT count(*) FROM outbox WHERE kind = 'order.paid'").fetchone() == (1,)


def test_a_payment_that_no_provider_named_an_intent_for_is_forgotten_in_time(
    conn, event, provider, database_url
):
    hold(conn, event)
    payment = begun(conn, event)
    conn.execute("UPDATE payment SET intent = NULL, checkout = NULL")
    ends(conn)
    doing(database_url, payments, provider)
    assert not_ended(conn) == [payment.id]
    conn.execute(
        "UPDATE payment SET created_at = created_at - make_interval(secs => %s)", (ending.UNMADE_SECONDS,)
    )
    doing(database_url, payments, provider)
    assert (not_ended(conn), provider.ended) == ([], [])


def test_released_holds_end_their_payments_too(conn, event, provider, database_url):
    hold(conn, event)
    payment = begun(conn, event)
    change(conn, holds.release, event)
    doing(database_url, payments, provider)
    assert provider.ended == [payment.intent]
