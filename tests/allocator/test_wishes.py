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
    assert wish.seats == (1, 0)
    assert (wish.best_quantity, wish.best_filter) == (3, (None, "Silver"))
    assert wish.areas == ((0, 4),)
    assert wish.quantity == 9


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
    assert wish.reason == ("" if want != Want() else "nothing_asked_for")
    best = want.best.quantity if want.best is not None else 0
    assert wish.quantity == len(want.seats) + best + sum(want.areas.values())


def test_equal_texts_are_read_once_and_what_is_remembered_is_bounded(monkeypatch):
    reader = Wishes(Layout(plan_of()))
    assert reader.read(b'{"seats":["A-1"]}') is reader.read(b'{"seats":["A-1"]}')
    monkeypatch.setattr(wishes, "REMEMBERED_MAX", 3)
    first = reader.read(b'{"seats":["A-1"]}')
    for n in range(2, 8):
        assert reader.read(b'{"seats":["A-%d"]}' % n).seats == (n - 1,)
    assert reader.read(b'{"seats":["A-1"]}') is not first
