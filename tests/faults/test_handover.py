"""Events go from one allocator to another by plan; whatever happens in between, nothing is lost by it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from store.settings import EngineUrls
from tests.faults.handing import Pair
from tests.faults.proxy import CuttingProxy

pytestmark = pytest.mark.faults


@pytest.fixture
def ways(engine_urls: EngineUrls) -> Iterator[tuple[CuttingProxy, CuttingProxy]]:
    """From the allocators to Postgres and to the stream."""
    with (
        CuttingProxy.before(engine_urls.database_url) as postgres,
        CuttingProxy.before(engine_urls.redis_url) as valkey,
    ):
        yield postgres, valkey


@pytest.fixture
def pair(engine_urls: EngineUrls, ways: tuple[CuttingProxy, CuttingProxy], tmp_path: Path) -> Iterator[Pair]:
    """Of events with 40 decided requests each."""
    postgres, valkey = ways
    by_way_of = EngineUrls(postgres.url(engine_urls.database_url), valkey.url(engine_urls.redis_url))
    with Pair(engine_urls, tmp_path, by_way_of) as made:
        made.ask(40)
        made.wait_decided(40)
        made.wait_warm("two")
        yield made


def test_an_event_goes_back_and_forth_under_load_and_each_request_is_decided_once_in_its_order(pair):
    names = {"one": pair.one, "two": pair.two}
    asked = 40
    for giver, taker in (("one", "two"), ("two", "one"), ("one", "two")):
        pair.wait_warm(taker)
        pair.move(giver, taker)
        while not pair.owned_by(names[taker]):
            pair.ask(20)
            asked += 20
            pair.wait_decided(asked - 20)
        pair.ask(20)
        asked += 20
    pair.wait_decided(asked)
    assert pair.owners() == [4, 4], "nobody else took it meanwhile"
    pair.check()


def test_who_is_not_warm_is_given_nothing(pair):
    pair.move("one", "two", warm=False)
    asked = 40
    for _ in range(20):
        pair.ask(10)
        asked += 10
        pair.wait_decided(asked)
        pair.own_thread.listening.get_message(timeout=0.1)
    assert pair.owned_by(pair.one)
    pair.check()


def test_a_successor_that_dies_just_before_it_takes_leaves_the_event_to_who_gave_it_back(pair):
    pair.tell("two", preferred=True)
    pair.two.send(signal.SIGSTOP)
    pair.tell("one", preferred=False, successor_warm=True)
    pair.wait_given_back()
    pair.ask(40)
    pair.two.send(signal.SIGKILL)
    pair.wait_decided(80)
    assert pair.owned_by(pair.one)
    pair.ask(40)
    pair.wait_decided(120)
    assert pair.owners() == [2, 2], "and it is not given back again and again to somebody who is dead"
    pair.check()


def test_an_owner_that_is_killed_while_it_hands_over_costs_no_request(pair):
    pair.move("one", "two")
    pair.two.send(signal.SIGSTOP)
    pair.wait_given_back()
    pair.one.send(signal.SIGKILL)
    pair.ask(40)
    pair.two.send(signal.SIGCONT)
    pair.wait_decided(80)
    assert pair.owned_by(pair.two)
    pair.check()


def test_a_third_one_leaves_the_event_to_who_is_preferred_and_takes_it_where_that_one_does_not(pair):
    three = pair.start("three", preferred=False)
    pair.wait_warm("three")
    pair.move("one", "two")
    pair.wait_owner(pair.two)
    pair.tell("two", preferred=True)
    pair.ask(40)
    pair.wait_decided(80)
    assert pair.owners() == [2, 2]
    pair.one.send(signal.SIGKILL)
    pair.two.send(signal.SIGKILL)
    pair.ask(40)
    pair.wait_decided(120)
    assert pair.owned_by(three)
    pair.check()


@pytest.mark.parametrize("engine", ["postgres", "valkey"])
def test_a_handover_while_an_engine_is_away_costs_no_request(pair, ways, engine):
    way = ways[engine == "valkey"]
    pair.tell("two", preferred=True)
    way.refuse()
    way.cut()
    pair.tell("one", preferred=False, successor_warm=True)
    pair.ask(40)
    if engine == "valkey":  # it can be given back, and be taken
        pair.wait_owner(pair.two)
    way.heal()
    pair.wait_decided(80)
    pair.wait_owner(pair.two)
    pair.ask(40)
    pair.wait_decided(120)
    pair.check()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_an_owner_that_is_killed_or_stopped_under_load_is_relieved(pair, how):
    for _ in range(5):
        pair.ask(20)
    pair.one.send(how)
    for _ in range(5):
        pair.ask(20)
    pair.wait_decided(240)
    assert pair.owned_by(pair.two)
    pair.one.send(signal.SIGCONT)
    pair.ask(20)
    pair.wait_decided(260)
    pair.check()
