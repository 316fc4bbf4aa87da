"""Who settles a notice is killed, or hears nothing: it is told again, and the hold is bought once."""

from __future__ import annotations

import pytest

from tests.faults.payments.till import NOTICED, Till, metric
from tests.faults.stage import COMMIT, until

pytestmark = pytest.mark.faults
REFUSED = 'onsale_gateway_notices_total{answer="unavailable"'
TOLD = "SELECT count(*) FROM payment_notice JOIN payment ON payment.id = payment_id WHERE buyer = %s"


def test_a_gateway_that_is_killed_before_it_answers_has_sold_the_seat_once(till: Till):
    buyer, proxy = till.buyer(), till.unprepared("gateway-1")
    buyer.begins()
    proxy.hold_reply_to(COMMIT, after=NOTICED)
    buyer.presses()
    assert proxy.was_held.wait(60)
    till.stack.kill("gateway-1")
    buyer.has_its_seat()  # for it was committed
    till.check()  # and by then the other gateway was told the same
    assert till.one(TOLD, buyer.name) == 1
    buyer.has_its_seat()


@pytest.mark.parametrize("arrives", [True, False], ids=["it is committed", "it is not"])
def test_a_commit_of_which_nothing_is_heard_sells_the_seat_once(till: Till, arrives: bool):
    buyer, proxy = till.buyer(), till.unprepared("gateway-1")
    buyer.begins()
    (proxy.cut_reply_to if arrives else proxy.cut_before)(COMMIT, after=NOTICED)
    buyer.presses()
    assert proxy.was_cut.wait(60)
    buyer.has_its_seat()
    till.check()
    assert till.one(TOLD, buyer.name) == 1
    buyer.has_its_seat()


def test_a_notice_that_finds_postgres_away_is_refused_and_settled_when_it_is_back(till: Till):
    buyer = till.buyer()
    buyer.begins()
    before = [metric(url, REFUSED) for url in till.stack.base_urls]
    till.stack.kill("postgres")
    buyer.presses()
    until(
        lambda: [metric(url, REFUSED) for url in till.stack.base_urls] > before,
        "a gateway refuses it, for now",
    )
    till.stack.start_again("postgres")
    buyer.has_its_seat()
    till.check()
