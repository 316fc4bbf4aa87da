"""The waiting list while things break: what comes back is offered once, in order, and who waits learns it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from store import waiting
from store.words import FactKind
from tests.faults.clients import Buyer
from tests.faults.stage import COMMIT, OFFER_ROW, Sale, Stage, until

pytestmark = pytest.mark.faults

BLOCKED = """
SELECT count(*) FROM event
 WHERE id = %s AND EXISTS (SELECT FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0)
"""
LEAVE = f"""
WITH gone AS ({waiting.LEAVE.replace("RETURNING wait_id", "RETURNING event_id, wait_id")})
INSERT INTO fact (event_id, kind, body)
SELECT event_id, %(kind)s, jsonb_build_object('wait', wait_id::text) FROM gone
"""
"""What `waiting.leave` does, in a transaction that the test ends."""


def holds(buyer: Buyer, seat: str) -> str:
    """Asks for a seat, and gets it: its hold."""
    buyer.ask("r1", seat)
    return str(buyer.decision("r1").result["hold"])


@pytest.fixture
def line(sale: Sale) -> list[Buyer]:
    """Ann has the first seat; bob, cem and dan wait for it, in this order."""
    ann, *others = [
        sale.desk.buyer(name, number % 2) for number, name in enumerate(("ann", "bob", "cem", "dan"))
    ]
    holds(ann, sale.seats[0])
    for position, buyer in enumerate(others, start=1):
        assert buyer.waits_for("w1", sale.seats[0]).result["position"] == position
    return [ann, *others]


@pytest.mark.parametrize("committed", [False, True])
def test_a_move_whose_batch_offers_what_it_leaves_is_made_once_though_its_owner_is_killed(
    stage: Stage, sale: Sale, line: list[Buyer], committed: bool
):
    ann, bob, *_ = line
    owner, epoch, before = sale.owner(), sale.epoch, sale.batch_no
    proxy = stage.postgres_of[owner]
    (proxy.hold_reply_to if committed else proxy.hold_before)(COMMIT, after=OFFER_ROW)
    old = str(ann.decision("r1").result["hold"])
    ann.ask("r2", sale.seats[1], move=old)
    assert proxy.was_held.wait(60)
    stage.kill(owner)
    proxy.drop_held()
    until(lambda: sale.batch_no == before + committed, "what was committed is known")
    assert sale.offered() == [("bob", "w1")] * committed
    sale.wait_taken_over(epoch)
    moved = ann.decision("r2")
    assert (moved.outcome, moved.result["moved"]) == ("held", old)
    assert bob.is_offered("w1")["seats"] == [sale.seats[0]]
    sale.check()
    assert sale.offered() == [("bob", "w1")]


def test_who_leaves_while_a_batch_makes_the_offer_is_told_of_the_offer(stage: Stage, sale: Sale, line):
    ann, bob, *_ = line
    proxy = stage.postgres_of[sale.owner()]
    proxy.hold_before(COMMIT, after=OFFER_ROW)
    with ThreadPoolExecutor(1) as thread:
        ann.release(str(ann.decision("r1").result["hold"]))
        assert proxy.was_held.wait(60)
        left = thread.submit(bob.leave, "w1")
        until(lambda: sale.one(BLOCKED), "leaving waits for the batch")
        proxy.let_go()
        assert left.result().error == "offered"
    assert bob.is_offered("w1")["seats"] == [sale.seats[0]]
    sale.check()


def test_who_left_before_the_batch_wrote_its_offer_gets_none_and_the_next_one_does(
    stage: Stage, sale: Sale, line
):
    ann, _, cem, _ = line
    owner = sale.owner()
    said_before = len(stage.log(owner))
    leaving = {"event": sale.event.id, "buyer": "bob", "request": "w1", "kind": FactKind.LEFT.value}
    with sale.connection().transaction():
        assert sale.connection().execute(LEAVE.encode(), leaving).rowcount == 1
        ann.release(str(ann.decision("r1").result["hold"]))
        with sale.looking_on() as conn:
            until(
                lambda: conn.execute(BLOCKED, (sale.event.id,)).fetchone() == (1,),
                "the batch waits for who leaves",
            )
    assert cem.is_offered("w1")["passed_over"] == 0
    assert "decided again: requests served: 0 of 1" in stage.log(owner)[said_before:]
    sale.check()
    assert sale.offered() == [("cem", "w1")]


def test_the_waiting_list_outlives_everything_that_valkey_had(stage: Stage, sale: Sale, line):
    ann, *others = line
    stage.kill("valkey")
    stage.stack.valkey.wipe()
    stage.stack.start_again("valkey")
    ann.release(str(ann.decision("r1").result["hold"]))
    for buyer in others:
        buyer.release(str(buyer.is_offered("w1")["hold"]))
    sale.check()
    assert sale.offered() == [("bob", "w1"), ("cem", "w1"), ("dan", "w1")]


def test_offers_that_run_out_while_postgres_restarts_go_on_to_the_next_one_by_one(stage: Stage):
    with stage.sale(offer_ttl_seconds=1) as sale:
        ann, *others = [sale.desk.buyer(name) for name in ("ann", "bob", "cem", "dan")]
        hold = holds(ann, sale.seats[0])
        for buyer in others:
            buyer.waits_for("w1", sale.seats[0])
        ann.release(hold)
        others[0].is_offered("w1")
        stage.stack.postgres.stop()
        stage.stack.start_again("postgres")
        ends = [buyer.is_offered("w1")["expires_at"] for buyer in others]
        assert ends == sorted(ends)
        sale.check()
        assert sale.offered() == [("bob", "w1"), ("cem", "w1"), ("dan", "w1")]


def test_who_takes_over_offers_what_came_back_while_nobody_was_there(stage: Stage, sale: Sale, line):
    ann, bob, cem, _ = line
    owner, standby, epoch = sale.owner(), sale.standby(), sale.epoch
    stage.freeze(standby)
    stage.kill(owner)
    cem.leave("w1")
    ann.release(str(ann.decision("r1").result["hold"]))
    assert sale.one("SELECT count(*) FROM fact WHERE event_id = %s") == 2
    stage.thaw(standby)
    sale.wait_taken_over(epoch)
    offer = bob.is_offered("w1")
    bob.release(str(offer["hold"]))
    assert line[3].is_offered("w1")["passed_over"] == 0, "cem is not on the list any more"
    sale.check()
    assert sale.offered() == [("bob", "w1"), ("dan", "w1")]
