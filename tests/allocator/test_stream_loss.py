"""The stream can be lost whole: nothing decided goes with it, and who asks again keeps the place (law 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from allocator import loop as loops
from store.errors import StreamUnavailable
from store.stream.port import RawEntry
from store.wire import STREAM_LOST, arrival_order, decode_delta, seats_channel, stream_key
from store.words import Arrival
from tests.allocator.house import SLUG, Owner, best, check_laws, entry, owner_of, seats

FAR_AHEAD = "99999999999999-7"


@pytest.fixture
def owner(database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Owner]:
    monkeypatch.setattr(loops, "GATHER_SECONDS", 0.02)
    with owner_of(database_url, redis_url) as made:
        yield made
        check_laws(database_url, made.event_id)


def requests(owner: Owner) -> list[tuple[str, str, str]]:
    """(arrival, buyer, outcome) of every request in the ledger, in order."""
    return [(row[2], row[3], row[4]) for row in owner.ledger() if row[1] == "request"]


def test_a_lost_stream_is_made_anew_above_the_cursor(owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.lose_all_of_redis()
    owner.loop.attend()
    [arrival] = owner.append([entry("bob", "r1", seats("A-1"))])
    assert arrival_order(arrival) > arrival_order(owner.loop.cursor.arrival)
    owner.loop.turn()
    assert [row[1:] for row in requests(owner)] == [("ann", "held"), ("bob", "taken")]


def test_what_the_stream_lost_and_is_asked_again_goes_before_what_came_later(owner):
    [lost] = owner.append([entry("ann", "r1", seats("A-1"))])
    owner.lose_all_of_redis()
    owner.loop.attend()
    owner.append([entry("new", "r1", seats("A-1"))])
    owner.append([entry("ann", "r1", seats("A-1"), first_arrival=lost)])
    owner.loop.turn()
    assert [row[1:] for row in requests(owner)] == [("ann", "held"), ("new", "taken")]
    assert requests(owner)[0][0] == lost
    assert owner.loop.gathered == 1


def test_while_the_allocator_gathers_every_gateway_is_told_to_ask_again(owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    with owner.redis.pubsub() as heard:
        heard.subscribe(seats_channel(SLUG))
        heard.get_message(timeout=30)
        owner.redis.delete(stream_key(SLUG))
        owner.loop.attend()
        owner.append([entry("new", "r1", seats("A-2"))])
        owner.loop.turn()
        told = [decode_delta(heard.get_message(timeout=30)["data"]) for _ in range(2)]
    assert [(delta.batch_no, delta.state) for delta in told] == [(0, STREAM_LOST), (3, "")]


class LateAskers:
    """The stream, but while the allocator gathers somebody asks again what was lost."""

    def __init__(self, owner: Owner, late: Sequence[bytes]) -> None:
        self._owner, self._late, self._reads = owner, list(late), 0
        self._real = owner.arrivals.read

    def read(self, after: Arrival, *, count_max: int, block_ms: int) -> list[RawEntry]:
        self._reads += 1
        if self._reads == 2:
            self._owner.append(self._late)
        return self._real(after, count_max=count_max, block_ms=min(block_ms, 5))


def test_nothing_is_decided_before_gateways_could_be_told_that_the_stream_was_lost(owner, monkeypatch):
    """Who is not told asks again a second or two later, behind those who came after the loss."""
    [lost] = owner.append([entry("ann", "r1", seats("A-1"))])
    owner.lose_all_of_redis()
    owner.loop.attend()
    owner.append([entry("new", "r1", seats("A-1"))])

    def unreachable(*_: object, **__: object) -> bool:
        raise StreamUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(owner.loop._arrivals, "publish", unreachable)
        with pytest.raises(StreamUnavailable):
            owner.loop.turn()
    assert requests(owner) == []
    owner.append([entry("ann", "r1", seats("A-1"), first_arrival=lost)])
    owner.loop.turn()
    assert [row[1:] for row in requests(owner)] == [("ann", "held"), ("new", "taken")]


def test_who_asks_again_while_the_allocator_gathers_still_goes_first(owner, monkeypatch):
    [lost] = owner.append([entry("ann", "r1", seats("A-1"))])
    owner.lose_all_of_redis()
    owner.loop.attend()
    owner.append([entry("new", "r1", seats("A-1"))])
    late = LateAskers(owner, [entry("ann", "r1", seats("A-1"), first_arrival=lost)])
    monkeypatch.setattr(loops, "GATHER_SECONDS", 0.3)
    monkeypatch.setattr(owner.arrivals, "read", late.read)
    owner.loop.turn()
    assert [row[1:] for row in requests(owner)] == [("ann", "held"), ("new", "taken")]


def test_more_than_a_batch_that_was_lost_is_decided_in_its_order_before_anything_newer(
    database_url, redis_url, monkeypatch
):
    with owner_of(database_url, redis_url) as owner:
        monkeypatch.setattr(loops, "GATHER_SECONDS", 0.1)
        owner.loop._batch_size_max = 4
        lost = owner.append([entry(f"b{n}", "r1", best(1)) for n in range(10)])
        owner.lose_all_of_redis()
        owner.loop.attend()
        owner.append([entry("new", "r1", best(1))])
        again = [entry(f"b{n}", "r1", best(1), first_arrival=lost[n]) for n in (7, 3, 9, 0, 5, 1, 8, 2, 6, 4)]
        owner.append(again)
        owner.loop.turn()
        assert [row[0] for row in requests(owner)][:10] == lost
        assert requests(owner)[10][1] == "new"
        check_laws(database_url, owner.event_id)


def test_what_was_decided_before_the_loss_is_answered_as_it_was(owner):
    asked = entry("ann", "r1", seats("A-1"))
    [answer] = owner.ask(asked)
    rows = owner.ledger()
    owner.lose_all_of_redis()
    owner.loop.attend()
    assert owner.ask(entry("ann", "r1", seats("A-1"), first_arrival=rows[-1][2])) == [answer]
    assert owner.ledger() == rows


def test_entries_behind_the_cursor_are_appended_again_and_decided_once_under_their_arrival(owner):
    """As after a server came back with an older file, or its clock went backwards."""
    decided = entry("old", "r1", seats("A-9"))
    owner.ask(decided)
    key = stream_key(SLUG)
    owner.redis.delete(key)
    owner.redis.xadd(key, {b"r": entry("ann", "r1", seats("A-1"))}, id="5-1")
    owner.redis.xadd(key, {b"r": decided}, id="5-2")
    owner.redis.xadd(key, {b"r": entry("bob", "r1", seats("A-1"))}, id="5-3")
    rows = len(requests(owner))
    owner.loop.attend()
    assert owner.loop.reappended == 2
    owner.loop.turn()
    assert requests(owner)[rows:] == [("5-1", "ann", "held"), ("5-3", "bob", "taken")]
    owner.loop.attend()
    assert owner.loop.reappended == 2
    assert len(requests(owner)) == rows + 2


def test_a_server_whose_clock_is_behind_the_cursor_gives_ids_that_are_read(owner):
    owner.query_nothing("UPDATE event_cursor SET arrival = %s", FAR_AHEAD)
    owner.reload()
    [behind] = owner.append([entry("ann", "r1", seats("A-1"))])
    assert arrival_order(behind) < arrival_order(FAR_AHEAD)
    owner.loop.attend()
    owner.append([entry("bob", "r1", seats("A-1"))])
    owner.loop.turn()
    assert requests(owner)[0] == (behind, "ann", "held")
    assert requests(owner)[1][1:] == ("bob", "taken")
    assert arrival_order(requests(owner)[1][0]) > arrival_order(FAR_AHEAD)


def test_asked_again_by_its_gateway_and_found_behind_the_cursor_it_is_decided_once(owner):
    key = stream_key(SLUG)
    owner.redis.delete(key)
    owner.redis.xadd(key, {b"r": entry("ann", "r1", seats("A-1"))}, id="5-1")
    owner.loop.attend()
    owner.append([entry("ann", "r1", seats("A-1"), first_arrival="5-1", gateway="g2")])
    owner.loop.turn()
    assert requests(owner) == [("5-1", "ann", "held")]


def test_attending_to_a_stream_that_is_well_changes_nothing(owner):
    owner.loop.attend()
    owner.append([entry("ann", "r1", seats("A-1"))])
    before = owner.redis.xrange(stream_key(SLUG))
    owner.loop.attend()
    assert owner.redis.xrange(stream_key(SLUG)) == before
    assert (owner.loop.reappended, owner.loop.gathered) == (0, 0)
    owner.loop.turn()


def test_a_first_batch_gathers_nothing(database_url, redis_url):
    with owner_of(database_url, redis_url) as owner:
        assert owner.loop.gathered == 0


def test_a_tick_forgets_nothing_that_has_yet_to_be_appended_again(owner):
    """As when the stream came back while the allocator was busy with a payment."""
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.release("ann")
    owner.redis.delete(stream_key(SLUG))
    owner.redis.xadd(stream_key(SLUG), {b"r": entry("bob", "r1", seats("A-2"))}, id="5-1")
    owner.loop.tick()
    owner.loop.attend()
    owner.loop.turn()
    assert requests(owner)[-1] == ("5-1", "bob", "held")


def test_a_conflict_asked_again_by_its_gateway_is_in_the_ledger_once(owner):
    owner.append([entry("ann", "r1", seats("A-1"))])
    [conflict] = owner.append([entry("ann", "r1", seats("A-2"))])
    owner.loop.turn()
    owner.append([entry("ann", "r1", seats("A-2"), first_arrival=conflict)])
    owner.loop.turn()
    assert [row for row in requests(owner) if row[0] == conflict] == [(conflict, "ann", "conflict")]
