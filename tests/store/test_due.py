"""Lobbies and sales that begin by themselves, and an operator who changes an event between the look at it and
its opening."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from store import audit, events, opening
from store.room import operating, rooms
from store.room.words import RoomTerms
from store.schedule import TimesChange
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState


class JustBefore(psycopg.Connection[Any]):
    """Once, `change` happens between the look at the schedule and the opening."""

    change: Callable[[], object] | None = None

    def execute(self, query: Any, *given: Any, **named: Any) -> psycopg.Cursor[Any]:
        change = self.change
        if change is not None and query in opening.WHEN_DUE.values():
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
        return opening.open_when_due(conn, event)


def test_a_time_that_is_moved_in_the_moment_it_comes_counts(database_url, operator, due):
    def move() -> None:
        operator.execute("UPDATE event SET opens_at = opens_at + interval '1 day'")

    assert opened(database_url, due, move) == opening.OPENING_LOCKED_US
    assert events.get_event(operator, "gig").state is EventState.DRAFT
    assert operator.execute("SELECT count(*) FROM fact").fetchone() == (0,)


def test_who_closes_an_event_in_the_moment_it_is_due_is_not_overridden(database_url, operator, due):
    def open_and_close() -> None:
        events.set_state(operator, "gig", EventState.OPEN)
        events.set_state(operator, "gig", EventState.CLOSED)

    assert opened(database_url, due, open_and_close) == opening.OPENING_LOCKED_US
    assert events.get_event(operator, "gig").state is EventState.CLOSED


# the lobby

SAID = audit.Said("Olga", "the band is late")


@pytest.fixture
def lobby_due(operator: psycopg.Connection[Any]) -> int:
    """Its lobby was to begin a second ago, and its sale in an hour; it has a waiting room."""
    return made(operator, -1, 3_600)


def made(operator: psycopg.Connection[Any], lobby_in: float | None, sale_in: float | None) -> int:
    """A draft with a waiting room whose times are so many seconds away; its facts so far are consumed."""
    plan, now = make("arena", 20), datetime.now(UTC)
    lobby, sale = (None if left is None else now + timedelta(seconds=left) for left in (lobby_in, sale_in))
    venue = save_venue(operator, "arena", plan)
    number = events.create_event(operator, "gig", "Gig", venue, plan, opens_at=sale, lobby_opens_at=lobby)
    operating.make(operator, "gig", RoomTerms(), SAID)
    operator.execute("DELETE FROM fact")
    return number


def facts(operator: psycopg.Connection[Any]) -> list[str]:
    """The states that the allocator was told of."""
    return [
        state for (state,) in operator.execute("SELECT body ->> 'state' FROM fact ORDER BY id").fetchall()
    ]


def moves(operator: psycopg.Connection[Any], event: int) -> list[tuple[str, str, Any, Any]]:
    """Changes of its state that the audit has, newest last: who, why, from where and to where."""
    rows = reversed(audit.read(operator, event))
    return [
        (row.who, row.why, row.what["from"], row.what["to"]) for row in rows if row.what["change"] == "state"
    ]


def test_a_lobby_whose_time_has_come_begins_once_and_is_told_and_audited_as_due(operator, lobby_due):
    assert opening.open_when_due(operator, lobby_due) == 0
    assert events.get_event(operator, "gig").state is EventState.LOBBY
    assert rooms.read(operator, lobby_due).lobby_ended_at is None
    left_us = opening.open_when_due(operator, lobby_due)
    assert left_us is not None
    assert 3_000_000_000 < left_us <= 3_600_000_000
    assert facts(operator) == ["lobby"]
    due = "it was due: its lobby_opens_at had come"
    assert moves(operator, lobby_due) == [("allocator", due, "draft", "lobby")]


def test_then_the_sale_begins_at_its_time_and_ends_the_lobby(operator, lobby_due):
    opening.open_when_due(operator, lobby_due)
    operator.execute("UPDATE event SET opens_at = clock_timestamp()")
    assert opening.open_when_due(operator, lobby_due) == 0
    assert opening.open_when_due(operator, lobby_due) is None
    assert rooms.read(operator, lobby_due).lobby_ended_at is not None
    assert facts(operator) == ["lobby", "open"]
    assert [move[2:] for move in moves(operator, lobby_due)] == [("draft", "lobby"), ("lobby", "open")]


def test_where_both_are_due_at_once_the_sale_begins_and_nobody_was_in_the_draw(operator):
    event = made(operator, -60, -1)
    assert opening.open_when_due(operator, event) == 0
    assert events.get_event(operator, "gig").state is EventState.OPEN
    room = rooms.read(operator, event)
    assert (room.lobby_ended_at is not None, room.drawn) == (True, 0)
    assert facts(operator) == ["open"]
    assert [move[2:] for move in moves(operator, event)] == [("draft", "open")]


def test_before_its_time_a_lobby_says_how_long_it_is_until_then(operator):
    event = made(operator, 600, 3_600)
    left_us = opening.open_when_due(operator, event)
    assert left_us is not None
    assert 500_000_000 < left_us <= 600_000_000
    assert events.get_event(operator, "gig").state is EventState.DRAFT


def test_a_lobby_alone_begins_and_leaves_the_sale_to_somebody(operator):
    event = made(operator, -1, None)
    assert opening.open_when_due(operator, event) == 0
    assert opening.open_when_due(operator, event) is None
    assert events.get_event(operator, "gig").state is EventState.LOBBY


def test_a_lobby_that_somebody_began_before_is_not_begun_again(operator, lobby_due):
    events.set_state(operator, "gig", EventState.LOBBY, said=SAID)
    assert opening.open_when_due(operator, lobby_due) not in (0, None)
    assert facts(operator) == ["lobby"]
    assert [move[0] for move in moves(operator, lobby_due)] == ["Olga"]


def test_a_lobby_that_is_moved_in_the_moment_it_is_due_does_not_begin(database_url, operator, lobby_due):
    def move() -> None:
        later = TimesChange(lobby_opens_at=datetime.now(UTC) + timedelta(minutes=30))
        events.set_policy(operator, "gig", SAID, later)

    assert opened(database_url, lobby_due, move) == opening.OPENING_LOCKED_US
    assert events.get_event(operator, "gig").state is EventState.DRAFT
    assert facts(operator) == []


def test_who_opens_the_sale_as_its_lobby_is_due_is_not_overridden(database_url, operator, lobby_due):
    def open_it() -> None:
        events.set_state(operator, "gig", EventState.OPEN, said=SAID)

    assert opened(database_url, lobby_due, open_it) == opening.OPENING_LOCKED_US
    assert events.get_event(operator, "gig").state is EventState.OPEN
    assert facts(operator) == ["open"]


def test_an_operator_who_changes_a_draft_whose_lobby_is_due_goes_first(database_url, operator, lobby_due):
    with psycopg.connect(database_url) as other, other.transaction():
        events.set_policy(other, "gig", SAID, hold_ttl_seconds=90)
        assert opening.open_when_due(operator, lobby_due) == opening.OPENING_LOCKED_US
    assert opening.open_when_due(operator, lobby_due) == 0


def test_times_are_changed_and_taken_away_and_the_audit_says_which(operator):
    event = made(operator, 600, 3_600)
    before = events.get_event(operator, "gig")
    later = datetime(2031, 5, 1, tzinfo=UTC)
    after = events.set_policy(operator, "gig", SAID, TimesChange(opens_at=later))
    assert (after.lobby_opens_at, after.opens_at) == (before.lobby_opens_at, later)
    after = events.set_policy(operator, "gig", SAID, TimesChange(lobby_opens_at=None), fast_gate=False)
    assert (after.lobby_opens_at, after.opens_at, after.fast_gate) == (None, later, False)
    events.set_policy(operator, "gig", SAID, TimesChange(lobby_opens_at=None))
    policies = [row.what["terms"] for row in audit.read(operator, event) if row.what["change"] == "policy"]
    assert policies == [{"fast_gate": False, "lobby_opens_at": None}, {"opens_at": "2031-05-01T00:00:00Z"}]
