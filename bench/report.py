"""What a benchmark reports: rows with a value and what it should reach, and details behind them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

Say = Callable[[str], None]
"""Told what is going on, for a status line."""


class Row(Struct, frozen=True):
    """One measured figure. `reach` is a text such as `≤ 250`; `reached` says whether `value` does."""

    name: str
    value: float
    unit: str
    reach: str
    reached: bool


class Report(Struct):
    """All rows of a run. `where_time_goes` is microseconds of CPU per decision, by process."""

    machine: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    where_time_goes: dict[str, float] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    """The rounds behind each row, and absolute figures behind each ratio."""


def at_least(name: str, value: float, unit: str, reach: float) -> Row:
    return Row(name, _rounded(value), unit, f"≥ {reach:,g}", value >= reach)


def at_most(name: str, value: float, unit: str, reach: float) -> Row:
    return Row(name, _rounded(value), unit, f"≤ {reach:,g}", value <= reach)


def _rounded(value: float) -> float:
    return round(value, 3 if abs(value) < 100 else 1)
