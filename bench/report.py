"""What a benchmark reports: rows with a value and what it should reach, and details behind them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from msgspec import Struct, field

from bench.orders import percentile

Say = Callable[[str], None]
"""Told what is going on, for a status line."""

FOR_THE_RECORD = "–"
"""The reach of a row that only gives context."""
CURVE_SHARES = (
    0.0, 0.1, 0.25, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.925, 0.95, 0.96, 0.97, 0.98, 0.985, 0.99,
    0.9925, 0.995, 0.9975, 0.999, 0.9995, 0.9999,
)  # fmt: skip


class Row(Struct, frozen=True):
    """One figure: the median of `rounds`. `reach` is a text such as `≤ 250`; `reached` says whether `value`
    does, and whether the checker found nothing where it looked."""

    name: str
    value: float
    unit: str
    reach: str
    reached: bool
    rounds: list[float] = []
    """What each round gave, in their order; their least and most are the spread."""
    note: str = ""

    @property
    def spread(self) -> str:
        """`least – most` of the rounds, empty for one."""
        if len(self.rounds) < 2:
            return ""
        return f"{figure(min(self.rounds))} – {figure(max(self.rounds))}"


class Curve(Struct, frozen=True):
    """A distribution of latencies: of every share, the latency below which it lies, in milliseconds."""

    label: str
    kind: str
    """Curves of one kind stand in one plot: `steady` or `at once`."""
    count: int
    ms: list[tuple[float, float]]
    """(share, milliseconds)"""

    @classmethod
    def of(cls, label: str, latencies_ns: Sequence[int], kind: str = "steady") -> Curve:
        """Shares that fewer than one measurement stands for are left out; the longest is the last point."""
        ordered = sorted(latencies_ns)
        shares = [share for share in CURVE_SHARES if len(ordered) * (1 - share) >= 1]
        points = [(share, round(percentile(ordered, share) / 1e6, 3)) for share in shares]
        if ordered:
            points.append((1.0, round(ordered[-1] / 1e6, 3)))
        return cls(label, kind, len(ordered), points)

    def at(self, share: float) -> float:
        """Milliseconds at the largest known share up to `share`; 0 for an empty curve."""
        return max((ms for known, ms in self.ms if known <= share), default=0.0)


class Judged(Struct, frozen=True):
    """One event that the checker looked at when its round was over."""

    what: str
    decisions: int
    findings: list[str]
    how: str
    """`checker, replay and clients`, or what of it was asked."""


class Report(Struct):
    """All rows of a run. `where_time_goes` is microseconds of CPU per decision, by process."""

    machine: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    where_time_goes: dict[str, float] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    """The rounds behind each row, and absolute figures behind each ratio."""
    curves: list[Curve] = field(default_factory=list)
    judged: list[Judged] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    """Groups of rows that could not be measured, and why."""
    seconds: float = 0.0
    """How long it took to measure all this."""
    seconds_by_group: dict[str, float] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Everything was measured, every row reached what it should, and nobody found anything."""
        return not self.failures and self.lawful and all(row.reached for row in self.rows)

    @property
    def lawful(self) -> bool:
        """Whether the checker and the replay found nothing in any event."""
        return not any(one.findings for one in self.judged)


def at_least(
    name: str, rounds: Sequence[float], unit: str, reach: float, *, lawful: bool = True, note: str = ""
) -> Row:
    """A row whose median should be at least `reach`; without `lawful` it is not reached whatever it is."""
    value = median(rounds)
    return _row(name, value, unit, f"≥ {reach:,g}", lawful and value >= reach, rounds, note)


def at_most(
    name: str, rounds: Sequence[float], unit: str, reach: float, *, lawful: bool = True, note: str = ""
) -> Row:
    """A row whose median should be at most `reach`; without `lawful` it is not reached whatever it is."""
    value = median(rounds)
    return _row(name, value, unit, f"≤ {reach:,g}", lawful and value <= reach, rounds, note)


def for_the_record(name: str, rounds: Sequence[float], unit: str, *, note: str = "") -> Row:
    """A row that need not reach anything."""
    return _row(name, median(rounds), unit, FOR_THE_RECORD, True, rounds, note)


def figure(value: float) -> str:
    """A figure as people read it: four digits or so, thousands apart."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _row(
    name: str, value: float, unit: str, reach: str, reached: bool, rounds: Sequence[float], note: str
) -> Row:
    return Row(name, _rounded(value), unit, reach, reached, [_rounded(each) for each in rounds], note)


def _rounded(value: float) -> float:
    return round(value, 3 if abs(value) < 100 else 1)
