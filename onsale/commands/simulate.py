"""`simulate`: whole on-sales in virtual time, with crashes between any two steps; then every law is demanded.

Exit code 0 when every law held and, with enough seeds, every rare path was taken; otherwise 1.
"""

from __future__ import annotations

import importlib.util
import json
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from onsale.errors import OnsaleError

if TYPE_CHECKING:
    from tests.simulation.run import Result

STEPS_USUAL = 1000
STORIES_MAX = 3
SHOWN_SEEDS_MAX = 20


NEEDS = ("tests.simulation", "greenlet")


class NoSimulator(OnsaleError):
    """The simulator is part of the tests. Run it from a checkout of onsale, after a ./run test."""

    def __init__(self) -> None:
        super().__init__(type(self).__doc__)


def simulate(
    seeds: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many on-sales.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="The first seed; each on-sale has the next one.")] = 1,
    steps: Annotated[
        int, typer.Option(min=10, max=100_000, help="Steps with trouble in each.")
    ] = STEPS_USUAL,
    file: Annotated[Path | None, typer.Option("--json", help="Write the results to this file.")] = None,
) -> None:
    """Run on-sales in virtual time where everything goes wrong, and demand every law of each."""
    if not all(map(_is_here, NEEDS)):
        raise NoSimulator
    began = time.perf_counter()
    results = _run(range(seed, seed + seeds), steps)
    summary = summarize(results, steps, time.perf_counter() - began)
    if file is not None:
        file.write_text(json.dumps(summary, indent=1) + "\n")
    _show(summary)
    raise typer.Exit(0 if summary["passed"] else 1)


def _is_here(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of a package that is not here either
        return False


def _run(seeds: range, steps: int) -> list[Result]:
    from tests.simulation.run import shrink
    from tests.simulation.run import simulate as run_one

    results: list[Result] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("on-sales"))
    notes = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=notes, transient=True) as progress:
        task = progress.add_task("simulating", total=len(seeds))
        for seed in seeds:
            result = run_one(seed, steps)
            if not result.good:
                progress.update(task, description=f"seed {seed} breaks a law")
                if sum(not one.good for one in results) < STORIES_MAX:
                    result = shrink(result)
            results.append(result)
            progress.advance(task)
    return results


def summarize(results: list[Result], steps: int, wall_seconds: float) -> dict[str, Any]:
    """What `--json` writes; `passed` is the exit code."""
    from tests.simulation.paths import never_taken

    counters: Counter[str] = Counter()
    for result in results:
        counters.update(result.counters)
    broken = [result for result in results if not result.good]
    missing = never_taken(counters, len(results)) if steps >= STEPS_USUAL else []
    cpu_seconds = sum(result.cpu_seconds for result in results)
    return {
        "passed": not broken and not missing,
        "seeds": len(results),
        "first_seed": results[0].seed,
        "steps": sum(result.steps for result in results),
        "steps_healing": sum(result.healed_steps for result in results),
        "cpu_seconds": round(cpu_seconds, 3),
        "wall_seconds": round(wall_seconds, 3),
        "on_sales_per_cpu_minute": round(60 * len(results) / max(cpu_seconds, 1e-9)),
        "on_sales_per_wall_minute": round(60 * len(results) / max(wall_seconds, 1e-9)),
        "broken": [
            {"seed": one.seed, "steps": one.steps, "laws": one.broken[:10], "story": one.told()}
            for one in broken
        ],
        "never_taken": missing,
        "counters": dict(sorted(counters.items())),
    }


def _show(summary: dict[str, Any]) -> None:
    from tests.simulation.paths import PATHS

    console = Console(highlight=False)
    table = Table(title=None, box=None, pad_edge=False)
    table.add_column("what happened")
    table.add_column("times", justify="right")
    counters = summary["counters"]
    for name, story in PATHS.items():
        style = "red" if name in summary["never_taken"] else ""
        table.add_row(f"{name.replace('_', ' ')}: {story}", f"{counters.get(name, 0):,}", style=style)
    console.print(table)
    told = f"{summary['seeds']:,} on-sales, {summary['steps']:,} steps with trouble"
    rate = (
        f"{summary['on_sales_per_cpu_minute']:,} on-sales a minute of one core, "
        f"{summary['on_sales_per_wall_minute']:,} by the clock on the wall"
    )
    if summary["passed"]:
        console.print(f"[green]✓[/] {told}: every law held. {rate}.")
        return
    for one in summary["broken"][:STORIES_MAX]:
        console.print(f"\n[red]✗[/] seed {one['seed']}, {one['steps']} steps", markup=True)
        for line in one["story"]:
            console.print(f"  {line}", markup=False, soft_wrap=True)
    if summary["broken"]:
        seeds = ", ".join(str(one["seed"]) for one in summary["broken"][:SHOWN_SEEDS_MAX])
        console.print(f"\n[red]✗[/] {told}: {len(summary['broken'])} broke a law (seeds {seeds}). {rate}.")
    if summary["never_taken"]:
        names = ", ".join(name.replace("_", " ") for name in summary["never_taken"])
        console.print(f"[red]✗[/] Never taken, so nothing is proven of: {names}. {rate}.")
