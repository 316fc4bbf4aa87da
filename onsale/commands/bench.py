"""`bench`: measure onsale, and write the figures down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.status import Status

from onsale.commands.seating import seating
from onsale.commands.strategies import strategies
from onsale.errors import OnsaleError as FrontDoorError
from store.errors import OnsaleError

app = typer.Typer(
    no_args_is_help=True,
    help="Measure: core, strategies, seating, payments, waiting-room, fleet or all; report makes a page.",
)
app.command("strategies")(strategies)
app.command("seating")(seating)
_notes = Console(stderr=True, highlight=False)
_results = Console(highlight=False)

JsonOption = Annotated[Path | None, typer.Option("--json", help="Write the figures to this file.")]
OnlyOption = Annotated[
    list[str] | None, typer.Option("--only", help="A row or a group of rows; may be given several times.")
]
QuickOption = Annotated[bool, typer.Option("--quick", help="One short round of the main rows: a first look.")]


@app.callback()
def bench() -> None:
    """Measure onsale; each subcommand is one set of figures."""


@app.command("core")
def core(
    json_path: JsonOption = None,
    only: OnlyOption = None,
    quick: QuickOption = False,
) -> None:
    """The figures onsale promises, on throwaway onsales. Seven minutes; exit code 1 for a miss."""
    from bench.core import run_core

    _measured(run_core, json_path, only, quick)


@app.command("payments")
def payments(
    json_path: JsonOption = None,
    only: OnlyOption = None,
    quick: QuickOption = False,
) -> None:
    """Buying, webhooks out, the sweep. Four minutes, and no part of all; exit code 1 for a miss."""
    from bench.payments.run import run_payments

    _measured(run_payments, json_path, only, quick)


@app.command("waiting-room")
def waiting_room(
    json_path: JsonOption = None,
    only: OnlyOption = None,
    quick: QuickOption = False,
) -> None:
    """Joins, the draw, the ballot, who waits. Seven minutes, and no part of all; exit code 1 for a miss."""
    from bench.waiting_room.run import run_waiting_room

    _measured(run_waiting_room, json_path, only, quick)


@app.command("fleet")
def fleet(
    json_path: JsonOption = None,
    only: OnlyOption = None,
    quick: QuickOption = False,
) -> None:
    """Handovers, kills, many events on few workers, restarts. Six minutes, and no part of all; exit code 1
    for a miss."""
    from bench.fleet.run import run_fleet

    _measured(run_fleet, json_path, only, quick)


@app.command("all")
def everything(json_path: JsonOption = None, quick: QuickOption = False) -> None:
    """Core, seating and every strategy in one run, at most fifteen minutes; exit code 1 for a miss."""
    from bench.effort import Effort
    from bench.everything import run_everything
    from bench.seating.show import seating_report
    from bench.show import core_report, rows_table

    with _measuring() as status:
        measured, strategies_tables = run_everything(status.update, Effort(quick))
    assert measured.core is not None, "it was just measured"
    assert measured.seating is not None, "it was just measured"
    _results.print(strategies_tables)
    _results.print(seating_report(measured.seating))
    _results.print()
    _results.print(core_report(measured.core))
    shown = {row.name for report in (measured.core, measured.seating.measured) for row in report.rows}
    _results.print()
    _results.print(rows_table([row for row in measured.rows() if row.name not in shown]))
    _write(json_path, measured)
    _notes.print(f"{measured.seconds / 60:.1f} minutes in all", style="dim")
    passed = measured.core.passed and measured.seating.passed
    raise typer.Exit(0 if passed and all(row.reached for row in measured.rows()) else 1)


@app.command("report")
def report(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="JSON of bench all, core, payments, waiting-room, fleet, seating or strategies, of torture, "
            "storm, simulate or mutants."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Where to write the page.")] = Path("report.html"),
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table as Markdown instead of writing a page.")
    ] = False,
) -> None:
    """One page with plots that needs nothing else: send it, or open it in a browser."""
    from bench.everything import read_files
    from bench.page.build import page
    from bench.show import markdown as as_markdown

    try:
        found = read_files(files)
    except OnsaleError as error:
        _notes.print(str(error), markup=False, style="red", soft_wrap=True)
        raise typer.Exit(1) from None
    if markdown:
        typer.echo(as_markdown(found.rows()))
        return
    out.write_text(page(found))
    _results.print(
        f"Written: {out} ({out.stat().st_size / 1024:,.0f} KB). Open it in a browser.", markup=False
    )


def _measured(run: Callable[..., Any], json_path: Path | None, only: list[str] | None, quick: bool) -> None:
    """Takes a report of rows, shows and writes it; ends with whether every row was reached."""
    from bench.effort import Effort
    from bench.show import core_report

    with _measuring() as status:
        report = run(only or [], status.update, Effort(quick))
    _results.print(core_report(report))
    _write(json_path, report)
    raise typer.Exit(0 if report.passed else 1)


@contextmanager
def _measuring() -> Iterator[Status]:
    """A status line; what stops a benchmark is told in a sentence."""
    try:
        with _notes.status("measuring") as status:
            yield status
    except (OnsaleError, FrontDoorError, TimeoutError) as error:
        _notes.print(f"The benchmark could not be taken. {error}", markup=False, style="red", soft_wrap=True)
        raise typer.Exit(1) from None


def _write(path: Path | None, measured: Any) -> None:
    import json

    import msgspec

    if path is not None:
        path.write_text(json.dumps(msgspec.to_builtins(measured), ensure_ascii=False, indent=1) + "\n")
