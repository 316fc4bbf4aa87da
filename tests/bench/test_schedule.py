"""An open loop's schedule: what is due does not depend on what became of what was due before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.schedule import BEHIND_NS, Schedule, is_behind


def test_requests_are_due_at_even_times():
    schedule = Schedule.lasting(1_000, 100.0, 0.5)
    assert schedule.count == 50
    assert [schedule.due_ns(number) for number in (0, 1, 49)] == [1_000, 10_001_000, 490_001_000]


def test_nothing_is_due_before_the_start_and_everything_long_after_it():
    schedule = Schedule(5_000, 1_000.0, 7)
    assert schedule.due_count(4_999) == 0
    assert schedule.due_count(5_000) == 1
    assert schedule.due_count(10**12) == 7


@given(
    rate=st.floats(0.1, 100_000),
    count=st.integers(1, 10_000),
    start=st.integers(0, 10**12),
    later=st.integers(0, 10**11),
)
def test_as_many_are_due_as_have_a_due_time_by_now(rate, count, start, later):
    schedule = Schedule(start, rate, count)
    due = schedule.due_count(start + later)
    assert 1 <= due <= count
    assert schedule.due_ns(due - 1) <= start + later
    assert due == count or schedule.due_ns(due) > start + later


def test_a_loop_without_a_rate_is_refused():
    with pytest.raises(ValueError, match="above 0"):
        Schedule.lasting(0, 0.0, 1.0)


def test_behind_is_what_leaves_noticeably_late():
    assert not is_behind(1_000, 1_000 + BEHIND_NS)
    assert is_behind(1_000, 1_001 + BEHIND_NS)
