"""Chores are killed at the worst moment, or have no Redis: what is due is done once, by who is back."""

from __future__ import annotations

import contextlib

import pytest

from store import sales
from store.calling_off import begin as calling_off
from store.events import get_event
from tests.faults.payments.till import COUNTED, GIVEN, PLAN, SAID, Till, subscribed
from tests.faults.stage import COMMIT, until

pytestmark = pytest.mark.faults
DELIVERED = "SELECT bool_and(number = rows) FROM subscriber_position NATURAL JOIN outbox_count"
CALLED_OFF = "SELECT refunded, done_at IS NOT NULL FROM called_off"


def test_a_refund_that_the_provider_gave_and_nobody_wrote_down_is_given_once(till: Till):
    buyer, proxy = till.buyer(), till.unprepared("chores-1")
    given = till.provider("/v1/balance")["refunds"]
    buyer.begins()
    buyer.releases()
    proxy.hold_before(GIVEN)
    buyer.presses()
    assert proxy.was_held.wait(60)
    assert till.provider("/v1/balance")["refunds"] == given + 1
    till.kill_chores()
    assert buyer.state == "refund_due"
    till.heal()
    till.hurry()
    buyer.is_in_state("refunded")
    assert till.provider("/v1/balance")["refunds"] == given + 1
    till.check()


def test_an_event_that_is_canceled_goes_on_being_so_when_who_did_it_is_killed(till: Till):
    buyers, proxy = [till.buyer("canceled") for _ in range(3)], till.unprepared("chores-1")
    for buyer in buyers:
        buyer.begins()
        buyer.presses()
        buyer.has_its_seat()
    proxy.hold_reply_to(COMMIT, after=COUNTED)
    with contextlib.closing(till.conn) as conn:
        calling_off.cancel(conn, "canceled", SAID)
    assert proxy.was_held.wait(60)
    till.kill_chores()
    assert till.query(CALLED_OFF) == [(1, False)]
    till.heal()
    till.hurry()
    until(lambda: till.query(CALLED_OFF) == [(3, True)], "all orders are taken back")
    till.check()
    assert [buyer.state for buyer in buyers] == ["refunded"] * 3


def test_a_message_whose_answer_nobody_waited_for_is_delivered_again_under_its_id(till: Till):
    with subscribed(till) as sink:
        buyer = till.buyer()
        buyer.begins()
        buyer.presses()
        buyer.has_its_seat()
        first = sink.ids.get(timeout=60)
        till.kill_chores()
        sink.may_answer.set()
        till.heal()
        till.hurry()
        assert sink.ids.get(timeout=60) == first
        until(
            lambda: till.one(DELIVERED),
            "everything is delivered",
        )
        assert sink.ids.empty() or first not in [sink.ids.get() for _ in range(sink.ids.qsize())]
    till.check()


def test_money_is_taken_and_owed_without_redis_and_given_back_when_it_is_there_again(till: Till):
    stays, goes = till.buyer(), till.buyer()
    for buyer in (stays, goes):
        buyer.begins()
    till.stack.kill("valkey")
    for buyer in (stays, goes):
        buyer.presses()
        buyer.has_its_seat()
    with contextlib.closing(till.conn) as conn:
        sales.take_back(conn, get_event(conn, "paid").id, PLAN, int(goes.hold), SAID)
    assert goes.state == "refund_due"
    till.stack.start_again("valkey")
    goes.is_in_state("refunded")
    stays.has_its_seat()
    till.check()
