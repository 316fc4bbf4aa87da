"""Starts and steers the process of a round's buyers (`fleet.py`)."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench.generator import REPOSITORY
from bench.torture.fleet import FleetOrders, FleetSaw, decode_saw, decode_says
from store.errors import OnsaleError

SLACK_SECONDS = 30.0


class BuyersFailed(OnsaleError):
    """The buyers' process gave up."""


class Buyers:
    """A running fleet; `stop` ends its load and returns what it saw."""

    def __init__(self, process: subprocess.Popen[bytes], orders: FleetOrders) -> None:
        self.asked = 0
        self._process = process
        self._orders = orders
        self._failed = ""
        self._listener = threading.Thread(target=self._listen, name="hears the buyers", daemon=True)
        self._listener.start()

    def stop(self) -> FleetSaw:
        """Waits until everything asked is answered, or for as long as the orders say."""
        assert self._process.stdin is not None, "started with pipes"
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(b"stop\n")
            self._process.stdin.flush()
        self._listener.join(self._orders.answer_seconds_max + SLACK_SECONDS)
        path = Path(self._orders.result_path)
        if self._failed or not path.exists():
            raise BuyersFailed(f"The buyers gave up: {self._failed or 'their process ended early'}")
        return decode_saw(path.read_bytes())

    def _listen(self) -> None:
        assert self._process.stdout is not None, "started with pipes"
        for line in self._process.stdout:
            says = decode_says(line)
            self.asked = says.asked or self.asked
            if says.phase == "failed":
                self._failed = says.message
            if says.phase in ("failed", "done"):
                return


@contextlib.contextmanager
def buying(orders: FleetOrders) -> Iterator[Buyers]:
    """A fleet under way when the block begins, gone when it ends. `result_path` is set here."""
    with tempfile.TemporaryDirectory(prefix="onsale-buyers-") as folder:
        orders = msgspec.structs.replace(orders, result_path=str(Path(folder) / "saw"))
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.torture.fleet"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=REPOSITORY,
        )
        try:
            assert process.stdin is not None, "started with pipes"
            process.stdin.write(msgspec.json.encode(orders) + b"\n")
            process.stdin.flush()
            yield Buyers(process, orders)
        finally:
            process.kill()
            process.communicate()
