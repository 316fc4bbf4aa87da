"""A wrong file is refused with the place and the reason, and nothing of it is imported."""

import json
from copy import deepcopy
from pathlib import Path

import pytest

from store.plan import PlanError
from store.venues import reading
from store.venues.csv_plan import read_csv
from store.venues.pretix import Standing, read_pretix
from store.venues.reading import Terms, read_bytes

PLANS = Path(__file__).with_name("plans")
GOOD = json.loads((PLANS / "pretix_playhouse.json").read_bytes())
SEAT = "zones[0].rows[1].seats[2]"


def damaged(path, value):
    """The good plan with one thing in it replaced, or removed where `value` is ...."""
    plan = deepcopy(GOOD)
    *way, last = path
    inside = plan
    for step in way:
        inside = inside[step]
    if value is ...:
        del inside[last]
    else:
        inside[last] = value
    return json.dumps(plan).encode()


def seat(key, value):
    return damaged(["zones", 0, "rows", 1, "seats", 2, key], value)


ROW = "zones[0].rows[1]"
SIX_SEATS = GOOD["zones"][0]["rows"][1]["seats"]
MANY = [{"name": str(i)} for i in range(101)]


def row(key, value):
    return damaged(["zones", 0, "rows", 1, key], value)


WRONG_PRETIX = [
    ("broken JSON", b'{"name": "x",\n  "zones": [}', "line 2, column 13", "not JSON"),
    ("cut off", json.dumps(GOOD).encode()[:-20], "line 1, column", "not JSON"),
    ("empty", b"  \n", "line 1", "empty"),
    ("another thing", b"[1, 2]", "file", "Expected `object`, got `array`"),
    ("too deep", b'{"other":' + b"[" * 200_000, "file", "nested too deeply"),
    ("not UTF-8", b'{"name":\n"\xe9"}', "line 2", "not UTF-8"),
    ("UTF-16", '{"name":"x"}'.encode("utf-16"), "line 1", "UTF-16"),
    ("NaN", seat("position", {"x": 1, "y": float("nan")}), "line 1, column", "not JSON"),
    (
        "an overflowing number",
        seat("position", "?").replace(b'"?"', b'{"x": 1e999}'),
        f"{SEAT}.position.x",
        "out of range",
    ),
    ("no name", damaged(["name"], ...), "file", "missing required field `name`"),
    ("an empty name", damaged(["name"], ""), "name", "empty"),
    ("no zones", damaged(["zones"], ...), "file", "missing required field `zones`"),
    ("zones of another type", damaged(["zones"], {}), "zones", "Expected `array`, got `object`"),
    ("no seats at all", damaged(["zones"], []), "seats", "neither seats nor areas"),
    ("a zone without position", damaged(["zones", 0, "position"], ...), "zones[0]", "field `position`"),
    ("a row without label", row("row_number", ...), ROW, "missing required field `row_number`"),
    ("a row label that is a number", row("row_number", 7), f"{ROW}.row_number", "got `int`"),
    ("a seat that is null", damaged(["zones", 0, "rows", 1, "seats", 2], None), SEAT, "got `null`"),
    ("a seat without guid", seat("seat_guid", ...), SEAT, "missing required field `seat_guid`"),
    ("a guid of its neighbour", seat("seat_guid", "stalls-B-1"), f"{SEAT}.seat_guid", f"{ROW}.seats[0]"),
    ("a guid of another zone", seat("seat_guid", "box-1-1"), "zones[1].rows[0].seats[0].seat_guid", SEAT),
    ("an empty guid", seat("seat_guid", ""), f"{SEAT}.seat_guid", "empty"),
    ("a long guid", seat("seat_guid", "x" * 65), f"{SEAT}.seat_guid", "at most 64"),
    ("a guid with a line break", seat("seat_guid", "a\nb"), f"{SEAT}.seat_guid", "printable"),
    ("no seat number", seat("seat_number", ""), f"{SEAT}.seat_number", "empty"),
    ("an unknown category", seat("category", "Bronze"), f"{SEAT}.category", "no category 'Bronze'"),
    ("a position of text", seat("position", {"x": "1", "y": 0}), f"{SEAT}.position.x", "got `str`"),
    ("a position of true", seat("position", {"x": True, "y": 0}), f"{SEAT}.position.x", "got `bool`"),
    ("half a position", seat("position", {"x": 1}), f"{SEAT}.position", "missing required field `y`"),
    ("a position far out", seat("position", {"x": 1, "y": 1e9}), f"{SEAT}.position.y", "to 1000000"),
    ("a category twice", damaged(["categories", 1, "name"], "Gold"), "categories[1].name", "already"),
    ("a nameless category", damaged(["categories", 1, "name"], ""), "categories[1].name", "empty"),
    ("a huge paper", damaged(["size"], {"width": 10**9, "height": 1}), "width", "to 1000000"),
    ("no paper", damaged(["size"], {"width": 600, "height": 0}), "height", "from 1"),
    ("too many zones", damaged(["zones"], [GOOD["zones"][2]] * 1001), "zones", "at most 1,000"),
    ("too many categories", damaged(["categories"], MANY), "categories", "at most 100"),
    ("too many seats", row("seats", SIX_SEATS * 17_000), "zones", "at most 100,000 seats"),
]


@pytest.mark.parametrize(
    ("what", "raw", "place", "reason"), WRONG_PRETIX, ids=[one[0] for one in WRONG_PRETIX]
)
def test_a_wrong_pretix_plan_names_place_and_reason(what, raw, place, reason):
    with pytest.raises(PlanError) as refused:
        read_pretix(raw)
    assert refused.value.place == place or (
        place.endswith("column") and refused.value.place.startswith(place)
    )
    assert reason in refused.value.reason
    assert len(str(refused.value)) < 500
    assert refused.value.code == "plan_invalid"


COLUMNS = "guid,section,row,number,category,price,x,y,accessible,capacity,width"
HEADER = COLUMNS + "\n"
PLAIN = "guid,section,row,number,category,price,capacity\n"


def line(**cells):
    """A good seat's line of the file, but for the cells given."""
    usual = {
        "guid": "a-1",
        "section": "Stalls",
        "row": "A",
        "number": "1",
        "category": "Gold",
        "price": "49.90",
    }
    usual |= {"x": "11", "y": "22"} | cells
    return ",".join(usual.get(column, "") for column in COLUMNS.split(",")) + "\n"


def area(**cells):
    return line(**({"guid": "f", "section": "Floor", "row": "", "number": "", "capacity": "500"} | cells))


MANY_SEATS = PLAIN + "".join(f"{i},S,A,{i},A,1,\n" for i in range(100_001))
MANY_SECTIONS = PLAIN + "".join(f"{i},{i},A,1,A,1,\n" for i in range(1_001))
MANY_AREAS = PLAIN + "".join(f"{i},F,,,A,1,9\n" for i in range(201))

WRONG_CSV = [
    ("empty", "", "line 1", "empty"),
    ("only a header", HEADER, "line 2", "no seats"),
    ("a column missing", "guid,section,row,number\na,b,c,d\n", "line 1", "column category is missing"),
    ("an unknown column", HEADER.replace("price", "cost"), "line 1", "unknown column 'cost'"),
    ("a column twice", HEADER.replace("price", "guid"), "line 1", "column guid is there twice"),
    ("x without y", "guid,section,row,number,category,x\n", "line 1", "x and y go together"),
    ("a short line", HEADER + line() + "a-2,Stalls,A,2,Gold\n", "line 3, column price", "too short"),
    ("a long line", HEADER + line().rstrip() + ",more\n", "line 2", "12 fields"),
    ("no guid", HEADER + line(guid=""), "line 2, column guid", "empty"),
    ("a guid twice", HEADER + line() + "\n" + line(), "line 4, column guid", "already the guid of line 2"),
    ("no section", HEADER + line(section=""), "line 2, column section", "empty"),
    ("no number", HEADER + line(number=""), "line 2, column number", "empty"),
    ("no category", HEADER + line(category=""), "line 2, column category", "empty"),
    ("a price of words", HEADER + line(price="cheap"), "line 2, column price", "an amount like 49.90"),
    ("a negative price", HEADER + line(price="-1"), "line 2, column price", "an amount"),
    ("tenths of cents", HEADER + line(price="4.995"), "line 2, column price", "2 decimals"),
    ("an absurd price", HEADER + line(price="9" * 11), "line 2, column price", "at most"),
    ("no price", HEADER + line(price=""), "line 2, column price", "has no price"),
    ("two prices", HEADER + line() + line(guid="b", price="50"), "line 3, column price", "price in line 2"),
    ("a seat without position", HEADER + line(x=""), "line 2, column x", "a number like 12.5"),
    ("NaN", HEADER + line(y="nan"), "line 2, column y", "a number like 12.5"),
    ("a position far out", HEADER + line(y="9999999"), "line 2, column y", "to 1000000"),
    ("neither yes nor no", HEADER + line(accessible="maybe"), "line 2, column accessible", "yes or no"),
    ("an area with a row", HEADER + area(row="A"), "line 2, column row", "standing area"),
    ("an area of nobody", HEADER + area(capacity="0"), "line 2, column capacity", "from 1"),
    ("an area without end", HEADER + area(capacity="5000001"), "line 2, column capacity", "to 5000000"),
    ("half a person", HEADER + area(capacity="1.5"), "line 2, column capacity", "a whole number"),
    ("an area without width", HEADER + area(width="0"), "line 2, column width", "from 1"),
    ("an area's guid twice", HEADER + area() + line(guid="f"), "line 3, column guid", "guid of line 2"),
    ("an open quote", HEADER + '"a-1,Stalls\n', "line 2", "not CSV"),
    ("a quote in the middle", HEADER + line() + '"a"b,Stalls\n', "line 3", "not CSV"),
    ("a cell of two lines", HEADER + line(guid='"a\n1"'), "line 2, column guid", "printable"),
    ("a giant cell", HEADER + line(guid="x" * 200_000), "line 2", "not CSV"),
    ("too many seats", MANY_SEATS, "line 100002", "at most 100,000 seats"),
    ("too many sections", MANY_SECTIONS, "line 1002, column section", "at most 1,000"),
    ("too many areas", MANY_AREAS, "line 202", "at most 200 areas"),
]


@pytest.mark.parametrize(("what", "text", "place", "reason"), WRONG_CSV, ids=[one[0] for one in WRONG_CSV])
def test_a_wrong_table_names_line_and_column(what, text, place, reason):
    with pytest.raises(PlanError) as refused:
        read_csv(text.encode(), name="Wrong")
    assert refused.value.place == place
    assert reason in refused.value.reason
    assert len(str(refused.value)) < 500


def test_a_table_that_is_not_utf8_names_the_line():
    with pytest.raises(PlanError, match="line 2: is not UTF-8"):
        read_csv((HEADER + line(section="Grün")).encode("latin-1"), name="Wrong")


@pytest.mark.parametrize(
    ("standing", "terms", "place", "reason"),
    [
        ({"Terrace": Standing(5, "Gold")}, Terms(), "area Terrace", "it has: Balcony bar, Bar, Exit"),
        ({"Standing": Standing(5, "Bronze")}, Terms(), "area Standing", "no category 'Bronze'"),
        ({"Standing": Standing(0, "Gold")}, Terms(), "area Standing", "from 1"),
        ({}, Terms(prices_minor={"Bronze": 5}), "price Bronze", "no such category; it has: Gold"),
        ({}, Terms(prices_minor={"Gold": -5}), "categories[0].price_minor", "from 0"),
        ({}, Terms(currency="eur"), "currency", "three capital letters"),
        ({}, Terms(stage=(float("nan"), 0.0)), "focal_x", "must be a number"),
    ],
)
def test_a_wrong_option_is_refused_as_the_file_would_be(standing, terms, place, reason):
    with pytest.raises(PlanError) as refused:
        read_pretix(json.dumps(GOOD).encode(), terms=terms, standing=standing)
    assert refused.value.place == place
    assert reason in refused.value.reason


def test_a_file_is_read_up_to_a_bound_and_no_further(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "FILE_BYTES_MAX", 1024 * 1024)
    large = tmp_path / "large.json"
    large.write_bytes(b" " * (1024 * 1024 + 1))
    with pytest.raises(PlanError, match=r"larger than 1 MiB"):
        read_bytes(large)
    with pytest.raises(PlanError, match=r"larger than 1 MiB"):
        read_bytes(Path("/dev/zero"))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(PlanError, match=r"none\.json: cannot be read: No such file"):
        read_bytes(tmp_path / "none.json")
    with pytest.raises(PlanError, match="cannot be read: Is a directory"):
        read_bytes(tmp_path)
