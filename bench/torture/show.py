"""What a person sees of a torture."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from bench.torture.judging import BY_BUYERS, BY_RULES
from bench.torture.run import Result

FINDINGS_SHOWN = 20

LINES = (
    ("oversold", "a seat twice, an area over its capacity"),
    ("lost", "accepted and forgotten, or decided and never told"),
    ("doubled", "one key decided twice"),
    ("reordered", "decided out of arrival order"),
    ("unexplained", "seen by somebody, and not in ledger and tables"),
    ("foreign_hold", "somebody else's hold shown or changed"),
    ("over_limit", "more for one buyer than the rules allow"),
    ("inconsistent", "tables that contradict each other"),
    ("replay", "decided again from the ledger: another answer"),
    ("other", "no answer, no progress, an alert, died by itself"),
)


def torture_panel(result: Result) -> RenderableType:
    """The result table: what was done to it, and what it did wrong."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim")
    rows.add_column(justify="right")
    rows.add_column(style="dim")
    rows.add_row(
        "faults", f"{result.faults:,}", f"of {len(result.faults_by_kind)} kinds, in {result.rounds} rounds"
    )
    rows.add_row("decisions", f"{result.decisions:,}", _counted(result.outcomes))
    rows.add_row("takeovers", f"{result.takeovers:,}", "")
    rows.add_row(
        "offers", f"{result.offers:,}", _counted({use: getattr(result, use) for use in BY_BUYERS[1:]})
    )
    by_rules = {use.replace("_", " "): getattr(result, use) for use in BY_RULES}
    rows.add_row("rules", f"{sum(by_rules.values()):,}", _counted(by_rules))
    rows.add_row(
        "late", f"{result.late:,}", "overtaken or asked anew: the stream was lost, and who waited cut off"
    )
    gap = f"without a decision: {result.longest_gap_fault or 'no fault'}"
    rows.add_row("longest", f"{result.longest_gap_seconds:g} s", gap)
    for name, meaning in LINES:
        count = getattr(result, name)
        rows.add_row(name, Text(f"{count:,}", style="red" if count else ""), meaning)
    kinds = Text(_counted(result.faults_by_kind), style="dim")
    title = f"[bold]torture[/] seed {result.seed}, {result.minutes:g} minutes"
    style = "green" if result.passed else "red"
    return Panel(Group(rows, Text(), kinds, Text(), _verdict(result)), title=title, style=style, expand=False)


def _verdict(result: Result) -> RenderableType:
    if result.passed:
        return Text("✓ every law kept: ledger replayed, tables and clients agree", style="green")
    lines = [Text("✗ nothing was decided", style="red")] if not result.decisions else []
    lines += [Text(f"✗ never happened: {use}", style="red") for use in result.never]
    told: set[int] = set()
    for finding in result.findings[:FINDINGS_SHOWN]:
        lines.append(Text(f"✗ round {finding.round}, {finding.kind}: {finding.story}", style="red"))
        if finding.round not in told:
            told.add(finding.round)
            lines += [Text(f"    {fault}", style="dim") for fault in finding.faults]
            lines.append(Text(f"    event {finding.event}, logs: {finding.logs}", style="dim"))
    if len(result.findings) > FINDINGS_SHOWN:
        lines.append(Text(f"… and {len(result.findings) - FINDINGS_SHOWN:,} more; see --json", style="red"))
    return Group(*lines)


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
