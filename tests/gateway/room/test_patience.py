"""Waiting in place of a proof: good once, for one buyer at one event from one address, and never cheaper."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.addresses import Address
from gateway.problems import Busy, retry_after_of, status_of
from gateway.room.limits import TurnedAway
from gateway.room.patience import (
    AHEAD_SECONDS_MAX,
    GOOD_SECONDS,
    PATIENCE_SECONDS,
    Patience,
    WaitRefused,
)
from store.room.refused import Reason

SECRET = b"s" * 32
HOME, OFFICE = Address("198.51.100.1"), Address("2001:db8::/64")


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def refused(patience, ticket, *, event="gig", buyer="ann", address=HOME) -> Reason:
    with pytest.raises(WaitRefused) as caught:
        patience.check(event, buyer, address, ticket)
    assert status_of(caught.value) == 400
    return caught.value.reason


def test_who_waited_may_join_once_and_not_sooner(clock):
    patience = Patience(SECRET, clock)
    ticket = patience.give("gig", "ann", HOME)
    assert patience.left("gig", "ann", HOME, ticket) == PATIENCE_SECONDS
    clock.now += PATIENCE_SECONDS - 0.5
    assert refused(patience, ticket) is Reason.WAIT_NOT_OVER
    assert patience.left("gig", "ann", HOME, ticket) == 1
    clock.now += 0.5
    assert patience.left("gig", "ann", HOME, ticket) == 0
    patience.check("gig", "ann", HOME, ticket)
    assert refused(patience, ticket) is Reason.WAIT_NOT_VALID
    assert patience.left("gig", "ann", HOME, ticket) is None


def test_tickets_of_one_address_are_due_one_after_the_other_and_of_another_at_once(clock):
    patience = Patience(SECRET, clock)
    tickets = [patience.give("gig", f"b{n}", HOME) for n in range(5)]
    left = [patience.left("gig", f"b{n}", HOME, ticket) for n, ticket in enumerate(tickets)]
    assert left == [PATIENCE_SECONDS * n for n in range(1, 6)]
    assert patience.wait_of(HOME) == PATIENCE_SECONDS * 6
    assert patience.wait_of(OFFICE) == PATIENCE_SECONDS


def test_an_address_gets_no_more_places_by_waiting_than_its_waits_have_room(clock):
    patience, passed, seconds = Patience(SECRET, clock), 0, 120
    waiting: list[tuple[str, str]] = []
    for second in range(seconds):
        for number in range(3):
            buyer = f"b{second}-{number}"
            try:
                waiting.append((buyer, patience.give("gig", buyer, HOME)))
            except TurnedAway:
                continue
        for buyer, ticket in list(waiting):
            if patience.left("gig", buyer, HOME, ticket) == 0:
                patience.check("gig", buyer, HOME, ticket)
                waiting.remove((buyer, ticket))
                passed += 1
        clock.now += 1
    assert 0 < passed <= seconds / PATIENCE_SECONDS


def test_an_address_whose_waits_reach_far_is_told_when_to_ask_again(clock):
    patience = Patience(SECRET, clock)
    for number in range(AHEAD_SECONDS_MAX // PATIENCE_SECONDS):
        patience.give("gig", f"b{number}", HOME)
    for _ in range(3):  # being refused makes it no longer
        with pytest.raises(TurnedAway) as caught:
            patience.give("gig", "late", HOME)
        assert (status_of(caught.value), caught.value.reason) == (429, Reason.ADDRESS_WAITS)
        assert retry_after_of(caught.value) == PATIENCE_SECONDS
    clock.now += PATIENCE_SECONDS
    patience.give("gig", "late", HOME)


@pytest.mark.parametrize("told", [{"event": "other"}, {"buyer": "bob"}, {"address": OFFICE}])
def test_it_is_for_one_buyer_at_one_event_from_one_address(clock, told):
    patience = Patience(SECRET, clock)
    ticket = patience.give("gig", "ann", HOME)
    clock.now += PATIENCE_SECONDS
    assert refused(patience, ticket, **told) is Reason.WAIT_NOT_VALID
    patience.check("gig", "ann", HOME, ticket)


def test_it_is_good_at_every_gateway_with_the_same_key_and_at_no_other(clock):
    ticket = Patience(SECRET, clock).give("gig", "ann", HOME)
    clock.now += PATIENCE_SECONDS
    assert refused(Patience(b"t" * 32, clock), ticket) is Reason.WAIT_NOT_VALID
    Patience(SECRET, clock).check("gig", "ann", HOME, ticket)


def test_it_ends(clock):
    patience = Patience(SECRET, clock)
    ticket = patience.give("gig", "ann", HOME)
    clock.now += PATIENCE_SECONDS + GOOD_SECONDS + 1
    assert refused(patience, ticket) is Reason.WAIT_NOT_VALID


@pytest.mark.parametrize(
    "change",
    [
        lambda due, signed: f"{int(due) - 1000 * PATIENCE_SECONDS}.{signed}",
        lambda due, signed: f"0{due}.{signed}",
        lambda due, signed: f"{due}.{signed}.",
        lambda due, signed: f"{due}.{signed[:-1]}",
        lambda due, signed: f"{due}.{signed.upper()}",
        lambda due, signed: f"{due}{signed}",
        lambda due, signed: f"-{due}.{signed}",
    ],
)
def test_what_was_changed_is_no_ticket(clock, change):
    patience = Patience(SECRET, clock)
    changed = change(*patience.give("gig", "ann", HOME).split("."))
    clock.now += PATIENCE_SECONDS
    assert refused(patience, changed) is Reason.WAIT_NOT_VALID


@given(st.text())
def test_anything_else_is_refused_and_harms_nothing(text):
    assert refused(Patience(SECRET), text) is Reason.WAIT_NOT_VALID


def test_what_is_remembered_is_bounded_and_who_asks_again_and_again_is_remembered(clock):
    patience = Patience(SECRET, clock, kept_max=3, used_max=2)
    for number in range(10):
        patience.give("gig", "ann", HOME)
        patience.give("gig", "ann", Address(f"203.0.113.{number}"))
    assert patience.remembered == 3
    assert patience.wait_of(HOME) == 11 * PATIENCE_SECONDS
    tickets = [patience.give("gig", f"b{n}", Address(f"192.0.2.{n}")) for n in range(3)]
    clock.now += PATIENCE_SECONDS
    for number, ticket in enumerate(tickets):
        join = (patience.check, "gig", f"b{number}", Address(f"192.0.2.{number}"), ticket)
        if number < 2:
            join[0](*join[1:])
        else:
            with pytest.raises(Busy):
                join[0](*join[1:])
    clock.now += GOOD_SECONDS + 1
    later = patience.give("gig", "ann", OFFICE)
    clock.now += PATIENCE_SECONDS
    patience.check("gig", "ann", OFFICE, later)
