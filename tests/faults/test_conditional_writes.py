"""Somebody changes what a batch stands on between its fence and its writes; facts nobody is woken for."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from store import audit, blocks, holds
from store.stream.port import POKE
from store.words import HoldState
from tests.faults.stage import COPY, EXPIRED_ROW, Sale, Stage, until

pytestmark = pytest.mark.faults

WAITING = """
SELECT count(*) FROM hold
 WHERE event_id = %s AND EXISTS (SELECT FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0)
"""


def test_a_seat_blocked_between_fence_and_write_goes_to_nobody(stage: Stage, sale: Sale):
    ann, bob = sale.desk.buyer("ann", 0), sale.desk.buyer("bob", 1)
    ann.ask("r0", sale.seats[1])
    ann.decision("r0")
    owner = sale.owner()
    proxy, said_before = stage.postgres_of[owner], len(stage.log(owner))
    proxy.hold_before(COPY)
    ann.ask("r1", sale.seats[0])
    assert proxy.was_held.wait(60)
    olga = audit.said("Olga", "a broken chair")
    blocks.block(sale.connection(), sale.event.id, sale.event.plan, [sale.seats[0]], {}, olga)
    proxy.let_go()
    assert ann.decision("r1").outcome == "taken"
    bob.ask("r1", sale.seats[0])
    assert bob.decision("r1").outcome == "taken"
    bob.ask("r2", sale.seats[2])
    assert bob.decision("r2").outcome == "held"
    said = stage.log(owner)[said_before:]
    assert "decided again: seats claimed: 0 of 1" in said
    assert "ALERT" not in said
    truth = sale.check()
    assert (0, "blocked", None) in truth.seats
    block, refused = [
        row
        for row in truth.ledger
        if row.outcome == "blocked" or (row.buyer, row.request_id) == ("ann", "r1")
    ]
    assert (block.outcome, refused.outcome) == ("blocked", "taken")
    assert block.batch_no == refused.batch_no


def test_a_seat_blocked_by_hand_is_in_no_ledger_and_the_replay_says_so(stage: Stage, sale: Sale):
    ann = sale.desk.buyer("ann", 0)
    ann.ask("r0", sale.seats[1])
    ann.decision("r0")
    sale.query(
        "UPDATE seat SET state = 'blocked' WHERE event_id = %s AND seat_no = 0 AND state = 'available'"
    )
    ann.ask("r1", sale.seats[0])
    assert ann.decision("r1").outcome == "taken"
    truth, findings = sale.judged()
    refused = next(row for row in truth.ledger if (row.buyer, row.request_id) == ("ann", "r1"))
    stories = [finding.story for finding in findings if finding.kind == "replay"]
    assert [story.startswith(f"Batch {refused.batch_no} says taken") for story in stories] == [True]
    assert any("is blocked; by the ledger it is on sale" in finding.story for finding in findings)


def test_a_hold_released_while_the_batch_writes_that_it_ran_out_ran_out_once(stage: Stage):
    with stage.sale(hold_ttl_seconds=1) as sale, ThreadPoolExecutor(1) as thread:
        ann, bob = sale.desk.buyer("ann", 0), sale.desk.buyer("bob", 1)
        owner = sale.owner()
        proxy, said_before = stage.postgres_of[owner], len(stage.log(owner))
        proxy.hold_before(EXPIRED_ROW)
        ann.ask("r1", sale.seats[0])
        hold = str(ann.decision("r1").result["hold"])
        assert proxy.was_held.wait(60)
        released = thread.submit(ann.release, hold)
        until(lambda: sale.one(WAITING), "the release waits for the batch")
        proxy.let_go()
        assert released.result().state == HoldState.EXPIRED
        bob.ask("r1", sale.seats[0])
        assert bob.decision("r1").outcome == "held"
        said = stage.log(owner)[said_before:]
        assert "decided again" not in said
        assert "ALERT" not in said
        truth = sale.check()
        assert [row.outcome for row in truth.ledger if hold in row.input] == ["expired"]


def test_a_fact_is_consumed_once_whether_nobody_is_woken_for_it_or_twice(stage: Stage, sale: Sale):
    ann, bob = sale.desk.buyer("ann", 0), sale.desk.buyer("bob", 1)
    given = []
    for number, pokes in enumerate((0, 2)):
        ann.ask(f"r{number}", sale.seats[0])
        hold = str(ann.decision(f"r{number}").result["hold"])
        given.append(hold)
        asyncio.run(released_by_hand(sale, int(hold), "ann"))
        with sale.stream() as (client, key):
            for _ in range(pokes):
                client.xadd(key, {POKE: b"1"})
        until(
            lambda: not sale.one("SELECT count(*) FROM fact WHERE event_id = %s"),
            "the allocator consumes what nobody told it",
        )
    bob.ask("r1", sale.seats[0])
    assert bob.decision("r1").outcome == "held"
    truth = sale.check()
    for hold in given:
        assert [row.outcome for row in truth.ledger if row.kind == "fact" and f'"{hold}"' in row.input] == [
            "released"
        ]


async def released_by_hand(sale: Sale, hold_id: int, buyer: str) -> None:
    """As a gateway does, but nobody pokes the stream."""
    async with await psycopg.AsyncConnection.connect(sale.target.database_url) as connection:
        await holds.release(connection, sale.event.id, hold_id, buyer)
