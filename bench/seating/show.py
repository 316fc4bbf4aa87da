"""What a person sees: a table per house, three ways side by side, and the rows that onsale must reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bench.seating.judge import Verdict
from bench.seating.results import NAMES, ONSALE, Sale, SeatingReport
from bench.show import core_report

COLUMNS: tuple[tuple[str, Callable[[Verdict], float], bool], ...] = (
    ("seated", lambda verdict: verdict.seated, False),
    ("split", lambda verdict: verdict.split, False),
    ("needlessly", lambda verdict: verdict.split_needlessly, True),
    ("overtaken", lambda verdict: verdict.overtaken, True),
    ("orphans", lambda verdict: verdict.orphans_most, False),
    ("mean", lambda verdict: verdict.orphans_mean, False),
    ("end", lambda verdict: verdict.orphans_at_end, False),
    ("unsold", lambda verdict: verdict.unsold, False),
)
"""(head, figure, whether anything but 0 is a fault)"""
MEANS = (
    "Counted in parties: split needlessly although a run of their size was free in what they asked for; "
    "overtaken by later arrivals. Orphans are single free seats: most at a time, mean, when all is over."
)


def seating_report(report: SeatingReport) -> RenderableType:
    """The whole of it."""
    parts: list[RenderableType] = []
    for house in dict.fromkeys(sale.house for sale in report.sales):
        parts += [_table([sale for sale in report.sales if sale.house == house]), Text()]
    parts.append(Text(MEANS, style="dim"))
    for sale in report.sales:
        style = "red" if sale.strategy == ONSALE else "dim"
        told = sale.verdict.stories if sale.strategy == ONSALE else sale.verdict.stories[:1]
        parts += [Text(f"{sale.house}, {NAMES[sale.strategy]}: {story}", style=style) for story in told]
    parts += [Text(), core_report(report.measured)]
    return Group(*parts)


def _table(sales: Sequence[Sale]) -> Table:
    first = sales[0]
    title = f"{first.house}: {first.seats:,} seats, {first.verdict.parties:,} parties"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1, 0, 0))
    table.add_column("strategy", no_wrap=True)
    for head, _, _ in COLUMNS:
        table.add_column(head, justify="right", no_wrap=True)
    for sale in sales:
        cells = []
        for _, of, is_fault in COLUMNS:
            value = of(sale.verdict)
            cells.append(Text(f"{value:,}", style="red" if is_fault and value else ""))
        table.add_row(Text(NAMES[sale.strategy], "cyan" if sale.strategy == ONSALE else ""), *cells)
    return table
