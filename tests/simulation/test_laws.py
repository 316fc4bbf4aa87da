"""What the simulation excuses, it excuses exactly: who was accepted and is not decided was lost, else."""

from __future__ import annotations

import pytest
from msgspec import Raw

from bench.evidence import Finding
from store.stream.port import REQUEST, RawEntry
from store.wire import Entry, encode_entry
from tests.simulation.laws import OnTrim, _excused
from tests.simulation.run import OnSale

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
    sale = OnSale(1, 0)
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
