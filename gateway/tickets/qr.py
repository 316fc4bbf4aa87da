"""QR codes as drawings: one SVG path of a token, for pages and for paper. Pure."""

from __future__ import annotations

import functools

import segno
from msgspec import Struct

KEPT_MAX = 4_096
"""Most drawings that are remembered: the same token is the same code."""
MASK = 3
"""Which mask is best is found out by trying all eight, five times the work; in a token, which is mostly a
signature, dark and light are as evenly spread under each."""


class Code(Struct, frozen=True):
    """`path` draws the dark modules in a square of `size` by `size`, without the quiet zone around it (4)."""

    size: int
    path: str


@functools.lru_cache(KEPT_MAX)
def code_of(token: str) -> Code:
    """The code of a token: 15 % of it may be dirty."""
    made = segno.make(token, error="m", mode="alphanumeric", mask=MASK, micro=False, boost_error=False)
    parts = [part for y, row in enumerate(made.matrix) for part in _runs(row, y)]
    return Code(len(made.matrix), "".join(parts))


def _runs(row: bytearray, y: int) -> list[str]:
    """The dark runs of a line, as rectangles of height 1."""
    found, x = [], 0
    while x < len(row):
        end = x
        while end < len(row) and row[end]:
            end += 1
        if end > x:
            found.append(f"M{x} {y}h{end - x}v1H{x}z")
        x = max(end, x + 1)
    return found
