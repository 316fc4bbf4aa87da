"""`torture`: kill, stop and cut a real onsale under load, and judge what everybody saw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import psycopg
import typer
from rich.console import Console

from onsale.errors import OnsaleError as FrontDoorError
from store.errors import OnsaleError

_notes = Console(stderr=True, highlight=False)


def torture(
    minutes: Annotated[float, typer.Option(min=0.1, max=1440.0, help="How long, about.")] = 10.0,
    seed: Annotated[int, typer.Option(min=0, help="The same seed breaks the same things.")] = 1,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the result to this file.")] = None,
    logs: Annotated[
        Path | None, typer.Option(help="Where logs of rounds with findings stay. Default: a new folder.")
    ] = None,
) -> None:
    """Break a throwaway onsale in every known way, under load; exit code 1 when any law was broken."""
    from bench.torture.run import run
    from bench.torture.show import torture_panel

    try:
        with _notes.status("starting a throwaway onsale") as status:
            result = run(minutes, seed, tell=status.update, keep_in=logs)
    except (OnsaleError, FrontDoorError, psycopg.Error, TimeoutError) as error:
        _notes.print(f"The torture did not take place. {error}", markup=False, style="red", soft_wrap=True)
        raise typer.Exit(1) from None
    Console(highlight=False).print(torture_panel(result))
    if json_path is not None:
        json_path.write_text(json.dumps(result.as_json(), ensure_ascii=False, indent=1) + "\n")
    raise typer.Exit(0 if result.passed else 1)
