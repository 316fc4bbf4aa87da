"""Postgres is restarted, away or silent under load: what is accepted keeps its place, and is answered."""

from __future__ import annotations

import time

import pytest

from tests.faults.stage import Sale, Stage

pytestmark = pytest.mark.faults

AWAY_SECONDS = 3.5
"""Longer than a lease; longer than an outage it is in `test_outages`."""
SILENT_SECONDS = 3.0


def test_postgres_restarted_under_load_costs_no_request(stage: Stage, sale: Sale):
    crowd = sale.desk.crowd(16)
    crowd.wait(60)
    stage.stack.postgres.stop()
    stage.stack.start_again("postgres")
    crowd.wait(60)
    sale.check()


def test_what_is_accepted_while_postgres_is_away_is_decided_in_its_order_afterwards(stage: Stage, sale: Sale):
    crowd = sale.desk.crowd(16)
    ann, bob = sale.desk.buyer("ann", 0), sale.desk.buyer("bob", 1)
    crowd.wait(60)
    stage.kill("postgres")
    came_back_at = time.monotonic() + AWAY_SECONDS
    ann.ask("r1", sale.seats[30])
    first = ann.accepted("r1")
    bob.ask("r1", sale.seats[30])
    bob.accepted("r1")
    time.sleep(came_back_at - time.monotonic())  # what is tested is that it lasts
    stage.stack.start_again("postgres")
    assert (ann.decision("r1").outcome, ann.decision("r1").arrival) == ("held", first)
    assert bob.decision("r1").outcome == "taken"
    crowd.wait(60)
    sale.check()


def test_postgres_that_says_nothing_for_a_while_costs_no_request(stage: Stage, sale: Sale):
    crowd = sale.desk.crowd(16)
    ann = sale.desk.buyer("ann", 0)
    crowd.wait(60)
    stage.postgres_silent()
    ann.ask("r1", sale.seats[30])
    ann.accepted("r1")
    time.sleep(SILENT_SECONDS)  # longer than a lease: a standby finds it run out
    stage.postgres_silent(False)
    assert ann.decision("r1").outcome == "held"
    crowd.wait(60)
    sale.check()
