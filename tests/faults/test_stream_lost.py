"""Valkey is killed, loses everything, or comes back with ids that were passed long ago."""

from __future__ import annotations

import time
from typing import Any

import pytest

from allocator.loop import GATHER_SECONDS
from gateway import follow
from gateway.buyers import intake
from store.stream.port import CREATED, POKE, REQUEST
from store.wire import arrival_order, decode_entry
from tests.allocator.house import entry, seats
from tests.faults.stage import Sale, Stage, until

pytestmark = pytest.mark.faults


def test_valkey_killed_and_started_under_load_costs_no_request(stage: Stage, sale: Sale):
    crowd = sale.desk.crowd(16)
    crowd.wait(60)
    stage.kill("valkey")
    stage.stack.start_again("valkey")
    crowd.wait(60)
    sale.check()


def test_after_a_loss_of_everything_those_who_were_accepted_go_before_those_who_came_later(
    stage: Stage, sale: Sale
):
    crowd = sale.desk.crowd(8)
    contested = sale.seats[30:36]
    early = [sale.desk.buyer(f"early{number}", 0) for number in range(len(contested))]
    late = [sale.desk.buyer(f"late{number}", 1) for number in range(len(contested))]
    crowd.wait(40)
    stage.allocators_without_stream()
    for buyer, seat in zip(early, contested, strict=True):
        buyer.ask("r1", seat)
    first_arrivals = [buyer.accepted("r1") for buyer in early]

    stage.valkey_of["gateway-1"].refuse()
    stage.valkey_of["gateway-1"].cut()
    stage.kill("valkey")
    stage.stack.valkey.wipe()
    stage.stack.start_again("valkey")
    for buyer, seat in zip(late, contested, strict=True):
        buyer.ask("r1", seat)
    for buyer in late:
        buyer.accepted("r1")  # lands in the new stream, ahead of all who were before it
    stage.valkey_of["gateway-1"].refuse(False)
    until(lambda: set(asked_again(sale)) >= set(first_arrivals), "the other gateway asks again")

    stage.heal()
    for buyer, arrival in zip(early, first_arrivals, strict=True):
        decision = buyer.decision("r1")
        assert (decision.outcome, decision.arrival) == ("held", arrival)
    assert [buyer.decision("r1").outcome for buyer in late] == ["taken"] * len(late)
    crowd.wait(20)
    sale.check()


def asked_again(sale: Sale) -> list[str]:
    """First arrivals of what is in the stream for the second time."""
    with sale.stream() as (client, key):
        raw: Any = client.xrange(key)
    entries = [decode_entry(fields[REQUEST]) for _, fields in raw if REQUEST in fields]
    return [entry.first_arrival for entry in entries if entry.first_arrival]


def test_a_gateway_comes_back_from_the_longest_outage_while_the_allocator_still_gathers():
    """Else what it had accepted and the stream lost is overtaken by what others append meanwhile."""
    for pause in (follow.BACKOFF_SECONDS, intake.BACKOFF_SECONDS):
        assert max(pause) <= GATHER_SECONDS / 2


def test_what_arrives_behind_the_cursor_is_decided_in_its_order(stage: Stage, sale: Sale):
    ann, bob = sale.desk.buyer("ann", 0), sale.desk.buyer("bob", 1)
    far = f"{int(time.time() * 1000) + 3_600_000}-0"
    with sale.stream() as (client, key):
        client.xadd(key, {POKE: b"1"}, id=far)
        until(lambda: sale.cursor == far, "the cursor is far ahead")
        stage.allocators_without_stream()
        client.delete(key)
        client.xadd(key, {CREATED: b"1"}, id="1-1")  # as when a server came back with an old file
        client.xadd(key, {REQUEST: entry("dora", "r1", seats(sale.seats[2]))}, id="5-1")
    ann.ask("r1", sale.seats[0])
    behind = ann.accepted("r1")
    assert arrival_order(behind) < arrival_order(far)
    bob.ask("r1", sale.seats[0])
    bob.accepted("r1")
    stage.heal()
    assert (ann.decision("r1").outcome, ann.decision("r1").arrival) == ("held", behind)
    assert bob.decision("r1").outcome == "taken"
    until(lambda: sale.key_rows("dora", "r1") == ["held"], "who has no gateway any more is decided too")
    sale.desk.buyer("eve", 1).ask("r1", sale.seats[1])
    truth = sale.check()
    eve = next(row for row in truth.ledger if row.buyer == "eve")
    assert arrival_order(eve.arrival) > arrival_order(far)
