"""From the text of a want to numbers of the plan: what can be read, what is invalid and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocator import wishes
from allocator.layout import Layout
from allocator.wishes import Wishes
from store.wire import canonical_want
from store.words import Best, Want
from tests.allocator.house import plan_of


def read(text: bytes) -> wishes.Wish:
    return Wishes(Layout(plan_of())).read(text)


def test_seats_best_and_places_become_numbers_and_a_quantity():
    wish = read(b'{"seats":["A-2","A-1"],"best":{"quantity":3,"category":"Silver"},"areas":{"floor":4}}')
    assert wish.reason == ""
    (option,) = wish.options
    assert option.seats == (1, 0)
    (party,) = option.parties
    assert (party.quantity, party.mask, party.accessible, party.apart) == (3, 0b1110, 0, False)
    assert option.areas == ((0, 4),)
    assert (option.quantity, option.up_to) == (9, False)
    assert wish.seat == -1


def test_what_will_do_instead_is_an_option_of_its_own_and_one_seat_is_known_as_such():
    wish = read(
        b'{"best":[{"quantity":2},{"quantity":1}],"fallbacks":[{"seats":["A-1","A-2"],"up_to":true}]}'
    )
    first, second = wish.options
    assert [party.quantity for party in first.parties] == [2, 1]
    assert (second.seats, second.up_to) == ((0, 1), True)
    assert wish.seat == -1, "there is more than one way to serve it"
    assert read(b'{"seats":["A-3"]}').seat == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"seats":["Z-1"]}', "unknown_seat"),
        (b'{"seats":["A-1","A-1"]}', "repeated_seat"),
        (b'{"areas":{"roof":1}}', "unknown_area"),
        (b'{"best":{"quantity":1,"section":"Attic"}}', "unknown_section"),
        (b'{"best":{"quantity":1,"category":"Paper"}}', "unknown_category"),
        (b"{}", "nothing_asked_for"),
        (b'{"seats":[]}', "nothing_asked_for"),
        (b'{"best":{"quantity":1},"fallbacks":[{"seats":["Z-1"]}]}', "unknown_seat"),
        (b'{"best":{"quantity":1},"fallbacks":[{}]}', "nothing_asked_for"),
        (b'{"best":[]}', "nothing_asked_for"),
        (b'{"best":{"quantity":2,"accessible":3}}', "more_accessible_than_asked_for"),
        (b'{"best":{"quantity":1,"price_min":1,"price_max":4999}}', "no_such_seats"),
        (b'{"best":{"quantity":1,"price_max":-1}}', "unreadable"),
        (b'{"best":[{"quantity":26},{"quantity":25}]}', "too_many"),
        (b'{"best":[' + b",".join([b'{"quantity":1}'] * 9) + b"]}", "unreadable"),
        (
            b'{"best":{"quantity":1},"fallbacks":[' + b",".join([b'{"areas":{"floor":1}}'] * 9) + b"]}",
            "unreadable",
        ),
        (b'{"best":{"quantity":0}}', "unreadable"),
        (b'{"best":{"quantity":51}}', "unreadable"),
        (b'{"seats":"A-1"}', "unreadable"),
        (b'{"more":1}', "unreadable"),
        (b"null", "unreadable"),
        (b"", "unreadable"),
        (b'{"seats":["\xff"]}', "unreadable"),
        (b'{"seats":\t["A-1"]}', "unreadable"),
        (b'{"seats":\n["A-1"]}', "unreadable"),
        (b'{"seats":' + b"[" * 100_000 + b"}", "unreadable"),
    ],
    ids=lambda value: repr(value[:40]),
)
def test_what_is_invalid_says_why(text, reason):
    assert read(text).reason == reason


def test_a_section_and_a_category_that_never_meet_are_no_such_seats():
    plan = plan_of(rows=1)
    assert (
        Wishes(Layout(plan)).read(b'{"best":{"quantity":1,"category":"Silver"}}').reason == "unknown_category"
    )


@given(st.binary(max_size=40) | st.text(max_size=20).map(str.encode))
def test_reading_never_raises(text):
    assert isinstance(read(text), wishes.Wish)


@given(
    st.builds(
        Want,
        seats=st.lists(st.sampled_from([f"A-{n}" for n in range(1, 11)]), unique=True).map(tuple),
        best=st.none() | st.builds(Best, st.integers(1, 50)),
        areas=st.dictionaries(st.just("floor"), st.integers(1, 50)),
    )
)
def test_every_canonical_want_of_what_there_is_can_be_read(want):
    wish = read(canonical_want(want))
    quantity = len(want.seats) + sum(best.quantity for best in want.parties) + sum(want.areas.values())
    assert wish.reason == ("nothing_asked_for" if not quantity else "too_many" if quantity > 50 else "")
    assert not wish.options or wish.options[0].quantity == quantity


def test_equal_texts_are_read_once_and_what_is_remembered_is_bounded(monkeypatch):
    reader = Wishes(Layout(plan_of()))
    assert reader.read(b'{"seats":["A-1"]}') is reader.read(b'{"seats":["A-1"]}')
    monkeypatch.setattr(wishes, "REMEMBERED_MAX", 3)
    first = reader.read(b'{"seats":["A-1"]}')
    for n in range(2, 8):
        assert reader.read(b'{"seats":["A-%d"]}' % n).seat == n - 1
    assert reader.read(b'{"seats":["A-1"]}') is not first
