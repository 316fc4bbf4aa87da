"""Programs of Python kept running: each started again when it ends, with growing pauses.

They are programs of their own, so nothing is shared, started by the main thread, with whose end they end.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from store import REPOSITORY
from store.jobs import launch

LAUNCHER: Final = (sys.executable, "-I", "-S", str(Path(launch.__file__).resolve()))
PAUSE_SECONDS: Final = (0.5, 15.0)
HEALTHY_AFTER_SECONDS: Final = 30.0
STOP_SECONDS_MAX: Final = 10.0


class Hand:
    """One program: a module and its arguments. `does` says in the log what it is for."""

    def __init__(self, module: str, arguments: Sequence[str], does: str, log: logging.Logger) -> None:
        self._program = [sys.executable, "-m", module, *arguments]
        self._does = does
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._pause = PAUSE_SECONDS[0]
        self._begun = self._again_at = 0.0

    def look(self) -> None:
        """Start it, or start it again when it has ended, with growing pauses."""
        now = time.monotonic()
        if self._process is not None and self._process.poll() is None:
            return
        if self._process is not None:
            self._pause = PAUSE_SECONDS[0] if now - self._begun > HEALTHY_AFTER_SECONDS else self._pause
            self._log.warning(
                "%s ended with %s; another is started in %.1f s",
                self._does,
                self._process.returncode,
                self._pause,
            )
            self._process, self._again_at = None, now + self._pause
            self._pause = min(2 * self._pause, PAUSE_SECONDS[1])
        if now >= self._again_at:
            self._begun = now
            self._process = _start(self._program)

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def ask_to_stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)

    def wait(self, until: float) -> None:
        """Returns when it has ended; it is killed then if it has not."""
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Crew:
    """All of them."""

    def __init__(self, hands: Sequence[Hand]) -> None:
        self.hands = hands

    def look(self) -> None:
        """Start whoever does not run."""
        for hand in self.hands:
            hand.look()

    def stop(self, seconds_max: float = STOP_SECONDS_MAX) -> None:
        """They finish the thing they are at, at most for so long."""
        for hand in self.hands:
            hand.ask_to_stop()
        until = time.monotonic() + seconds_max
        for hand in self.hands:
            hand.wait(until)


def _start(program: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*LAUNCHER, str(os.getpid()), "self", str(int(signal.SIGKILL)), "--", *program],
        stdin=subprocess.DEVNULL,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        start_new_session=True,
    )
