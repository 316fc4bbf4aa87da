"""`mutants`: take out each guard in a copy of the repository; which test notices?"""

from __future__ import annotations

import importlib.util
import json
import random
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from onsale.errors import FrontDoorError

if TYPE_CHECKING:
    from tests.mutants.mutant import Mutant
    from tests.mutants.runner import Outcome

_notes = Console(stderr=True, highlight=False)
JOBS_MAX = 16


class NothingToRun(FrontDoorError):
    """The tests are not here."""


def mutants(
    only: Annotated[
        list[str] | None,
        typer.Option(help="A word of a guard, its kind or its file; may be given several times."),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Of these, so many by chance: others every time.")
    ] = None,
    json_path: Annotated[
        Path | None, typer.Option("--json", help="Write every outcome to this file.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=JOBS_MAX, help="How many at a time.")] = 2,
) -> None:
    """Break each guard on purpose, in a copy of this repository: which test notices?

    There are well over a thousand, which takes hours: --only takes a subject, --sample some by chance.

    Exit code 1 when a fault goes unnoticed, when a guard's text is no longer what the list says, or when
    its tests do not run.
    """
    for needed in ("tests", "pytest"):
        if importlib.util.find_spec(needed) is None:
            raise NothingToRun(
                "This needs the tests and what they are run with. Take a clone of the repository and "
                "call ./run test once."
            )
    from tests.mutants import catalogue
    from tests.mutants.runner import run

    chosen = catalogue.chosen(only or [])
    if not chosen:
        raise NothingToRun(
            f"No guard, kind or file has {' or '.join(only or [])} in it; without --only all run."
        )
    if sample is not None and sample < len(chosen):
        chosen = random.sample(chosen, sample)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that copies and engines go with it
    outcomes = _run_all(run, chosen, jobs)
    console = Console(highlight=False)
    console.print(_table(outcomes))
    console.print(_sum(outcomes))
    if json_path is not None:
        json_path.write_text(json.dumps(_as_json(outcomes), ensure_ascii=False, indent=1) + "\n")
    raise typer.Exit(0 if all(outcome.caught for outcome in outcomes) else 1)


def _run_all(run: Any, chosen: list[Mutant], jobs: int) -> list[Outcome]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=_notes, transient=True) as progress:
        task = progress.add_task("the tests without any fault", total=len(chosen))

        def tell(outcome: Outcome) -> None:
            progress.update(task, advance=1, description="one fault after the other")
            if not outcome.caught:
                progress.console.print(_verdict(outcome))

        outcomes: list[Outcome] = run(chosen, jobs, tell)
    return outcomes


def _verdict(outcome: Outcome) -> Text:
    text = Text.assemble((f"✗ {outcome.verdict}", "red"), f": {outcome.mutant.guard}")
    if outcome.note:
        text.append(f" — {outcome.note}")
    return text


def _table(outcomes: list[Outcome]) -> Table:
    table = Table("guard", "kind", "what caught it", title="Each guard taken out", title_justify="left")
    for outcome in outcomes:
        mutant = outcome.mutant
        table.add_row(Text(mutant.guard), Text(str(mutant.kind), style="dim"), _catchers(outcome))
    return table


def _catchers(outcome: Outcome) -> Text:
    if not outcome.caught:
        return Text(f"✗ {outcome.verdict}. {outcome.note}", style="red")
    lines = Text()
    shown: Counter[str] = Counter()
    for failure in outcome.failures:
        name = failure.test.rpartition("::")[2].partition("[")[0]
        shown[name] += 1
        if shown[name] == 1:
            lines.append(f"{name}\n", style="green").append(f"  {failure.why}\n", style="dim")
    lines.rstrip()
    return lines


def _sum(outcomes: list[Outcome]) -> Text:
    counts = Counter(outcome.verdict.value for outcome in outcomes)
    told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    all_caught = counts["caught"] == len(outcomes)
    return Text(
        f"{'✓' if all_caught else '✗'} {len(outcomes)} guards: {told}", style="green" if all_caught else "red"
    )


def _as_json(outcomes: list[Outcome]) -> dict[str, Any]:
    return {
        "guards": len(outcomes),
        "caught": sum(outcome.caught for outcome in outcomes),
        "outcomes": [
            {
                "guard": outcome.mutant.guard,
                "kind": outcome.mutant.kind.value,
                "file": outcome.mutant.file,
                "verdict": outcome.verdict.value,
                "caught_by": [{"test": failure.test, "why": failure.why} for failure in outcome.failures],
                "note": outcome.note,
            }
            for outcome in outcomes
        ],
    }
