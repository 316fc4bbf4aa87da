"""`storm`: thousands pay for their holds while everything breaks; then all money is accounted for."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import psycopg
import typer
from rich.console import Console

from onsale.errors import OnsaleError as FrontDoorError
from store.errors import OnsaleError

TELL_SECONDS = 5.0

_notes = Console(stderr=True, highlight=False)


def storm(
    holds: Annotated[
        int, typer.Option(min=10, max=50_000, help="Holds to pay for in each of the two waves.")
    ] = 5_000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed deals the same buyers and blows.")] = 1,
    json_path: Annotated[Path | None, typer.Option("--json", help="Write the result to this file.")] = None,
    logs: Annotated[
        Path | None, typer.Option(help="Where logs and rows stay if it does not pass. Default: a new folder.")
    ] = None,
) -> None:
    """Pay for thousands of holds at a simulated provider that sends its notices twice and out of order, while
    processes are killed at random; then again with Redis stopped. Exit code 1 when money is not accounted
    for, or too little of this took place."""
    from bench.payments.storm import storm as whole
    from bench.payments.storming.show import storm_panel

    try:
        with _telling() as tell:
            result = whole(holds, seed, tell=tell, keep_in=logs)
    except (OnsaleError, FrontDoorError, psycopg.Error, OSError) as error:
        _notes.print(f"The storm did not take place. {error}", markup=False, style="red", soft_wrap=True)
        raise typer.Exit(1) from None
    Console(highlight=False).print(storm_panel(result))
    if json_path is not None:
        json_path.write_text(json.dumps(result.as_json(), ensure_ascii=False, indent=1) + "\n")
    raise typer.Exit(0 if result.passed else 1)


@contextmanager
def _telling() -> Iterator[Callable[[str], None]]:
    """A status line; where nobody sees one, a line every few seconds."""
    if not _notes.is_terminal:
        told_at = 0.0

        def tell(line: str) -> None:
            nonlocal told_at
            if (now := time.monotonic()) - told_at >= TELL_SECONDS:
                told_at = now
                _notes.print(line, markup=False, soft_wrap=True)

        yield tell
        return
    with _notes.status("starting a throwaway onsale") as status:
        yield status.update
