"""`stampede`: thousands of buyers ask for the same few seats at once, then every law is checked."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import psycopg
import typer
from rich.console import Console
from rich.status import Status

from onsale.errors import OnsaleError as FrontDoorError
from store.errors import OnsaleError

if TYPE_CHECKING:
    from bench.generator import OnProgress

_notes = Console(stderr=True, highlight=False)


class Gate(StrEnum):
    """Whether gateways may refuse at once what they know is gone."""

    on = "on"
    off = "off"
    both = "both"


class Preset(StrEnum):
    """Sizes people compare."""

    thousand_for_one = "1000x1"
    five_hundred_for_five = "500x5"
    ten_thousand_for_one = "10000x1"


def stampede(
    buyers: Annotated[int, typer.Option(min=1, max=10_000, help="How many ask at once.")] = 1_000,
    seats: Annotated[int, typer.Option(min=1, max=10_000, help="How many seats there are.")] = 1,
    gate: Annotated[Gate, typer.Option(help="Fast gate on, off, or one run of each.")] = Gate.off,
    url: Annotated[
        str | None, typer.Option(help="An onsale that runs on this machine. Default: a throwaway one.")
    ] = None,
    preset: Annotated[Preset | None, typer.Option(help="Buyers and seats in one word.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON, for scripts.")] = False,
    data_dir: Annotated[
        Path | None,
        typer.Option("--data-dir", help="Where the onsale of --url keeps its data. Default: .data"),
    ] = None,
) -> None:
    """Let thousands of buyers storm an onsale; exit code 1 when any law was broken.

    With --gate both, JSON is a list of two results: gate on, gate off.
    """
    from bench.show import stampede_panel
    from bench.stampede import PRESETS, Options, Ran, run
    from bench.target import running_target, throwaway_target

    if preset is not None:
        buyers, seats = PRESETS[preset.value]
    gates = [True, False] if gate is Gate.both else [gate is Gate.on]
    results: list[Ran] = []
    try:
        with ExitStack() as leaving, _notes.status("starting a throwaway onsale") as status:
            if url is None:
                target, _ = leaving.enter_context(throwaway_target())
            else:
                target = running_target(url, data_dir)
            for each in gates:
                ran = asyncio.run(run(Options(buyers, seats, each), target, _teller(status)))
                results.append(ran)
                if not as_json:
                    Console(highlight=False).print(stampede_panel(ran))
    except (OnsaleError, FrontDoorError, psycopg.Error, TimeoutError) as error:
        if as_json:
            sys.stdout.write(json.dumps({"error": str(error)}) + "\n")
        _notes.print(f"The stampede did not take place. {error}", markup=False, style="red", soft_wrap=True)
        raise typer.Exit(1) from None
    if as_json:
        built = [ran.result.as_json() for ran in results]
        sys.stdout.write(json.dumps(built if len(built) > 1 else built[0], ensure_ascii=False) + "\n")
    raise typer.Exit(0 if all(ran.result.passed for ran in results) else 1)


def _teller(status: Status) -> OnProgress:
    from bench.orders import Progress

    def tell(progress: Progress) -> None:
        counted = f" {progress.done:,} of {progress.total:,}" if progress.total else ""
        status.update(f"{_WORDS.get(progress.phase, progress.phase)}{counted}")

    return tell


_WORDS = {
    "connecting": "buyers arrive:",
    "ready": "everybody is ready:",
    "running": "everybody asks at once",
    "done": "answered:",
    "checking": "checking every law",
}
