"""What the database holds of an event is read whole, and a fresh event has no findings."""

from __future__ import annotations

import psycopg
import pytest

from bench.checker import judge
from bench.target import make_event
from bench.truth import read_truth
from store.errors import NotFound


def test_a_fresh_event_is_read_and_has_no_findings(database_url):
    event = make_event(database_url, 7)
    with psycopg.connect(database_url) as connection:
        truth = read_truth(connection, event.slug)
    assert truth.plan == event.plan
    assert truth.seats == [(number, "available", None) for number in range(7)]
    assert truth.cursor_batch_no == 0
    assert {kind for kind, _ in truth.facts} == {"policy"}
    assert judge([], truth) == []


def test_an_event_that_is_not_there_is_told(database_url):
    with psycopg.connect(database_url) as connection, pytest.raises(NotFound, match="no event"):
        read_truth(connection, "nothing")
