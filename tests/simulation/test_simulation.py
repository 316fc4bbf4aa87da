"""A short simulation in every test run: the laws hold, a seed replays exactly, and its stories help."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter

import pytest
from typer.testing import CliRunner

from onsale.cli import app
from onsale.commands import simulate as command
from tests.simulation.faults import FAULTS
from tests.simulation.paths import ENOUGH_SEEDS, OPTIONAL, PATHS, PHASES, never_taken
from tests.simulation.run import Result, shrink, simulate
from tests.simulation.visitors import has_room

pytestmark = pytest.mark.simulation
SEEDS = range(101, 131)
"""Four times as many as it takes until each of the rare paths below is taken; `./run simulate` tries more."""
ROOMS = [seed for seed in range(101, 281) if has_room(seed)]
"""Twice as many as it takes for each in a waiting room."""


def test_every_law_holds_after_whatever_went_wrong():
    counters: Counter[str] = Counter()
    for seed in SEEDS:
        result = simulate(seed)
        assert result.good, "\n".join(result.told())
        counters.update(result.counters)
    usual = ("held", "conflict", "repeated", "expired", "takeover", "fenced", "redone", "halved", "gathered")
    limited = ("limit_reached", "category_refused", "tour_refused", "elsewhere", "tour_wait")
    by_hand = ("block", "unblock", "sell", "take_back")
    assert [path for path in (*usual, *limited, *by_hand) if not counters[path]] == []


def test_every_law_of_a_waiting_room_holds_after_whatever_went_wrong():
    counters: Counter[str] = Counter()
    for seed in ROOMS:
        result = simulate(seed)
        assert result.good, "\n".join(result.told())
        counters.update(result.counters)
    ways = ("ballots", "by_code", "returned", "room_admissions", "room_begins", "room_outcome_unknown")
    parts = [f"{what}_in_{phase}" for what in ("killed", "wiped", "restarted") for phase in PHASES]
    assert [path for path in (*ways, *parts) if not counters[path]] == []


@pytest.mark.parametrize("seed", [7, 9])
def test_a_seed_replays_exactly(seed):
    first, again = simulate(seed, 400), simulate(seed, 400)
    assert first.digest == again.digest
    assert first.counters == again.counters
    assert simulate(8, 400).digest != first.digest


@pytest.mark.parametrize(("seed", "hash_seed"), [(7, "0"), (7, "4711"), (9, "0"), (9, "4711")])
def test_a_seed_replays_exactly_in_another_process(seed, hash_seed):
    script = f"from tests.simulation.run import simulate; print(simulate({seed}, 400).digest)"
    there = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert there.stdout.strip() == simulate(seed, 400).digest


def test_a_broken_law_is_told_with_what_led_there_and_how_to_see_it_again():
    with FAULTS["overlay"].broken():
        broken = next(result for seed in range(50) if not (result := simulate(seed)).good)
        short = shrink(broken)
    assert short.steps <= broken.steps
    law, *steps, again = short.told()
    assert law == short.broken[0]
    assert len(steps) >= 5
    assert again == f"again: ./run simulate --seeds 1 --seed {short.seed} --steps {short.steps}"


# ---- the command -------------------------------------------------------------------------------


def test_the_command_writes_what_it_found(tmp_path):
    file = tmp_path / "out.json"
    ran = CliRunner().invoke(
        app, ["simulate", "--seeds", "2", "--seed", "3", "--steps", "200", "--json", str(file)]
    )
    assert ran.exit_code == 0, ran.output
    assert "2 on-sales, 400 steps with trouble: every law held" in " ".join(ran.output.split())
    summary = json.loads(file.read_text())
    assert (summary["passed"], summary["seeds"], summary["first_seed"], summary["steps"]) == (True, 2, 3, 400)
    assert summary["broken"] == []


def test_the_command_fails_and_tells_the_story_of_a_broken_law():
    with FAULTS["short write"].broken():
        ran = CliRunner().invoke(app, ["simulate", "--seeds", "4", "--seed", "11"])
    assert ran.exit_code == 1
    assert "broke a law" in ran.output
    assert "again: ./run simulate --seeds 1 --seed" in ran.output


def test_a_path_that_was_never_taken_fails_a_large_simulation():
    all_but_one = {path: 1 for path in PATHS if path != "fenced"}
    assert never_taken(all_but_one, ENOUGH_SEEDS) == ["fenced"]
    assert never_taken(all_but_one, ENOUGH_SEEDS - 1) == []
    assert "fenced" not in OPTIONAL
    results = [Result(seed, 1000, 10, "", [], Counter(all_but_one)) for seed in range(ENOUGH_SEEDS)]
    summary = command.summarize(results, 1000, 1.0)
    assert (summary["passed"], summary["never_taken"]) == (False, ["fenced"])


def test_without_the_tests_folder_the_command_says_so(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(command.NoSimulator, match="Run it from a checkout of onsale"):
        command.simulate(seeds=1, seed=1, steps=100, file=None)
