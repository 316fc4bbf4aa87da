"""Made venues have the size that was asked for and look like the real thing."""

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.plan import PlanError, Seat, encode
from store.venues.layout import ROW_PITCH, SEAT_PITCH
from store.venues.make import KINDS, make


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KINDS), st.integers(1, 3_000))
def test_a_venue_has_exactly_the_seats_that_were_asked_for_all_of_them_on_the_paper(kind, seats):
    plan = make(kind, seats)
    assert len(plan.seats) == seats
    assert all(0 <= s.x <= plan.width and 0 <= s.y <= plan.height for s in plan.seats)
    assert all(
        min(a.x, a.y) >= 0 and a.x + a.width <= plan.width and a.y + a.height <= plan.height
        for a in plan.areas
    )
    assert len({(s.section, s.row, s.number) for s in plan.seats}) == seats, "no label is there twice"


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_wish_gives_the_same_venue(kind):
    assert encode(make(kind, 2_345)) == encode(make(kind, 2_345))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seats", [37, 1_800, 9_000])
def test_neighbours_are_one_pitch_apart_and_nobody_sits_on_another(kind, seats):
    plan = make(kind, seats)
    for block in plan.blocks:
        inside = plan.seats[block.first : block.first + block.length]
        steps = [math.dist((a.x, a.y), (b.x, b.y)) for a, b in pairwise(inside)]
        assert all(0.95 * SEAT_PITCH < step < 1.05 * SEAT_PITCH for step in steps)
    cells: dict[tuple[int, int], list[Seat]] = {}
    for s in plan.seats:
        cells.setdefault((int(s.x // ROW_PITCH), int(s.y // ROW_PITCH)), []).append(s)
    for (column, line), seats_here in cells.items():
        near = [s for dx in (0, 1) for dy in (-1, 0, 1) for s in cells.get((column + dx, line + dy), ())]
        for s in seats_here:
            assert all(t is s or math.dist((s.x, s.y), (t.x, t.y)) > 0.6 * SEAT_PITCH for t in near)


def test_a_theatre_has_stalls_circle_and_balcony_and_speaking_names():
    plan = make("theatre", 2_500)
    assert [s.name for s in plan.sections] == [
        f"{level} {side}" for level in ("Stalls", "Circle", "Balcony") for side in ("left", "centre", "right")
    ]
    assert "stalls-C-12" in {s.guid for s in plan.seats}
    best = plan.seats[0]
    assert (plan.sections[best.section].name, best.row, plan.categories[best.category].name) == (
        "Stalls centre", "A", "A",
    )  # fmt: skip
    assert [c.name for c in plan.categories] == ["A", "B", "C", "D"]
    assert any(s.accessible for s in plan.seats)
    assert any(s.companion for s in plan.seats)


def test_the_price_falls_from_the_front_of_a_section_to_its_rear():
    for kind in KINDS:
        plan = make(kind, 4_000)
        rows: dict[tuple[int, str], tuple[float, int]] = {}
        for s in plan.seats:
            rows.setdefault(
                (s.section, s.row), (math.dist((s.x, s.y), (plan.focal_x, plan.focal_y)), s.category)
            )
        for section in range(len(plan.sections)):
            from_front = [category for (inside, _), (_, category) in rows.items() if inside == section]
            assert from_front == sorted(from_front)


def test_an_arena_has_a_bowl_of_numbered_blocks_around_a_standing_floor():
    plan = make("arena", 15_000, standing=4_000)
    names = [s.name for s in plan.sections]
    assert names[:2] == ["Block 101", "Block 102"]
    assert "Block 201" in names
    assert [(a.guid, a.capacity) for a in plan.areas] == [("floor", 4_000)]
    floor = plan.areas[0]
    assert not any(
        floor.x < s.x < floor.x + floor.width and floor.y < s.y < floor.y + floor.height for s in plan.seats
    )


def test_a_hall_needs_no_seats():
    plan = make("hall", 0, standing=1_500)
    assert plan.seats == ()
    assert [(a.guid, a.capacity) for a in plan.areas] == [("pit", 450), ("floor", 1_050)]
    assert len(make("hall", 0, standing=99).areas) == 1
    assert sum(a.capacity for a in make("hall", 0, standing=5_000_000).areas) == 5_000_000


@pytest.mark.parametrize("kind", KINDS)
def test_the_largest_venue_can_be_made(kind):
    assert len(make(kind, 100_000).seats) == 100_000


@pytest.mark.parametrize(
    ("kind", "seats", "standing", "currency", "place"),
    [
        ("circus", 10, None, "EUR", "kind"),
        ("theatre", 0, None, "EUR", "seats"),
        ("theatre", 100_001, None, "EUR", "seats"),
        ("arena", True, None, "EUR", "seats"),
        ("hall", -1, None, "EUR", "seats"),
        ("theatre", 10, 5, "EUR", "standing"),
        ("hall", 0, 5_000_001, "EUR", "standing"),
        ("arena", 10, 0, "EUR", "standing"),
        ("arena", 10, 5, "euros", "currency"),
    ],
)
def test_an_impossible_wish_is_refused_by_the_name_of_its_argument(kind, seats, standing, currency, place):
    with pytest.raises(PlanError) as refused:
        make(kind, seats, standing=standing, currency=currency)
    assert refused.value.place == place
