"""Where two things meet in one batch: rules with a pause, a pause with a backlog, a loss with a death."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from allocator import loop as loops
from allocator.layout import Layout
from allocator.load import load_memory
from allocator.memory import Hold, Memory, Overlay
from allocator.truth import PostgresTruth
from store.database import connect
from store.events import set_policy
from store.wire import stream_key
from store.words import EventState, HoldId, Micros, Policy
from tests.allocator.house import (
    SLUG,
    Owner,
    best,
    change_event,
    check_laws,
    entry,
    open_event,
    owner_of,
    plan_of,
    seats,
    snapshot,
)


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    with owner_of(database_url, redis_url) as made:
        yield made
        check_laws(database_url, made.event_id)


def requests(owner: Owner) -> list[tuple[str, str, str]]:
    """(arrival, buyer, outcome) of every request in the ledger, in order."""
    return [(row[2], row[3], row[4]) for row in owner.ledger() if row[1] == "request"]


def test_an_events_time_never_goes_back(owner):
    """Not even where Postgres' clock does, as after a fail-over to a server that is behind."""
    owner.query_nothing("UPDATE event_cursor SET batch_time = clock_timestamp() + interval '1 hour'")
    owner.reload()
    before = owner.memory.batch_time
    owner.ask(entry("ann", "r1", seats("A-1")))
    assert owner.memory.batch_time == before
    assert owner.memory.next_expiry() == before + 480_000_000


def test_new_rules_and_a_pause_that_come_with_requests_are_a_pause(owner):
    with connect(owner.database_url, "operator") as conn:
        set_policy(conn, SLUG, seats_per_buyer_max=1)
    change_event(owner.database_url, EventState.PAUSED)
    owner.append([entry("ann", "r1", seats("A-1"))])
    owner.loop.turn()
    assert requests(owner) == []
    assert owner.memory.policy.state is EventState.PAUSED
    change_event(owner.database_url, EventState.OPEN)
    owner.poke()
    owner.loop.turn()
    owner.loop.turn()
    assert [row[1:] for row in requests(owner)] == [("ann", "held")]


def test_a_batch_that_was_read_ahead_does_not_overtake_one_that_was_put_off(database_url, redis_url):
    owner = Owner(database_url, redis_url, open_event(database_url, plan_of()), batch_size_max=4)
    owner.settle_down()
    arrivals = owner.append([entry(f"b{n}", "r1", best(1)) for n in range(10)])
    change_event(database_url, EventState.PAUSED)
    owner.loop.turn()  # reads four, and ahead of them the next; the pause puts them off
    assert requests(owner) == []
    change_event(database_url, EventState.OPEN)
    owner.poke()
    for _ in range(8):
        if len(requests(owner)) < 10:
            owner.loop.turn()
    assert [row[0] for row in requests(owner)] == arrivals
    owner.close()
    check_laws(database_url, owner.event_id)


def test_more_than_one_look_at_what_is_below_the_cursor_forgets_none_of_it(owner, monkeypatch):
    monkeypatch.setattr(loops, "BELOW_MAX", 2)
    monkeypatch.setattr(loops, "GATHER_SECONDS", 0.02)
    key = stream_key(SLUG)
    owner.redis.delete(key)
    for n in range(5):
        owner.redis.xadd(key, {b"r": entry(f"b{n}", "r1", best(1))}, id=f"5-{n + 1}")
    owner.loop.attend()
    assert owner.loop.reappended == 5
    owner.loop.turn()
    assert [row[0] for row in requests(owner)] == [f"5-{n + 1}" for n in range(5)]


def test_the_cursor_stays_until_the_last_part_of_what_was_gathered_is_decided(owner, monkeypatch):
    monkeypatch.setattr(loops, "GATHER_SECONDS", 0.02)
    owner.loop._batch_size_max = 4
    lost = owner.append([entry(f"b{n}", "r1", best(1)) for n in range(10)])
    owner.lose_all_of_redis()
    owner.loop.attend()
    again = owner.append([entry(f"b{n}", "r1", best(1), first_arrival=lost[n]) for n in range(10)])
    moved: list[str] = []
    commit = PostgresTruth.commit

    def look(truth: PostgresTruth) -> None:
        commit(truth)
        moved.append(owner.query("SELECT arrival FROM event_cursor")[0][0])

    monkeypatch.setattr(PostgresTruth, "commit", look)
    before = owner.loop.cursor.arrival
    owner.loop.turn()
    assert moved == [before, before, again[-1]]


def test_a_hold_that_was_over_at_the_pause_gets_no_time_back():
    memory = Memory(Layout(plan_of()), Policy(EventState.PAUSED, paused_at=Micros(100)))
    overlay = Overlay(memory)
    overlay.claim(HoldId(1), Hold("ann", (0,), (), 100))
    overlay.claim(HoldId(2), Hold("bob", (1,), (), 101))
    overlay.set_policy(Policy(EventState.OPEN, holds_extended_us=50))
    assert {hold.buyer: hold.expires_at for hold in memory.holds.values()} == {"ann": 100, "bob": 151}


def test_a_seat_that_came_free_is_found_by_the_next_search(owner):
    first, *_ = owner.ask(*[entry(f"b{n}", "r1", best(1)) for n in range(3)])
    owner.release("b0")
    [(outcome, result)] = owner.ask(entry("eve", "r1", best(1)))
    assert outcome == "held"
    assert json.loads(result)["seats"] == json.loads(first[1])["seats"]


class Meanwhile(psycopg.Connection[Any]):
    """A connection before whose look at the seats something happens, once."""

    happening: Any = None

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        happening = type(self).happening
        if happening is not None and "FROM seat " in str(query):
            type(self).happening = None
            happening()
        return super().execute(query, *args, **kwargs)


def test_memory_loaded_while_a_batch_commits_is_of_one_moment(owner):
    owner.reload()
    before = snapshot(owner.memory)
    Meanwhile.happening = lambda: owner.ask(entry("ann", "r1", seats("A-1")))
    with Meanwhile.connect(owner.database_url) as conn:
        loaded, cursor = load_memory(conn, owner.event_id, owner.memory.layout)
    assert Meanwhile.happening is None
    assert snapshot(loaded) == before
    assert cursor.batch_no == before["batch_no"]
