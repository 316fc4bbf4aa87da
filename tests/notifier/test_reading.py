"""What lanes read together, and how much of it is kept."""

from __future__ import annotations

import psycopg
import pytest

from notifier import reading
from notifier.reading import Reading
from store import events
from tests.gateway.rig import scenario
from tests.notifier.conftest import PLAN
from tests.notifier.sink import one


@scenario
@pytest.mark.parametrize(
    ("bound", "most", "kept"),
    [
        ("EVENTS_MAX", 2, 2),
        ("NAMES_MAX", 2 * len(PLAN.seats), 2),
        ("NAMES_MAX", 1, 1),
        ("NAMES_MAX", 10**6, 4),
    ],
)
async def test_names_are_kept_of_the_last_events_within_bounds(
    conn, database_url, event, monkeypatch, bound, most, kept
):
    monkeypatch.setattr(reading, bound, most)
    venue = one(conn, "SELECT venue_id FROM event")
    others = [events.create_event(conn, slug, slug, venue, PLAN) for slug in ("a", "b", "c")]
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        there = Reading(connection)
        for number in (event, *others):
            slug, names = await there.names(number)
        assert (slug, len(names.seats)) == ("c", len(PLAN.seats))
        assert list(there._names) == [event, *others][-kept:]
