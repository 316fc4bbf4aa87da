"""Rows ranked by the organiser: best available follows the ranks, and what is wrong is told with its line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.plan import PlanError, rows
from store.venues.csv_plan import read_csv
from store.venues.pretix import read_pretix
from tests.allocator.pure_sale import Sale

HEAD = "guid,section,row,number,category,price,rank"


def table(*ranks: str, seats: int = 2) -> bytes:
    """Rows A, B, C … from the stage backwards, each with its rank on its first line."""
    lines = [
        f"{chr(65 + row)}-{n},Stalls,{chr(65 + row)},{n},Gold,10,{rank if n == 1 else ''}"
        for row, rank in enumerate(ranks)
        for n in range(1, seats + 1)
    ]
    return "\n".join([HEAD, *lines]).encode()


def order(plan):
    return "".join(plan.seats[plan.blocks[row.start].first].row for row in rows(plan))


def test_without_ranks_the_rows_nearest_to_the_stage_are_best():
    assert order(read_csv(table("", "", ""), name="x")) == "ABC"


def test_given_ranks_win_and_rows_of_equal_rank_are_as_near_as_they_are():
    assert order(read_csv(table("2", "1", "3"), name="x")) == "BAC"
    assert order(read_csv(table("2", "1", "2", "1"), name="x")) == "BDAC"


def test_best_available_follows_the_ranks():
    sale = Sale(read_csv(table("3", "1", "2"), name="x"))
    got = [sale.answer(f"b{n}", '{"best":{"quantity":2}}')[1]["seats"][0] for n in range(3)]
    assert got == ["B-1", "C-1", "A-1"]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12))
def test_rows_stand_by_rank_and_then_as_they_would_without(ranks):
    plain = order(read_csv(table(*[""] * len(ranks)), name="x"))
    ranked = order(read_csv(table(*map(str, ranks)), name="x"))
    assert ranked == "".join(sorted(plain, key=lambda row: ranks[ord(row) - 65]))


@pytest.mark.parametrize(
    ("file", "place", "words"),
    [
        (table("1", "", "2"), "line 4, column rank", "row 'B' of 'Stalls' has no rank"),
        (table("1", "2.5"), "line 4, column rank", "must be a whole number"),
        (table("1", "-2"), "line 4, column rank", "must be a whole number"),
        (table("0"), "line 2, column rank", "from 1 to 100000"),
        (table("100001"), "line 2, column rank", "from 1 to 100000"),
        (table("1") + b"\nA-9,Stalls,A,9,Gold,10,2", "line 4, column rank", "another rank in line 2"),
        (
            b"guid,section,row,number,category,price,rank,capacity\nf,Floor,,,Gold,10,1,50",
            "line 2, column rank",
            "must be empty",
        ),
    ],
)
def test_a_rank_that_cannot_be_is_told_with_its_line(file, place, words):
    with pytest.raises(PlanError) as refused:
        read_csv(file, name="x")
    assert refused.value.place == place
    assert words in refused.value.reason


def pretix(*ranks):
    spot = {"x": 0.0, "y": 0.0}
    made = [
        {
            "row_number": chr(65 + row),
            "position": {"x": 0.0, "y": 30.0 * (row + 1)},
            "seats": [
                {
                    "seat_guid": f"{row}-{n}",
                    "seat_number": str(n),
                    "category": "Gold",
                    "position": {"x": 20.0 * n, "y": 0},
                }
                for n in range(2)
            ],
            **({} if rank is None else {"rank": rank}),
        }
        for row, rank in enumerate(ranks)
    ]
    zone = {"position": spot, "name": "Hall", "rows": made, "areas": []}
    return json.dumps({"name": "Hall", "zones": [zone], "categories": [{"name": "Gold"}]}).encode()


def test_rows_of_a_pretix_plan_may_be_ranked():
    assert order(read_pretix(pretix(None, None, None))) == "ABC"
    assert order(read_pretix(pretix(3, 1, 2))) == "BCA"


@pytest.mark.parametrize(
    ("ranks", "place", "words"),
    [
        ((1, None), "zones[0].rows[1].rank", "has no rank"),
        ((1, 0), "zones[0].rows[1].rank", "from 1 to 100000"),
        ((1, "2"), "zones[0].rows[1].rank", "Expected `int | null`"),
        ((1, 1.5), "zones[0].rows[1].rank", "Expected `int | null`"),
    ],
)
def test_a_rank_of_a_pretix_row_that_cannot_be_is_told_with_its_place(ranks, place, words):
    with pytest.raises(PlanError) as refused:
        read_pretix(pretix(*ranks))
    assert (refused.value.place, words in refused.value.reason) == (place, True)
