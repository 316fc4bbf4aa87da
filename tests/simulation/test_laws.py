"""What the simulation demands it notices, and what it excuses it excuses exactly."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Raw

from allocator.announce import reload_seats, stream_lost
from bench.evidence import Finding
from store.stream.port import REQUEST, RawEntry
from store.wire import Entry, encode_entry
from tests.simulation.gateways import EVENT
from tests.simulation.laws import OnCommit, OnTrim, _excused, demand
from tests.simulation.on_sale import OnSale
from tests.simulation.postgres import HoldRow
from tests.simulation.run import Run, tour_of

pytestmark = pytest.mark.simulation
ANN = ("ann", "r5")


def raw(arrival: str, key: tuple[str, str]) -> RawEntry:
    return arrival.encode(), [REQUEST, encode_entry(Entry(*key, Raw(b'{"seats":["A-1"]}'), "g1"))]


def finding(key: tuple[str, str], accepted: str, cursor: str) -> Finding:
    """As `bench.checks.answers` tells it."""
    story = (
        f"{key[0]}'s request {key[1]} was accepted as {accepted}; the ledger has no row for it, the cursor"
    )
    return Finding("lost", f"{story} has passed it ({cursor}).")


@pytest.fixture
def sale() -> OnSale:
    """A house whose stream lost ann's request and, later, somebody else's."""
    sale = Run(1, 0).sales[0]
    sale.stream._lost([raw("5-1", ANN), raw("9-9", ("bob", "r50"))])
    return sale


@pytest.mark.parametrize("how", ["left", "refused"])
def test_a_request_that_the_stream_lost_and_nobody_asks_for_is_excused(sale, how):
    getattr(sale.people, how).add(ANN)
    assert _excused(sale, finding(ANN, "5-1", "7-7"))


def test_whoever_waits_is_not_given_up(sale):
    sale.people.left.add(("ann", "r50"))
    sale.people.refused.add(("ann", "r"))
    assert not _excused(sale, finding(ANN, "5-1", "7-7"))


def test_what_the_stream_did_not_lose_is_decided_whoever_left(sale):
    carl = ("carl", "r5")
    sale.people.left.add(carl)
    assert not _excused(sale, finding(carl, "5-2", "7-7"))
    assert not _excused(sale, finding(carl, "5-2", "9-9")), "the cursor's own entry was lost, not carl's"


def test_what_was_lost_and_is_in_the_stream_again_is_decided(sale):
    sale.people.left.add(ANN)
    sale.stream.add(*raw("0-0", ANN)[1])
    assert not _excused(sale, finding(ANN, "5-1", "7-7"))


def test_what_is_trimmed_undecided_breaks_a_law_unless_it_is_appended_again(sale):
    look = OnTrim(sale.database, sale.world)
    look([raw("5-1", ANN)], [raw("8-1", ANN)])
    look([(b"5-2", [REQUEST, b"not json"])], [])
    assert sale.world.broken == []
    look([raw("5-1", ANN)], [raw("8-1", ("bob", "r5"))])
    assert sale.world.broken == ["lost: ann's request r5 was trimmed as 5-1, and never decided"]


@pytest.mark.parametrize(("subscribed", "late"), [(True, False), (False, True)])
def test_who_is_cut_off_when_the_allocator_says_that_the_stream_was_lost_may_be_late(sale, subscribed, late):
    gateway = sale.house.start_gateway()
    gateway.loop._run()
    sale.world.rates["publication lost"] = 0.0
    gateway.subscribed = subscribed
    gateway.hear([reload_seats(EVENT)])
    assert not sale.stream.lost_late, "it misses nothing that it is waited for"
    gateway.hear([stream_lost(EVENT)])
    assert sale.stream.lost_late is late
    gateway.end()


# ---- the dates of a tour ---------------------------------------------------------------------------

TOUR_SEED = 2


@pytest.fixture
def dates() -> list[OnSale]:
    """Two dates of a tour; on the second one ann has as much as she may have on both."""
    tour = tour_of(TOUR_SEED)
    assert tour is not None
    first, second = Run(TOUR_SEED, 0).sales
    second.database.rows["hold"][1] = HoldRow("ann", "r1", "paid", tour.seats_per_buyer_max, 0)
    return [first, second]


def broken_by(dates: list[OnSale], **changed: Any) -> list[str]:
    """What is said of a batch of the first date that gives ann one more."""
    first, _ = dates
    hold = HoldRow("ann", "r1", "active", 1, 0)._replace(**changed)
    look: Any = OnCommit(first.database, first.world)
    look(SimpleNamespace(pending={"hold": {1: hold}}))
    return first.world.broken


def test_more_than_a_tour_allows_on_both_dates_breaks_a_law_at_that_moment(dates):
    assert broken_by(dates) == [f"over_limit: ann has 3 on the dates of a tour: {tour_of(TOUR_SEED)}"]


@pytest.mark.parametrize("changed", [{"buyer": "bob"}, {"state": "released"}, {"kind": "box_office"}])
def test_what_counts_for_no_limit_of_the_tour_breaks_none(dates, changed):
    assert broken_by(dates, **changed) == []


def test_more_than_a_tour_allows_is_told_of_the_tables_of_both_dates(dates):
    first, second = dates
    first.people.buyers.append("ann")  # they are the buyers of both
    first.database.rows["hold"][1] = HoldRow("ann", "r2", "active", 1, 0)
    told = "over_limit: ann has 3 seats and places on the dates of the tour; 2 are allowed."
    assert told in demand(first)
    assert told in demand(second)
    del second.database.rows["hold"][1]
    assert told not in demand(first)
