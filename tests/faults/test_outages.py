"""Postgres away for so long that it is an outage: holds get the time back, once, whoever is killed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

from allocator.lease import LEASE_SECONDS
from store.lost_time import OUTAGE_SECONDS
from tests.faults.clients import Buyer
from tests.faults.stage import COMMIT, Sale, Stage, until

pytestmark = pytest.mark.faults

HOLD_SECONDS = 6
TAKE = b"renewed_at = clock_timestamp(), backend_pid"
"""In the statement that takes the lease, with which a takeover commits."""

OUTAGES = """
SELECT (input -> 'body' ->> 'since')::bigint, (input -> 'body' ->> 'lost_us')::bigint FROM ledger
 WHERE event_id = %s AND outcome = 'outage' ORDER BY batch_no, position
"""
STANDING_BY = """
SELECT count(*) FROM pg_stat_activity, event
 WHERE event.id = %s AND application_name = 'onsale allocator ' || event.slug
"""
ENDS = """
SELECT state, (extract(epoch FROM expires_at) * 1000000)::bigint FROM hold
 WHERE event_id = %s AND buyer = %s
"""


@pytest.fixture
def sale(stage: Stage) -> Iterator[Sale]:
    with stage.sale(hold_ttl_seconds=HOLD_SECONDS) as made:
        yield made


def held(sale: Sale) -> tuple[Buyer, int]:
    """A buyer with a hold, and its end in microseconds."""
    ann = sale.desk.buyer("ann", 0)
    ann.ask("r1", sale.seats[0])
    assert ann.decision("r1").outcome == "held"
    return ann, sale.query(ENDS, "ann")[0][1]


def given_back(sale: Sale, end: int) -> None:
    """The hold runs, and ends later by exactly what was lost: no time was given back twice."""
    until(lambda: sale.query(OUTAGES), "the ledger says that there was an outage")
    outages = sale.query(OUTAGES)
    assert all(lost_us > OUTAGE_SECONDS * 1_000_000 for _, lost_us in outages)
    assert all(since + lost_us <= later for (since, lost_us), (later, _) in pairwise(outages))
    assert sale.query(ENDS, "ann") == [("active", end + sum(lost_us for _, lost_us in outages))]


def lasts(end: int) -> None:
    """An outage, and longer than the hold: without the time it lost, it is over when Postgres is back."""
    time.sleep(max(OUTAGE_SECONDS, end / 1_000_000 - time.time()) + 0.5)  # what is tested is that it lasts


@contextlib.contextmanager
def away(stage: Stage, sale: Sale, end: int) -> Iterator[None]:
    sale.connection().close()
    stage.kill("postgres")
    yield
    lasts(end)
    stage.stack.start_again("postgres")


def test_a_hold_that_would_have_run_out_while_postgres_was_away_runs_on_and_can_be_bought(
    stage: Stage, sale: Sale
):
    """And what was accepted meanwhile is decided in its order."""
    ann, end = held(sale)
    bob, cem = sale.desk.buyer("bob", 0), sale.desk.buyer("cem", 1)
    with away(stage, sale, end):
        for buyer in (bob, cem):
            buyer.ask("r1", sale.seats[30])
            buyer.accepted("r1")
    given_back(sale, end)
    stage.stack.wait_ready()
    hold = str(ann.decision("r1").result["hold"])
    bought = sale.desk.call(ann.part_with("confirm", hold))
    sale.desk.wait(lambda: bought.answered_ns, "the hold is bought")
    assert sale.query(ENDS, "ann")[0][0] == "paid"
    assert [bob.decision("r1").outcome, cem.decision("r1").outcome] == ["held", "taken"]
    sale.check()


def test_a_postgres_that_said_nothing_for_so_long_was_away(stage: Stage, sale: Sale):
    _, end = held(sale)
    stage.postgres_silent()
    lasts(end)
    stage.postgres_silent(False)
    given_back(sale, end)
    sale.check()


def test_it_is_given_back_once_though_who_gives_it_back_is_killed(stage: Stage, sale: Sale):
    """The first one before it commits, the next one when it has and does not know."""
    _, end = held(sale)
    stage.kill("allocator-2")
    first, second = stage.postgres_of["allocator-1"], stage.postgres_of["allocator-2"]
    first.hold_before(COMMIT, after=TAKE)
    with away(stage, sale, end):
        pass
    assert first.was_held.wait(60)
    stage.kill("allocator-1")
    first.drop_held()
    assert sale.query(OUTAGES) == [], "it gave nothing back"
    second.hold_reply_to(COMMIT, after=TAKE)
    stage.stack.start_again("allocator-2")
    assert second.was_held.wait(60)
    stage.kill("allocator-2")
    second.drop_held()
    stage.heal()
    given_back(sale, end)
    sale.check()


def test_an_ordinary_takeover_moves_no_end(stage: Stage, sale: Sale):
    """Of an owner that is gone; of one that is stopped, half an outage passes before anybody may."""
    until(lambda: sale.one(STANDING_BY) == 2, "somebody stands by")
    _, end = held(sale)
    owner, epoch = sale.owner(), sale.epoch
    stage.kill(owner)
    sale.wait_taken_over(epoch)
    waited = sale.one(
        "SELECT extract(epoch FROM clock_timestamp() - renewed_at) FROM lease WHERE event_id = %s"
    )
    assert waited < LEASE_SECONDS
    assert sale.query(ENDS, "ann")[0][1] == end
    assert sale.query(OUTAGES) == []
    sale.check()
