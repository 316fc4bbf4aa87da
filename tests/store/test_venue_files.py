"""Plans come in from pretix's JSON and from tables."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from store.plan import Area, Block, Category, PlanError, check
from store.venues.csv_plan import read_csv
from store.venues.pretix import Standing, read_pretix
from store.venues.reading import Terms, amount_minor, amount_shown

PLANS = Path(__file__).with_name("plans")


def raw(name):
    return (PLANS / name).read_bytes()


def guids_of_blocks(plan):
    return [[s.guid for s in plan.seats[b.first : b.first + b.length]] for b in plan.blocks]


def test_the_documented_sample_plan_of_pretix_imports():
    plan = read_pretix(raw("pretix_sample.json"), terms=Terms(prices_minor={"Parquet": 1250}))
    assert plan.name == "Tiny playhouse"
    assert plan.categories == (Category("Parquet", 1250, "EUR", "#2255aa"),)
    assert [s.name for s in plan.sections] == ["Hall"]
    assert [(s.guid, s.row, s.number, s.x, s.y) for s in plan.seats] == [
        ("hall-1-1", "1", "1", 40.0, 25.0),
        ("hall-1-2", "1", "2", 70.0, 25.0),
    ]
    assert plan.blocks == (Block(0, 2, 0, 0),)
    assert (plan.width, plan.height) == (600.0, 500.0)
    assert (plan.focal_x, plan.focal_y) == (300.0, 0.0), "no stage is drawn: the top, in the middle"


def test_a_pretix_plan_with_everything_the_schema_knows_imports():
    plan = read_pretix(raw("pretix_playhouse.json"), standing={"Standing": Standing(800, "Silver")})
    assert [c.colour for c in plan.categories] == ["#ffd700", "#cccccc", "#e0a030"]
    assert {c.price_minor for c in plan.categories} == {2500}, "pretix has no prices: the default"
    assert [s.name for s in plan.sections] == ["Stalls", "Stalls (2)", "Zone 3"]
    assert (plan.focal_x, plan.focal_y) == (200.0, 80.0), "the middle of the area that says stage"
    assert plan.areas == (Area("standing", "Standing", 1, 800, 460.0, 200.0, 40.0, 80.0),), "rotated by 90°"
    assert guids_of_blocks(plan) == [
        ["stalls-A-1", "stalls-A-2", "stalls-A-3"],
        ["stalls-A-4", "stalls-A-5", "stalls-A-6"],
        ["stalls-B-1", "stalls-B-2", "stalls-B-3"],
        ["stalls-B-4", "stalls-B-5", "stalls-B-6"],
        ["box-1-3", "box-1-4"],
        ["box-1-1", "box-1-2"],
    ]


def test_areas_of_pretix_stay_drawings_unless_they_are_asked_for():
    assert read_pretix(raw("pretix_playhouse.json")).areas == ()


def test_the_first_form_of_the_schema_still_imports():
    plan = read_pretix(raw("pretix_first_schema.json"), name="Renamed")
    assert plan.name == "Renamed"
    assert (plan.focal_x, plan.focal_y) == (30.0, 15.0)
    assert plan.width >= 30
    assert plan.height >= 65


def test_a_stage_given_by_hand_wins():
    plan = read_pretix(raw("pretix_playhouse.json"), terms=Terms(stage=(20.0, 300.0)))
    assert (plan.focal_x, plan.focal_y) == (20.0, 300.0)
    assert plan.seats[0].guid == "box-1-1"


def test_a_table_with_positions_and_a_standing_area_imports():
    plan = read_csv(raw("playhouse.csv"), name="Playhouse")
    assert [(c.name, c.price_minor) for c in plan.categories] == [
        ("Gold", 4990),
        ("Silver", 3000),
        ("Standing", 2500),
    ]
    assert guids_of_blocks(plan) == [
        ["stalls-A-1", "stalls-A-2"],
        ["stalls-A-3", "stalls-A-4"],
        ["stalls-B-1", "stalls-B-2"],
    ]
    assert [s.guid for s in plan.seats if s.accessible] == ["stalls-A-3"]
    assert [s.guid for s in plan.seats if s.companion] == ["stalls-A-4"]
    (floor,) = plan.areas
    assert (floor.guid, floor.name, floor.capacity, floor.width, floor.height) == (
        "floor", "Floor standing", 800, 120.0, 50.0,
    )  # fmt: skip


def test_a_table_as_a_spreadsheet_saves_it_imports_and_is_laid_out():
    plan = read_csv(raw("spreadsheet.csv"), name="Parkett")
    assert [c.name for c in plan.categories] == ["Rang I", 'Rang "II"']
    assert [c.price_minor for c in plan.categories] == [4950, 1200]
    assert guids_of_blocks(plan) == [["p-1-1", "p-1-2", "p-1-10"], ["p-2-1"]]
    assert all(0 < s.x < plan.width and 0 < s.y < plan.height for s in plan.seats)
    assert plan.focal_y < min(s.y for s in plan.seats)


def test_many_sections_without_positions_stand_in_a_grid_and_none_on_another():
    lines = [
        f"{s}-{r}-{n},Section {s},{r},{n},A,10" for s in range(30) for r in range(1, 5) for n in range(1, 9)
    ]
    plan = read_csv("\n".join(["guid,section,row,number,category,price", *lines]).encode(), name="Grid")
    places = {(s.x, s.y) for s in plan.seats}
    assert len(places) == len(plan.seats) == 960
    assert len(plan.blocks) == 120
    assert plan.width < 3 * plan.height < 9 * plan.width


def test_options_price_what_the_file_does_not():
    file = b"guid,section,row,number,category\n1,S,A,1,Gold\n2,S,A,2,Silver\n"
    plan = read_csv(file, name="x", terms=Terms(prices_minor={"Gold": 9000}, default_price_minor=3000))
    assert [(c.name, c.price_minor) for c in plan.categories] == [("Gold", 9000), ("Silver", 3000)]


def test_a_standing_area_alone_is_a_venue():
    text = "guid\tsection\trow\tnumber\tcategory\tprice\tcapacity\nfloor\tFloor\t\t\tStanding\t20\t500\n"
    plan = read_csv(text.encode(), name="Club")
    assert plan.seats == ()
    assert plan.areas[0].capacity == 500


@pytest.mark.parametrize(
    ("written", "currency", "minor", "shown"),
    [
        ("49.90", "EUR", 4990, "49.90 EUR"),
        ("49,9", "EUR", 4990, "49.90 EUR"),
        ("0", "EUR", 0, "0.00 EUR"),
        ("5000", "JPY", 5000, "5,000 JPY"),
        ("1.250", "KWD", 1250, "1.250 KWD"),
    ],
)
def test_amounts_follow_the_decimals_of_their_currency(written, currency, minor, shown):
    assert amount_minor(written, currency, "here") == minor
    assert amount_shown(minor, currency) == shown


def read_or_refuse(read, file):
    """A file is a checked plan or a PlanError with a place: there is no third."""
    try:
        plan = read(file)
    except PlanError as error:
        refused = error
    else:
        check(plan)
        return
    assert refused.place
    assert refused.reason


@settings(max_examples=150)
@example(b",")
@given(st.binary(max_size=200))
def test_no_bytes_whatever_break_an_importer(file):
    read_or_refuse(read_pretix, file)
    read_or_refuse(lambda one: read_csv(one, name="x"), file)


@settings(max_examples=300)
@given(
    st.sampled_from(sorted(path.name for path in PLANS.iterdir() if path.suffix in {".json", ".csv"})),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), st.text(max_size=4)), min_size=1, max_size=4),
)
def test_no_damage_to_a_good_file_breaks_an_importer(name, wounds):
    text = raw(name).decode()
    for where, removed, added in wounds:
        at = int(where * len(text))
        text = text[:at] + added + text[at + removed :]
    file = text.encode("utf-8", "surrogatepass")
    read_or_refuse(read_pretix, file)
    read_or_refuse(lambda one: read_csv(one, name="x"), file)


keys = st.sampled_from(
    ["name", "zones", "categories", "rows", "seats", "position", "x", "y", "size", "areas"]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["A", "", "1e999", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner),
    max_leaves=12,
)


@given(json_values)
def test_no_json_of_another_shape_breaks_the_importer(value):
    read_or_refuse(read_pretix, json.dumps(value).encode())
