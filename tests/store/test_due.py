"""An event that opens by itself, and an operator who changes it between the look at it and its opening."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from store import events
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState


class JustBefore(psycopg.Connection[Any]):
    """Once, `change` happens between the look at the schedule and the opening."""

    change: Callable[[], object] | None = None

    def execute(self, query: Any, *given: Any, **named: Any) -> psycopg.Cursor[Any]:
        change = self.change
        if change is not None and query == events._OPEN_WHEN_DUE:
            self.change = None
            change()
        return super().execute(query, *given, **named)


@pytest.fixture
def operator(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as conn:
        yield conn


@pytest.fixture
def due(operator: psycopg.Connection[Any]) -> int:
    plan = make("arena", 20)
    opens_at = datetime.now(UTC) - timedelta(seconds=1)
    number = events.create_event(
        operator, "gig", "Gig", save_venue(operator, "arena", plan), plan, opens_at=opens_at
    )
    operator.execute("DELETE FROM fact")
    return number


def opened(database_url: str, event: int, change: Callable[[], object]) -> int | None:
    with JustBefore.connect(database_url, autocommit=True) as conn:
        assert isinstance(conn, JustBefore)
        conn.change = change
        return events.open_when_due(conn, event)


def test_a_time_that_is_moved_in_the_moment_it_comes_counts(database_url, operator, due):
    def move() -> None:
        operator.execute("UPDATE event SET opens_at = opens_at + interval '1 day'")

    assert opened(database_url, due, move) == events.OPENING_LOCKED_US
    assert events.get_event(operator, "gig").state is EventState.DRAFT
    assert operator.execute("SELECT count(*) FROM fact").fetchone() == (0,)


def test_who_closes_an_event_in_the_moment_it_is_due_is_not_overridden(database_url, operator, due):
    def open_and_close() -> None:
        events.set_state(operator, "gig", EventState.OPEN)
        events.set_state(operator, "gig", EventState.CLOSED)

    assert opened(database_url, due, open_and_close) == events.OPENING_LOCKED_US
    assert events.get_event(operator, "gig").state is EventState.CLOSED
