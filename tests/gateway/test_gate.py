"""The fast gate refuses what is certainly gone, and nothing else."""

from __future__ import annotations

import pytest

from gateway.gate import HELD_BEYOND_NOW_US, Seats, refusable
from store.lookups import SeatMap
from store.plan import Area, Category, Seat, Section, number
from store.wire import Delta
from store.words import Best, Choice, Micros, Want

NOW = 1_000_000_000
NAMES = ("free", "sold", "blocked", "held long", "held short")


@pytest.fixture
def seats():
    row = [Seat(name, 0, "A", str(no), 0, float(no), 1.0) for no, name in enumerate(NAMES)]
    gold, floor = Category("Gold", 9000, "EUR", "#aa8800"), Area("floor", "Floor", 0, 5, 0, 0, 1, 1)
    seats = Seats(
        number("House", "EUR", [gold], [Section("Stalls")], row, [floor], focal=(2.0, 0.0), size=(9.0, 5.0))
    )
    held = [(3, NOW + HELD_BEYOND_NOW_US + 1), (4, NOW + HELD_BEYOND_NOW_US)]
    seats.load(SeatMap(7, Micros(NOW), "asbhh", held, [5]))
    return seats


def test_seats_that_are_sold_blocked_or_held_well_beyond_now_are_gone(seats):
    assert seats.gone(NAMES, NOW) == ["sold", "blocked", "held long"]


def test_a_seat_nobody_knows_is_left_to_the_decision(seats):
    assert seats.gone(["no such seat"], NOW) == []


@pytest.mark.parametrize(
    ("want", "again", "undecided", "may"),
    [
        (Want(("a",)), False, 0, True),
        (Want(("a",)), True, 0, False),
        (Want(("a",)), False, 1, False),
        (Want(("a",), Best(1)), False, 0, False),
        (Want(("a",), None, {"floor": 1}), False, 0, False),
        (Want((), Best(1)), False, 0, True),
        (Want((), (Best(1), Best(2))), False, 0, True),
        (Want((), None, {"floor": 1}), False, 0, True),
        (Want((), Best(1), {"floor": 1}), False, 0, True),
        (Want((), Best(1), up_to=True), False, 0, False),
        (Want((), Best(1)), True, 0, False),
        (Want((), Best(1)), False, 1, False),
        (Want((), Best(1), fallbacks=(Choice(best=Best(1)),)), False, 0, False),
        (Want((), Best(1), move="7"), False, 0, False),
        (Want((), Best(1), waitlist=True), False, 0, False),
        (Want(("a",), waitlist=True), False, 0, False),
        (Want(seats=("a",), up_to=True), False, 0, False),
        (Want(seats=("a",), move="7"), False, 0, False),
        (Want(seats=("a",), fallbacks=(Choice(best=Best(1)),)), False, 0, False),
    ],
)
def test_only_a_first_attempt_with_nothing_else_wished_by_a_buyer_with_nothing_undecided_is_looked_at(
    want, again, undecided, may
):
    assert refusable(want, again=again, undecided=undecided) is may


def test_a_batch_changes_the_map_in_its_own_order(seats):
    later = NOW + 10 * HELD_BEYOND_NOW_US
    seats.apply(Delta(8, NOW, [(4, later), (0, later)], [4], [3], [(0, 2)]))
    assert seats.letters.decode() == "hsbsh"
    assert seats.gone(["free", "held long", "held short"], NOW) == ["free", "held long", "held short"]
    assert seats.areas_free == [2]


def test_a_batch_shows_what_an_operator_blocked_and_unblocked(seats):
    seats.apply(Delta(8, NOW, [], [2], [], [(0, 2)], "", [0, 4]))
    assert seats.letters.decode() == "bsahb"
    assert seats.gone(["free", "blocked"], NOW) == ["free"]


def test_a_new_snapshot_tells_what_looks_different(seats):
    assert seats.load(SeatMap(9, Micros(NOW), "asaha", [(3, NOW)], [4])) == ([2, 4], [0])
    assert seats.gone(NAMES, NOW) == ["sold"]
