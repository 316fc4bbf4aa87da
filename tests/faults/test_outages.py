"""Postgres away for so long that it is an outage: holds get the time back, once, whoever is killed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise

import pytest

from allocator.lease import LEASE_SECONDS
from store.lost_time import OUTAGE_SECONDS
from tests.faults.clients import Buyer
from tests.faults.stage import COMMIT, Sale, Stage, until

pytestmark = pytest.mark.faults

HOLD_SECONDS = 8
AWAY_SECONDS = HOLD_SECONDS + 2.0
"""Longer than a hold: without the time it lost, it is over when Postgres is back."""
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
ENDS = "SELECT state, (extract(epoch FROM expires_at) * 1000000)::bigint FROM hold WHERE event_id = %s"


@pytest.fixture
def sale(stage: Stage) -> Iterator[Sale]:
    with stage.sale(hold_ttl_seconds=HOLD_SECONDS) as made:
        yield made


def held(sale: Sale) -> tuple[Buyer, int]:
    """A buyer with a hold, and its end in microseconds."""
    ann = sale.desk.buyer("ann", 0)
    ann.ask("r1", sale.seats[0])
    assert ann.decision("r1").outcome == "held"
    return ann, sale.query(ENDS)[0][1]


def given_back(sale: Sale, end: int) -> None:
    """The hold runs, and ends later by exactly what was lost: no time was given back twice."""
    until(lambda: sale.query(OUTAGES), "the ledger says that there was an outage")
    outages = sale.query(OUTAGES)
    assert all(lost_us > OUTAGE_SECONDS * 1_000_000 for _, lost_us in outages)
    assert all(since + lost_us <= later for (since, lost_us), (later, _) in pairwise(outages))
    assert sale.query(ENDS) == [("active", end + sum(lost_us for _, lost_us in outages))]


def away(stage: Stage, sale: Sale) -> None:
    sale.connection().close()
    stage.kill("postgres")
    time.sleep(AWAY_SECONDS)  # what is tested is that it lasts
    stage.stack.start_again("postgres")


def test_a_hold_that_would_have_run_out_while_postgres_was_away_runs_on_and_can_be_bought(
    stage: Stage, sale: Sale
):
    ann, end = held(sale)
    away(stage, sale)
    given_back(sale, end)
    stage.stack.wait_ready()
    hold = str(ann.decision("r1").result["hold"])
    bought = sale.desk.call(ann.part_with("confirm", hold))
    sale.desk.wait(lambda: bought.answered_ns, "the hold is bought")
    assert sale.query(ENDS)[0][0] == "paid"
    sale.check()


def test_a_postgres_that_said_nothing_for_so_long_was_away(stage: Stage, sale: Sale):
    _, end = held(sale)
    stage.postgres_silent()
    time.sleep(AWAY_SECONDS)  # what is tested is that it lasts
    stage.postgres_silent(False)
    given_back(sale, end)
    sale.check()


@pytest.mark.parametrize("committed", [False, True])
def test_it_is_given_back_once_though_who_gives_it_back_is_killed(stage: Stage, sale: Sale, committed: bool):
    _, end = held(sale)
    stage.kill("allocator-2")
    proxy = stage.postgres_of["allocator-1"]
    (proxy.hold_reply_to if committed else proxy.hold_before)(COMMIT, after=TAKE)
    away(stage, sale)
    assert proxy.was_held.wait(20)
    stage.kill("allocator-1")
    proxy.drop_held()
    stage.heal()
    given_back(sale, end)
    sale.check()


def test_an_ordinary_takeover_moves_no_end(stage: Stage, sale: Sale):
    until(lambda: sale.one(STANDING_BY) == 2, "somebody stands by")
    _, end = held(sale)
    owner, epoch = sale.owner(), sale.epoch
    stage.freeze(owner)
    sale.wait_taken_over(epoch)
    waited = sale.one(
        "SELECT extract(epoch FROM clock_timestamp() - renewed_at) FROM lease WHERE event_id = %s"
    )
    assert waited < LEASE_SECONDS
    assert sale.query(ENDS)[0][1] == end
    assert sale.query(OUTAGES) == []
    sale.check()
