"""Reads a seating plan from a table: one line a seat, one line a standing area.

The first line names the columns, in any order, separated by comma, semicolon or tab:

- `guid, section, row, number, category` are needed; with them a line is a seat;
- `capacity`: a line that has one is a standing area; its `section` is its name, `row` and `number` stay
  empty, `width` and `height` may be given;
- `price`: an amount such as `49.90` or `49,90`. Needed once per category, unless the options give it; where
  it is repeated it must be the same;
- `rank`: which rows are best, 1 before 2. Needed once for every row, or for none: then rows nearer to the
  stage are better, as they are among rows of equal rank;
- `x, y`: for every line or for none; without them `layout` draws a tidy plan;
- `accessible, companion`: yes or no (also true/false, 1/0, x); empty is no.

UTF-8 with or without byte order mark, any line ends. Errors name line and column.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from store import plan as plans
from store.plan import Area, Category, Plan, Seat, Section
from store.venues import checks, layout
from store.venues.checks import PlanError, refuse_unless
from store.venues.reading import Terms, amount_minor, as_colour, as_text, refuse_unknown_prices

NEEDED = ("guid", "section", "row", "number", "category")
OPTIONAL = ("price", "rank", "x", "y", "accessible", "companion", "capacity", "width", "height")
_YES = frozenset({"yes", "true", "1", "x"})
_NO = frozenset({"", "no", "false", "0"})
_DECIMAL = re.compile(r"-?\d{1,12}([.,]\d{1,9})?")


@dataclass(frozen=True)
class _Line:
    """One line of the file, by column name. `number` counts from 1, as editors do."""

    number: int
    cells: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "")

    def place(self, column: str) -> str:
        return f"line {self.number}, column {column}"

    def decimal(self, column: str) -> float:
        written = self[column]
        like = f"must be a number like 12.5, not {checks.shown(written)}"
        refuse_unless(bool(_DECIMAL.fullmatch(written)), self.place(column), like)
        value = float(written.replace(",", "."))
        checks.coordinate(value, self.place(column))
        return value

    def flag(self, column: str) -> bool:
        written = self[column].lower()
        refuse_unless(
            written in _YES | _NO, self.place(column), f"must be yes or no, not {checks.shown(written)}"
        )
        return written in _YES


@dataclass
class _Reading:
    """What has been read so far: names to numbers, and where each was first seen."""

    terms: Terms
    placed: bool
    sections: dict[str, int] = field(default_factory=dict)
    categories: dict[str, int] = field(default_factory=dict)
    prices: dict[str, tuple[int, str]] = field(default_factory=dict)
    first_lines: dict[str, str] = field(default_factory=dict)
    guids: dict[str, str] = field(default_factory=dict)
    seats: list[Seat] = field(default_factory=list)
    areas: list[Area] = field(default_factory=list)
    ranks: dict[tuple[int, str], tuple[int, str]] = field(default_factory=dict)
    """(section, row) → (its rank, where it was given first)"""
    first_of_row: dict[tuple[int, str], _Line] = field(default_factory=dict)


def read_csv(raw: bytes, *, name: str, terms: Terms | None = None) -> Plan:
    """A checked plan, or PlanError with a place such as `line 12, column price`."""
    text = as_text(raw)
    rows = _records(text)
    header = next(rows, None)
    if header is None:
        raise PlanError("line 1", "the file has no column names")
    columns = _columns(*header)
    reading = _Reading(terms or Terms(), placed="x" in columns)
    for line_number, cells in rows:
        _read_line(reading, _line(line_number, cells, columns))
    categories = _categories(reading)
    seats, areas = reading.seats, reading.areas
    refuse_unless(bool(seats or areas), "line 2", "the file has column names but no seats")
    if reading.placed:
        drawing = layout.around(seats, areas)
    else:
        drawing = layout.tidy(seats, areas, len(reading.sections))
    plan = plans.number(
        name,
        reading.terms.currency,
        categories,
        [Section(section) for section in reading.sections],
        drawing.seats,
        drawing.areas,
        focal=reading.terms.stage or drawing.focal,
        size=drawing.size,
        ranks=_ranks(reading),
    )
    plans.check(plan)
    return plan


def _records(text: str) -> Iterator[tuple[int, list[str]]]:
    """(number of the line a record begins on, its cells), without empty lines."""
    header = text[: text.find("\n") if "\n" in text else len(text)]
    delimiter = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begins = 1
    while True:
        try:
            cells = [cell.strip() for cell in next(reader)]
        except StopIteration:
            return
        except csv.Error as error:
            raise PlanError(f"line {begins}", f"is not CSV: {error}") from None
        if any(cells):
            yield begins, cells
        begins = reader.line_num + 1


def _columns(line_number: int, names: list[str]) -> list[str]:
    place = f"line {line_number}"
    columns = [name.lower() for name in names]
    while columns and not columns[-1]:
        columns.pop()  # spreadsheets leave empty columns behind
    for column in columns:
        known = column in NEEDED or column in OPTIONAL
        refuse_unless(
            known, place, f"unknown column {checks.shown(column)}; known are {', '.join(NEEDED + OPTIONAL)}"
        )
        refuse_unless(columns.count(column) == 1, place, f"column {column} is there twice")
    for column in NEEDED:
        refuse_unless(column in columns, place, f"column {column} is missing")
    refuse_unless(("x" in columns) == ("y" in columns), place, "columns x and y go together")
    return columns


def _line(number: int, cells: list[str], columns: list[str]) -> _Line:
    if len(cells) < len(columns):
        missing = columns[len(cells)]
        raise PlanError(f"line {number}, column {missing}", "is missing: the line is too short")
    spare = any(cells[len(columns) :])
    refuse_unless(
        not spare, f"line {number}", f"has {len(cells)} fields, but the first line names {len(columns)}"
    )
    return _Line(number, dict(zip(columns, cells, strict=False)))


def _read_line(reading: _Reading, line: _Line) -> None:
    checks.text(line["guid"], line.place("guid"), plans.GUID_LENGTH_MAX)
    checks.unique(line["guid"], line.place("guid"), f"line {line.number}", reading.guids, "guid")
    category = _category(reading, line)
    checks.text(line["section"], line.place("section"), plans.NAME_LENGTH_MAX)
    if line["capacity"]:
        _read_area(reading, line, category)
        checks.count(len(reading.areas), f"line {line.number}", plans.AREAS_MAX, "areas")
        return
    checks.text(line["row"], line.place("row"), plans.LABEL_LENGTH_MAX, 0)
    checks.text(line["number"], line.place("number"), plans.LABEL_LENGTH_MAX)
    section = reading.sections.setdefault(line["section"], len(reading.sections))
    checks.count(len(reading.sections), line.place("section"), plans.SECTIONS_MAX, "sections")
    x, y = (line.decimal("x"), line.decimal("y")) if reading.placed else (0.0, 0.0)
    accessible, companion = line.flag("accessible"), line.flag("companion")
    _read_rank(reading, line, section)
    reading.seats.append(
        Seat(line["guid"], section, line["row"], line["number"], category, x, y, accessible, companion)
    )
    checks.count(len(reading.seats), f"line {line.number}", plans.SEATS_MAX, "seats")


def _read_area(reading: _Reading, line: _Line, category: int) -> None:
    for column in ("row", "number", "rank"):
        refuse_unless(
            not line[column], line.place(column), "must be empty: a line with a capacity is a standing area"
        )
    written = line["capacity"]
    readable = written.isascii() and written.isdigit() and len(written) <= 12
    refuse_unless(readable, line.place("capacity"), f"must be a whole number, not {checks.shown(written)}")
    checks.whole(int(written), line.place("capacity"), 1, plans.AREA_CAPACITY_MAX)
    x, y = (line.decimal("x"), line.decimal("y")) if reading.placed else (0.0, 0.0)
    usual_width, usual_height = layout.area_size(int(written))
    width = line.decimal("width") if line["width"] else usual_width
    height = line.decimal("height") if line["height"] else usual_height
    checks.coordinate(width, line.place("width"), 1.0)
    checks.coordinate(height, line.place("height"), 1.0)
    reading.areas.append(Area(line["guid"], line["section"], category, int(written), x, y, width, height))


def _read_rank(reading: _Reading, line: _Line, section: int) -> None:
    row, written = (section, line["row"]), line["rank"]
    reading.first_of_row.setdefault(row, line)
    if not written:
        return
    readable = written.isascii() and written.isdigit() and len(written) <= 12
    refuse_unless(readable, line.place("rank"), f"must be a whole number, not {checks.shown(written)}")
    checks.whole(int(written), line.place("rank"), 1, plans.RANK_MAX)
    first, where = reading.ranks.setdefault(row, (int(written), f"line {line.number}"))
    same = f"row {line['row']!r} has another rank in {where}"
    refuse_unless(first == int(written), line.place("rank"), same)


def _ranks(reading: _Reading) -> list[int] | None:
    """Of each seat's row; None where no row has one."""
    if not reading.ranks:
        return None
    for row, line in reading.first_of_row.items():
        story = f"row {line['row']!r} of {line['section']!r} has no rank; give one to every row, or to none"
        refuse_unless(row in reading.ranks, line.place("rank"), story)
    return [reading.ranks[seat.section, seat.row][0] for seat in reading.seats]


def _category(reading: _Reading, line: _Line) -> int:
    name = line["category"]
    checks.text(name, line.place("category"), plans.NAME_LENGTH_MAX)
    category = reading.categories.setdefault(name, len(reading.categories))
    checks.count(len(reading.categories), line.place("category"), plans.CATEGORIES_MAX, "categories")
    reading.first_lines.setdefault(name, line.place("price"))
    if line["price"]:
        minor = amount_minor(line["price"], reading.terms.currency, line.place("price"))
        first, where = reading.prices.setdefault(name, (minor, f"line {line.number}"))
        same = f"category {name!r} has another price in {where}"
        refuse_unless(first == minor, line.place("price"), same)
    return category


def _categories(reading: _Reading) -> list[Category]:
    """In the order of the file. Prices given as options win over those of the file."""
    terms = reading.terms
    refuse_unknown_prices(terms, set(reading.categories))
    made = []
    for index, (name, place) in enumerate(reading.first_lines.items()):
        from_file = reading.prices[name][0] if name in reading.prices else terms.default_price_minor
        price_minor = terms.prices_minor.get(name, from_file)
        if price_minor is None:
            raise PlanError(place, f"category {name!r} has no price; give it here or as an option")
        made.append(Category(name, price_minor, terms.currency, as_colour(None, index)))
    return made
