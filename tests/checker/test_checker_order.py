"""Who came first, told from buyers with two devices and from streams that lost entries."""

from __future__ import annotations

import pytest

from bench.checker import judge
from bench.evidence import Batch, Loss, Seen, Truth
from tests.checker import sale
from tests.checker.judged import judged, of_buyer, of_kind, replaced
from tests.checker.sale import LEDGER, MS, asked


def test_a_key_asked_again_on_another_device_has_the_place_of_its_first_sending():
    def on_a_phone_too(truth, seen):
        bob = LEDGER[1]
        later = asked(bob, 450)  # after eve, who arrived after the first sending, was told
        later.accepted = []
        seen.append(Seen("bob", [later]))

    assert judged(on_a_phone_too) == []


def test_a_key_that_two_devices_asked_may_be_decided_by_either_arrival():
    def dan_on_two_devices(truth, seen):
        other = asked(LEDGER[5], 190)
        other.accepted = [(191 * MS, "190-0")]
        seen.append(Seen("dan", [other]))

    assert judged(dan_on_two_devices) == []


def overtaken(truth: Truth, seen: list[Seen]) -> None:
    """Bob's request is decided last; it arrived before eve's, who has the seat."""
    again = LEDGER[1]._replace(batch_no=5, position=0, arrival="300-0")
    replaced(truth, 1, outcome="conflict", result='{"reason":"key_reused"}')
    truth.ledger[1] = truth.ledger[1]._replace(buyer="zoe")
    truth.ledger.append(again)
    truth.batches.append(Batch(5, 1, 500_000, "400-0", 1))
    truth.cursor_batch_no = 5
    seen[1].asks = []


@pytest.mark.parametrize(
    ("losses", "kind"),
    [
        ([], "reordered"),
        ([Loss(300, 500)], "late"),
        ([Loss(299, 500)], "reordered"),
        ([Loss(300, 499)], "reordered"),
        ([Loss(501, 600)], "reordered"),
    ],
)
def test_who_was_overtaken_is_told_unless_a_loss_explains_it(losses, kind):
    truth, seen = sale.truth(), sale.seen()
    overtaken(truth, seen)
    assert "who arrived later, had it" in of_kind(judge(seen, truth, losses), kind)


@pytest.mark.parametrize(
    ("losses", "kind"), [([], "lost"), ([Loss(99, 500)], "lost"), ([Loss(300, 500)], "late")]
)
def test_accepted_and_then_refused_at_the_gate_is_lost_unless_its_gateway_went_with_the_stream(losses, kind):
    truth, seen = sale.truth(), sale.seen()
    fays = of_buyer(seen, "fay").asks[0]
    fays.sent_ns = [399 * MS, 400 * MS]
    fays.accepted = [(399 * MS + 1, "300-0")]
    assert "fay's request r1 was accepted as 300-0" in of_kind(judge(seen, truth, losses), kind)
