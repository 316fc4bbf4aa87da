"""A pause: requests keep their order and none is decided; running holds get the lost time back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from allocator import loop
from store.words import EventState
from tests.allocator.house import Owner, change_event, check_laws, entry, owner_of, seats, snapshot


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    with owner_of(database_url, redis_url) as made:
        yield made
        check_laws(database_url, made.event_id)


def pause(owner: Owner) -> None:
    change_event(owner.database_url, EventState.PAUSED)


def resume(owner: Owner) -> None:
    change_event(owner.database_url, EventState.OPEN)
    owner.poke()
    owner.loop.turn()


def requests(owner: Owner) -> list[tuple[str, str]]:
    return [(row[3], row[4]) for row in owner.ledger() if row[1] == "request"]


def test_requests_of_a_pause_wait_and_are_decided_in_their_order_when_it_ends(owner):
    pause(owner)
    arrivals = owner.append([entry("ann", "r1", seats("A-1")), entry("bob", "r1", seats("A-1"))])
    owner.loop.turn()  # reads them together with the pause
    arrivals += owner.append([entry("eve", "r1", seats("A-1"))])
    owner.loop.turn()
    assert requests(owner) == []
    assert owner.memory.policy.state is EventState.PAUSED
    resume(owner)
    owner.loop.turn()
    assert requests(owner) == [("ann", "held"), ("bob", "taken"), ("eve", "taken")]
    assert [row[2] for row in owner.ledger() if row[1] == "request"] == arrivals


def test_who_waits_out_a_pause_is_read_once_and_not_turn_after_turn(owner, monkeypatch):
    pause(owner)
    owner.append([entry("ann", "r1", seats("A-1"))])
    owner.loop.turn()  # reads it together with the pause
    monkeypatch.setattr(loop, "IDLE_MS", 1)
    read, counts = owner.loop._arrivals.read, []

    def counted(*args, **options):
        found = read(*args, **options)
        counts.append(len(found))
        return found

    monkeypatch.setattr(owner.loop._arrivals, "read", counted)
    for _ in range(3):
        owner.loop.turn()
    assert sum(counts) <= 2, "the poke of the pause and the request"
    resume(owner)


def test_a_pause_that_comes_with_requests_in_the_same_batch_leaves_memory_to_the_pause_alone(owner):
    before = snapshot(owner.memory)
    pause(owner)
    owner.append([entry("ann", "r1", seats("A-1"))])
    owner.loop.turn()
    after = snapshot(owner.memory)
    changed = {slot for slot in before if before[slot] != after[slot]}
    assert changed == {"policy", "batch_no", "batch_time"}


def test_facts_of_a_pause_are_consumed_while_it_lasts(owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    pause(owner)
    owner.poke()
    owner.loop.turn()
    owner.release("ann")
    owner.poke()
    owner.loop.turn()
    assert owner.memory.hold_of[0] == 0
    assert owner.query("SELECT * FROM fact") == []


def test_a_hold_that_ran_at_the_pause_has_its_time_back_in_the_table_and_in_memory(owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    pause(owner)
    owner.poke()
    owner.loop.turn()
    before = owner.memory.next_expiry()
    owner.query_nothing("UPDATE event SET paused_at = paused_at - interval '1 hour'")  # it lasted an hour
    owner.reload()
    resume(owner)
    after = owner.memory.next_expiry()
    assert before is not None
    assert after is not None
    assert after - before >= 3_600_000_000
    assert owner.query("SELECT (extract(epoch FROM expires_at) * 1000000)::bigint FROM hold") == [(after,)]
    owner.reload()
    assert owner.memory.next_expiry() == after


def test_a_hold_that_ran_out_just_before_the_pause_is_over_and_one_just_after_it_is_not(owner):
    owner.ask(entry("ann", "r1", seats("A-1")), entry("bob", "r1", seats("A-2")))
    pause(owner)
    for buyer, after_us in (("ann", 0), ("bob", 1)):
        owner.query_nothing(
            "UPDATE hold SET expires_at = (SELECT paused_at FROM event) + %s * interval '1 microsecond'"
            " WHERE buyer = %s",
            after_us,
            buyer,
        )
    owner.reload()
    owner.poke()
    owner.loop.turn()
    assert sorted(owner.query("SELECT buyer, state FROM hold")) == [("ann", "expired"), ("bob", "active")]


def test_an_owner_that_takes_over_in_a_pause_waits_and_then_decides(owner, redis_url):
    pause(owner)
    owner.append([entry("ann", "r1", seats("A-1"))])
    owner.loop.turn()
    owner.close()
    heir = Owner(owner.database_url, redis_url, owner.event_id)
    assert heir.memory.policy.state is EventState.PAUSED
    heir.loop.turn()
    assert requests(heir) == []
    resume(heir)
    heir.loop.turn()
    assert requests(heir) == [("ann", "held")]
    heir.close()


def test_closing_out_of_a_pause_answers_who_waited_and_gives_holds_their_time_back(owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    pause(owner)
    owner.append([entry("bob", "r1", seats("A-2"))])
    owner.loop.turn()
    before = owner.memory.next_expiry()
    change_event(owner.database_url, EventState.CLOSED)
    owner.poke()
    owner.loop.turn()
    owner.loop.turn()
    assert requests(owner) == [("ann", "held"), ("bob", "closed")]
    assert before is not None
    assert (owner.memory.next_expiry() or 0) > before
