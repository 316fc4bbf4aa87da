"""Seats are moved to another category while allocators are killed: the move counts once, for all alike."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from bench.evidence import Truth
from bench.torture.shown import shown_wrongly
from store.words import Best
from tests.faults.proxy import CuttingProxy
from tests.faults.stage import ANSWERS, COMMIT, MOVED_ROW, REQUEST_ROW, Sale, Stage, until

pytestmark = pytest.mark.faults

CHANGES = b":seats"
"""In the PUBLISH of what a batch changed on the map, the plan too."""
PAIR = Best(2, category="C")
"""Of which there is one seat, in a row of its own, until the first two of the house are moved there."""

Point = Callable[[Stage, str], CuttingProxy]
"""Where its owner is killed: holds the named allocator there."""


def before_commit(stage: Stage, owner: str) -> CuttingProxy:
    proxy = stage.postgres_of[owner]
    proxy.hold_before(COMMIT, after=MOVED_ROW)
    return proxy


def after_commit(stage: Stage, owner: str) -> CuttingProxy:
    proxy = stage.postgres_of[owner]
    proxy.hold_reply_to(COMMIT, after=MOVED_ROW)
    return proxy


def before_publishing(stage: Stage, owner: str) -> CuttingProxy:
    """The batch behind the one that is decided next."""
    proxy = stage.valkey_of[owner]
    proxy.hold_before(CHANGES, after=ANSWERS)
    return proxy


def moved_once(truth: Truth) -> int:
    """The epoch whose owner took the only move in."""
    [row] = [row for row in truth.ledger if row.outcome == "recategorised"]
    return next(batch.epoch for batch in truth.batches if batch.batch_no == row.batch_no)


@pytest.mark.parametrize(
    ("committed", "point"), [(False, before_commit), (True, after_commit), (True, before_publishing)]
)
def test_whoever_is_killed_with_a_move_who_asked_before_it_counted_is_served_by_it(
    stage: Stage, sale: Sale, committed: bool, point: Point
):
    ann, bob = sale.desk.buyer("ann", 0), sale.desk.buyer("bob", 1)
    owner, epoch, before = sale.owner(), sale.epoch, sale.batch_no
    postgres = stage.postgres_of[owner]
    postgres.hold_before(COMMIT, after=REQUEST_ROW)
    ann.ask("r1", best=PAIR)
    assert postgres.was_held.wait(60)
    bob.ask("r1", best=PAIR)  # read with the move, by the plan before it
    bob.accepted("r1")
    assert sale.moves("C", *sale.seats[:2]) == 1
    proxy = point(stage, owner)
    postgres.let_go()
    assert ann.decision("r1").outcome == "sold_out"
    assert proxy.was_held.wait(60)
    stage.kill(owner)
    proxy.drop_held()
    until(lambda: sale.batch_no >= before + 1 + committed, "what was committed is known")
    sale.wait_taken_over(epoch)
    assert bob.decision("r1").result["seats"] == sale.seats[:2]
    truth = sale.check()
    assert (moved_once(truth) == epoch) == committed
    [(version, at)] = sale.query("SELECT version, ledger_at FROM event_plan WHERE event_id = %s")
    assert version == 1
    assert at < int(bob.decision("r1").result["hold"]), "bob pays by the plan that he was served by"
    gateways = [replace(sale.target, base_url=url) for url in stage.stack.base_urls]
    assert shown_wrongly(gateways, sale.event) == []


@pytest.mark.parametrize("point", [before_commit, after_commit])
def test_who_waits_is_offered_what_is_moved_once_though_its_owner_is_killed(
    stage: Stage, sale: Sale, point: Point
):
    bob, cem = sale.desk.buyer("bob", 0), sale.desk.buyer("cem", 1)
    for buyer in (bob, cem):
        buyer.ask("w1", best=PAIR, waitlist=True)
        assert buyer.decision("w1").outcome == "waitlisted"
    owner, epoch = sale.owner(), sale.epoch
    proxy = point(stage, owner)
    sale.moves("C", *sale.seats[:2])
    assert proxy.was_held.wait(60)
    stage.kill(owner)
    proxy.drop_held()
    sale.wait_taken_over(epoch)
    assert bob.is_offered("w1")["seats"] == sale.seats[:2]
    assert (moved_once(sale.check()) == epoch) == (point is after_commit)
    assert sale.offered() == [("bob", "w1")]
