"""Who is to own an event: when it is handed over, when it is taken, how often it is looked for."""

from __future__ import annotations

from uuid import uuid4

import pytest

from allocator import direction
from allocator.direction import Direction
from allocator.lease import Seen

FREE = Seen(1, None, True, 0, False)
GIVEN_BACK = Seen(1, None, True, 0, True)
KILLED = Seen(1, uuid4(), True, 0, False)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def one(clock: Clock) -> Direction:
    return Direction(clock)


def test_an_owner_hands_over_once_another_one_that_is_warm_has_been_preferred_for_long_enough(one, clock):
    one.direct(False, True)
    assert not one.hands_over()
    clock.now += direction.SETTLED_SECONDS + 0.1
    one.direct(False, True)
    assert one.hands_over()


@pytest.mark.parametrize("wish", [(None, False), (True, False), (False, False)])
def test_an_owner_keeps_what_nobody_else_is_ready_for(one, clock, wish):
    one.direct(False, True)
    one.direct(*wish)
    clock.now += direction.SETTLED_SECONDS + 0.1
    assert not one.hands_over()


def test_a_successor_that_is_not_warm_any_more_has_to_be_for_as_long_again(one, clock):
    one.direct(False, True)
    clock.now += direction.SETTLED_SECONDS - 0.1
    one.direct(False, False)
    one.direct(False, True)
    clock.now += 0.2
    assert not one.hands_over()


def test_who_handed_over_and_had_to_take_it_again_keeps_it_for_a_while(one, clock):
    one.direct(False, True)
    clock.now += direction.SETTLED_SECONDS + 0.1
    one.handed_over(3)
    one.took(4)
    clock.now += direction.AGAIN_SECONDS - 1
    assert not one.hands_over()
    clock.now += 2
    assert one.hands_over()


def test_who_got_it_back_from_another_one_hands_it_over_again_at_once(one, clock):
    one.handed_over(3)
    one.took(5)
    one.direct(False, True)
    clock.now += direction.SETTLED_SECONDS + 0.1
    assert one.hands_over()


@pytest.mark.parametrize("preferred", [None, True, False])
def test_what_nobody_owns_is_taken_by_whoever_finds_it(one, preferred):
    one.direct(preferred, False)
    assert one.may_take(FREE)
    assert one.may_take(KILLED)


@pytest.mark.parametrize(("preferred", "takes"), [(None, True), (True, True), (False, False)])
def test_what_was_given_back_a_moment_ago_is_left_to_who_is_preferred(one, preferred, takes):
    one.direct(preferred, False)
    assert one.may_take(GIVEN_BACK) is takes


def test_who_is_to_own_an_event_looks_often_but_not_for_ever(one, clock):
    assert one.look_seconds() == direction.LOOK_SECONDS
    one.direct(True, False)
    assert one.look_seconds() == direction.EXPECTING_SECONDS
    clock.now += direction.EXPECTING_SECONDS_MAX + 1
    one.direct(True, False)
    assert one.look_seconds() == direction.PATIENT_SECONDS
    one.direct(False, False)
    assert one.look_seconds() == direction.LOOK_SECONDS
