"""When a message is tried again."""

from __future__ import annotations

import pytest

from notifier import backoff
from notifier.backoff import ASKED_SECONDS_MAX, JITTER, QUICK_TRIES, TRIES_MAX, pause_before, pause_in_order

HALF = 0.5
DAY = 86_400.0


def test_a_few_tries_come_within_seconds_and_the_rest_over_days():
    pauses = [pause_before(tries, HALF) or 0.0 for tries in range(1, TRIES_MAX)]
    assert pauses == sorted(pauses), "each is at least as long as the one before"
    assert sum(pauses[: QUICK_TRIES - 1]) <= 10
    assert 3 * DAY <= sum(pauses) <= 4 * DAY
    assert max(pauses) <= DAY


def test_after_the_last_try_there_is_none():
    assert pause_before(TRIES_MAX - 1, HALF) is not None
    assert pause_before(TRIES_MAX, HALF) is None
    assert pause_before(TRIES_MAX + 1, HALF) is None


@pytest.mark.parametrize("pause", [pause_before, pause_in_order])
def test_those_who_failed_together_do_not_come_back_together(pause):
    for tries in range(1, TRIES_MAX):
        least, usual, most = (pause(tries, luck) for luck in (0.0, HALF, 1.0))
        assert (least, most) == (pytest.approx(usual * (1 - JITTER)), pytest.approx(usual * (1 + JITTER)))


def test_what_others_wait_behind_is_tried_at_least_every_minute_for_ever():
    assert pause_in_order(1, HALF) == pause_before(1, HALF)
    assert pause_in_order(1_000, HALF) == backoff.AWAY_SECONDS[-1] == pause_in_order(10**6, HALF)


def test_a_subscriber_is_believed_when_to_come_back_within_bounds():
    assert pause_before(1, HALF, 30.0) == 30.0
    assert pause_before(1, HALF, 10 * DAY) == ASKED_SECONDS_MAX
    assert pause_before(TRIES_MAX - 1, HALF, 30.0) == pause_before(TRIES_MAX - 1, HALF)
    assert pause_before(TRIES_MAX, HALF, 30.0) is None
    assert pause_in_order(1, HALF, 10 * DAY) == backoff.AWAY_SECONDS[-1]
