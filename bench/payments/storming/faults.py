"""Kills what a storm kills, one after the other, until it is told to stop; each is started again."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from bench.payments.storming.plan import Blow, Victim, blows
from bench.payments.storming.stage import PaidStage

STOP_SECONDS_MAX = 60.0


class Storm:
    """Blows in a thread, from now until `stop`."""

    def __init__(self, stage: PaidStage, seed: int) -> None:
        self.killed: Counter[str] = Counter()
        self.trouble = ""
        """What could not be done; then the storm ended early and says nothing about onsale."""
        self._stage = stage
        self._blows = blows(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._rage, name="storm", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends with what is down just then started again."""
        self._over.set()
        self._thread.join(STOP_SECONDS_MAX)
        if self._thread.is_alive():
            self.trouble = "the storm did not end when it was told to"

    def _rage(self) -> None:
        try:
            for blow in self._blows:
                if self._over.wait(blow.quiet_seconds):
                    return
                self._strike(blow)
        except Exception as error:  # told as trouble of the storm, never hidden
            self.trouble = f"{type(error).__name__}: {error}"

    def _strike(self, blow: Blow) -> None:
        name = self._name(blow)
        self._stage.kill(name)
        self.killed[blow.victim.value] += 1
        self._over.wait(blow.down_seconds)
        self._stage.start(name)
        if not blow.hasty:
            self._stage.wait_answers(name, self._over)

    def _name(self, blow: Blow) -> str:
        """Of allocators the one that owns an event, half of the time."""
        if blow.victim is Victim.ALLOCATOR and blow.dice < 0.5:
            return self._stage.owner()
        names = sorted(name for name in self._stage.stack.processes if name.startswith(blow.victim.value))
        assert names, f"the stage has a {blow.victim}"
        return random.Random(blow.dice).choice(names)


@contextmanager
def raging(stage: PaidStage, seed: int) -> Iterator[Storm]:
    """A storm for as long as the block."""
    storm = Storm(stage, seed)
    try:
        yield storm
    finally:
        storm.stop()
