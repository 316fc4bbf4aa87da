"""Money that comes when its hold has run out: the same seats again if that is allowed, or it goes back."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.payments import following
from onsale.chores.late import late
from store.payments.late import request_of
from tests.gateway.payments.till import till as open_till
from tests.gateway.rig import EVENT
from tests.model.clients import socket
from tests.onsale.chores.doings import doing, settings_of

REFUNDS = "SELECT payment_id, amount_minor, reason FROM refund"
SOLD = "SELECT seat_no, hold_id FROM seat WHERE state = 'sold' ORDER BY 1"


@pytest.fixture
def till(engine_urls, tmp_path):
    with open_till(engine_urls, tmp_path / "simulated", late_payment="reacquire") as opened:
        yield opened


def begun_and_over(till, want=None, buyer="ann"):
    """A payment whose hold has run out."""
    hold = till.hold(buyer, want)
    payment = till.begun(hold, buyer)
    till.both.make_holds_old(EVENT)
    till.until(lambda: till.both.query("SELECT 1 FROM hold WHERE hold_id = %s AND state = 'expired'", hold))
    return hold, payment


def test_the_same_seats_are_bought_again_while_they_are_free(till):
    hold, payment = begun_and_over(till, {"seats": ["A-0", "A-1"], "areas": {"floor": 2}})
    with socket(till.both.port, EVENT, "ann") as ann:
        till.pay(payment)
        frames: list[dict[str, Any]] = []
        while not frames or frames[-1]["state"] != "succeeded":
            frame = ann.receive(also="hold")
            if frame["type"] == "payment":
                frames.append(frame)
    bought = till.until_state(hold, "succeeded")
    assert [frame["state"] for frame in frames] in (["late", "succeeded"], ["succeeded"])
    assert bought["order"] != hold
    assert till.both.query(SOLD) == [(0, int(bought["order"])), (1, int(bought["order"]))]
    assert till.both.query("SELECT sum(sold)::int FROM area") == [(2,)]
    assert till.both.query(REFUNDS) == []


def test_the_money_goes_back_where_somebody_else_has_them(till):
    hold, payment = begun_and_over(till)
    theirs = till.hold("bob")
    till.pay(payment)
    lost = till.until_state(hold, "refund_due")
    assert (lost["reason"], lost["refund_due_minor"], lost["order"]) == ("seats_gone", 9_000, None)
    assert till.both.query(REFUNDS) == [(1, 9_000, "seats_gone")]
    till.pay(till.begun(theirs, "bob"))
    assert till.until_state(theirs, "succeeded", "bob")["order"] == theirs


def test_the_organiser_may_send_all_late_money_back(till):
    till.both.query("UPDATE event SET late_payment = 'refund' RETURNING 1")
    hold, payment = begun_and_over(till)
    till.pay(payment)
    assert till.until_state(hold, "refund_due")["reason"] == "late"
    assert till.both.query("SELECT count(*) FROM ledger WHERE request_id = %s", request_of(1)) == [(0,)]


def test_a_late_payment_asks_once_however_often_its_money_is_told(till):
    hold, payment = begun_and_over(till)
    till.switch(duplicates=1.0)
    till.pay(payment)
    till.until_state(hold, "succeeded")
    till.all_told()
    asked = "SELECT count(*) FROM ledger WHERE buyer = 'ann' AND request_id = %s"
    assert till.both.query(asked, request_of(1)) == [(1,)]
    assert till.both.query("SELECT count(*) FROM outbox WHERE kind = 'order.paid'") == [(1,)]


def test_one_that_nobody_follows_is_answered_by_the_chores(till, monkeypatch):
    monkeypatch.setattr(following, "FOLLOWED_MAX", 0)
    hold, payment = begun_and_over(till)
    till.pay(payment)
    till.until_state(hold, "late")
    urls = till.both.urls
    settings = settings_of(urls.database_url, urls.redis_url)
    till.until(lambda: doing(urls.database_url, late, settings=settings).done == 1)
    assert till.look(hold)["order"] == str(till.both.query(SOLD)[0][1]) != hold
    assert doing(urls.database_url, late, settings=settings).done == 0


def test_a_buyer_cannot_ask_in_a_payments_name(till):
    status, answer = till.http.ask(
        "POST", f"/v1/events/{EVENT}/requests", {"seats": ["A-0"]},
        {"Authorization": till.bearer("ann"), "Idempotency-Key": request_of(1)},
    )  # fmt: skip
    assert (status, answer["code"]) == (400, "idempotency_key_not_valid")
