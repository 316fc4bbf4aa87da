"""Starts the bare echo (`bench/echo.py`) in a process of its own and ends it."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from bench.generator import REPOSITORY
from onsale.engines.ports import free_port

START_SECONDS_MAX = 20.0
POLL_SECONDS = 0.05


@contextmanager
def echo_server() -> Iterator[tuple[str, int]]:
    """The echo server's address and process id."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "bench.echo", str(port)], cwd=REPOSITORY)
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_answering(url)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait()


def _wait_answering(url: str) -> None:
    give_up_at = time.monotonic() + START_SECONDS_MAX
    while True:
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except OSError:
            assert time.monotonic() < give_up_at, "the echo server did not start"
            time.sleep(POLL_SECONDS)
