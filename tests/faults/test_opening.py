"""A lobby and a sale that begin by themselves do so once and not before their time, whoever is dead then."""

from __future__ import annotations

import pytest

from bench.evidence import Truth, read_json
from store import events
from store.words import EventState
from tests.faults.stage import COMMIT, Sale, Stage, until

pytestmark = pytest.mark.faults

OPENING = b"FOR UPDATE SKIP LOCKED"
"""In the statement that opens an event whose time has come."""


LOBBY = b"state = 'draft' AND lobby_opens_at"
"""In the one that begins its lobby."""


def beginnings(truth: Truth, state: str) -> list[int]:
    """Times of the batches that took in that the event is in this state."""
    batch_times = {batch.batch_no: batch.batch_time for batch in truth.batches}
    facts = [row for row in truth.ledger if row.kind == "fact" and row.outcome == "policy"]
    return [batch_times[row.batch_no] for row in facts if read_json(row.input)["body"]["state"] == state]


def opened_once(sale: Sale) -> Truth:
    """The verdict, and that it did not open early."""
    return begun_once(sale, "open", "opens_at")


def begun_once(sale: Sale, state: str, name: str) -> Truth:
    at = sale.one(f"SELECT (extract(epoch FROM {name}) * 1000000)::bigint FROM event WHERE id = %s")
    truth = sale.check()
    [begun_at] = beginnings(truth, state)
    assert begun_at >= at
    audited = "SELECT count(*) FROM audit WHERE event_id = %s AND who = 'allocator' AND what ->> 'to' = %s"
    assert sale.query(audited, state) == [(1,)]
    return truth


def wait_owned(sale: Sale) -> None:
    owned = "SELECT owner IS NOT NULL AND batch_no > 0 FROM event_cursor WHERE event_id = %s"
    until(lambda: sale.one(owned), "an allocator owns the event")


def test_buyers_who_wait_hear_of_the_opening_and_are_served(stage: Stage):
    with stage.scheduled_sale() as sale:
        ann, bob = sale.desk.buyer("ann", 0), sale.desk.buyer("bob", 1)
        ann.ask("early", sale.seats[0])
        assert ann.decision("early").outcome == "event_not_open"
        wait_owned(sale)
        sale.opens_in(0.3)
        sale.desk.wait(lambda: ann.event_states and bob.event_states, "both gateways say that it is open")
        assert (ann.event_states, bob.event_states) == (["open"], ["open"])
        for buyer in (ann, bob):
            buyer.ask("r1", sale.seats[0])
        assert sorted([ann.decision("r1").outcome, bob.decision("r1").outcome]) == ["held", "taken"]
        opened_once(sale)


@pytest.mark.parametrize("when", ["just before it opens it", "when it has just opened it"])
def test_an_owner_killed_at_the_time_leaves_the_opening_to_the_next(stage: Stage, when: str):
    with stage.scheduled_sale() as sale:
        wait_owned(sale)
        ann = sale.desk.buyer("ann", 0)
        owner, epoch = sale.owner(), sale.epoch
        proxy = stage.postgres_of[owner]
        if when == "just before it opens it":
            proxy.hold_before(OPENING)
        else:
            proxy.hold_reply_to(COMMIT, after=OPENING)
        sale.opens_in(0.3)
        assert proxy.was_held.wait(60)
        stage.kill(owner)
        proxy.drop_held()
        sale.wait_taken_over(epoch)
        sale.desk.wait(lambda: ann.event_states, "the gateway says that it is open")
        ann.ask("r1", sale.seats[0])
        assert ann.decision("r1").outcome == "held"
        opened_once(sale)


@pytest.mark.parametrize("when", ["just before it begins it", "when it has just begun it"])
def test_an_owner_killed_at_the_lobbys_time_leaves_it_to_the_next(stage: Stage, when: str):
    with stage.scheduled_sale() as sale:
        wait_owned(sale)
        sale.opens_in(600)
        ann = sale.desk.buyer("ann", 0)
        owner, epoch = sale.owner(), sale.epoch
        proxy = stage.postgres_of[owner]
        if when == "just before it begins it":
            proxy.hold_before(LOBBY)
        else:
            proxy.hold_reply_to(COMMIT, after=LOBBY)
        sale.lobby_opens_in(0.3)
        assert proxy.was_held.wait(60)
        stage.kill(owner)
        proxy.drop_held()
        sale.wait_taken_over(epoch)
        sale.desk.wait(lambda: ann.event_states == ["lobby"], "the gateway says that its lobby has begun")
        sale.opens_in(0.3)
        sale.desk.wait(lambda: ann.event_states == ["lobby", "open"], "and then that it is open")
        ann.ask("r1", sale.seats[0])
        assert ann.decision("r1").outcome == "held"
        begun_once(sale, "lobby", "lobby_opens_at")
        opened_once(sale)


def test_a_time_at_which_nobody_ran_is_caught_up_and_a_pause_after_it_stands(stage: Stage):
    for name in ("allocator-1", "allocator-2"):
        stage.kill(name)
    with stage.scheduled_sale() as sale:
        sale.lobby_opens_in(0.05)
        sale.opens_in(0.1)
        until(lambda: sale.one("SELECT opens_at < clock_timestamp() FROM event WHERE id = %s"), "it is time")
        assert sale.one("SELECT state FROM event WHERE id = %s") == EventState.DRAFT
        stage.stack.start_again("allocator-1")
        until(lambda: sale.one("SELECT state FROM event WHERE id = %s") == EventState.OPEN, "it opens")
        events.set_state(sale.connection(), sale.event.slug, EventState.PAUSED)
        epoch = sale.epoch
        stage.stack.start_again("allocator-2")
        stage.kill("allocator-1")
        sale.wait_taken_over(epoch)
        ann = sale.desk.buyer("ann", 0)
        ann.ask("r1", sale.seats[0])
        ann.accepted("r1")
        until(lambda: not sale.one("SELECT count(*) FROM fact WHERE event_id = %s"), "facts are consumed")
        assert sale.one("SELECT state FROM event WHERE id = %s") == EventState.PAUSED
        assert sale.key_rows("ann", "r1") == []
        events.set_state(sale.connection(), sale.event.slug, EventState.CLOSED)
        assert ann.decision("r1").outcome == "closed"
        truth = opened_once(sale)
        assert beginnings(truth, "lobby") == [], "both were due: nobody could join any more"
