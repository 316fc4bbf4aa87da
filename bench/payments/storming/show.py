"""What a person sees of a storm."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from bench.payments.storming.results import Result

FINDINGS_SHOWN = 20

LINES = (
    ("unanswered", "money with neither seats nor a refund"),
    ("paid_twice", "a seat or an order that two payments bought"),
    ("provider", "onsale and the provider do not agree"),
    ("undelivered", "rows of the outbox that the sink never got"),
    ("untold", "money the outbox says nothing of, or twice"),
    ("unbalanced", "orders, refunds and what was taken do not add up"),
    ("misled", "told that there is an order, and there is none"),
    ("verify", "the ledger or the tables disagree with themselves"),
    ("other", "an alert, a death, no rest, trouble of the storm's own"),
)


def storm_panel(result: Result) -> RenderableType:
    """The table: what was done, what came of it, and what is not zero."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim")
    rows.add_column(justify="right")
    rows.add_column(style="dim")
    rows.add_row("holds", f"{result.held:,}", f"of {result.buyers:,} buyers in {result.waves} waves")
    rows.add_row("paid", f"{result.paid:,}", f"{result.paid_while_redis_away:,} of them without Redis")
    rows.add_row("orders", f"{result.orders:,}", f"{result.reacquired:,} had to ask for their seats again")
    rows.add_row("refunded", f"{result.refunded:,}", _counted(result.reasons))
    rows.add_row("killed", f"{sum(result.killed.values()):,}", _counted(result.killed))
    rows.add_row("notices", f"{result.notices:,}", "of the provider's, each acted on once")
    rows.add_row("messages", f"{result.deliveries:,}", f"delivered, of {result.messages:,}")
    rows.add_row("", "", "")
    for kind, means in LINES:
        count = result.counts[kind]
        rows.add_row(kind, Text(f"{count:,}", style="red" if count else "green"), means)
    style = "green" if result.passed else "red"
    title = f"storm, seed {result.seed}, {result.seconds:.0f} s"
    return Panel(Group(rows, Text(), _verdict(result)), title=title, border_style=style, expand=False)


def _verdict(result: Result) -> RenderableType:
    if result.passed:
        return Text(
            "✓ all money has seats or went back; tables, provider, sink and buyers agree", style="green"
        )
    lines = [Text(f"✗ never happened: {what}", style="red") for what in result.never]
    lines += [Text(f"✗ {one.kind}: {one.story}", style="red") for one in result.findings[:FINDINGS_SHOWN]]
    if len(result.findings) > FINDINGS_SHOWN:
        lines.append(Text(f"… and {len(result.findings) - FINDINGS_SHOWN:,} more; see --json", style="red"))
    return Group(*lines)


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
