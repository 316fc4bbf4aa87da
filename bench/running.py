"""Groups of rows, chosen by name and measured one after the other: what every set of figures shares."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from bench.effort import Effort
from bench.processes import machine
from bench.report import Report, Say
from store.errors import BadRequest

Measure = Callable[[Report, Say, Effort], None]
Groups = Mapping[str, tuple[Measure, tuple[str, ...]]]
"""Of each group what measures it, and the rows it gives."""


def chosen(groups: Groups, quick: Sequence[str], only: list[str], effort: Effort) -> list[str]:
    """The groups to measure for these names of groups or rows; for none all, or `quick` for a quick look.
    Raises `BadRequest`."""
    if not only and effort.quick:
        return list(quick)
    known = [name for group, (_, rows) in groups.items() for name in (group, *rows)]
    unknown = sorted(set(only).difference(known))
    if unknown:
        raise BadRequest(
            "unknown_row", f"No row or group {', '.join(unknown)}. There are: {', '.join(known)}."
        )
    return [
        group for group, (_, rows) in groups.items() if not only or not set(only).isdisjoint((group, *rows))
    ]


def measure(groups: Groups, names: Sequence[str], say: Say, effort: Effort) -> Report:
    """Measures these groups. One that cannot be measured does not cost the others: it is in `failures`."""
    begun = time.monotonic()
    report = Report(machine())
    for group in names:
        began = time.monotonic()
        try:
            groups[group][0](report, say, effort)
        except Exception as error:
            report.failures[group] = f"{type(error).__name__}: {error}"
        report.seconds_by_group[group] = round(time.monotonic() - began, 1)
    report.machine["load_1m_after"] = round(os.getloadavg()[0], 2)
    report.seconds = round(time.monotonic() - begun, 1)
    return report
