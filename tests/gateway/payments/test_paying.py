"""From a hold to an order, through the simulated provider."""

from __future__ import annotations

import pytest

from tests.gateway.payments.till import notice_of
from tests.gateway.rig import EVENT
from tests.model.clients import Buyer, socket

PAID = "SELECT count(*) FROM seat WHERE state = 'sold'"


def test_a_hold_is_paid_for_and_is_an_order(till):
    hold = till.hold(want={"seats": ["A-0"], "areas": {"floor": 1}})
    payment = till.begun(hold)
    assert payment == {
        "payment": "1", "hold": hold, "state": "created", "amount_minor": 14_000, "currency": "EUR",
        "fee_minor": 0, "tax_minor": 0, "checkout": payment["checkout"], "declines": 0, "order": None,
        "reason": None, "refunded_minor": 0, "refund_due_minor": 0,
    }  # fmt: skip
    assert payment["checkout"]["url"].startswith(f"{till.provider_url}/pay/pi_")
    assert till.look(hold) == payment
    assert till.pay(payment)[0] == 200
    paid = till.until_state(hold, "succeeded")
    assert (paid["order"], paid["checkout"]) == (hold, None)
    assert till.both.query(PAID) == [(1,)]
    status, again = till.begin(hold)
    assert (status, again["code"]) == (409, "hold_paid")
    assert till.both.query("SELECT provider_fee_minor > 0 FROM payment") == [(True,)]


def test_to_begin_again_finds_the_same_payment_and_the_same_intent(till):
    hold = till.hold()
    payments = [till.begun(hold) for _ in range(3)]
    assert payments[0] == payments[1] == payments[2]
    assert till.provider("GET", "/v1/balance")[1]["intents"] == 1


def test_to_begin_again_asks_the_provider_once(till):
    hold = till.hold()
    payment = till.begun(hold)
    till.close_provider()
    assert till.begun(hold) == payment


def test_a_declined_card_is_tried_again_in_the_same_hold(till):
    hold = till.hold()
    payment = till.begun(hold)
    assert till.pay(payment, how="/decline")[0] == 200
    declined = till.until_state(hold, "failed")
    assert declined["declines"] == 1
    assert till.begun(hold)["checkout"] == payment["checkout"]
    assert till.pay(payment)[0] == 200
    assert till.until_state(hold, "succeeded")["order"] == hold


def test_the_buyers_sockets_hear_of_the_order_and_the_payment(till):
    hold = till.hold()
    payment = till.begun(hold)
    with socket(till.both.port, EVENT, "ann") as ann:
        till.pay(payment)
        assert ann.receive(also="hold") == {"type": "hold", "hold": hold, "state": "paid"}
        frame = ann.receive()
    told = {name: value for name, value in till.until_state(hold, "succeeded").items() if name != "checkout"}
    assert frame == {"type": "payment", **told}


def test_a_hold_is_not_confirmed_where_it_is_paid_for(till):
    hold = till.hold()
    assert Buyer(till.http, EVENT, "ann").change("confirm", hold) == ("error", "payment_required")


def test_what_costs_nothing_is_bought_without_the_provider(till):
    till.both.query("UPDATE venue SET plan = replace(plan, '9000', '0') RETURNING 1")
    till.both.served.runtime.events.let_go_unused(0.0)
    hold = till.hold()
    till.close_provider()
    bought = till.begun(hold)
    assert (bought["payment"], bought["state"], bought["order"]) == (None, "succeeded", hold)
    assert till.look(hold) == bought
    assert till.both.query(PAID) == [(1,)]


@pytest.mark.parametrize(
    ("buyer", "hold"), [("bob", None), ("ann", "6553600"), ("ann", "9999999999999999999")]
)
def test_a_payment_for_what_is_not_ones_own_is_not_begun(till, buyer, hold):
    mine = till.hold()
    status, answer = till.begin(hold or mine, buyer)
    assert (status, answer["code"]) == (404, "hold_not_found")
    assert till.both.query("SELECT count(*) FROM payment") == [(0,)]
    assert till.provider("GET", "/v1/balance")[1]["intents"] == 0


def test_nobody_else_reads_a_payment(till):
    hold = till.hold()
    till.begun(hold)
    status, answer = till._payment("GET", hold, "bob")
    assert (status, answer["code"]) == (404, "payment_not_found")


@pytest.mark.parametrize(
    "body", [{"email": "no address"}, {"email": "a@b\x00"}, {"emails": 1}, {"email": "a" * 300 + "@b.c"}, []]
)
def test_what_cannot_be_understood_begins_nothing(till, body):
    status, answer = till.begin(till.hold(), body=body)
    assert (status, answer["code"]) == (400, "bad_body")
    assert till.both.query("SELECT count(*) FROM payment") == [(0,)]


def test_where_to_hear_of_it_is_kept(till):
    assert till.begin(till.hold(), body={"email": "ann@example.org"})[0] == 200
    assert till.both.query("SELECT email FROM payment") == [("ann@example.org",)]


def test_where_to_hear_of_it_is_what_was_said_last(till):
    hold = till.hold()
    for said in ({}, {"email": "ann@example.org"}, {"email": "ann@example.com"}, {}):
        assert till.begin(hold, body=said)[1]["payment"] == "1"
    assert till.both.query("SELECT email FROM payment") == [("ann@example.com",)]


def test_a_hold_that_became_smaller_has_another_payment_and_the_first_buys_nothing(till):
    hold = till.hold(want={"seats": ["A-0", "A-1"]})
    first = till.begun(hold)
    assert Buyer(till.http, EVENT, "ann").change("release", hold, {"seats": ["A-1"]})[1] == "active"
    second = till.begun(hold)
    assert second["payment"] != first["payment"]
    till.pay(first)
    till.until(lambda: till.both.query("SELECT reason FROM payment WHERE id = 1") == [("hold_changed",)])
    till.pay(second)
    assert till.until_state(hold, "succeeded")["order"] == hold


def test_the_terms_are_those_of_now_whatever_the_gateway_remembers(till):
    hold = till.hold()
    till.both.query("INSERT INTO event_price SELECT id, 100, 0, 0, true FROM event RETURNING 1")
    assert till.begun(hold)["amount_minor"] == 9_100


def test_the_provider_away_is_told_and_leaves_one_payment_to_begin_again(till):
    hold = till.hold()
    till.close_provider()
    status, answer = till.begin(hold)
    assert (status, answer["code"]) == (503, "provider_away")
    till.open_provider()
    assert till.begun(hold)["payment"] == "1"


def test_an_event_that_asks_for_no_money_has_no_payments(till):
    hold = till.hold()
    till.both.query("UPDATE event SET payment = 'none' RETURNING 1")
    status, answer = till.begin(hold)
    assert (status, answer["code"]) == (409, "payment_not_required")


def test_a_notice_that_comes_before_its_intent_is_known_is_believed(till):
    hold = till.hold()
    payment = till.begun(hold)
    till.both.query("UPDATE payment SET intent = NULL, checkout = NULL RETURNING 1")
    assert till.tell(notice_of(payment)) == (
        200, {"payment": payment["payment"], "state": "succeeded", "repeated": False},
    )  # fmt: skip
    assert till.look(hold)["order"] == hold
