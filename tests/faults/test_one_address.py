"""Several gateways behind one address of the machine, restarted one after the other while people buy."""

from __future__ import annotations

import pytest

from onsale.processes import throwaway_stack
from tests.faults.stage import StageOf

pytestmark = pytest.mark.faults

GATEWAYS = ("gateway-1", "gateway-2")
BUYERS = 16


def test_each_gateway_is_restarted_and_the_address_sells_on():
    with (
        StageOf(throwaway_stack(gateways=len(GATEWAYS), one_address=True)) as stage,
        stage.sale() as sale,
    ):
        stack = stage.stack
        assert len(sale.desk.sockets) == 1
        crowd = sale.desk.crowd(BUYERS)
        crowd.wait(60)
        served = [stage.metric(number, "onsale_gateway_sockets") for number in range(len(GATEWAYS))]
        assert sum(served) == BUYERS
        assert all(served), "the kernel gives connections to both"
        for name in GATEWAYS:
            assert stack.processes[name].stop(), "it ends when it is asked to"
            crowd.wait(60)
            stack.start_again(name)
            crowd.wait(60)
        sale.check()
