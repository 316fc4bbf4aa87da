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
        self.environments: list[dict[str, str]] = []
        self.failing: list[str] = []

    def run(self, arguments, *, env, **_):
        self.lines.append(list(arguments))
        self.environments.append(env)
        failed = any(word in " ".join(arguments) for word in self.failing)
        return SimpleNamespace(returncode=1 if failed else 0, stdout="", stderr="")


@pytest.fixture
def programs(monkeypatch) -> Programs:
    stand_in = Programs()
    monkeypatch.setattr(subprocess, "run", stand_in.run)
    return stand_in


def test_all_checks_and_then_the_tests_run_with_the_types_beside_them(programs):
    assert checks.run_checks([]) == 0
    lines = [" ".join(line) for line in programs.lines]
    quick = ("ruff check", "ruff format --check", "lint-imports")
    assert all(part in line for part, line in zip(quick, lines[:3], strict=True))
    types, tests = sorted(lines[3:])
    assert "-m mypy" in types
    assert "-m pytest -q -n" in tests


def test_what_follows_the_dashes_goes_to_pytest(programs):
    checks.run_checks(["--", "-k", "stream and not slow", "-n0"])
    assert [sys.executable, "-m", "pytest", "-q", "-k", "stream and not slow", "-n0"] in programs.lines


@pytest.mark.parametrize("broken", ["ruff check", "mypy", "lint-imports", "pytest"])
def test_one_failure_fails_the_whole_and_the_rest_still_runs(programs, broken, capsys):
    programs.failing.append(broken)
    assert checks.run_checks([]) == 1
    assert len(programs.lines) == 5
    assert f"failed: {broken.replace('lint-imports', 'import-linter')}" in capsys.readouterr().err


def test_modules_are_compiled_once_and_kept(programs, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    checks.run_checks([])
    assert all("PYTHONDONTWRITEBYTECODE" not in env for env in programs.environments)
