"""`bench strategies`: onsale beside every other way of selling seats that people publish."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from onsale.errors import OnsaleError as FrontDoorError
from store.errors import OnsaleError

_notes = Console(stderr=True, highlight=False)


def strategies(
    json_path: Annotated[Path | None, typer.Option("--json", help="Write everything to this file.")] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="A strategy; may be given several times.")
    ] = None,
    loads: Annotated[
        list[str] | None, typer.Option("--loads", help="A load; may be given several times.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="One short round of the main loads.")] = False,
) -> None:
    """Every published way of selling seats, same plan, same load, beside onsale. About eight minutes."""
    import msgspec

    from bench.strategies.run import run_strategies
    from bench.strategies.show import strategies_report

    try:
        with _notes.status("measuring") as status:
            report = run_strategies(only=only or [], loads=loads or [], quick=quick, say=status.update)
    except (OnsaleError, FrontDoorError, TimeoutError) as error:
        _notes.print(
            f"The strategies could not be measured. {error}", markup=False, style="red", soft_wrap=True
        )
        raise typer.Exit(1) from None
    if json_path is not None:
        json_path.write_text(json.dumps(msgspec.to_builtins(report), ensure_ascii=False, indent=1) + "\n")
    Console(highlight=False).print(strategies_report(report))
    broken = [row for row in report.rows if row.strategy == "onsale" and (row.oversold or row.lost)]
    raise typer.Exit(1 if broken else 0)
