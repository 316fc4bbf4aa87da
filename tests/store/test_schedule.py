"""When an event begins by itself, decided without a clock: the lobby before the sale, each once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from store.errors import BadRequest, Conflicted
from store.schedule import BEFORE, NOTHING, Step, Times, TimesChange, changed, check_times, step
from store.words import EventState

DRAFT, LOBBY, OPEN = EventState.DRAFT, EventState.LOBBY, EventState.OPEN
NOON = datetime(2030, 5, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
moments = some.none() | some.integers(0, 1_000)
order = list(EventState)


def begins(
    state: EventState, lobby_at: int | None, sale_at: int | None, looks: list[int]
) -> list[EventState]:
    """What it becomes by itself where somebody looks at these times."""
    became = []
    for now in looks:
        left = [None if at is None else at - now for at in (lobby_at, sale_at)]
        due = step(state, *left)
        if due.to is not None:
            state = due.to
            became.append(state)
    return became


@given(some.sampled_from(order), moments, moments, some.lists(some.integers(0, 2_000), max_size=8))
def test_however_often_one_looks_each_begins_once_in_order_and_not_before_its_time(state, lobby, sale, looks):
    looks = sorted(looks)
    became = begins(state, lobby, sale, looks)
    assert became == sorted(set(became), key=order.index)
    last = looks[-1] if looks else -1
    assert (OPEN in became) == (state in BEFORE["opens_at"] and sale is not None and sale <= last)
    if LOBBY in became:
        assert state is DRAFT
        assert lobby is not None
        assert any(lobby <= at and (sale is None or at < sale) for at in looks)


@given(some.sampled_from([DRAFT, LOBBY]), some.none() | some.integers(1, 1_000), some.integers(1, 1_000))
def test_who_waits_as_long_as_is_said_finds_something_to_do_and_nothing_sooner(state, lobby, sale):
    def after(wait: int) -> Step:
        return step(state, *[None if one is None else one - wait for one in (lobby, sale)])

    due = after(0)
    assert due.to is None
    assert due.left_us is not None
    assert after(due.left_us).to is not None
    assert after(due.left_us - 1).to is None


def test_where_nobody_looked_until_both_were_due_the_sale_begins_at_once():
    assert step(DRAFT, -60, 0) == Step(OPEN, 0)


@pytest.mark.parametrize("state", [OPEN, EventState.PAUSED, EventState.CLOSED])
def test_what_has_begun_has_nothing_to_wait_for(state):
    assert step(state, 0, 0) == NOTHING


def test_a_lobby_that_somebody_opened_waits_for_its_sale_alone():
    assert step(LOBBY, -1, 500) == Step(None, 500)
    assert step(LOBBY, 300, None) == NOTHING


@pytest.mark.parametrize("lobby", [NOON, LATER])
def test_a_lobby_that_would_not_be_before_the_sale_is_refused(lobby):
    with pytest.raises(BadRequest, match="before opens_at") as refused:
        check_times(Times(lobby, NOON))
    assert refused.value.code == "invalid_event"


@pytest.mark.parametrize("times", [Times(), Times(NOON), Times(None, NOON), Times(NOON, LATER)])
def test_each_time_may_be_left_out(times):
    check_times(times)


def test_what_is_left_out_of_a_change_stays_and_none_takes_a_time_away():
    was = Times(NOON, LATER)
    assert changed(DRAFT, was, TimesChange()) == was
    assert changed(DRAFT, was, TimesChange(lobby_opens_at=None)) == Times(None, LATER)
    assert changed(DRAFT, was, TimesChange(opens_at=None)) == Times(NOON, None)
    with pytest.raises(BadRequest):
        changed(DRAFT, was, TimesChange(opens_at=NOON))


def test_the_time_of_what_has_begun_stays_as_it_is():
    was = Times(NOON, LATER)
    for state in (LOBBY, OPEN):
        with pytest.raises(Conflicted, match="lobby_opens_at") as refused:
            changed(state, was, TimesChange(lobby_opens_at=None))
        assert refused.value.code == "times_fixed"
        assert changed(state, was, TimesChange(lobby_opens_at=NOON)) == was
    with pytest.raises(Conflicted, match="opens_at"):
        changed(OPEN, was, TimesChange(opens_at=None))


def test_a_lobby_that_has_begun_does_not_keep_its_sale_from_being_sooner():
    sooner = NOON - timedelta(minutes=5)
    assert changed(LOBBY, Times(NOON, LATER), TimesChange(opens_at=sooner)) == Times(NOON, sooner)
