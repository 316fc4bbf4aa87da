"""What a person sees: a table per load, what a kill left, how onsale compares and where it loses."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bench.strategies.catalogue import FLOORS, ONSALE
from bench.strategies.drift import Drift
from bench.strategies.rows import Row
from bench.strategies.run import StrategiesReport

COUNTS = ("unanswered", "errors", "retries", "oversold", "no_winner", "overtaken", "split", "deadlocks")
BAD = {"unanswered", "errors", "oversold", "no_winner", "overtaken", "split", "deadlocks"}


def strategies_report(report: StrategiesReport) -> RenderableType:
    """The whole of it."""
    parts: list[RenderableType] = []
    for load in dict.fromkeys(row.load for row in report.rows):
        parts += [_table(load, [row for row in report.rows if row.load == load]), Text()]
    if report.drifts:
        parts += [_drifts(report.drifts), Text()]
    parts += [_ratios(report), Text()]
    if report.not_best:
        parts.append(Text("Where onsale is not the best", style="bold"))
        parts += [Text(f"  {sentence}") for sentence in report.not_best]
    for name, stories in report.stories.items():
        parts += [Text(f"{name}: {story}", style="dim") for story in stories[:1]]
    notes = (
        f"{report.rounds} interleaved rounds, medians; counts are sums. Overtaken: sent at least "
        f"{report.overtaking_margin_ms:g} ms earlier. * cut off when the time was over. The strategies' servers "
        f"run on {report.machine.get('server_loop')}. {report.seconds_total:g} s in all."
    )
    parts.append(Text(notes, style="dim"))
    return Group(*parts)


def _table(load: str, rows: list[Row]) -> Table:
    table = Table(title=load, title_justify="left", title_style="bold", box=None, padding=(0, 1))
    for heading in ("strategy", "over", "procs"):
        table.add_column(heading)
    for heading in (
        "decisions/s",
        "p50 ms",
        "p95",
        "p99",
        *(each.replace("_", " ") for each in COUNTS),
        "locks",
    ):
        table.add_column(heading, justify="right")
    for row in sorted(rows, key=lambda row: (row.transport, -row.decisions_per_second)):
        counts = [_count(row, name) for name in COUNTS]
        name = Text(
            row.strategy, style="cyan" if row.strategy in ONSALE else "dim" if row.strategy in FLOORS else ""
        )
        table.add_row(
            name,
            row.transport,
            str(row.workers),
            f"{row.decisions_per_second:,.0f}{'*' if row.cut_off and not load.startswith('curve') else ''}",
            f"{row.p50_ms:,.1f}",
            f"{row.p95_ms:,.1f}",
            f"{row.p99_ms:,.1f}",
            *counts,
            f"{row.lock_wait_share:.0%}",
        )
    return table


def _count(row: Row, name: str) -> Text:
    value = getattr(row, name)
    return Text(
        f"{value:,}" if value else "·", style="red" if value and name in BAD else "dim" if not value else ""
    )


def _drifts(drifts: list[Drift]) -> Table:
    title = "After SIGKILL of the servers in the middle of a sale, and a new start"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1))
    table.add_column("strategy")
    for name in ("told held", "not in Postgres", "Redis − Postgres at the kill", "and for good"):
        table.add_column(name, justify="right")
    for drift in drifts:
        lost = Text(f"{drift.lost:,}", style="red" if drift.lost else "")
        stays = Text(f"{drift.redis_minus_postgres:,}", style="red" if drift.redis_minus_postgres else "")
        table.add_row(
            drift.strategy, f"{drift.told_held:,}", lost, f"{drift.redis_minus_postgres_at_kill:,}", stays
        )
    return table


def _ratios(report: StrategiesReport) -> Table:
    title = f"onsale (gate off) against the best of …, {report.ratios['load']}"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1))
    for name in ("the best of", "ws : best http", "ws : best ws", "http : best http", "best http", "best ws"):
        table.add_column(name)
    for group, found in report.ratios["against"].items():
        values = (found.ws_vs_best_http, found.ws_vs_best_ws, found.http_vs_best_http)
        shown = [f"{value:g}" if value is not None else "–" for value in values]
        table.add_row(group.replace("_", " "), *shown, found.best_http, found.best_ws)
    return table
