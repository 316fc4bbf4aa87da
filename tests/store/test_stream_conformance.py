"""What onsale needs of a stream, held against every carrier: Valkey by RESP2 and RESP3, and fakeredis.

The replies that get lost are cut by a proxy before the real server, so those tests have no fakeredis.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from typing import Any, TypeVar

import fakeredis
import pytest
import redis
import redis.asyncio

from store.errors import OutcomeUnknown, StreamMissing, StreamUnavailable
from store.stream.port import CREATED, POKE, REQUEST, Arrivals, Intake, Pieces, RawEntry
from store.stream.redis_stream import RedisArrivals, RedisIntake, connect, connect_async
from store.stream.wake import undecided, wake
from store.wire import arrival_after, arrival_order, seats_channel, stream_key
from store.words import Arrival
from tests.faults.proxy import DOWN, UP, CuttingProxy

T = TypeVar("T")
START = Arrival("0-0")
EVENT = f"stream-{os.getpid()}"
"""Channels are the whole server's: each process that runs tests has its own."""
FAR_AHEAD = Arrival("99999999999999-7")


class Carrier:
    """One server of streams, with clients for both sides."""

    def __init__(
        self, sync: Callable[[], redis.Redis], asynchronous: Callable[[], redis.asyncio.Redis], event: str
    ) -> None:
        self.event = event
        self._async = asynchronous
        self.plain = sync()
        self._client = sync()
        self.arrivals: Arrivals = RedisArrivals(self._client, event)
        self.pieces: Pieces = RedisArrivals(self._client, event)

    def intake(self, use: Callable[[Intake], Awaitable[T]]) -> T:
        """Runs `use` with an intake of its own, in an event loop of its own."""

        async def run() -> T:
            client = self._async()
            try:
                return await use(RedisIntake(client, self.event))
            finally:
                await client.aclose()

        return asyncio.run(run())

    def append(self, *values: bytes) -> list[Arrival]:
        return self.intake(lambda intake: intake.append(values))

    def read(self, after: Arrival = START, count_max: int = 100) -> list[RawEntry]:
        return self.arrivals.read(after, count_max=count_max, block_ms=0)

    def requests(self, after: Arrival = START) -> list[bytes]:
        return [fields[1] for _, fields in self.read(after) if fields[0] == REQUEST]

    def last(self) -> Arrival | None:
        return self.intake(lambda intake: intake.last_arrival())

    def exists(self) -> bool:
        return bool(self.plain.exists(stream_key(self.event)))

    def close(self) -> None:
        self.plain.close()
        self._client.close()


@pytest.fixture(params=["valkey-resp2", "valkey-resp3", "fakeredis"])
def carrier(request: pytest.FixtureRequest) -> Iterator[Carrier]:
    if request.param == "fakeredis":
        server = fakeredis.FakeServer()
        made = Carrier(
            lambda: fakeredis.FakeRedis(server=server),
            lambda: fakeredis.FakeAsyncRedis(server=server),
            EVENT,
        )
    else:
        url = f"{request.getfixturevalue('redis_url')}?protocol={request.param[-1]}"
        made = Carrier(lambda: connect(url), lambda: connect_async(url), EVENT)
    with closing(made):
        yield made


def test_entries_come_back_in_the_order_they_were_appended(carrier):
    carrier.arrivals.ensure_above(START)
    first, second = carrier.append(b"one", b"two"), carrier.append(b"three")
    assert carrier.requests() == [b"one", b"two", b"three"]
    marker, *entries = [(identifier, list(fields)) for identifier, fields in carrier.read()]
    assert marker[1] == [CREATED, b"1"]
    assert entries == [
        (arrival.encode(), [REQUEST, value])
        for arrival, value in zip([*first, *second], (b"one", b"two", b"three"), strict=True)
    ]
    orders = [arrival_order(arrival) for arrival in [*first, *second]]
    assert orders == sorted(set(orders))


def test_a_group_is_appended_whole_and_one_after_the_other(carrier):
    carrier.arrivals.ensure_above(START)
    values = [b"%d" % n for n in range(300)]
    assert len(set(carrier.append(*values))) == 300
    assert [fields[1] for _, fields in carrier.read(count_max=400) if fields[0] == REQUEST] == values


def standing(arrival: Arrival, value: bytes) -> RawEntry:
    return arrival.encode(), [REQUEST, value]


def test_a_piece_is_appended_whole_behind_the_one_before_it_while_that_is_there(carrier):
    carrier.arrivals.ensure_above(START)
    [_, last] = carrier.pieces.append([b"one", b"two"])
    assert carrier.pieces.append_behind(standing(last, b"two"), []) == []
    given = carrier.pieces.append_behind(standing(last, b"two"), [b"three", b"four"])
    assert [arrival_order(arrival) for arrival in given] == sorted(map(arrival_order, given))
    assert carrier.requests() == [b"one", b"two", b"three", b"four"]


def test_behind_a_piece_that_is_gone_nothing_is_appended(carrier):
    """Trimmed, lost, or something else at its id: a marker, and what a late clock gave the same one."""
    carrier.arrivals.ensure_above(START)
    [one, two] = carrier.pieces.append([b"one", b"two"])
    assert carrier.pieces.append_behind(standing(two, b"another"), [b"three"]) is None
    assert carrier.arrivals.trim_through(two)
    assert carrier.pieces.append_behind(standing(two, b"two"), [b"three"]) is None
    assert carrier.requests() == []
    carrier.plain.delete(stream_key(carrier.event))
    assert carrier.pieces.append_behind(standing(two, b"two"), [b"three"]) is None
    assert not carrier.exists()
    carrier.plain.xadd(stream_key(carrier.event), {CREATED: b"two"}, id=two)
    assert carrier.pieces.append_behind(standing(two, b"two"), [b"three"]) is None
    assert arrival_order(one) < arrival_order(two)
    assert carrier.requests() == []


def test_any_bytes_survive(carrier):
    carrier.arrivals.ensure_above(START)
    odd = [b"", b"\x00\xff\r\n", b"*3\r\n$3\r\n", "Ünï".encode(), b"x" * 100_000]
    carrier.append(*odd)
    assert carrier.requests() == odd


def test_a_missing_stream_refuses_every_entry_and_is_not_created_by_an_append_or_a_poke(carrier):
    with pytest.raises(StreamMissing):
        carrier.append(b"one", b"two")
    with pytest.raises(StreamMissing):
        carrier.arrivals.append([b"one"])
    carrier.intake(lambda intake: intake.poke())
    carrier.arrivals.trim_through(Arrival("5-5"))
    assert carrier.last() is None
    assert carrier.read() == []
    assert carrier.arrivals.below(FAR_AHEAD, count_max=10) == []
    assert not carrier.exists()


def test_a_stream_lost_while_a_gateway_is_connected_refuses_instead_of_beginning_anew(carrier):
    carrier.arrivals.ensure_above(START)

    async def lose(intake: Intake) -> None:
        await intake.append([b"one"])
        carrier.plain.delete(stream_key(carrier.event))
        with pytest.raises(StreamMissing):
            await intake.append([b"two"])

    carrier.intake(lose)
    assert not carrier.exists()


def test_a_server_that_forgot_its_scripts_is_told_again(carrier):
    carrier.arrivals.ensure_above(START)

    async def forget(intake: Intake) -> None:
        await intake.append([b"one"])
        carrier.plain.script_flush()
        await intake.append([b"two"])

    carrier.intake(forget)
    assert carrier.requests() == [b"one", b"two"]


def test_creating_puts_a_marker_just_above_the_cursor_and_new_ids_are_above_it(carrier):
    carrier.intake(lambda intake: intake.create(FAR_AHEAD))
    assert carrier.last() == arrival_after(FAR_AHEAD)
    [(_, fields)] = carrier.read(FAR_AHEAD)
    assert fields == [CREATED, b"1"]
    [arrival] = carrier.append(b"one")
    assert arrival_order(arrival) > arrival_order(arrival_after(FAR_AHEAD))
    assert carrier.requests(FAR_AHEAD) == [b"one"]


def test_a_second_create_of_another_gateway_or_of_the_allocator_changes_nothing(carrier):
    carrier.intake(lambda intake: intake.create(FAR_AHEAD))
    carrier.append(b"one")
    before = carrier.read()
    carrier.intake(lambda intake: intake.create(FAR_AHEAD))
    assert carrier.arrivals.ensure_above(FAR_AHEAD) is False
    assert carrier.read() == before


def test_a_missing_stream_is_made_above_the_cursor_with_a_marker(carrier):
    assert carrier.arrivals.ensure_above(FAR_AHEAD) is True
    assert [fields for _, fields in carrier.read(FAR_AHEAD)] == [[CREATED, b"1"]]
    assert carrier.arrivals.ensure_above(FAR_AHEAD) is False


def test_a_stream_behind_the_cursor_is_moved_forward_and_keeps_what_it_has(carrier):
    carrier.arrivals.ensure_above(START)
    [old] = carrier.append(b"old")
    assert carrier.arrivals.ensure_above(FAR_AHEAD) is True
    [new] = carrier.append(b"new")
    assert arrival_order(new) > arrival_order(FAR_AHEAD) > arrival_order(old)
    assert carrier.requests() == [b"old", b"new"]
    assert [fields[0] for _, fields in carrier.read(FAR_AHEAD)] == [CREATED, REQUEST]


def test_a_trimmed_stream_still_knows_its_last_id(carrier):
    carrier.arrivals.ensure_above(FAR_AHEAD)
    [last] = carrier.append(b"one")
    carrier.arrivals.trim_through(last)
    assert carrier.read() == []
    assert carrier.last() == last
    assert carrier.arrivals.ensure_above(last) is False
    [after] = carrier.append(b"two")
    assert arrival_order(after) > arrival_order(last)


def test_below_is_the_oldest_up_to_and_including_the_cursor(carrier):
    carrier.arrivals.ensure_above(START)
    ids = carrier.append(b"one", b"two", b"three")
    oldest = carrier.arrivals.below(ids[1], count_max=2)
    assert [fields[1] for _, fields in oldest] == [b"1", b"one"]  # the marker's value is 1
    assert [fields[1] for _, fields in carrier.arrivals.below(ids[1], count_max=9)] == [b"1", b"one", b"two"]


def test_trimming_forgets_what_is_through_and_leaves_what_is_above(carrier):
    carrier.arrivals.ensure_above(START)
    ids = carrier.append(b"one", b"two", b"three")
    assert carrier.arrivals.trim_through(ids[1]) is True
    assert carrier.requests() == [b"three"]
    assert carrier.arrivals.trim_through(ids[0]) is False
    assert carrier.requests() == [b"three"]


def trim(carrier: Carrier, through: Arrival, after: Arrival) -> bool:
    return carrier.arrivals.trim_through(through, after=after)


def publish(carrier: Carrier, through: Arrival, after: Arrival) -> bool:
    return carrier.arrivals.publish([("channel", b"m")], trim_through=through, after=after)


@pytest.mark.parametrize("forget", [trim, publish])
def test_what_was_read_is_forgotten_only_while_the_stream_is_the_one_that_was_read(carrier, forget):
    carrier.arrivals.ensure_above(START)
    one, two, three = carrier.append(b"one", b"two", b"three")
    assert forget(carrier, two, one) is False, "something is where reading began"
    assert forget(carrier, FAR_AHEAD, START) is False, "what was read last is gone"
    assert carrier.requests() == [b"one", b"two", b"three"]
    assert forget(carrier, one, START) is True
    assert forget(carrier, three, one) is True
    assert carrier.requests() == []


def test_what_was_appended_again_is_forgotten_only_while_that_is_there(carrier):
    carrier.arrivals.ensure_above(START)
    one, two = carrier.append(b"one", b"two")
    assert carrier.arrivals.trim_through(one, seen=[one, FAR_AHEAD]) is False
    assert carrier.requests() == [b"one", b"two"]
    assert carrier.arrivals.trim_through(one, seen=[one, two]) is True
    assert carrier.requests() == [b"two"]


def test_publishing_alone_trims_nothing_and_says_nothing_of_it(carrier):
    carrier.arrivals.ensure_above(START)
    carrier.append(b"one")
    assert carrier.arrivals.publish([("channel", b"m")]) is True
    assert carrier.requests() == [b"one"]


def test_reading_is_bounded_and_goes_on_from_where_it_stopped(carrier):
    carrier.arrivals.ensure_above(START)
    carrier.append(*[b"%d" % n for n in range(5)])
    seen: list[bytes] = []
    after = START
    while entries := carrier.read(after, count_max=2):
        assert len(entries) <= 2
        seen += [fields[1] for _, fields in entries if fields[0] == REQUEST]
        after = Arrival(entries[-1][0].decode())
    assert seen == [b"0", b"1", b"2", b"3", b"4"]


def test_the_allocator_appends_in_order_too(carrier):
    carrier.arrivals.ensure_above(START)
    ids = carrier.arrivals.append([b"one", b"two"])
    assert carrier.requests() == [b"one", b"two"]
    assert [arrival.encode() for arrival in ids] == [identifier for identifier, _ in carrier.read()[1:]]


def test_a_poke_wakes_a_reader_that_waits(carrier):
    carrier.arrivals.ensure_above(START)
    after = carrier.last()
    assert after is not None
    got: list[RawEntry] = []
    reading = threading.Thread(
        target=lambda: got.extend(carrier.arrivals.read(after, count_max=9, block_ms=2000))
    )
    reading.start()
    carrier.intake(lambda intake: intake.poke())
    reading.join(timeout=60)
    assert [fields for _, fields in got] == [[POKE, b"1"]]


def test_waiting_in_vain_gives_nothing(carrier):
    carrier.arrivals.ensure_above(START)
    after = carrier.last()
    assert after is not None
    assert carrier.arrivals.read(after, count_max=9, block_ms=1) == []


def test_a_wait_longer_than_the_socket_timeout_is_a_mistake(carrier):
    with pytest.raises(AssertionError):
        carrier.arrivals.read(START, count_max=1, block_ms=5000)


def test_messages_reach_the_subscribers_of_their_channel_in_order(carrier):
    with closing(carrier.plain.pubsub(ignore_subscribe_messages=True)) as listening:
        listening.subscribe(seats_channel(EVENT))
        assert listening.get_message(timeout=30) is None  # the confirmation
        carrier.arrivals.publish(
            [(seats_channel(EVENT), b"\x00one"), ("elsewhere", b"x"), (seats_channel(EVENT), b"two")]
        )
        heard = [listening.get_message(timeout=30) for _ in range(2)]
        assert [message and message["data"] for message in heard] == [b"\x00one", b"two"]


def test_events_do_not_see_each_others_entries(carrier):
    carrier.arrivals.ensure_above(START)
    carrier.append(b"one")
    other = RedisArrivals(carrier.plain, "other")
    assert other.read(START, count_max=9, block_ms=0) == []
    other.ensure_above(START)
    other.append([b"elsewhere"])
    assert carrier.requests() == [b"one"]


class Cut:
    """The real server, directly and by way of a proxy."""

    def __init__(self, redis_url: str, proxy: CuttingProxy) -> None:
        self.proxy = proxy
        self.url = proxy.url(redis_url)
        self.direct = Carrier(lambda: connect(redis_url), lambda: connect_async(redis_url), EVENT)

    def intake(self, use: Callable[[Intake], Awaitable[T]]) -> T:
        async def run() -> T:
            client = connect_async(self.url)
            try:
                return await use(RedisIntake(client, EVENT))
            finally:
                await client.aclose()

        return asyncio.run(run())


@pytest.fixture
def cut(redis_url: str) -> Iterator[Cut]:
    with CuttingProxy.before(redis_url) as proxy:
        made = Cut(redis_url, proxy)
        with closing(made.direct):
            made.direct.arrivals.ensure_above(START)
            yield made


async def _append_with(intake: Intake, spoil: Callable[[], None]) -> None:
    await intake.append([b"before"])
    spoil()
    with pytest.raises(OutcomeUnknown):
        await intake.append([b"lost-1", b"lost-2"])
    await intake.append([b"after"])


@pytest.mark.faults
def test_an_append_whose_reply_is_lost_is_unknown_and_is_in_the_stream_once(cut):
    cut.intake(lambda intake: _append_with(intake, lambda: cut.proxy.cut_reply_to(b"lost-1")))
    assert cut.direct.requests() == [b"before", b"lost-1", b"lost-2", b"after"]


@pytest.mark.faults
def test_an_append_whose_reply_is_cut_in_the_middle_is_unknown(cut):
    cut.intake(lambda intake: _append_with(intake, lambda: cut.proxy.cut_after(DOWN, 7)))
    assert cut.direct.requests() == [b"before", b"lost-1", b"lost-2", b"after"]


@pytest.mark.faults
def test_an_append_that_never_arrives_is_unknown_and_leaves_nothing(cut):
    cut.intake(lambda intake: _append_with(intake, lambda: cut.proxy.cut_before(b"lost-1")))
    assert cut.direct.requests() == [b"before", b"after"]


@pytest.mark.faults
def test_an_append_of_which_a_part_arrives_leaves_nothing(cut):
    cut.intake(lambda intake: _append_with(intake, lambda: cut.proxy.cut_after(UP, 100)))
    assert cut.direct.requests() == [b"before", b"after"]


@pytest.mark.faults
def test_the_allocators_append_whose_reply_is_lost_is_unknown_and_is_in_the_stream_once(cut):
    with closing(connect(cut.url)) as client:
        arrivals = RedisArrivals(client, EVENT)
        arrivals.append([b"before"])
        cut.proxy.cut_reply_to(b"lost")
        with pytest.raises(OutcomeUnknown):
            arrivals.append([b"lost"])
    assert cut.direct.requests() == [b"before", b"lost"]


@pytest.mark.faults
@pytest.mark.parametrize(
    "use",
    [
        lambda a: a.read(START, count_max=1, block_ms=0),
        lambda a: a.ensure_above(START),
        lambda a: a.below(START, count_max=1),
        lambda a: a.trim_through(START),
        lambda a: a.publish([("c", b"m")]),
    ],
    ids=["read", "ensure_above", "below", "trim_through", "publish"],
)
def test_a_server_that_is_away_is_a_stream_that_is_unavailable(cut, use: Callable[[Arrivals], Any]):
    with closing(connect(cut.url)) as client:
        arrivals = RedisArrivals(client, EVENT)
        use(arrivals)
        cut.proxy.refuse()
        cut.proxy.cut()
        with pytest.raises(StreamUnavailable):
            use(arrivals)
        cut.proxy.refuse(False)
        use(arrivals)


def test_anyone_can_wake_an_event_and_see_how_far_it_is_behind(redis_url):
    assert wake(redis_url, EVENT) is False
    with closing(connect(redis_url)) as client:
        arrivals = RedisArrivals(client, EVENT)
        arrivals.ensure_above(START)
        first, _ = arrivals.append([b"one", b"two"])
    assert wake(redis_url, EVENT) is True
    assert undecided(redis_url, EVENT, START) == 2
    assert undecided(redis_url, EVENT, first) == 1
    assert undecided("redis://127.0.0.1:1/0", EVENT, START) is None
    assert wake("redis://127.0.0.1:1/0", EVENT) is False
