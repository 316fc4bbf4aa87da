"""What a person sees of a stampede or a benchmark: tables and a small plot of latency."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from bench import labels
from bench.report import Judged, Report, Row, figure
from bench.stampede import Ran, Result

BARS = " ▁▂▃▄▅▆▇█"
PLOT_COLUMNS = 60
FINDINGS_SHOWN = 20
BUSY_SHARE = 0.25


def latency_plot(latencies_ns: Sequence[int], columns: int = PLOT_COLUMNS, rows: int = 5) -> list[str]:
    """A histogram of latencies, time to the right from 0 to the longest; no lines for none."""
    if not latencies_ns:
        return []
    longest = max(latencies_ns) or 1
    counts = [0] * columns
    for latency in latencies_ns:
        counts[min(columns - 1, latency * columns // longest)] += 1
    highest = max(counts)
    lines = []
    for row in range(rows - 1, -1, -1):
        eighths = [math.ceil(count * rows * 8 / highest) - row * 8 for count in counts]
        lines.append("".join(BARS[max(0, min(8, level))] for level in eighths))
    end = f"{longest / 1e6:,.0f} ms"
    lines.append("0".ljust(columns - len(end)) + end)
    return lines


def stampede_panel(ran: Ran) -> RenderableType:
    """One stampede: what was decided, how long it took, what the checker says."""
    result = ran.result
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim")
    rows.add_column(justify="right")
    rows.add_column(style="dim")
    rows.add_row("held", f"{result.held:,}", f"of {result.seats:,} seats")
    rows.add_row("rejected", f"{result.rejected:,}", "decided: somebody else was first")
    if result.gate:
        rows.add_row("not queued", f"{result.not_queued:,}", "refused at the gate, no decision needed")
    rows.add_row("unanswered", f"{result.unanswered:,}", "")
    rows.add_row("oversold", f"{result.oversold:,}", "")
    rows.add_row("overtaken", f"{result.order_violations:,}", "decided out of arrival order")
    rows.add_row("first to last", f"{result.seconds_first_to_last:.2f} s", "first sending to last answer")
    rows.add_row("decisions", f"{result.decisions_per_second:,.0f} /s", "")
    latency = result.latency_ms
    rows.add_row("latency", f"{latency.p50:,.0f} ms", f"p95 {latency.p95:,.0f}, p99 {latency.p99:,.0f}")
    plot = Text("\n".join(latency_plot(ran.round.latencies_ns)), style="cyan")
    gate = "on" if result.gate else "off"
    title = f"[bold]{result.buyers:,} buyers, {result.seats:,} {_seats(result)}[/] fast gate {gate}"
    style = "green" if result.passed else "red"
    return Panel(Group(rows, Text(), plot, Text(), verdict(result)), title=title, style=style, expand=False)


def verdict(result: Result) -> RenderableType:
    """One line when all is well; else the stories."""
    if result.passed:
        return Text("✓ every law kept: ledger replayed, tables and clients agree", style="green")
    lines = [
        Text(f"✗ {finding.kind}: {finding.story}", style="red")
        for finding in result.findings[:FINDINGS_SHOWN]
    ]
    if len(result.findings) > FINDINGS_SHOWN:
        lines.append(Text(f"… and {len(result.findings) - FINDINGS_SHOWN:,} more; see --json", style="red"))
    if result.unanswered:
        lines.append(Text(f"✗ {result.unanswered:,} buyers were never answered", style="red"))
    wanted = min(result.seats, result.buyers)
    if result.held != wanted:
        lines.append(Text(f"✗ {result.held:,} seats are held; {wanted:,} were asked for", style="red"))
    return Group(*lines)


def core_report(report: Report) -> RenderableType:
    """The benchmark's rows (median, spread, what it should reach, whether it does), and where time goes."""
    parts: list[RenderableType] = [rows_table(report.rows)]
    for group, why in report.failures.items():
        parts.append(Text(f"✗ {group} could not be measured. {why}", style="red"))
    if report.where_time_goes:
        where = ", ".join(f"{name} {cost:g}" for name, cost in report.where_time_goes.items())
        parts += [Text(), Text(f"µs of CPU per decision: {where}", style="dim")]
    if report.judged:
        parts += [Text(), *_judged(report.judged)]
    cores, load = report.machine.get("cores", 1), report.machine.get("load_1m_before", 0.0)
    if load > BUSY_SHARE * cores:
        busy = f"The load average was {load:g} on {cores} cores when this began: figures are too low."
        parts += [Text(), Text(busy, style="yellow")]
    return Group(*parts)


def rows_table(rows: Sequence[Row]) -> Table:
    """Median, least and most of the rounds, reach, and whether it is reached."""
    table = Table(box=None, padding=(0, 1))
    table.add_column("measured", overflow="fold")
    table.add_column("median", justify="right")
    table.add_column("least – most", justify="right", style="dim")
    table.add_column("unit", style="dim")
    table.add_column("reach", justify="right", style="dim")
    table.add_column("")
    for row in rows:
        mark = {"reached": Text("✓", style="green"), "missed": Text("✗", style="red")}.get(
            labels.verdict(row)
        )
        table.add_row(row.name, figure(row.value), row.spread, row.unit, row.reach, mark or "")
    return table


def markdown(rows: Sequence[Row]) -> str:
    """The table as Markdown, for a README."""
    lines = ["| row | reach | measured | least – most |", "|---|---|---|---|"]
    for row in rows:
        value = labels.with_unit(row, row.value)
        shown = f"**{value}** (missed)" if labels.verdict(row) == "missed" else value
        lines.append(f"| {labels.label(row.name)} | {labels.reach(row)} | {shown} | {row.spread or '–'} |")
    return "\n".join(lines)


def _judged(judged: Sequence[Judged]) -> list[Text]:
    found = [one for one in judged if one.findings]
    decisions = sum(one.decisions for one in judged)
    if not found:
        counted = f"{len(judged)} events, {decisions:,} decisions"
        return [Text(f"✓ every law kept in {counted}: checker and replay found nothing", style="green")]
    return [Text(f"✗ {one.what}: {story}", style="red") for one in found for story in one.findings]


def _seats(result: Result) -> str:
    return "seat" if result.seats == 1 else "seats"
