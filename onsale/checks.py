"""`./run test`: format, lint, layers, then the tests with the types beside them.

All run, so one go shows all that is wrong; what the check of types says stands last, below the tests' end.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from onsale.engines.data_dir import REPOSITORY

ROOMS = ("onsale", "gateway", "allocator", "notifier", "store", "bench", "clients/python", "tests")
NO_TESTS_COLLECTED = 5


@dataclass(frozen=True, slots=True)
class Check:
    """One program to run and what mends what it finds."""

    name: str
    arguments: Sequence[str]
    remedy: str


def quick_checks() -> list[Check]:
    """The checks that take less than a second, quickest first."""
    tools = Path(sys.executable).parent
    return [
        Check("ruff check", [str(tools / "ruff"), "check", "--quiet", "."], ".venv/bin/ruff check --fix"),
        Check(
            "ruff format", [str(tools / "ruff"), "format", "--check", "--quiet", "."], ".venv/bin/ruff format"
        ),
        Check(
            "import-linter",
            [str(tools / "lint-imports"), "--no-logo", "--no-cache"],
            "who may import whom: store <- allocator, notifier <- gateway <- onsale",
        ),
    ]


def type_check() -> Check:
    """mypy: a quarter of a minute where it has not run before, on one core."""
    rooms = [room for room in ROOMS if any((REPOSITORY / room).glob("**/*.py"))]
    return Check(
        "mypy",
        [sys.executable, "-m", "mypy", "--no-error-summary", *rooms],
        "the lines above name the places",
    )


def run_checks(pytest_arguments: Sequence[str]) -> int:
    """Runs everything; what follows an optional `--` goes to pytest. Returns an exit code."""
    chosen = [argument for argument in pytest_arguments if argument != "--"]
    console = Console(stderr=True, highlight=False)
    env = _environment()
    failed = [check.name for check in quick_checks() if not _told(console, check, _run(check, env))]
    sys.stderr.flush()
    with ThreadPoolExecutor(1) as beside:
        types = type_check()
        typed = beside.submit(_run, types, env)
        tests = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *_workers(chosen), *chosen],
            cwd=REPOSITORY,
            env=env,
            check=False,
        )
        if not _told(console, types, typed.result()):
            failed.append(types.name)
    if tests.returncode != 0:
        failed.append("no test matches" if tests.returncode == NO_TESTS_COLLECTED else "pytest")
    console.print(f"[red]failed: {', '.join(failed)}[/]" if failed else "[green]everything passes[/]")
    return 1 if failed else 0


def _run(check: Check, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        check.arguments, cwd=REPOSITORY, env=env, capture_output=True, text=True, check=False
    )


def _told(console: Console, check: Check, done: subprocess.CompletedProcess[str]) -> bool:
    """Says how a check ended; whether it found nothing."""
    if done.returncode == 0:
        console.print(f"[green]✓[/] {check.name}")
        return True
    console.print((done.stdout + done.stderr).strip(), markup=False, soft_wrap=True)
    console.print(f"[red]✗ {check.name}[/] — to mend it: {check.remedy}")
    return False


def _environment() -> dict[str, str]:
    """This process's, with the rooms to be found, and compiled modules kept: each worker, and each process
    that a test starts, would compile all it imports again (4 s a worker)."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**env, "PYTHONPATH": str(REPOSITORY)}


def _workers(chosen: Sequence[str]) -> list[str]:
    """One worker more than cores, for tests wait for disks and clocks; the caller may say otherwise. Each
    begins with a run of neighbours, so what neighbours share (a browser, a stack) is started by few."""
    if any(argument.startswith(("-n", "--numprocesses", "--pdb", "-s")) for argument in chosen):
        return []
    cores = len(os.sched_getaffinity(0)) if sys.platform.startswith("linux") else os.cpu_count() or 1
    return ["-n", str(cores + 1), "--dist", "worksteal"]
