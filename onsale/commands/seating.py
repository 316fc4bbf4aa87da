"""`bench seating`: who sits together, who is overtaken, what is left, beside two other ways; how fast."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from onsale.errors import OnsaleError as FrontDoorError
from store.errors import OnsaleError

_notes = Console(stderr=True, highlight=False)


def seating(
    json_path: Annotated[Path | None, typer.Option("--json", help="Write everything to this file.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller houses, one round.")] = False,
) -> None:
    """How people sit: onsale, SKIP LOCKED, a greedy picker. A minute and a half; exit code 1 for a miss."""
    import msgspec

    from bench.effort import Effort
    from bench.seating.run import run_seating
    from bench.seating.show import seating_report

    try:
        with _notes.status("measuring") as status:
            report = run_seating(status.update, Effort(quick))
    except (OnsaleError, FrontDoorError, TimeoutError) as error:
        _notes.print(f"The seating could not be measured. {error}", markup=False, style="red", soft_wrap=True)
        raise typer.Exit(1) from None
    if json_path is not None:
        json_path.write_text(json.dumps(msgspec.to_builtins(report), ensure_ascii=False, indent=1) + "\n")
    Console(highlight=False).print(seating_report(report))
    raise typer.Exit(0 if report.passed else 1)
