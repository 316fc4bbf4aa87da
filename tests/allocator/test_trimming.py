"""Only what was read is trimmed (law 3).

A stream that was lost meanwhile, and whose clock is behind, may hold below it what nobody has read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from allocator import loop as loops
from store.stream.port import RawEntry
from store.wire import arrival_after, stream_key
from store.words import Arrival
from tests.allocator.house import SLUG, Owner, check_laws, entry, owner_of, seats

KEY = stream_key(SLUG)
FAR_AHEAD = "99999999999999-7"


@pytest.fixture
def owner(database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Owner]:
    monkeypatch.setattr(loops, "GATHER_SECONDS", 0.02)
    with owner_of(database_url, redis_url) as made:
        yield made
        check_laws(database_url, made.event_id)


def come_back_older(owner: Owner, appended: Sequence[tuple[str, str]]) -> None:
    """The stream with none of its entries, and (id, buyer) appended since; its clock is behind."""
    owner.redis.delete(KEY)
    for seat, (arrival, buyer) in enumerate(appended, start=2):
        owner.redis.xadd(KEY, {b"r": entry(buyer, "r1", seats(f"A-{seat}"))}, id=arrival)


def decided(owner: Owner) -> list[tuple[str, str]]:
    """(arrival, buyer) of every request that is decided, in order."""
    return [(row[2], row[3]) for row in owner.ledger() if row[1] == "request"]


def once(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, then: Callable[[], None]) -> None:
    """`then` happens after the next call, once."""
    real = getattr(owner, name)

    def call(*args: Any, **options: Any) -> Any:
        reply = real(*args, **options)
        monkeypatch.setattr(owner, name, real)
        then()
        return reply

    monkeypatch.setattr(owner, name, call)


def test_what_came_below_a_batch_after_it_was_read_is_decided_too(owner, monkeypatch):
    below = arrival_after(owner.loop.cursor.arrival)
    owner.append([entry("zoe", "r1", seats("A-9")), entry("ann", "r1", seats("A-1"))])
    once(monkeypatch, owner.arrivals, "read", lambda: come_back_older(owner, [(below, "bob")]))
    owner.loop.turn()
    assert [buyer for _, buyer in decided(owner)] == ["zoe", "ann"]
    owner.loop.turn()
    assert decided(owner)[2:] == [(below, "bob")]


def test_what_came_below_the_cursor_before_more_was_read_is_decided_too(owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    above = arrival_after(owner.loop.cursor.arrival)
    come_back_older(owner, [("5-1", "bob"), (above, "carl")])
    owner.loop.turn()
    assert decided(owner)[1:] == [(above, "carl")]
    owner.loop.turn()
    assert decided(owner)[2:] == [("5-1", "bob")]


class LostAgain:
    """The stream, lost once more while the allocator gathers; what came since has ids below those read."""

    def __init__(self, owner: Owner, appended: Sequence[tuple[str, str]]) -> None:
        self._owner, self._appended, self._reads = owner, appended, 0
        self._real = owner.arrivals.read

    def read(self, after: Arrival, *, count_max: int, block_ms: int) -> list[RawEntry]:
        self._reads += 1
        if self._reads == 2:
            come_back_older(self._owner, self._appended)
        return self._real(after, count_max=count_max, block_ms=min(block_ms, 5))


def test_what_came_below_what_is_being_gathered_is_decided_too(owner, monkeypatch):
    owner.ask(entry("zoe", "r1", seats("A-9")))
    owner.redis.delete(KEY)
    owner.loop.attend()
    below = arrival_after(arrival_after(owner.loop.cursor.arrival))
    [_, new] = owner.append([entry("yan", "r1", seats("A-8")), entry("ann", "r1", seats("A-1"))])
    above = arrival_after(new)
    lost_again = LostAgain(owner, [(below, "bob"), (above, "carl")])
    monkeypatch.setattr(loops, "GATHER_SECONDS", 0.3)
    monkeypatch.setattr(owner.arrivals, "read", lost_again.read)
    owner.loop.turn()
    assert [buyer for _, buyer in decided(owner)] == ["zoe", "yan", "ann", "carl"]
    owner.loop.turn()
    assert decided(owner)[4:] == [(below, "bob")]


def test_what_was_appended_again_is_trimmed_only_while_that_is_in_the_stream(owner, monkeypatch):
    owner.ask(entry("ann", "r1", seats("A-1")))
    come_back_older(owner, [("5-1", "bob")])

    def lose_what_was_appended_again() -> None:
        come_back_older(owner, [("5-1", "bob")])

    once(monkeypatch, owner.arrivals, "append", lose_what_was_appended_again)
    owner.loop.attend()
    owner.loop.attend()
    owner.loop.turn()
    assert decided(owner)[1:] == [("5-1", "bob")]


def backlog_lost_after_two(owner: Owner, monkeypatch: pytest.MonkeyPatch, then: Callable[[], None]) -> None:
    """Batches of two. The first is decided, the next was read ahead, the stream is gone, and `then`."""
    owner.settle_down()
    owner.loop._batch_size_max = 2
    owner.append([entry(f"b{n}", "r1", seats(f"A-{n + 1}")) for n in range(4)])
    publish = owner.arrivals.publish

    def lose(*args: Any, **options: Any) -> bool:
        monkeypatch.setattr(owner.arrivals, "publish", publish)
        assert owner.loop._ahead.holds(owner.loop.cursor.arrival)
        owner.redis.delete(KEY)
        then()
        return publish(*args, **options)

    monkeypatch.setattr(owner.arrivals, "publish", lose)
    owner.loop.turn()


def test_what_was_read_ahead_is_decided_before_the_stream_is_made_anew(owner, monkeypatch):
    backlog_lost_after_two(owner, monkeypatch, lambda: None)
    new = [entry("new", "r1", seats("A-9"))]
    once(monkeypatch, owner.arrivals, "ensure_above", lambda: owner.append(new))
    owner.loop.turn()
    assert [buyer for _, buyer in decided(owner)] == ["b0", "b1", "b2", "b3"]
    assert owner.redis.exists(KEY) == 0
    owner.loop.turn()
    assert [buyer for _, buyer in decided(owner)][4:] == ["new"]
    assert owner.loop.gathered == 1


def test_nothing_is_read_ahead_of_a_look_below_the_cursor(owner, monkeypatch):
    def somebody_was_quicker() -> None:
        come_back_older(owner, [("5-1", "bob"), (FAR_AHEAD, "carl")])

    backlog_lost_after_two(owner, monkeypatch, somebody_was_quicker)
    owner.loop.turn()
    assert [buyer for _, buyer in decided(owner)] == ["b0", "b1", "b2", "b3"]
    assert not owner.loop._ahead.holds(owner.loop.cursor.arrival)
    owner.loop.turn()
    assert {buyer for _, buyer in decided(owner)[4:]} == {"bob", "carl"}


def test_after_a_batch_that_was_trimmed_nobody_looks_below_it(owner, monkeypatch):
    looked: list[Arrival] = []
    real: Any = owner.arrivals.below

    def below(through: Arrival, *, count_max: int) -> list[RawEntry]:
        looked.append(through)
        found: list[RawEntry] = real(through, count_max=count_max)
        return found

    monkeypatch.setattr(owner.arrivals, "below", below)
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.release("ann")
    owner.loop.tick()
    owner.ask(entry("bob", "r1", seats("A-1")))
    assert owner.redis.xlen(KEY) == 0
    assert looked == []
