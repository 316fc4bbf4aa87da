"""Who begins a payment is killed between the provider and Postgres: it is the same payment, on one page."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.faults.payments.till import ATTACHED, Buyer, Till

pytestmark = pytest.mark.faults


def killed_before_it_writes_the_intent(till: Till, buyer: Buyer) -> None:
    """The provider has made it, and nobody here knows."""
    proxy = till.unprepared("gateway-1")
    proxy.hold_before(ATTACHED)
    with ThreadPoolExecutor(1) as beside:
        asking = beside.submit(buyer.begins)
        assert proxy.was_held.wait(60)
        till.stack.kill("gateway-1")
        with pytest.raises(OSError):
            asking.result()


def test_an_intent_that_nobody_could_write_down_is_found_again_and_there_is_no_second_page(till: Till):
    buyer = till.buyer()
    intents = till.provider("/v1/balance")["intents"]
    killed_before_it_writes_the_intent(till, buyer)
    assert till.query("SELECT intent FROM payment WHERE buyer = %s", buyer.name) == [(None,)]
    assert till.provider("/v1/balance")["intents"] == intents + 1
    page = buyer.begins(gateway=1)["checkout"]["url"]
    assert till.provider("/v1/balance")["intents"] == intents + 1
    till.heal()
    assert buyer.begins()["checkout"]["url"] == page
    buyer.presses()
    buyer.has_its_seat()
    till.check()


def test_money_for_an_intent_that_nobody_wrote_down_buys_the_seat(till: Till):
    """The buyer has seen the page, and who sent them there is gone."""
    buyer = till.buyer()
    killed_before_it_writes_the_intent(till, buyer)
    number = till.one("SELECT id FROM payment WHERE buyer = %s", buyer.name)
    till.provider(f"/pay/{till.intent_of(number)}", {})
    buyer.has_its_seat()
    till.check()
