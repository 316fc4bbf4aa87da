"""`bench`: measure onsale, and write the figures down."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from onsale.commands.strategies import strategies
from onsale.errors import OnsaleError as FrontDoorError
from store.errors import OnsaleError

app = typer.Typer(no_args_is_help=True, help="Measure: core.")
app.command("strategies")(strategies)
_notes = Console(stderr=True, highlight=False)


@app.callback()
def bench() -> None:
    """Measure onsale; each subcommand is one set of figures."""


@app.command("core")
def core(
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the figures to this file.")] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="A row or a group of rows; may be given several times.")
    ] = None,
) -> None:
    """The figures onsale promises, each on a throwaway onsale. About five minutes; exit code 1 for a miss."""
    import msgspec

    from bench.core import run_core
    from bench.show import core_report

    try:
        with _notes.status("measuring") as status:
            report = run_core(only or [], status.update)
    except (OnsaleError, FrontDoorError, TimeoutError) as error:
        _notes.print(f"The benchmark could not be taken. {error}", markup=False, style="red", soft_wrap=True)
        raise typer.Exit(1) from None
    Console(highlight=False).print(core_report(report))
    if json_path is not None:
        json_path.write_text(json.dumps(msgspec.to_builtins(report), ensure_ascii=False, indent=1) + "\n")
    raise typer.Exit(0 if all(row.reached for row in report.rows) else 1)
