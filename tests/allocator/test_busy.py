"""How busy an event is: counted once a batch, told since it was asked before."""

from __future__ import annotations

import fakeredis
import pytest

from allocator.busy import SAMPLES, Busy, LoadWatch, StreamClock
from allocator.decide import Ask
from allocator.wishes import Wish
from store.wire import arrival_order, stream_key
from store.words import Arrival


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def busy(clock: Clock) -> Busy:
    stream = StreamClock()
    stream.asked(clock.now, clock.now, 5_000, 0)
    return Busy(stream, clock)


def asks(*arrived_ms: int) -> list[Ask]:
    return [
        Ask(Arrival(f"{at}-0"), f"b{number}", "r", "null", Wish("unreadable"))
        for number, at in enumerate(arrived_ms)
    ]


def test_what_is_told_is_since_it_was_asked_before(busy, clock):
    busy.batch(asks(4_999_900, 4_999_900), 3)
    busy.undecided = 5
    clock.now += 2
    load = busy.since_last(7, 3, 11)
    assert load[:5] == (7, 3, 11, 2, 1.0)
    assert load.arrived_per_second == 4.0  # three were read, and five more wait
    assert load.undecided == 5
    clock.now += 1
    later = busy.since_last(7, 3, 11)
    assert (later.decided, later.decided_per_second, later.arrived_per_second) == (2, 0.0, 0.0)
    assert (later.latency_ms_p50, later.latency_ms_p99) == (None, None)


def test_an_age_is_by_the_clock_that_gave_the_arrival_and_at_most_a_fifth_too_high(busy):
    for age_ms in [10] * 98 + [4_000] * 2:
        busy.batch(asks(5_000_000 - age_ms), 1)
    load = busy.since_last(1, 1, 1)
    assert load.latency_ms_p50 == pytest.approx(11, abs=1.0)
    assert load.latency_ms_p99 == pytest.approx(4_400, abs=400)


def test_of_a_large_batch_a_few_stand_for_all(busy, monkeypatch):
    looked = []

    def look(arrival: Arrival) -> tuple[int, int]:
        looked.append(arrival)
        return arrival_order(arrival)

    monkeypatch.setattr("allocator.busy.arrival_order", look)
    busy.batch(asks(*[4_999_990] * 4_096), 4_096)
    assert len(looked) <= SAMPLES
    assert sum(busy._ages) == pytest.approx(4_096)


def test_no_age_is_known_before_the_clock_is(clock):
    busy = Busy(StreamClock(), clock)
    busy.batch(asks(1), 1)
    load = busy.since_last(1, 1, 1)
    assert (load.decided, load.latency_ms_p50) == (1, None)


def test_one_round_trip_asks_for_all_events(busy):
    client = fakeredis.FakeRedis()
    for slug, count in (("a", 2), ("b", 3)):
        for _ in range(count):
            client.xadd(stream_key(slug), {b"r": b"1"})
    clock, both = StreamClock(), (Busy(), Busy())
    LoadWatch("", clock, lambda: zip(("a", "b"), both, strict=True)).look(client)
    assert [one.undecided for one in both] == [2, 3]
    assert clock.ahead_us is not None
