"""Money that is due is given once, whoever is killed meanwhile; what never will be is shown."""

from __future__ import annotations

import asyncio

import pytest

from onsale.chores import refunds as chore
from onsale.chores.refunds import refunds
from store.payments import stuck
from store.payments.states import PaymentState
from tests.onsale.chores.doings import Killed, at_once, doing
from tests.store.payments.paying import begun, money_is_answered_for, notice, read, told
from tests.store.test_holds import HOLD, hold


def owed(conn, event, number=0):
    """A payment whose money came when its hold was over."""
    hold(conn, event, hold_id=HOLD + number, buyer=f"b{number}", seats=(number,), places=0)
    payment = begun(conn, event, HOLD + number, f"b{number}")
    conn.execute("UPDATE hold SET state = 'expired' WHERE hold_id = %s", (HOLD + number,))
    told(conn, notice(payment))
    return payment


def come_again(conn):
    conn.execute("UPDATE refund SET next_at = clock_timestamp()")


def test_what_is_due_is_given_and_told(conn, event, provider, database_url):
    payments = [owed(conn, event, number) for number in range(chore.AT_ONCE + 3)]
    run = doing(database_url, refunds, provider)
    assert run.done == len(payments)
    assert {read(conn, one).state for one in payments} == {PaymentState.REFUNDED}
    assert sum(provider.given.values()) == sum(one.amount_minor for one in payments)
    assert money_is_answered_for(conn)


def test_two_who_give_at_once_give_once(conn, event, provider, database_url):
    payments = [owed(conn, event, number) for number in range(8)]
    assert at_once(database_url, refunds, provider, times=3) == len(payments)
    assert provider.asked_to_give == len(payments)
    assert money_is_answered_for(conn)


def test_who_is_killed_after_the_provider_gave_it_has_it_given_once(conn, event, provider, database_url):
    payment = owed(conn, event)

    def killed():
        raise Killed

    provider.killed_after = killed
    with pytest.raises(Killed):
        doing(database_url, refunds, provider)
    assert read(conn, payment).state is PaymentState.REFUND_DUE
    provider.killed_after = lambda: None
    assert doing(database_url, refunds, provider).done == 0, "it is somebody's for a while"
    come_again(conn)
    assert doing(database_url, refunds, provider).done == 1
    assert len(provider.given) == 1
    assert conn.execute("SELECT provider_refund FROM refund").fetchall() == [("re_1",)]
    assert money_is_answered_for(conn)


def test_a_provider_that_is_away_gives_it_later(conn, event, provider, database_url):
    payment = owed(conn, event)
    provider.away = True
    assert doing(database_url, refunds, provider).told() is not None
    assert stuck.read(conn) == []
    provider.away = False
    come_again(conn)
    doing(database_url, refunds, provider)
    assert read(conn, payment).state is PaymentState.REFUNDED


def test_a_refund_that_never_will_be_given_is_shown_and_stops_nobody(conn, event, provider, database_url):
    payments = [owed(conn, event, number) for number in range(3)]
    provider.refuses = {1}
    run = doing(database_url, refunds, provider)
    assert (run.done, len(run.errors)) == (2, 1)
    [shown] = stuck.read(conn)
    assert (shown.refund, shown.payment, shown.event) == (1, payments[0].id, "gig")
    assert "The card is closed." in shown.error
    provider.refuses = set()
    come_again(conn)
    doing(database_url, refunds, provider)
    assert stuck.read(conn) == []
    assert money_is_answered_for(conn)


def test_a_refund_of_a_provider_that_is_not_configured_stays_due(conn, event, provider, database_url):
    owed(conn, event)
    conn.execute("UPDATE payment SET provider = 'other'")
    run = doing(database_url, refunds, provider)
    assert (run.done, "not configured" in run.told()) == (0, True)
    assert conn.execute("SELECT state FROM refund").fetchall() == [("due",)]


def test_nobody_waits_longer_for_a_provider_than_a_refund_is_theirs(
    conn, event, provider, database_url, monkeypatch
):
    owed(conn, event)
    monkeypatch.setattr(chore, "GIVE_SECONDS_MAX", 0.05)

    async def silent(due):
        await asyncio.sleep(3)
        return "re_late"

    provider.give_back = silent
    assert "TimeoutError" in doing(database_url, refunds, provider).told()


def test_no_transaction_is_open_while_a_provider_is_asked(conn, event, provider, database_url):
    owed(conn, event)
    seen = []
    asked = provider.give_back

    async def look(due):
        seen.extend(conn.execute(OPEN_TRANSACTIONS).fetchall())
        return await asked(due)

    provider.give_back = look
    doing(database_url, refunds, provider)
    assert seen == [("idle",)]


OPEN_TRANSACTIONS = """
SELECT state FROM pg_stat_activity
 WHERE application_name = 'onsale chore test' AND datname = current_database()
"""
