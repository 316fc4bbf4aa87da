"""The report page's part about how people sit: the same parties seated three ways, as bars and as a table."""

from __future__ import annotations

from collections.abc import Callable

from bench.page.markup import Html, section, table, tag
from bench.report import figure
from bench.seating.judge import Verdict
from bench.seating.results import NAMES, ONSALE, Sale, SeatingReport

COUNTS: dict[str, tuple[Callable[[Verdict], float], str]] = {
    "split": (lambda verdict: verdict.split, "not beside each other in one block"),
    "split needlessly": (
        lambda verdict: verdict.split_needlessly,
        "though a run of their size was free in what they asked for",
    ),
    "overtaken": (
        lambda verdict: verdict.overtaken,
        "refused, or seated in a worse block, where later arrivals sit on what would have served them better",
    ),
    "orphans, at most": (
        lambda verdict: verdict.orphans_most,
        "single free seats between taken ones, at the worst moment",
    ),
    "orphans, mean": (lambda verdict: verdict.orphans_mean, "over all moments of the sale"),
    "orphans, end": (lambda verdict: verdict.orphans_at_end, "when nobody could have anything more"),
    "unsold": (lambda verdict: verdict.unsold, "seats left when nobody could have anything more"),
}
FAULTS = ("split needlessly", "overtaken")


def sitting_section(report: SeatingReport) -> Html:
    """Empty when nothing was sold."""
    houses = {
        house: [sale for sale in report.sales if sale.house == house]
        for house in dict.fromkeys(sale.house for sale in report.sales)
    }
    if not houses:
        return Html("")
    return section(
        "seating",
        "How people sit",
        tag(
            "p",
            "The same parties of one to six, with sections, prices and what else would do, in the same order "
            "of arrival, until nobody could have anything more: seated by onsale, by eight writers with "
            "SELECT … FOR UPDATE SKIP LOCKED, and by a picker that gives the first free seats, one party "
            "after the other. Judged by who got what and the order of arrival alone.",
        ),
        *(part for house, sales in houses.items() for part in _house(house, sales)),
        tag(
            "ul",
            *(tag("li", tag("b", name), f": {meaning}") for name, (_, meaning) in COUNTS.items()),
            class_="meanings",
        ),
    )


def _house(house: str, sales: list[Sale]) -> list[Html]:
    first = sales[0]
    heads = ["seated by", *COUNTS]
    rows = [[NAMES[sale.strategy], *(_cell(name, sale.verdict) for name in COUNTS)] for sale in sales]
    return [
        tag("h3", f"{house}: {first.seats:,} seats, {first.verdict.parties:,} parties"),
        *_bars(sales),
        table(heads, rows, "cards figures"),
    ]


def _cell(name: str, verdict: Verdict) -> Html:
    count, is_fault = COUNTS[name][0](verdict), name in FAULTS
    if not is_fault:
        return tag("span", figure(count))
    shape, kind = ("◆", "faulty") if count else ("○", "clean")
    return tag(
        "span", tag("i", shape, aria_hidden="true"), figure(count) if count else "none", class_=f"cell {kind}"
    )


def _bars(sales: list[Sale]) -> list[Html]:
    """Shares of the parties by strategy, on one scale."""
    plots = {
        "split needlessly, of the parties seated": {
            sale.strategy: sale.verdict.split_needlessly / max(1, sale.verdict.seated) for sale in sales
        },
        "overtaken, of all parties": {
            sale.strategy: sale.verdict.overtaken / max(1, sale.verdict.parties) for sale in sales
        },
    }
    most = max(share for shares in plots.values() for share in shares.values()) or 1.0
    return [
        tag(
            "div",
            tag("h4", title),
            *(_line(strategy, share, share / most) for strategy, share in shares.items()),
            class_="bars",
            style="--decades:1",
        )
        for title, shares in plots.items()
    ]


def _line(strategy: str, share: float, width: float) -> Html:
    return tag(
        "div",
        tag("span", NAMES[strategy], class_="who"),
        tag("span", _bar(strategy, width), class_="track"),
        tag("span", tag("b", f"{share:.1%}"), class_="rate"),
        class_="line",
    )


def _bar(strategy: str, width: float) -> Html:
    if not width:
        return Html("")
    kind = "own" if strategy == ONSALE else "rival"
    return tag("span", class_=f"bar {kind} wrong", style=f"width:{width:.1%}")
