"""`rehearse`: a stampede against a copy of an event, fast gate on and off, and from it a sizing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from onsale.commands.plainly import print_json, print_plainly, told_plainly, with_engines
from onsale.rehearsals.chore import OURS
from store.errors import BadRequest
from store.rehearsals.words import BUYERS_MAX, SIZED_FOR_MAX

_notes = Console(stderr=True, highlight=False)


def rehearse(
    event: Annotated[str, typer.Argument(help="The event's slug; buyers' data is not touched.")],
    buyers: Annotated[int, typer.Option(help=f"How many storm the copy, at most {BUYERS_MAX:,}.")] = 1_000,
    sized_for: Annotated[
        int | None, typer.Option("--for", help="How many buyers the sizing is for. Default: as many.")
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option("--data-dir", help="Where the embedded engines live. Default: .data")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON, for scripts.")] = False,
) -> None:
    """Storm a throwaway copy of an event and say what it takes; exit code 1 when any law was broken."""
    from bench.rehearsal.copying import read_copy
    from bench.rehearsal.run import rehearse as run

    with told_plainly(as_json):
        if not 1 <= buyers <= BUYERS_MAX or not 1 <= (sized_for or 1) <= SIZED_FOR_MAX:
            story = f"--buyers must be 1 to {BUYERS_MAX:,}, and --for 1 to {SIZED_FOR_MAX:,}."
            raise BadRequest("invalid_rehearsal", story)
        with with_engines(data_dir) as (conn, _):
            copy = read_copy(conn, event)
        for name in [name for name in os.environ if name.startswith(OURS)]:
            del os.environ[name]  # what is started now is a throwaway, and knows nothing of the real one
        with _notes.status("starting a throwaway onsale") as status:
            done = run(copy, buyers, sized_for or buyers, lambda phase, _done, _total: status.update(phase))
    if as_json:
        print_json(done)
    else:
        print_plainly("\n".join(done.sentences))
    raise typer.Exit(0 if done.measured.lawful else 1)
