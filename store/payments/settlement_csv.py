"""A settlement as CSV: one line for each payment that money came for and each order without one.

Columns are the fields of `Entry` in their order, amounts in the smallest unit; see docs/settlement.md.
Nothing in it says who bought. No text of others is a formula to a spreadsheet (`_plain`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from msgspec import structs

from store.payments.settlement import Conn, Entry, settling

FORMULA_BEGINS: Final = ("=", "+", "-", "@")
COLUMNS: Final = tuple(Entry.__struct_fields__)
LINES_AT_A_TIME: Final = 500
"""Of a file that is told in pieces."""


def pieces(conn: Conn, slug: str) -> Iterator[bytes]:
    """The whole file, piece by piece, of one moment. `conn` is autocommit and of this file alone until its
    end. Raises `NotFound`."""
    yield header().encode()
    entries = settling(conn, slug)
    while lines := [line(entry) for entry in islice(entries, LINES_AT_A_TIME)]:
        yield "".join(lines).encode()


def header() -> str:
    """The first line."""
    return line_of(COLUMNS)


def line(entry: Entry) -> str:
    """An entry's line; times in ISO 8601, empty what there is none of."""
    values = structs.astuple(entry)
    return line_of([one.isoformat() if hasattr(one, "isoformat") else one for one in values])


def line_of(values: Iterable[object]) -> str:
    """Values as a line, quoted where need be."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerow(["" if one is None else _plain(one) for one in values])
    return written.getvalue()


def _plain(value: object) -> object:
    """Text on one line; what a spreadsheet would take for a formula begins with an apostrophe."""
    if not isinstance(value, str):
        return value
    text = "".join([one if one.isprintable() else " " for one in value])
    return f"'{text}" if text.lstrip().startswith(FORMULA_BEGINS) else text
