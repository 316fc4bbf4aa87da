"""An event goes from one allocator to another by plan; whatever happens in between, nothing is lost by it."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from onsale.engines.child import Child
from store.settings import EngineUrls
from tests.faults.allocating import Sale
from tests.faults.proxy import CuttingProxy

pytestmark = pytest.mark.faults


class Pair:
    """Two allocators that are told what to do: `one` owns the event, `two` is warm."""

    def __init__(self, sale: Sale, shared: bool) -> None:
        self.sale, self.shared = sale, shared
        self.one = self.start("one", preferred=True)
        sale.wait_until(lambda: sale.owned_by(self.one), "the first one owns the event")
        sale.wait_open()
        self.two = self.start("two", preferred=False)
        sale.ask(40)
        sale.wait_decided(40)
        self.wait_warm("two")

    def start(self, name: str, **wish: bool | None) -> Child:
        return self.sale.start_told(name, shared=self.shared, **wish)

    def tell(self, name: str, **wish: bool | None) -> None:
        self.sale.tell(name, shared=self.shared, **wish)

    def wait_warm(self, name: str) -> None:
        """It has followed to the last batch."""
        query = "SELECT batch_no FROM event_cursor"
        sale = self.sale
        sale.wait_until(lambda: (sale.warm(name),) == sale.truth.execute(query).fetchone(), f"{name} is warm")

    def move(self, giver: str, taker: str, *, warm: bool = True) -> None:
        """As a planner does: one is to own it, the other to hand it over."""
        self.tell(taker, preferred=True)
        self.tell(giver, preferred=False, successor_warm=warm)

    def wait_owner(self, child: Child) -> None:
        self.sale.wait_until(lambda: self.sale.owned_by(child), "it owns the event")

    def wait_given_back(self) -> None:
        query = "SELECT 1 FROM lease WHERE owner IS NULL"
        self.sale.wait_until(
            lambda: self.sale.truth.execute(query).fetchone() is not None, "it is given back"
        )


@pytest.fixture
def ways(engine_urls: EngineUrls) -> Iterator[tuple[CuttingProxy, CuttingProxy]]:
    """From the allocators to Postgres and to the stream."""
    with (
        CuttingProxy.before(engine_urls.database_url) as postgres,
        CuttingProxy.before(engine_urls.redis_url) as valkey,
    ):
        yield postgres, valkey


@pytest.fixture(params=[False, True], ids=["own thread", "shared"])
def pair(
    request: pytest.FixtureRequest,
    engine_urls: EngineUrls,
    ways: tuple[CuttingProxy, CuttingProxy],
    tmp_path: Path,
) -> Iterator[Pair]:
    postgres, valkey = ways
    by_way_of = EngineUrls(postgres.url(engine_urls.database_url), valkey.url(engine_urls.redis_url))
    with contextlib.closing(Sale(engine_urls, tmp_path, by_way_of)) as sale:
        yield Pair(sale, request.param)


def test_an_event_goes_back_and_forth_under_load_and_each_request_is_decided_once_in_its_order(pair):
    sale = pair.sale
    names = {"one": pair.one, "two": pair.two}
    asked = 40
    for giver, taker in (("one", "two"), ("two", "one"), ("one", "two")):
        pair.wait_warm(taker)
        pair.move(giver, taker)
        while not sale.owned_by(names[taker]):
            sale.ask(20)
            asked += 20
            sale.wait_decided(asked - 20)
        sale.ask(20)
        asked += 20
    sale.wait_decided(asked)
    assert len(sale.epochs()) == 4, "nobody else took it meanwhile"
    sale.check()


def test_who_is_not_warm_is_given_nothing(pair):
    pair.move("one", "two", warm=False)
    asked = 40
    for _ in range(20):
        pair.sale.ask(10)
        asked += 10
        pair.sale.wait_decided(asked)
        pair.sale.listening.get_message(timeout=0.1)
    assert pair.sale.owned_by(pair.one)
    pair.sale.check()


def test_a_successor_that_dies_just_before_it_takes_leaves_the_event_to_who_gave_it_back(pair):
    sale = pair.sale
    pair.tell("two", preferred=True)
    pair.two.send(signal.SIGSTOP)
    pair.tell("one", preferred=False, successor_warm=True)
    pair.wait_given_back()
    sale.ask(40)
    pair.two.send(signal.SIGKILL)
    sale.wait_decided(80)
    assert sale.owned_by(pair.one)
    sale.ask(40)
    sale.wait_decided(120)
    assert len(sale.epochs()) == 2, "and it is not given back again and again to somebody who is dead"
    sale.check()


def test_an_owner_that_is_killed_while_it_hands_over_costs_no_request(pair):
    sale = pair.sale
    pair.move("one", "two")
    pair.two.send(signal.SIGSTOP)
    pair.wait_given_back()
    pair.one.send(signal.SIGKILL)
    sale.ask(40)
    pair.two.send(signal.SIGCONT)
    sale.wait_decided(80)
    assert sale.owned_by(pair.two)
    sale.check()


def test_a_third_one_leaves_the_event_to_who_is_preferred_and_takes_it_where_that_one_does_not(pair):
    sale = pair.sale
    three = pair.start("three", preferred=False)
    pair.wait_warm("three")
    pair.move("one", "two")
    pair.wait_owner(pair.two)
    pair.tell("two", preferred=True)
    sale.ask(40)
    sale.wait_decided(80)
    assert len(sale.epochs()) == 2
    pair.one.send(signal.SIGKILL)
    pair.two.send(signal.SIGKILL)
    sale.ask(40)
    sale.wait_decided(120)
    assert sale.owned_by(three)
    sale.check()


@pytest.mark.parametrize("engine", ["postgres", "valkey"])
def test_a_handover_while_an_engine_is_away_costs_no_request(pair, ways, engine):
    sale, way = pair.sale, ways[engine == "valkey"]
    pair.tell("two", preferred=True)
    way.refuse()
    way.cut()
    pair.tell("one", preferred=False, successor_warm=True)
    sale.ask(40)
    if engine == "valkey":  # it can be given back, and be taken
        pair.wait_owner(pair.two)
    way.heal()
    sale.wait_decided(80)
    pair.wait_owner(pair.two)
    sale.ask(40)
    sale.wait_decided(120)
    sale.check()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_an_owner_that_is_killed_or_stopped_under_load_is_relieved(pair, how):
    sale = pair.sale
    for _ in range(5):
        sale.ask(20)
    pair.one.send(how)
    for _ in range(5):
        sale.ask(20)
    sale.wait_decided(240)
    assert sale.owned_by(pair.two)
    pair.one.send(signal.SIGCONT)
    sale.ask(20)
    sale.wait_decided(260)
    sale.check()
