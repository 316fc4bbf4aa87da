"""A seat map that is wrong is read anew as soon as somebody says what it is; one that is right is let be."""

from __future__ import annotations

import asyncio

import pytest

from gateway import compared
from gateway.compared import Compared
from gateway.gate import Seats
from gateway.watch import Watch
from store.wire import Delta, decode_delta, encode_delta, map_digest, seats_channel
from tests.gateway.rig import EVENT, StandIn, gateway, make_event, scenario, until
from tests.store.test_holds import PLAN


class Map:
    """A gateway's map after batch 5, and how often it was read anew."""

    def __init__(self) -> None:
        self.seats = Seats(PLAN)
        self.watch = Watch(self.seats)
        self.watch.batch_no = 5
        self.reloading = False
        self.reloads = 0
        self.compared = Compared("gig", self.seats, self.watch, lambda: self.reloading, self._reload)

    def _reload(self) -> None:
        self.reloads += 1

    @property
    def digest(self) -> int:
        return map_digest(self.seats.letters, self.seats.areas_free)


@pytest.fixture
def known(monkeypatch):
    monkeypatch.setattr(compared, "HEARD_SECONDS", 0.01)
    return Map()


def test_a_map_that_is_right_is_let_be(known):
    known.compared.told(5, known.digest)
    assert (known.reloads, known.compared.repaired) == (0, 0)


@pytest.mark.parametrize("of", ["seats", "areas"])
def test_a_map_that_is_wrong_is_read_anew(known, of):
    right = known.digest
    if of == "seats":
        known.seats.letters[0] = ord("s")
    else:
        known.seats.areas_free[0] += 1
    known.compared.told(5, right)
    assert (known.reloads, known.compared.repaired) == (1, 1)


def test_what_is_said_of_an_older_map_says_nothing(known):
    known.compared.told(4, known.digest + 1)
    assert known.reloads == 0


def test_a_map_that_is_being_read_is_not_read_again(known):
    known.reloading = True
    known.compared.told(5, known.digest + 1)
    assert known.reloads == 0


def test_a_batch_that_was_never_heard_of_is_read(known):
    async def hear() -> None:
        known.compared.told(6, 0)
        assert known.reloads == 0
        await asyncio.sleep(0.05)

    asyncio.run(hear())
    assert known.reloads == 1


@pytest.mark.parametrize("meanwhile", ["heard", "read", "stopped"])
def test_a_batch_that_is_heard_of_in_time_is_not_read(known, meanwhile):
    async def hear() -> None:
        known.compared.told(6, 0)
        if meanwhile == "heard":
            known.watch.batch_no = 6
        elif meanwhile == "read":
            known.reloading = True
        else:
            known.compared.stop()
        await asyncio.sleep(0.05)

    asyncio.run(hear())
    assert known.reloads == 0


def test_a_gateway_that_does_not_know_what_it_is_told_reads_the_map():
    told = encode_delta(Delta(0, 0, [], [], [], [], map_is=(7, 1)))
    assert decode_delta(told).batch_no == 0
    assert decode_delta(told).map_is == (7, 1)


@scenario
async def test_a_wrong_map_is_repaired_by_what_is_published(engine_urls, database_url):
    number = make_event(database_url)
    async with gateway(engine_urls) as served, StandIn(engine_urls, number) as allocator, served.socket():
        [event] = served.runtime.events.loaded()
        await until(lambda: event.following)
        right = map_digest(event.seats.letters, event.seats.areas_free)
        event.seats.letters[0] = ord("s")
        told = encode_delta(Delta(0, 0, [], [], [], [], map_is=(event.watch.batch_no, right)))
        await allocator.redis.publish(seats_channel(EVENT), told)
        await until(lambda: event.seats.letters[0] == ord("a"))
        assert event.compared.repaired == 1
