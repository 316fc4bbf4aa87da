"""The workers of one host: one for all short chores and one for each long one, kept running.

They are started as programs of their own, so nothing is shared, by the main thread, with whose end they end.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Final

from onsale.chores.catalogue import Chore
from onsale.engines.data_dir import REPOSITORY
from onsale.engines.identity import Identity, launch_arguments

log = logging.getLogger("onsale.chores")

PAUSE_SECONDS: Final = (0.5, 15.0)
HEALTHY_AFTER_SECONDS: Final = 30.0
STOP_SECONDS_MAX: Final = 10.0


class Hand:
    """One worker."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
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
            log.warning(
                "the worker for %s ended with %s; another is started in %.1f s",
                ", ".join(self.names),
                self._process.returncode,
                self._pause,
            )
            self._process, self._again_at = None, now + self._pause
            self._pause = min(2 * self._pause, PAUSE_SECONDS[1])
        if now >= self._again_at:
            self._begun = now
            self._process = _start(self.names)

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

    def __init__(self, chores: Sequence[Chore]) -> None:
        short = [chore.name for chore in chores if not chore.long]
        self.hands = [Hand(short), *[Hand([chore.name]) for chore in chores if chore.long]]

    def look(self) -> None:
        """Start whoever does not run."""
        for hand in self.hands:
            hand.look()

    def stop(self) -> None:
        """They finish the thing they are at, at most for `STOP_SECONDS_MAX`."""
        for hand in self.hands:
            hand.ask_to_stop()
        until = time.monotonic() + STOP_SECONDS_MAX
        for hand in self.hands:
            hand.wait(until)


def _start(names: Sequence[str]) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-m", "onsale.chores.worker", *names]
    return subprocess.Popen(
        launch_arguments(Identity.SELF, signal.SIGKILL, *program),
        stdin=subprocess.DEVNULL,
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        start_new_session=True,
    )
