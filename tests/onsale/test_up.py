"""`./run up` as a person meets it: one panel, one page, kept data, clear refusals, nothing left behind."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from onsale.engines import DataDir
from onsale.engines.ports import free_port
from tests.onsale.test_engines import gone


class Up:
    """One `up` in a process of its own."""

    def __init__(self, root: Path, port: int) -> None:
        self.data = DataDir(root / ".data")
        env = {name: value for name, value in os.environ.items() if not name.endswith("_URL")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "onsale", "up", "--port", str(port)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=root,
            env={**env, "PYTHONPATH": str(root), "COLUMNS": "200", "PYTHONUNBUFFERED": "1"},
        )
        self.said = ""

    def read_until(self, text: str) -> str:
        """Reads on until a line holds `text`; all that was said so far."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
            if text in line:
                return self.said
        raise AssertionError(f"it ended without saying {text!r}:\n{self.said}")

    def rest(self) -> str:
        assert self.process.stdout is not None
        self.said += self.process.stdout.read()
        return self.said

    def tree(self) -> list[int]:
        return [child.pid for child in psutil.Process(self.process.pid).children(recursive=True)]


@pytest.fixture
def up(front_door) -> Iterator[Callable[[int], Up]]:
    with contextlib.ExitStack() as running:

        def start(port: int) -> Up:
            started = Up(front_door, port)
            running.enter_context(started.process)
            running.callback(started.process.kill)
            return started

        yield start


def test_up_shows_where_everything_is_and_keeps_its_data_for_the_next_time(up):
    port = free_port()
    keys = []
    for visit in (1, 2):
        onsale = up(port)
        panel = onsale.read_until("Ctrl-C stops it")
        assert f"http://127.0.0.1:{port}/" in panel
        assert f"http://127.0.0.1:{port}/openapi.json" in panel
        names = ("host-local", "provider-1", "chores-1", "gateway-1", "postgres", "valkey")
        for name in names:
            assert re.search(rf"{name} \d+", panel), name
        shown = re.search(r"payments\s+simulated, at (http://\S+)/control", panel)
        assert shown is not None
        with urllib.request.urlopen(f"{shown.group(1)}/control") as answer:
            assert b'"duplicates": 0.0' in answer.read()
        runtime = onsale.data.runtime()
        assert runtime is not None
        assert runtime.base_url == f"http://127.0.0.1:{port}"
        with urllib.request.urlopen(f"{runtime.base_url}/health/ready") as answer:
            assert answer.status == 200
        with psycopg.connect(runtime.database_url, autocommit=True) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS visits (n int)")
            connection.execute("INSERT INTO visits VALUES (%s)", [visit])
            assert connection.execute("SELECT count(*) FROM visits").fetchone() == (visit,)
        found = re.search(r"operator key\s+(\S+)", panel)
        assert found is not None
        keys.append(found.group(1))
        everyone = onsale.tree()
        onsale.process.send_signal(signal.SIGINT if visit == 1 else signal.SIGTERM)
        assert "Everything is kept" in onsale.rest()
        assert onsale.process.wait() == 0
        assert gone(everyone)
    assert keys[0] == keys[1]


def test_a_taken_port_is_refused_before_anything_starts(up):
    with socket.create_server(("127.0.0.1", 0)) as owner:
        port = owner.getsockname()[1]
        onsale = up(port)
        said = onsale.rest()
        assert onsale.process.wait() == 1
        assert f"--port {port + 1}" in said
        assert not onsale.data.path.exists()


@pytest.mark.faults
def test_a_second_up_is_refused_a_dead_child_is_started_again_and_a_killed_up_leaves_nothing_running(up):
    first = up(free_port())
    panel = first.read_until("Ctrl-C stops it")

    second = up(free_port())
    said = second.rest()
    assert second.process.wait() == 1
    assert f"process {first.process.pid}" in said
    assert "--data-dir" in said
    assert "Traceback" not in said

    found = re.search(r"host-local (\d+)", panel)
    assert found is not None
    os.kill(int(found.group(1)), signal.SIGKILL)
    first.read_until("host-local was ended by SIGKILL")
    assert first.process.poll() is None

    everyone = first.tree()
    assert len(everyone) > 5
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    assert gone(everyone)
