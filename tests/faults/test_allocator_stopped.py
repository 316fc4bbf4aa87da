"""An owner is stopped in the middle of a batch, relieved meanwhile, and goes on where it stood."""

from __future__ import annotations

import pytest

from tests.faults.stage import COMMIT, COPY, REQUEST_ROW, Sale, Stage, until

pytestmark = pytest.mark.faults


def test_owners_that_are_stopped_anywhere_in_a_batch_write_nothing_more_and_stand_by(
    stage: Stage, sale: Sale
):
    """Each relieves the one that was stopped before it, so standing by again is part of what is shown."""
    crowd = sale.desk.crowd(12)
    written: dict[int, int] = {}
    """Epoch → the last batch there may be of it."""
    for where in ("after the fence", "in mid-COPY", "before the reply to COMMIT"):
        crowd.wait(40)
        old, epoch = sale.owner(), sale.epoch
        proxy = stage.postgres_of[old]
        if where == "after the fence":
            proxy.hold_before(COPY)
        elif where == "in mid-COPY":
            proxy.hold_within(REQUEST_ROW)
        else:
            proxy.hold_reply_to(COMMIT, after=REQUEST_ROW)
        assert proxy.was_held.wait(60), where
        written[epoch] = sale.batch_no
        said_before = len(stage.log(old))
        stage.freeze(old)
        sale.wait_taken_over(epoch)
        crowd.wait(20)
        assert sale.owner() != old, where
        proxy.let_go()
        stage.thaw(old)
        until(lambda: sale.event.slug in stage.log(old)[said_before:], "the old owner notices")  # noqa: B023
    crowd.wait(20)
    truth = sale.check()
    for epoch, last in written.items():
        assert [batch.batch_no for batch in truth.batches if batch.epoch == epoch][-1] <= last
