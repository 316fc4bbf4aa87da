"""`./run mutants`: what it prints and writes, and when its exit code is 1."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from onsale.commands import mutants as command
from tests.mutants import runner
from tests.mutants.catalogue import chosen
from tests.mutants.mutant import Mutant
from tests.mutants.runner import Failure, Outcome, Verdict

Verdicts = Callable[[int], Verdict]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs the command with outcomes of the test's own choice, by number."""

    def made(verdict: Verdicts, *arguments: str) -> Result:
        def run(mutants: Sequence[Mutant], jobs: int, tell: Callable[[Outcome], None]) -> list[Outcome]:
            outcomes = []
            for number, mutant in enumerate(mutants):
                failures = (Failure("tests/a.py::test_notices[x]", "assert 1 == 2"),)
                caught = verdict(number) is Verdict.CAUGHT
                outcomes.append(Outcome(mutant, verdict(number), failures if caught else (), "a note"))
                tell(outcomes[-1])
            return outcomes

        monkeypatch.setattr(runner, "run", run)
        monkeypatch.setattr("signal.signal", lambda *_: None)
        app = typer.Typer()
        app.command()(command.mutants)
        return CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})

    return made


def test_all_caught_is_exit_code_0_and_names_guard_test_and_why(call, tmp_path: Path):
    out = tmp_path / "out.json"
    result = call(lambda _: Verdict.CAUGHT, "--only", "fence", "--json", str(out))
    assert result.exit_code == 0
    for word in ("the fence asks for the epoch", "test_notices", "assert 1 == 2"):
        assert word in result.stdout
    written = json.loads(out.read_text())
    assert written["guards"] == written["caught"] == len(written["outcomes"]) > 2
    assert written["outcomes"][0]["caught_by"] == [
        {"test": "tests/a.py::test_notices[x]", "why": "assert 1 == 2"}
    ]


@pytest.mark.parametrize("verdict", [verdict for verdict in Verdict if verdict is not Verdict.CAUGHT])
def test_one_that_is_not_caught_is_exit_code_1_and_is_named(call, verdict: Verdict):
    result = call(lambda number: verdict if number == 1 else Verdict.CAUGHT, "--only", "fence")
    assert result.exit_code == 1
    assert f"1 {verdict}" in result.stdout
    assert "a note" in result.stdout


def test_a_sample_is_some_of_those_chosen(call, tmp_path: Path):
    out = tmp_path / "out.json"
    assert (
        call(lambda _: Verdict.CAUGHT, "--only", "fence", "--sample", "2", "--json", str(out)).exit_code == 0
    )
    guards = {outcome["guard"] for outcome in json.loads(out.read_text())["outcomes"]}
    assert len(guards) == 2
    assert guards <= {mutant.guard for mutant in chosen(["fence"])}


def test_a_word_that_no_guard_has_says_so(call):
    result = call(lambda _: Verdict.CAUGHT, "--only", "no such guard")
    assert isinstance(result.exception, command.NothingToRun)
    assert "no such guard" in str(result.exception)


def test_without_its_tests_it_says_what_to_do(call, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = call(lambda _: Verdict.CAUGHT)
    assert isinstance(result.exception, command.NothingToRun)
    assert "./run test" in str(result.exception)
