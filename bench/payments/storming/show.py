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
    ("paid_twice", "a seat, a place or an order that two payments bought"),
    ("provider", "onsale and the provider do not agree"),
    ("undelivered", "rows of the outbox that the sink never got"),
    ("untold", "money the outbox says nothing of, or twice"),
    ("unbalanced", "orders, refunds, settlement and what was taken do not add up"),
    ("misled", "told that there is an order, and there is none"),
    ("verify", "the ledger or the tables disagree with themselves"),
    ("other", "an alert, a death, no rest, trouble of the storm's own"),
)


def storm_panel(result: Result) -> RenderableType:
    """The table: what was done, what came of it, and what is not zero."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(justify="right")
    rows.add_column(style="dim")
    for what, count, means in _done(result):
        rows.add_row(what, f"{count:,}", means)
    rows.add_row("", "", "")
    for kind, means in LINES:
        found = result.counts[kind]
        rows.add_row(kind, Text(f"{found:,}", style="red" if found else "green"), means)
    style = "green" if result.passed else "red"
    title = f"storm, seed {result.seed}, {result.seconds:.0f} s"
    return Panel(
        Group(rows, Text(), *_phases(result), Text(), _verdict(result)),
        title=title,
        border_style=style,
        expand=False,
    )


def _done(result: Result) -> list[tuple[str, int, str]]:
    notices = result.notices
    percent = {what: f"{100 * share:.1f} %" for what, (share, _) in result.shares.items()}
    twice = f"of the provider's: {notices.sent_twice:,} sent twice ({percent['notices sent twice']})"
    overtaken = f"{notices.overtaken:,} overtaken ({percent['notices overtaken']})"
    away = f"{result.paid_while_redis_away:,} of them while Redis was away"
    places = f"of them with standing places, {result.with_both:,} with seats, too"
    canceled = f"and {result.canceled:,} of canceled events"
    parts = f"whole by the organiser, {result.taken_in_part:,} in part, {canceled}"
    late = f"{result.paid_late:,} when the hold had run out ({percent['paid past expiry']})"
    return [
        ("holds", result.held, f"of {result.buyers:,} buyers in {len(result.waves)} waves"),
        ("paid", result.paid, late),
        ("orders", result.orders, f"{away}; {result.reacquired:,} had to ask for their seats again"),
        ("", result.with_places, places),
        ("refunded", result.refunded, _counted(result.reasons)),
        ("taken back", result.taken_back, parts),
        ("killed", sum(result.killed.values()), _counted(result.killed)),
        ("notices", notices.made, f"{twice}, {overtaken}, {notices.crossed:,} crossed their payment's"),
        ("messages", result.deliveries, f"delivered, of {result.messages:,}"),
    ]


def _phases(result: Result) -> list[RenderableType]:
    """Where the time went."""
    lines = []
    for number, wave in enumerate(result.waves, start=1):
        phases = ", ".join(f"{what} {seconds:.0f} s" for what, seconds in wave.phases.items())
        waits = ", ".join(f"{what} {wait['median']:.1f} s" for what, wait in wave.waits.items())
        lines.append(Text(f"wave {number}, holds of {wave.ttl_seconds} s: {phases}", style="dim"))
        lines.append(Text(f"  buyers waited, in the middle, for {waits}", style="dim"))
    return [*lines, Text(f"judging {result.seconds_judging:.0f} s", style="dim")]


def _verdict(result: Result) -> RenderableType:
    if result.passed:
        story = "✓ all money has seats or went back; tables, provider, settlement, sink and buyers agree"
        return Text(story, style="green")
    lines = [Text(f"✗ did not take place: {what}", style="red") for what in result.never]
    lines += [Text(f"✗ {one.kind}: {one.story}", style="red") for one in result.findings[:FINDINGS_SHOWN]]
    if len(result.findings) > FINDINGS_SHOWN:
        lines.append(Text(f"… and {len(result.findings) - FINDINGS_SHOWN:,} more; see --json", style="red"))
    lines.append(Text(f"logs, the provider's journal and all that was judged: {result.kept}", style="dim"))
    return Group(*lines)


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())
