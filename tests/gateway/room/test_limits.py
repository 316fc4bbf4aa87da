"""Bounds on joining and on guessing codes: what is too much is told, and memory stays bounded."""

from __future__ import annotations

import pytest

from gateway.addresses import Address
from gateway.problems import retry_after_of, status_of
from gateway.room.limits import BURST_MINUTES, Kind, Limits, TurnedAway
from gateway.room.settings import RoomSettings
from store.room.refused import Reason

HOME = Address("198.51.100.1")


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def limits_of(clock, *, kept_max=1_000, **settings):
    most = {"joins_per_address_minute": 12, "joins_per_buyer_minute": 2} | settings
    return Limits(RoomSettings(**most), clock, kept_max)


def join_until_refused(limits, names, address=HOME):
    for done, name in enumerate(names):
        try:
            limits.check(address, name, Kind.JOIN)
        except TurnedAway as error:
            return done, error
    raise AssertionError("nobody was refused")


def test_thousands_of_joins_from_one_address_are_refused_with_what_to_do(clock):
    done, error = join_until_refused(limits_of(clock), (f"b{n}" for n in range(5_000)))
    assert done == 12 * BURST_MINUTES
    assert (status_of(error), error.reason, error.code) == (429, Reason.ADDRESS_JOINS, error.reason.value)
    assert retry_after_of(error) == 5
    assert "Wait 5 seconds" in str(error)


def test_one_buyer_is_bounded_wherever_they_are(clock):
    limits = limits_of(clock)
    for number in range(2 * BURST_MINUTES):
        limits.check(Address(f"198.51.100.{number}"), "ann", Kind.JOIN)
    with pytest.raises(TurnedAway) as caught:
        limits.check(Address("203.0.113.1"), "ann", Kind.JOIN)
    assert caught.value.reason is Reason.BUYER_JOINS


def test_who_waits_as_told_may_come_again(clock):
    limits = limits_of(clock)
    _, error = join_until_refused(limits, ["ann"] * 100)
    clock.now += error.retry_after_seconds - 0.01
    with pytest.raises(TurnedAway):
        limits.check(HOME, "ann", Kind.JOIN)
    clock.now += 0.01
    limits.check(HOME, "ann", Kind.JOIN)
    with pytest.raises(TurnedAway):
        limits.check(HOME, "ann", Kind.JOIN)


def test_one_who_is_refused_takes_nothing_from_their_neighbours(clock):
    limits = limits_of(clock)
    join_until_refused(limits, ["ann"] * 100)
    for _ in range(1_000):
        with pytest.raises(TurnedAway):
            limits.check(HOME, "ann", Kind.JOIN)
    done, _ = join_until_refused(limits, (f"b{n}" for n in range(5_000)))
    assert done == 12 * BURST_MINUTES - 2 * BURST_MINUTES


def test_codes_are_bounded_apart_from_joins(clock):
    limits = limits_of(clock, codes_per_buyer_minute=1)
    join_until_refused(limits, ["ann"] * 100)
    for _ in range(BURST_MINUTES):
        limits.check(HOME, "ann", Kind.CODE)
    with pytest.raises(TurnedAway) as caught:
        limits.check(HOME, "ann", Kind.CODE)
    assert caught.value.reason is Reason.BUYER_CODES


def test_a_right_code_is_not_counted_as_a_guess(clock):
    limits = limits_of(clock, codes_per_address_minute=1)
    for number in range(100):
        limits.check(HOME, f"b{number}", Kind.CODE)
        limits.give_back(HOME, f"b{number}", Kind.CODE)
    for number in range(BURST_MINUTES):
        limits.check(HOME, f"c{number}", Kind.CODE)
    with pytest.raises(TurnedAway) as caught:
        limits.check(HOME, "d", Kind.CODE)
    assert caught.value.reason is Reason.ADDRESS_CODES


def test_a_thousand_guesses_at_once_are_a_thousand_guesses(clock):
    limits = limits_of(clock, codes_per_address_minute=4, codes_per_buyer_minute=0)
    passed = 0
    for number in range(1_000):  # none of them is known to be wrong yet
        try:
            limits.check(HOME, f"b{number}", Kind.CODE)
        except TurnedAway:
            continue
        passed += 1
    assert passed == 4 * BURST_MINUTES


def test_what_is_remembered_is_bounded_and_the_busiest_are_remembered(clock):
    limits = limits_of(clock, kept_max=50)
    join_until_refused(limits, ["ann"] * 100)
    for number in range(10_000):
        limits.check(Address(f"2001:db8:{number:x}::/64"), f"b{number}", Kind.JOIN)
        assert limits.remembered <= 100
        if number % 10 == 0 and number < 100:
            clock.now += 0.001
    fresh = limits_of(clock, kept_max=50)
    for number in range(49):
        fresh.check(Address(f"2001:db8:{number:x}::/64"), f"b{number}", Kind.JOIN)
    join_until_refused(fresh, ["ann"] * 100)
    for number in range(49):
        fresh.check(Address(f"2001:db8:f{number:x}::/64"), f"c{number}", Kind.JOIN)
    with pytest.raises(TurnedAway):  # those that were used longer ago were forgotten first
        fresh.check(HOME, "ann", Kind.JOIN)


def test_no_bound_is_none(clock):
    limits = limits_of(clock, joins_per_address_minute=0, joins_per_buyer_minute=0)
    for _ in range(10_000):
        limits.check(HOME, "ann", Kind.JOIN)
    assert limits.remembered == 0
