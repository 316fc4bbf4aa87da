"""Starts and steers who tells of payments: `bench.payments.teller`, a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import PIPE, Popen

from bench.generator import REPOSITORY
from bench.payments.teller import GO, READY, Notices, TellerOrders, Told, decode_told, encode
from store.errors import OnsaleError


class TellerFailed(OnsaleError):
    """Who tells of payments gave up; its last words are above."""


class TellerProcess:
    """One running process with its connections open."""

    def __init__(self, process: Popen[bytes]) -> None:
        self._process = process

    def sign(self, notices: Notices) -> None:
        """What the next round tells."""
        self._ready(encode(notices) + b"\n")

    def tell(self) -> Told:
        """A round; returns when all are answered."""
        return decode_told(self._asked(GO))

    def begin(self, orders: TellerOrders) -> None:
        """Opens its connections."""
        self._ready(encode(orders) + b"\n")

    def _ready(self, line: bytes) -> None:
        if self._asked(line) != READY:
            raise TellerFailed

    def _asked(self, line: bytes) -> bytes:
        into, out = self._process.stdin, self._process.stdout
        assert into is not None, "the process was started with pipes"
        assert out is not None, "the process was started with pipes"
        into.write(line)
        into.flush()
        answer = out.readline()
        if not answer:
            raise TellerFailed
        return answer


@contextmanager
def teller_process(orders: TellerOrders) -> Iterator[TellerProcess]:
    """Ready to tell when the block begins; ended with it."""
    command = [sys.executable, "-m", "bench.payments.teller"]
    with Popen(command, stdin=PIPE, stdout=PIPE, cwd=REPOSITORY) as process:
        try:
            teller = TellerProcess(process)
            teller.begin(orders)
            yield teller
        finally:
            process.terminate()
