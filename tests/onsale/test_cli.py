"""The command line: quick, whole even when one command is broken, and free of tracebacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from onsale.engines import DataDir


def onsale(root: Path, *arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.endswith("_URL")}
    return subprocess.run(
        [sys.executable, "-m", "onsale", *arguments],
        cwd=root,
        env={**env, "PYTHONPATH": str(root)},
        input=said,
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_lists_every_command_and_imports_none_of_them(front_door):
    for module in (front_door / "onsale" / "commands").glob("*.py"):
        module.write_text("raise SystemExit('imported too early')\n")
    done = onsale(front_door, "--help")
    assert done.returncode == 0, done.stderr
    for command in (
        "up",
        "worker",
        "venue",
        "event",
        "stampede",
        "verify",
        "bench",
        "storm",
        "doctor",
        "reset",
        "test",
    ):
        assert f" {command} " in done.stdout


def test_a_commands_own_help_and_arguments_reach_it(front_door):
    (front_door / "onsale" / "commands" / "verify.py").write_text(
        "def verify(event: str, deep: bool = False) -> None:\n    '''Replays.'''\n    print(event, deep)\n"
    )
    assert "Replays." in onsale(front_door, "verify", "--help").stdout
    assert onsale(front_door, "verify", "gala", "--deep").stdout == "gala True\n"
    wrong = onsale(front_door, "verify", "--shallow")
    assert wrong.returncode == 2
    assert "./run verify" in wrong.stderr


def test_reset_removes_the_data_and_only_after_a_yes(front_door):
    data = DataDir(front_door / ".data")
    data.prepare()
    assert onsale(front_door, "reset", said="n\n").returncode != 0
    assert data.path.exists()
    assert onsale(front_door, "reset", said="y\n").returncode == 0
    assert not data.path.exists()
    assert "nothing in" in onsale(front_door, "reset", "--yes").stdout


def test_reset_leaves_alone_what_runs_or_was_not_made_by_onsale(front_door):
    data = DataDir(front_door / ".data")
    with data.own():
        done = onsale(front_door, "reset", "--yes")
    assert done.returncode == 1
    assert "already runs" in done.stderr
    assert "Traceback" not in done.stderr
    assert data.path.exists()
    foreign = front_door / "onsale"
    done = onsale(front_door, "reset", "--yes", "--data-dir", str(foreign))
    assert done.returncode == 1
    assert "nothing was removed" in done.stderr
    assert (foreign / "cli.py").exists()
