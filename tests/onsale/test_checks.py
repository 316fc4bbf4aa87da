"""`./run test` itself: what follows goes to pytest, and any failure fails the whole."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from onsale import checks


class Programs:
    """Stands in for running programs: notes each command line; one with a word of `failing` in it fails."""

    def __init__(self) -> None:
        self.lines: list[list[str]] = []
        self.failing: list[str] = []

    def run(self, arguments, **_):
        self.lines.append(list(arguments))
        failed = any(word in " ".join(arguments) for word in self.failing)
        return SimpleNamespace(returncode=1 if failed else 0, stdout="", stderr="")


@pytest.fixture
def programs(monkeypatch) -> Programs:
    stand_in = Programs()
    monkeypatch.setattr(subprocess, "run", stand_in.run)
    return stand_in


def test_all_checks_and_then_the_tests_run(programs):
    assert checks.run_checks([]) == 0
    lines = [" ".join(line) for line in programs.lines]
    parts = ("ruff check", "ruff format --check", "-m mypy", "lint-imports", "-m pytest -q -n")
    assert len(lines) == len(parts)
    assert all(part in line for part, line in zip(parts, lines, strict=True))


def test_what_follows_the_dashes_goes_to_pytest(programs):
    checks.run_checks(["--", "-k", "stream and not slow", "-n0"])
    assert programs.lines[-1] == [sys.executable, "-m", "pytest", "-q", "-k", "stream and not slow", "-n0"]


@pytest.mark.parametrize("broken", ["ruff check", "mypy", "lint-imports", "pytest"])
def test_one_failure_fails_the_whole_and_the_rest_still_runs(programs, broken):
    programs.failing.append(broken)
    assert checks.run_checks([]) == 1
    assert len(programs.lines) == 5
