"""A lobby and a sale that begin by themselves: the loop wakes for each, and once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from store.database import connect
from store.events import create_event
from store.stream.port import RawEntry
from store.venues.rows import save_venue
from store.words import Arrival, EventState
from tests.allocator.house import SLUG, Owner, entry, plan_of, seats

SOON_MS = 400


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    """Of a draft that opens in a moment."""
    plan = plan_of()
    opens_at = datetime.now(UTC) + timedelta(milliseconds=SOON_MS)
    with connect(database_url, "test") as conn:
        event = create_event(conn, SLUG, "Gala", save_venue(conn, "house", plan), plan, opens_at=opens_at)
    made = Owner(database_url, redis_url, event)
    yield made
    made.close()


def test_the_loop_sleeps_no_longer_than_until_the_opening_and_opens_once(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
):
    waited: list[int] = []
    read = owner.arrivals.read

    def noted(after: Arrival, *, count_max: int, block_ms: int) -> list[RawEntry]:
        if owner.memory.policy.state is EventState.DRAFT:
            waited.append(block_ms)
        return read(after, count_max=count_max, block_ms=block_ms)

    monkeypatch.setattr(owner.arrivals, "read", noted)
    while owner.memory.policy.state is EventState.DRAFT:
        owner.loop.turn()
    assert waited
    assert all(block_ms <= SOON_MS + 1 for block_ms in waited)
    owner.loop.turn()
    opened = owner.query(
        "SELECT batch_time >= opens_at FROM ledger JOIN ledger_batch USING (event_id, batch_no)"
        " JOIN event ON event.id = event_id WHERE kind = 'fact' AND input -> 'body' ->> 'state' = 'open'"
    )
    assert opened == [(True,)]
    assert owner.outcomes(entry("ann", "r1", seats("A-1"))) == ["held"]


def test_an_owner_without_stream_opens_on_time_too(owner):
    owner.query_nothing("UPDATE event SET opens_at = clock_timestamp()")
    owner.loop.tick()
    assert owner.memory.policy.state is EventState.OPEN


def test_a_time_that_an_operator_sets_later_is_seen_by_a_loop_that_looks_once_a_second(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
):
    owner.query_nothing("UPDATE event SET opens_at = NULL")
    looked: list[int | None] = []
    look = owner.truth.open_when_due

    def noted() -> int | None:
        looked.append(look())
        return looked[-1]

    monkeypatch.setattr(owner.truth, "open_when_due", noted)
    owner.settle_down()
    for _ in range(3):
        owner.loop.tick()
    assert len(looked) == 1
    owner.query_nothing("UPDATE event SET opens_at = clock_timestamp()")
    owner.loop.turn()  # an idle one
    owner.loop.turn()
    assert owner.memory.policy.state is EventState.OPEN
    assert len(looked) <= 3


def test_the_loop_wakes_for_the_lobby_and_then_for_the_sale(owner: Owner):
    owner.query_nothing(
        "UPDATE event SET lobby_opens_at = clock_timestamp() + interval '200 ms',"
        " opens_at = clock_timestamp() + interval '400 ms'"
    )
    while owner.memory.policy.state is not EventState.OPEN:
        owner.loop.turn()
    began = owner.query(
        "SELECT input -> 'body' ->> 'state',"
        " batch_time >= CASE input -> 'body' ->> 'state' WHEN 'lobby' THEN lobby_opens_at ELSE opens_at END"
        " FROM ledger JOIN ledger_batch USING (event_id, batch_no) JOIN event ON event.id = event_id"
        " WHERE kind = 'fact' AND input -> 'body' ->> 'state' <> 'draft' ORDER BY batch_no, position"
    )
    assert began == [("lobby", True), ("open", True)]
