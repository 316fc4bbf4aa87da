"""The owner is stopped in the middle of a batch, relieved meanwhile, and goes on where it stood."""

from __future__ import annotations

import pytest

from tests.faults.stage import COMMIT, COPY, REQUEST_ROW, Sale, Stage, until

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("where", ["after the fence", "in mid-COPY", "before COMMIT", "before its reply"])
def test_an_owner_that_was_stopped_writes_nothing_more_and_stands_by(stage: Stage, sale: Sale, where: str):
    crowd = sale.desk.crowd(12)
    crowd.wait(60)
    old, epoch = sale.owner(), sale.epoch
    proxy = stage.postgres_of[old]
    if where == "after the fence":
        proxy.hold_before(COPY)
    elif where == "in mid-COPY":
        proxy.hold_within(REQUEST_ROW)
    elif where == "before COMMIT":
        proxy.hold_before(COMMIT, after=REQUEST_ROW)
    else:
        proxy.hold_reply_to(COMMIT, after=REQUEST_ROW)
    assert proxy.was_held.wait(10)
    last_of_old = sale.batch_no
    log_before = len(stage.log(old))
    stage.freeze(old)
    sale.wait_taken_over(epoch)
    crowd.wait(30)
    heir = sale.owner()
    assert heir != old
    proxy.let_go()
    stage.thaw(old)
    until(lambda: sale.event.slug in stage.log(old)[log_before:], "the old owner notices")
    crowd.wait(30)
    by_epoch = dict(zip(range(1, sale.batch_no + 1), sale.epochs(), strict=False))
    assert {number for number, of in by_epoch.items() if of == epoch} <= set(range(1, last_of_old + 1))
    epoch = sale.epoch
    stage.kill(heir)  # the old one is a standby like any other
    sale.wait_taken_over(epoch)
    assert sale.owner() == old
    crowd.wait(30)
    sale.check()
