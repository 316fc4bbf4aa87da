"""Whatever the provider does wrong, one payment has one outcome: each switch, and all of them at once."""

from __future__ import annotations

from typing import Any

import pytest

ONE_OUTCOME = """
SELECT payment.state, hold.state, declines, (SELECT count(*) FROM outbox WHERE kind = 'order.paid'),
       (SELECT count(*) FROM payment)
  FROM payment JOIN hold ON hold.hold_id = payment.order_id
"""


def pay_after_a_decline(till):
    """The buyer's way, tried again where a reply was cut."""
    hold = till.hold()
    payment = _until_begun(till, hold)
    till.pay(payment, how="/decline")
    till.pay(payment)
    return hold


def _until_begun(till, hold):
    answers: list[tuple[int, Any]] = []
    while not answers or answers[-1][0] != 200:
        answers.append(till.begin(hold))
        assert len(answers) < 200
    assert {answer["code"] for status, answer in answers[:-1]} <= {"provider_away"}
    return answers[-1][1]


@pytest.mark.parametrize(
    "switches",
    [
        {"duplicates": 1.0},
        {"delay_ms": 300},
        {"reorder": 1.0},
        {"lost_replies": 0.6, "seed": 3},
        {"wrong_signatures": 0.6, "seed": 4},
        {"errors": 0.6, "seed": 5},
        {
            "duplicates": 0.5, "delay_ms": 100, "reorder": 0.5, "lost_replies": 0.3, "wrong_signatures": 0.3,
            "errors": 0.3, "seed": 6,
        },
    ],
    ids="+".join,
)  # fmt: skip
def test_a_fault_of_the_provider_changes_no_outcome(till, switches):
    assert {name: till.switch(**switches)[name] for name in switches} == switches
    hold = pay_after_a_decline(till)
    assert till.until_state(hold, "succeeded")["order"] == hold
    till.all_told()
    ((state, hold_state, declines, told, payments),) = till.both.query(ONE_OUTCOME)
    assert (state, hold_state, told, payments) == ("succeeded", "paid", 1, 1)
    assert declines <= 1  # a decline that is told after the money was there says nothing new
    assert till.provider("GET", "/v1/balance")[1]["paid"] == 1


def test_notices_that_are_off_come_when_they_are_on_again(till):
    till.switch(webhooks=False)
    hold = till.hold()
    till.pay(till.begun(hold))
    assert till.look(hold)["state"] == "created"
    assert till.switch()["untold"] == 1
    till.switch(webhooks=True)
    till.until_state(hold, "succeeded")


def test_a_provider_that_was_stopped_tells_what_it_owed(till):
    till.switch(webhooks=False)
    hold = till.hold()
    payment = till.begun(hold)
    till.pay(payment)
    till.close_provider()
    till.open_provider()
    assert till.switch()["webhooks"] is False
    assert till.pay(payment) == till.pay(payment)
    till.switch(webhooks=True)
    till.until_state(hold, "succeeded")
    till.all_told()
    assert till.provider("GET", "/v1/balance")[1]["paid"] == 1
