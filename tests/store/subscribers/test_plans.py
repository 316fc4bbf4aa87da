"""What relays ask over and over costs a look for each lane, however many rows the outbox has."""

from __future__ import annotations

from uuid import uuid4

import pytest

from store import events, outbox
from store.outbox import Told
from store.subscribers import lanes
from tests.notifier.conftest import PLAN, conn, event  # noqa: F401
from tests.notifier.sink import one, subscribe

ROWS = 3_000
EVENTS = 3
SUBSCRIBERS = 4
LANES = EVENTS * SUBSCRIBERS
JOINED_MAX = 2 * LANES * LANES
"""Where nothing is known of these few rows, lanes are joined with lanes by looking at each pair. Who reads
the outbox of one event has read more than three times as many."""


@pytest.fixture(params=[False, True], ids=["fresh", "analyzed"])
def told(request, conn, event):  # noqa: F811
    """An outbox with many rows of few events, which some subscribers have yet to read."""
    venue = one(conn, "SELECT venue_id FROM event")
    dates = [
        event,
        *[events.create_event(conn, f"gig-{day}", "Gig", venue, PLAN) for day in range(1, EVENTS)],
    ]
    for _ in range(SUBSCRIBERS):
        subscribe(conn, "https://example.org/hook", from_start=True)
    for date in dates:
        conn.execute(outbox.INSERT, outbox.telling([(date, Told.EVENT_MOVED, {})] * (ROWS // EVENTS)))
    if request.param:
        conn.execute("ANALYZE")


def looked_at(conn, statement, values=None):  # noqa: F811
    """The most rows that any step read or threw away."""
    with conn.transaction(force_rollback=True):
        [(found,)] = conn.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values).fetchall()
    return max(_rows(found[0]["Plan"]))


def _rows(step):
    thrown_away = sum(
        step.get(f"Rows Removed by {by}", 0) for by in ("Filter", "Join Filter", "Index Recheck")
    )
    yield step["Actual Loops"] * (step["Actual Rows"] + thrown_away)
    for below in step.get("Plans", ()):
        yield from _rows(below)


def test_new_lanes_are_found_by_a_look_for_each_event(conn, told):  # noqa: F811
    assert looked_at(conn, lanes.PREPARE) <= LANES + SUBSCRIBERS * LANES


def test_lanes_with_something_to_tell_are_found_by_a_look_for_each(conn, told):  # noqa: F811
    conn.execute(lanes.PREPARE)
    values = {"lease": uuid4(), "limit": 64, "room": 32, "limited": [], "rooms": []}
    assert looked_at(conn, lanes.CLAIM, values) <= JOINED_MAX
    conn.execute("UPDATE subscriber_position SET number = %s", [ROWS // EVENTS])
    assert looked_at(conn, lanes.CLAIM, values) <= JOINED_MAX, "and where there is nothing to tell"
