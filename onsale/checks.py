"""`./run test`: format, lint, types, layers, then the tests. All run, so one go shows all that is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from onsale.engines.data_dir import REPOSITORY

ROOMS = ("onsale", "gateway", "allocator", "notifier", "store", "bench", "tests")
NO_TESTS_COLLECTED = 5


@dataclass(frozen=True, slots=True)
class Check:
    """One program to run and what mends what it finds."""

    name: str
    arguments: Sequence[str]
    remedy: str


def checks() -> list[Check]:
    """The checks that need no engine, quickest first."""
    tools = Path(sys.executable).parent
    rooms = [room for room in ROOMS if any((REPOSITORY / room).glob("**/*.py"))]
    return [
        Check("ruff check", [str(tools / "ruff"), "check", "--quiet", "."], ".venv/bin/ruff check --fix"),
        Check(
            "ruff format", [str(tools / "ruff"), "format", "--check", "--quiet", "."], ".venv/bin/ruff format"
        ),
        Check(
            "mypy",
            [sys.executable, "-m", "mypy", "--no-error-summary", *rooms],
            "the lines above name the places",
        ),
        Check(
            "import-linter",
            [str(tools / "lint-imports"), "--no-logo", "--no-cache"],
            "who may import whom: store <- allocator, notifier <- gateway <- onsale",
        ),
    ]


def run_checks(pytest_arguments: Sequence[str]) -> int:
    """Runs everything; what follows an optional `--` goes to pytest. Returns an exit code."""
    chosen = [argument for argument in pytest_arguments if argument != "--"]
    console = Console(stderr=True, highlight=False)
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    failed = []
    for check in checks():
        done = subprocess.run(
            check.arguments, cwd=REPOSITORY, env=env, capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            console.print(f"[green]✓[/] {check.name}")
            continue
        console.print((done.stdout + done.stderr).strip(), markup=False, soft_wrap=True)
        console.print(f"[red]✗ {check.name}[/] — to mend it: {check.remedy}")
        failed.append(check.name)
    sys.stderr.flush()
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *_workers(chosen), *chosen],
        cwd=REPOSITORY,
        env=env,
        check=False,
    )
    if tests.returncode != 0:
        failed.append("no test matches" if tests.returncode == NO_TESTS_COLLECTED else "pytest")
    console.print(f"[red]failed: {', '.join(failed)}[/]" if failed else "[green]everything passes[/]")
    return 1 if failed else 0


def _workers(chosen: Sequence[str]) -> list[str]:
    """One worker more than cores, for tests wait for disks and clocks; the caller may say otherwise."""
    if any(argument.startswith(("-n", "--numprocesses", "--pdb", "-s")) for argument in chosen):
        return []
    cores = len(os.sched_getaffinity(0)) if sys.platform.startswith("linux") else os.cpu_count() or 1
    return ["-n", str(cores + 1)]
