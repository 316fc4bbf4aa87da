"""A plan's numbering, its checks and its canonical form."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from store import plan as plans
from store.plan import Area, Block, Category, Plan, PlanError, Seat, Section, check, decode, encode, number

CATEGORIES = (Category("A", 9500, "EUR", "#112233"), Category("B", 5000, "EUR", "#445566"))
SECTIONS = (Section("Stalls"), Section("Circle"))


def seat(guid, x, y, *, row="A", section=0, category=0):
    return Seat(guid, section, row, guid, category, x, y)


def numbered(seats, areas=(), focal=(0.0, 0.0), rows=None) -> Plan:
    return number(
        "Hall", "EUR", CATEGORIES, SECTIONS, seats, areas, focal=focal, size=(1000.0, 1000.0), rows=rows
    )


def guids_of_blocks(plan):
    return [[seat.guid for seat in plan.seats[b.first : b.first + b.length]] for b in plan.blocks]


def test_seats_of_a_row_are_numbered_from_left_to_right_whatever_their_order_in_the_file():
    plan = numbered([seat("c", 40, 0), seat("a", 0, 0), seat("b", 20, 0)])
    assert guids_of_blocks(plan) == [["a", "b", "c"]]


def test_an_aisle_ends_a_block_and_a_slightly_wider_step_does_not():
    plan = numbered([seat(str(i), x, 50) for i, x in enumerate([0, 20, 40, 85, 105, 135])])
    assert guids_of_blocks(plan) == [["0", "1", "2"], ["3", "4", "5"]]


def test_a_change_of_category_ends_a_block():
    plan = numbered([seat("a", 0, 0), seat("b", 20, 0, category=1), seat("c", 40, 0, category=1)])
    assert guids_of_blocks(plan) == [["a"], ["b", "c"]]


def test_two_seats_across_an_aisle_are_told_apart_by_the_pitch_of_their_section():
    others = [seat(f"B{i}", 20 * i, 24, row="B") for i in range(6)]
    plan = numbered([seat("a", 0, 0), seat("b", 100, 0), *others])
    assert guids_of_blocks(plan)[:2] == [["a"], ["b"]]


def test_rows_near_the_stage_come_first_and_equal_ones_by_section_then_by_appearance():
    seats = [
        seat("far", 0, 90, row="Z"),
        seat("circle", 0, -30, row="A", section=1),
        seat("late", 30, 0, row="Y"),
        seat("later", -30, 0, row="B"),
        seat("near", 0, 10, row="C"),
    ]
    assert [s.guid for s in numbered(seats).seats] == ["near", "late", "later", "circle", "far"]


def test_a_row_bent_around_the_stage_keeps_its_order_along_the_bend():
    ring = [
        seat(str(i), 100 * math.cos(math.radians(a)), 100 * math.sin(math.radians(a)))
        for i, a in enumerate(range(0, 300, 10))
    ]
    assert guids_of_blocks(numbered(ring)) == [[str(i) for i in range(30)]]


def test_a_row_that_runs_away_from_the_stage_is_numbered_from_top_to_bottom():
    plan = numbered([seat("b", 7, 40), seat("c", 7, 60), seat("a", 7, 20)])
    assert guids_of_blocks(plan) == [["a", "b", "c"]]


def test_physical_rows_of_one_label_stay_apart_when_they_are_named():
    seats = [seat("a", 0, 0), seat("b", 20, 0), seat("c", 40, 0), seat("d", 60, 0)]
    assert guids_of_blocks(numbered(seats, rows=[0, 0, 1, 1])) == [["a", "b"], ["c", "d"]]


def test_equal_plans_have_equal_bytes_even_from_whole_numbers():
    plan = numbered([seat("a", 1, 2)], [Area("floor", "Floor", 0, 5, 1, 2, 3, 4)])
    same = numbered([seat("a", 1.0, 2.0)], [Area("floor", "Floor", 0, 5, 1.0, 2.0, 3.0, 4.0)])
    assert encode(plan) == encode(same) == encode(decode(encode(plan)))


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        (b"{", "plan"),
        (b"[]", "plan"),
        (b"\xff", "plan"),
        (b'{"name":1}', "name"),
        (encode(numbered([seat("a", 1, 2)])).replace(b'"a",0,"A"', b'"a",true,"A"'), "seats[0].section"),
        (b"[" * 100_000, "plan"),
    ],
)
def test_what_is_not_a_plan_is_refused_with_the_place(raw, place):
    with pytest.raises(PlanError) as refused:
        decode(raw)
    assert refused.value.place == place


GOOD = numbered([seat("a", 0, 0), seat("b", 20, 0)], [Area("floor", "Floor", 0, 100, 0.0, 0.0, 9.0, 9.0)])


def with_seat(**changes):
    return replace(GOOD, seats=(replace(GOOD.seats[0], **changes), GOOD.seats[1]))


def with_area(**changes):
    return replace(GOOD, areas=(replace(GOOD.areas[0], **changes),))


def with_category(**changes):
    return replace(GOOD, categories=(CATEGORIES[0], replace(CATEGORIES[1], **changes)))


@pytest.mark.parametrize(
    ("plan", "place", "reason"),
    [
        (replace(GOOD, name=""), "name", "empty"),
        (replace(GOOD, name="x" * 101), "name", "at most 100"),
        (replace(GOOD, currency="euro"), "currency", "three capital letters"),
        (replace(GOOD, seats=(), blocks=(), areas=()), "seats", "neither seats nor areas"),
        (replace(GOOD, seats=GOOD.seats * 50_001), "seats", "at most 100,000"),
        (replace(GOOD, sections=SECTIONS * 501), "sections", "at most 1,000"),
        (replace(GOOD, categories=CATEGORIES * 51), "categories", "at most 100"),
        (replace(GOOD, areas=GOOD.areas * 201), "areas", "at most 200"),
        (replace(GOOD, focal_x=math.nan), "focal_x", "must be a number"),
        (replace(GOOD, width=0.0), "width", "from 1"),
        (replace(GOOD, sections=(Section("S"), Section("S"))), "sections[1].name", "already"),
        (with_category(name="A"), "categories[1].name", "already the name of categories[0]"),
        (with_category(price_minor=-1), "categories[1].price_minor", "from 0"),
        (with_category(price_minor=True), "categories[1].price_minor", "whole number"),
        (with_category(price_minor=10**9 + 1), "categories[1].price_minor", "to 1000000000"),
        (with_category(currency="USD"), "categories[1].currency", "EUR"),
        (with_category(colour="red"), "categories[1].colour", "#1a2b3c"),
        (with_seat(guid="b"), "seats[1].guid", "already the guid of seats[0]"),
        (with_seat(guid="floor"), "areas[0].guid", "already the guid of seats[0]"),
        (with_seat(guid="x" * 65), "seats[0].guid", "at most 64"),
        (with_seat(guid="a\u0000"), "seats[0].guid", "printable"),
        (with_seat(guid="\ud800"), "seats[0].guid", "printable"),
        (with_seat(guid=" a"), "seats[0].guid", "space"),
        (with_seat(guid=5), "seats[0].guid", "text"),
        (with_seat(section=2), "seats[0].section", "no section 2"),
        (with_seat(category=-1), "seats[0].category", "no category -1"),
        (with_seat(category=False), "seats[0].category", "no category False"),
        (with_seat(number=""), "seats[0].number", "empty"),
        (with_seat(x=math.inf), "seats[0].x", "number"),
        (with_seat(y=True), "seats[0].y", "number"),
        (with_seat(accessible=1), "seats[0].accessible", "true or false"),
        (with_area(capacity=0), "areas[0].capacity", "from 1"),
        (with_area(capacity=5_000_001), "areas[0].capacity", "to 5000000"),
        (with_area(width=-3.0), "areas[0].width", "from 1"),
        (replace(GOOD, blocks=()), "blocks", "in no block"),
        (replace(GOOD, blocks=(Block(1, 1, 0, 0),)), "blocks[0].first", "must be 0"),
        (replace(GOOD, blocks=(Block(0, 3, 0, 0),)), "blocks[0].length", "2 seats left"),
        (replace(GOOD, blocks=(Block(0, 2, 0, 1),)), "blocks[0]", "one row"),
        (with_seat(row="B"), "blocks[0]", "one row"),
    ],
)
def test_a_plan_out_of_bounds_is_refused_with_place_and_reason(plan, place, reason):
    with pytest.raises(PlanError) as refused:
        check(plan)
    assert refused.value.place == place
    assert reason in refused.value.reason


labels = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)
coordinates = st.floats(-1000, 1000) | st.integers(-1000, 1000).map(float)


@st.composite
def raw_seats(draw):
    guids = draw(st.lists(labels, min_size=1, max_size=40, unique=True))
    return [
        Seat(
            guid,
            draw(st.integers(0, 1)),
            draw(st.sampled_from(["", "A", "B", "C"])),
            draw(labels),
            draw(st.integers(0, 1)),
            draw(coordinates),
            draw(coordinates),
            draw(st.booleans()),
            draw(st.booleans()),
        )
        for guid in guids
    ]


@given(raw_seats())
def test_any_numbered_plan_is_accepted_round_trips_and_keeps_its_promises(seats):
    plan = numbered(seats)
    check(plan)
    assert decode(encode(plan)) == plan
    assert encode(decode(encode(plan))) == encode(plan)
    assert sorted(s.guid for s in plan.seats) == sorted(s.guid for s in seats)
    ends = [0, *(block.first + block.length for block in plan.blocks)]
    assert [block.first for block in plan.blocks] == ends[:-1]
    assert ends[-1] == len(plan.seats)
    for block in plan.blocks:
        inside = plan.seats[block.first : block.first + block.length]
        assert {(s.section, s.row, s.category) for s in inside} == {
            (block.section, inside[0].row, block.category)
        }
    assert numbered(plan.seats) == plan, "numbering again changes nothing"


@given(raw_seats())
def test_rows_stand_best_first(seats):
    plan = numbered(seats)
    rows: dict[tuple[int, str], list[float]] = {}
    for s in plan.seats:
        rows.setdefault((s.section, s.row), []).append(math.dist((s.x, s.y), (0, 0)))
    ranks = [sum(distances) / len(distances) for distances in rows.values()]
    assert all(better <= worse + 1e-5 for better, worse in pairwise(ranks))


@given(
    st.lists(st.tuples(st.sampled_from([1, 1, 1, 3]), st.integers(0, 1)), min_size=4, max_size=40),
    st.floats(-math.pi / 2 + 0.1, math.pi / 2 - 0.1),
    st.randoms(use_true_random=False),
)
def test_blocks_are_exactly_the_runs_between_aisles_in_any_direction_and_file_order(steps, angle, chance):
    """Half of the steps or more are one pitch, so the row can tell its pitch."""
    steps = [*steps, *[(1, 0)] * len(steps)]
    expected: list[list[str]] = []
    seats, along, before = [], 0, -1
    for index, (step, category) in enumerate(steps):
        along += step
        if step > 1 or category != before:
            expected.append([])
        expected[-1].append(f"s{index}")
        x, y = along * 20 * math.cos(angle), along * 20 * math.sin(angle)
        seats.append(seat(f"s{index}", x, y, category=category))
        before = category
    chance.shuffle(seats)
    assert guids_of_blocks(numbered(seats)) == expected


def test_the_largest_plan_is_within_the_bounds_of_what_is_stored():
    seats = [seat(f"{r}-{n}", n * 20, r * 24, row=str(r)) for r in range(400) for n in range(250)]
    plan = numbered(seats)
    check(plan)
    assert len(plan.seats) == plans.SEATS_MAX
    assert len(plan.blocks) == 400
