"""Allocators nobody meant to start, takeovers that cannot see whom they relieve: one decides at a time."""

from __future__ import annotations

import pytest

from onsale.processes import Stack
from tests.faults.stage import Sale, Stage, until

pytestmark = pytest.mark.faults


def test_four_allocators_of_one_environment_take_turns_and_never_decide_together(stage: Stage, sale: Sale):
    crowd = sale.desk.crowd(16)
    more = Stack(stage.stack.engines, gateways=0, allocators=2)
    more.start()
    try:
        attending = (
            "SELECT count(*) FROM pg_stat_activity JOIN event"
            " ON application_name = 'onsale allocator ' || slug WHERE event.id = %s"
        )
        until(lambda: sale.one(attending) == 4, "four allocators attend to the event")
        for _ in range(4):
            crowd.wait(30)
            epoch = sale.epoch
            # The lease names no backend that lives: it is taken over at once, from an owner that goes on.
            sale.query("UPDATE lease SET backend_pid = 0 WHERE event_id = %s")
            sale.wait_taken_over(epoch)
        crowd.wait(60)
        logs = [stage.log(name) for name in ("allocator-1", "allocator-2")]
        assert any(f"{sale.event.slug}: another worker owns the event now" in log for log in logs)
        truth = sale.check()
        assert len({batch.epoch for batch in truth.batches}) >= 5
    finally:
        more.stop()
