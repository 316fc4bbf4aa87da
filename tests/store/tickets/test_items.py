"""What an order's tickets are follows from what the order has; rows only say what went, and who has what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.errors import NotFound
from store.tickets.items import (
    SEAT,
    Item,
    Remembered,
    counted,
    item_of,
    items_there,
    places_there,
    places_to_take,
)

GONE = Remembered(gone=True)


@given(st.builds(Item, st.integers(SEAT, 999_999), st.integers(0, 999_999_999)))
def test_a_name_is_read_as_what_it_names(item):
    assert item_of(item.name) == item


@pytest.mark.parametrize("name", ["", "x", "01", "-1", "1-", "1-2-3", "1_000", "٣", "1\n", "9" * 10, "0x1"])
def test_what_names_no_ticket_is_not_found(name):
    with pytest.raises(NotFound) as refused:
        item_of(name)
    assert refused.value.code == "ticket_not_found"


def test_tickets_are_seats_by_number_and_places_from_one():
    assert items_there([7, 3], {1: 1, 0: 2}, {}) == [
        Item(SEAT, 3), Item(SEAT, 7), Item(0, 1), Item(0, 2), Item(1, 1),
    ]  # fmt: skip


@given(st.integers(0, 12), st.data())
def test_places_keep_their_numbers_whatever_went_before(had, data):
    """Any places, one after the other, leave those that were not named."""
    rows: dict[Item, Remembered] = {}
    left = places_there(0, had, rows)
    while left:
        went = data.draw(st.sampled_from(left))
        rows[went] = GONE
        left.remove(went)
        assert places_there(0, len(left), rows) == left


def test_of_places_that_only_a_number_is_said_of_those_go_first_that_are_nobodys_yet():
    rows = {
        Item(0, 4): Remembered(holder="bob"),
        Item(0, 5): Remembered(checked_at=1, checked_by="north"),
        Item(0, 2): GONE,
    }
    assert places_to_take(0, 4, 3, rows) == [Item(0, 3), Item(0, 1), Item(0, 4)]
    assert places_to_take(0, 4, 4, rows)[-1] == Item(0, 5)


def test_tickets_are_counted_as_an_order_counts_them():
    assert counted([Item(0, 2), Item(SEAT, 4), Item(SEAT, 3), Item(0, 9), Item(2, 1)]) == (
        [3, 4],
        {0: 2, 2: 1},
    )
