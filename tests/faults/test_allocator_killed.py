"""The owner is killed at each of the points where it matters; whoever takes over gives the same decisions."""

from __future__ import annotations

import pytest

from tests.faults.stage import ANSWERS, COMMIT, REQUEST_ROW, Sale, Stage

pytestmark = pytest.mark.faults


def test_killed_before_its_commit_nothing_of_the_batch_is_true_and_it_is_decided_anew(
    stage: Stage, sale: Sale
):
    crowd = sale.desk.crowd(16)
    crowd.wait(100)
    owner = sale.owner()
    proxy = stage.postgres_of[owner]
    proxy.hold_before(COMMIT, after=REQUEST_ROW)
    assert proxy.was_held.wait(60)
    before = sale.batch_no
    stage.kill(owner)
    proxy.drop_held()
    crowd.wait(100)
    truth = sale.check()
    first_of_heir = next(batch for batch in truth.batches if batch.batch_no == before + 1)
    assert first_of_heir.epoch > next(batch for batch in truth.batches if batch.batch_no == before).epoch


def test_killed_after_its_commit_the_decisions_stand_and_those_who_wait_are_told_them(
    stage: Stage, sale: Sale
):
    crowd = sale.desk.crowd(16)
    crowd.wait(100)
    owner = sale.owner()
    epoch, proxy = sale.epoch, stage.postgres_of[owner]
    proxy.hold_reply_to(COMMIT, after=REQUEST_ROW)
    assert proxy.was_held.wait(60)
    committed = sale.batch_no
    stage.kill(owner)
    proxy.drop_held()
    crowd.wait(100)
    truth = sale.check()
    last_of_killed = [batch for batch in truth.batches if batch.epoch == epoch][-1]
    assert last_of_killed.batch_no == committed
    unpublished = [row for row in truth.ledger if row.batch_no == committed and row.kind == "request"]
    assert unpublished, "the batch that nobody published decided requests"


def test_killed_before_it_publishes_those_who_wait_are_told_from_the_ledger(stage: Stage, sale: Sale):
    crowd = sale.desk.crowd(16)
    crowd.wait(100)
    owner = sale.owner()
    epoch, proxy = sale.epoch, stage.valkey_of[owner]
    proxy.hold_before(ANSWERS)
    assert proxy.was_held.wait(60)
    unpublished = sale.batch_no
    stage.kill(owner)
    proxy.drop_held()
    sale.wait_taken_over(epoch)
    truth = sale.check()
    rows = [row for row in truth.ledger if row.batch_no == unpublished and row.kind == "request"]
    assert rows, "the batch that nobody published decided requests"
