"""`verify`: decides an event's whole ledger again and says whether every answer comes out as it was given,
whether every seat and place adds up, and whether every payment has its seats or goes back. What was decided
by a version of the decision that this code does not have is named as unproven.

Exit code 0 when so, 1 when a row, a batch or a decision is not what it must be, or something does not add up.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import psycopg
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from allocator import replay
from onsale.engines import attach_or_start, default_data_dir
from store import invariant
from store.database import connect
from store.erasure import erase
from store.events import get_event
from store.payments.invariant import mismatches as payments
from store.words import LedgerKind

UNPROVEN_SHOWN = 5
"""Batches of versions of the decision that this code does not have: so many are named."""


def verify(
    event: Annotated[str, typer.Argument(help="The event's name in addresses, such as demo.")],
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    data_dir: Annotated[Path | None, typer.Option("--data-dir", help="Where the engines live.")] = None,
) -> None:
    """Decide an event's whole ledger again: every answer must come out as it was given."""
    notes = Console(stderr=True, quiet=as_json)
    with (
        attach_or_start(data_dir or default_data_dir()) as urls,
        connect(urls.database_url, "onsale verify") as conn,
    ):
        summary = check(conn, event, notes)
    if as_json:
        print(json.dumps(summary))
    else:
        _show(summary)
    raise typer.Exit(1 if summary["findings"] or summary["mismatches"] else 0)


def check(conn: psycopg.Connection[Any], slug: str, notes: Console) -> dict[str, Any]:
    """{"event", "batches", "rows", "decisions", "erased", "hash",
    "findings": [{"batch_no", "position", "story"}], "unproven": [{"batch_no", "story"}],
    "mismatches": [{"what", "number", "story"}]}.
    """
    event = get_event(conn, slug)
    last = conn.execute("SELECT batch_no FROM event_cursor WHERE event_id = %s", (event.id,)).fetchone()
    capacity = invariant.read_capacity(conn, event.id)
    conn.commit()
    batches = rows = decisions = 0
    digest = ""
    mismatches = [*invariant.mismatches(conn, event.id, capacity), *payments(conn, event.id)]
    findings: list[dict[str, Any]] = []
    unproven: list[dict[str, Any]] = []
    columns = (TextColumn("deciding again"), BarColumn(), MofNCompleteColumn(), TextColumn("batches"))
    with Progress(*columns, TimeElapsedColumn(), console=notes, transient=True) as progress:
        task = progress.add_task("", total=last[0] if last else 0)
        for step in replay.verify(conn, event.id):
            if isinstance(step, replay.Finding):
                findings.append(step._asdict())
                continue
            if isinstance(step, replay.Unproven):
                unproven.append({"batch_no": step.batch.batch_no, "story": step.story})
                step = step.batch
            batches += 1
            rows += len(step.rows)
            decisions += sum(row.kind == LedgerKind.REQUEST for row in step.rows)
            digest = step.hash.hex()
            progress.update(task, completed=batches)
    return {
        "event": slug,
        "batches": batches,
        "rows": rows,
        "erased": sum(len(batch) for batch in erase.digests(conn, event.id).values()),
        "decisions": decisions,
        "hash": digest,
        "findings": findings,
        "unproven": unproven,
        "mismatches": [mismatch._asdict() for mismatch in mismatches],
    }


def _show(summary: dict[str, Any]) -> None:
    console = Console()
    _show_decisions(console, summary)
    if not summary["mismatches"]:
        console.print("[green]✓[/] Every seat and place adds up: held + sold + blocked + free = capacity.")
        console.print("[green]✓[/] Every payment has its seats or goes back, and what costs is paid for.")
        return
    console.print("[red]✗[/] Seats, places and payments do not add up:")
    for mismatch in summary["mismatches"]:
        where = f"{mismatch['what']} number {mismatch['number']}"
        console.print(f"  {where} {mismatch['story']}", highlight=False, markup=False)
    console.print("  Nothing was repaired. Pause the sale, and compare these rows with their history first.")


def _show_decisions(console: Console, summary: dict[str, Any]) -> None:
    told = f"{summary['decisions']:,} decisions in {summary['batches']:,} batches of {summary['event']}"
    unproven = summary["unproven"]
    if unproven and not summary["findings"]:
        console.print(
            f"[yellow]![/] {told} are as they were written; {len(unproven):,} batches are unproven:"
        )
        for one in unproven[:UNPROVEN_SHOWN]:
            console.print(f"  batch {one['batch_no']}: {one['story']}", highlight=False, markup=False)
        if len(unproven) > UNPROVEN_SHOWN:
            console.print(f"  and {len(unproven) - UNPROVEN_SHOWN:,} more; --json names all")
        console.print("  Verify with the version of onsale that decided them to prove these too.")
        return
    if not summary["findings"]:
        console.print(f"[green]✓[/] {told}: each comes out as it was given.")
        console.print(f"  ledger hash {summary['hash'] or '-'}", highlight=False)
        if summary["erased"]:
            rows = f"{summary['erased']:,} rows were erased on request"
            console.print(
                f"  {rows}: they differ from what was written in whose they are, and in nothing else"
            )
        return
    console.print(f"[red]✗[/] {told} are in order; then:")
    for finding in summary["findings"]:
        where = f"batch {finding['batch_no']}"
        if finding["position"] is not None:
            where += f", position {finding['position']}"
        console.print(f"  {where}: {finding['story']}", highlight=False, markup=False)
    console.print("  What came before can be trusted. Compare with a backup before you change anything.")
