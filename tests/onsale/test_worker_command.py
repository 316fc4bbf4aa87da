"""`./run worker` joins an onsale that runs, and says so where none does or the host cannot be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psycopg
import pytest

from onsale.commands.worker import NothingRuns, running_engines
from onsale.engines import DataDir
from onsale.engines.data_dir import REPOSITORY
from store.settings import EngineUrls


def command(*arguments, **env):
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_URL")}
    return subprocess.Popen(
        [sys.executable, "-m", "onsale", "worker", *arguments],
        env={**kept, "PYTHONPATH": str(REPOSITORY), **env},
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def engines(monkeypatch):
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)


def test_urls_name_the_engines_and_so_does_the_onsale_that_runs_there(engines, monkeypatch, tmp_path):
    home = DataDir(tmp_path / "data")
    with home.own():
        home.announce(EngineUrls("postgresql://here", "redis://here"))
        assert running_engines(home.path) == EngineUrls("postgresql://here", "redis://here")
        monkeypatch.setenv("REDIS_URL", "redis://elsewhere")
        assert running_engines(home.path) == EngineUrls("postgresql://here", "redis://elsewhere")
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere")
    assert running_engines(home.path) == EngineUrls("postgresql://elsewhere", "redis://elsewhere")


def test_where_nothing_runs_it_is_said_what_to_do(engines, tmp_path):
    with pytest.raises(NothingRuns, match=r"\./run up"):
        running_engines(tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("slots", ["0", "-1", "65", "10000", "many"])
def test_slots_that_no_host_has_are_refused(engine_urls, slots):
    with command("--slots", slots, **engine_urls.as_env()) as process:
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "1 to 64 slots" in said
    assert "Traceback" not in said


@pytest.mark.faults
def test_a_host_joins_is_told_of_and_leaves_on_ctrl_c(engine_urls):
    with command("--slots", "2", "--name", "hall", **engine_urls.as_env()) as process:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        assert "joining the fleet as hall" in next(lines)
        assert "host hall is there, with 2 slots" in next(lines)
        with psycopg.connect(engine_urls.database_url, autocommit=True) as conn:
            assert conn.execute("SELECT name, slots FROM fleet_host").fetchall() == [("hall", 2)]
            process.send_signal(signal.SIGINT)
            said = "".join(lines)
            assert process.wait(60) == 0, process.stderr
            assert "host hall has left" in said
            assert conn.execute("SELECT count(*) FROM fleet_host").fetchone() == (0,)
