"""Allocators as processes: whatever is killed or stopped, somebody goes on and decides each request once."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from store.settings import EngineUrls
from store.words import EventState
from tests.allocator.house import change_event
from tests.faults.allocating import Allocators, Sale

pytestmark = pytest.mark.faults


@pytest.fixture
def sale(engine_urls: EngineUrls, tmp_path: Path) -> Iterator[Sale]:
    allocators = Allocators(engine_urls, tmp_path)
    with contextlib.closing(Sale(engine_urls, allocators)) as made, contextlib.closing(allocators):
        yield made


def test_of_two_allocators_one_decides_and_when_it_is_killed_under_load_the_other_does(sale):
    for name in ("one", "two"):
        sale.allocators.start(name)
    sale.wait_open()
    for _ in range(10):
        sale.ask(20)
    sale.wait_decided(60)
    first = sale.owner()
    first.send(signal.SIGKILL)
    for _ in range(10):
        sale.ask(20)
    first.wait()
    sale.wait_decided(400)
    assert sale.owner() is not first
    assert len(set(sale.epochs())) >= 2
    sale.check()


def test_an_allocator_that_is_told_to_stop_hands_over_and_forgets_nothing(sale):
    first = sale.allocators.start("one")
    sale.wait_open()
    sale.ask(50)
    sale.wait_decided(50)
    sale.allocators.start("two")
    sale.ask(100)
    assert first.stop(signal.SIGTERM, 30), "it ends by itself"
    assert first.exit_code == 0
    sale.ask(50)
    sale.wait_decided(200)
    sale.check()


def test_an_allocator_that_was_stopped_finds_itself_relieved_when_it_goes_on(sale):
    first = sale.allocators.start("one")
    sale.wait_open()
    sale.ask(40)
    sale.wait_decided(40)
    sale.allocators.start("two")
    first.send(signal.SIGSTOP)
    sale.ask(40)
    sale.wait_decided(80)
    second = sale.owner()
    assert second is not first
    first.send(signal.SIGCONT)
    sale.ask(40)
    sale.wait_decided(120)
    second.send(signal.SIGKILL)  # and the first one is a standby like any other
    second.wait()
    sale.ask(40)
    sale.wait_decided(160)
    assert sale.owner() is first
    sale.check()


def test_a_postgres_backend_that_is_ended_in_the_middle_of_work_costs_no_request(sale):
    sale.allocators.start("one")
    sale.wait_open()
    for _ in range(5):
        sale.ask(40)
        sale.truth.execute(
            "SELECT pg_terminate_backend(backend_pid) FROM lease WHERE event_id = %s", (sale.event_id,)
        )
    sale.wait_decided(200)
    sale.check()


def test_a_closed_event_is_attended_to_until_its_holds_are_over(sale):
    sale.allocators.start("one")
    sale.wait_open()
    sale.ask(4)
    sale.wait_decided(4)
    change_event(sale.urls.database_url, EventState.CLOSED)
    sale.ask(4)
    sale.wait_decided(8)
    rows = sale.truth.execute(
        "SELECT outcome FROM ledger WHERE kind = 'request' ORDER BY batch_no, position OFFSET 4"
    ).fetchall()
    assert {outcome for (outcome,) in rows} == {"closed"}
    sale.check()
