"""A hold is in the table what the ledger says it is, or a fact that waits to be consumed says why not."""

from __future__ import annotations

import pytest

from bench.evidence import Change, LedgerRow
from tests.checker.judged import judged, of_kind
from tests.checker.sale import ANN, CEM, DAN, EVE


def a_payment_that_never_reached_the_ledger(truth, seen):
    """Another hold's fact waits: it explains nothing."""
    del truth.ledger[6]
    truth.facts = [("released", EVE + 1)]


def a_payment_that_is_only_in_the_ledger(truth, seen):
    paid = f'{{"fact":7,"hold":"{EVE}","body":null}}'
    truth.ledger.append(LedgerRow(4, 2, "fact", "", "", "", paid, "paid", "{}"))


def an_end_of_another_kind(truth, seen):
    truth.holds[2] = truth.holds[2]._replace(state="released")


def a_refund_that_never_reached_the_ledger(truth, seen):
    truth.holds[0] = truth.holds[0]._replace(state="refunded")


@pytest.mark.parametrize(
    ("corrupt", "words"),
    [
        (a_payment_that_never_reached_the_ledger, [str(CEM), "is paid", "by the ledger it is active"]),
        (a_payment_that_is_only_in_the_ledger, [str(EVE), "is active", "by the ledger it is paid"]),
        (an_end_of_another_kind, [str(DAN), "is released", "by the ledger it is expired"]),
        (a_refund_that_never_reached_the_ledger, [str(ANN), "is refunded", "by the ledger it is released"]),
    ],
)
def test_a_state_that_the_ledger_does_not_have_is_unexplained(corrupt, words):
    story = of_kind(judged(corrupt), "unexplained")
    for word in words:
        assert word in story


def test_a_payment_the_allocator_has_not_consumed_yet_explains_the_table():
    def pay_eve(truth, seen):
        truth.facts = [("paid", EVE), ("extended", EVE)]
        truth.holds[3] = truth.holds[3]._replace(state="paid")
        truth.seats[0] = (0, "sold", EVE)
        truth.history.append(Change(0, 7, "sold", EVE, "buyer"))

    assert judged(pay_eve) == []
