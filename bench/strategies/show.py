"""What a person sees: a table per load, what a kill left, how onsale compares and where it loses."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from bench.strategies.catalogue import FLOORS, ONSALE
from bench.strategies.drift import Drift
from bench.strategies.rows import Row
from bench.strategies.run import StrategiesReport

COUNTS = (
    "oversold", "lost", "no_winner", "overtaken", "split", "unanswered", "errors", "retries", "deadlocks",
)  # fmt: skip
BAD = set(COUNTS) - {"retries"}


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
        f"{report.overtaking_margin_ms:g} ms earlier. * cut off when the time was over. The strategies' "
        f"servers run on {report.machine.get('server_loop')}. {report.seconds_total:g} s in all."
    )
    parts.append(Text(notes, style="dim"))
    return Group(*parts)


def _table(load: str, rows: list[Row]) -> Text:
    """A line for each row, and what else is to be said of it below: there is no room beside it."""
    heading = (
        f"{'strategy':<20}{'over':<6}{'procs':<6}{'decisions/s':>12}{'p50':>10}{'p95':>10}{'p99 ms':>10}"
    )
    lines = [Text(load, style="bold"), Text(heading, style="dim")]
    for row in sorted(rows, key=lambda row: (row.transport, -row.decisions_per_second)):
        style = "cyan" if row.strategy in ONSALE else "dim" if row.strategy in FLOORS else ""
        mark = "*" if row.cut_off and not load.startswith("curve") else " "
        figures = "".join(f"{value:>10,.1f}" for value in (row.p50_ms, row.p95_ms, row.p99_ms))
        speed = f"{row.transport:<6}{row.workers:<6}{row.decisions_per_second:>11,.0f}{mark}{figures}"
        lines.append(Text.assemble((f"{row.strategy:<20}", style), speed))
        if besides := _besides(row):
            lines.append(Text.assemble("    ", besides))
    return Text("\n").join(lines)


def _besides(row: Row) -> Text:
    """What else there is to say; what must not be is red."""
    counts = [(name, getattr(row, name)) for name in COUNTS]
    parts = [
        Text(f"{name.replace('_', ' ')} {count:,}", style="red" if name in BAD else "")
        for name, count in counts
        if count
    ]
    if row.lock_wait_share:
        parts.append(Text(f"lock waits {row.lock_wait_share:.0%}", style="dim"))
    return Text(", ").join(parts)


def _drifts(drifts: list[Drift]) -> Table:
    title = "After SIGKILL of the servers in the middle of a sale, and a new start"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 1))
    table.add_column("strategy")
    for name in ("told held", "not in Postgres", "Redis ahead at the kill", "for good"):
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
    groups = report.ratios["against"] | {"gates, onsale's on": report.ratios["gate_against_gate"]}
    for group, found in groups.items():
        values = (found.ws_vs_best_http, found.ws_vs_best_ws, found.http_vs_best_http)
        shown = [f"{value:g}" if value is not None else "–" for value in values]
        table.add_row(group.replace("_", " "), *shown, found.best_http, found.best_ws)
    return table
