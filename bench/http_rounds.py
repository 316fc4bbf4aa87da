"""Rounds of whole HTTP requests over connections that stay open, each its next when the last is answered."""

from __future__ import annotations

import asyncio
import gc
import time
from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from bench.clients import cpu_seconds
from bench.http_client import HttpConnection, open_http

CONNECT_BURST: Final = 50


class Ran(NamedTuple):
    """A round."""

    seconds: float
    """First sending to last answer."""
    answers: Counter[tuple[int, bytes]]
    """(status, body) → how many."""
    latencies_ns: list[int]
    cpu_seconds: float
    """This process' own."""


class Rounds:
    """Connections that stay open, and the round that runs on them."""

    def __init__(self, host: str, port: int, connections: int) -> None:
        self._host, self._port, self._count = host, port, connections
        self._connections: dict[int, HttpConnection] = {}
        self._sent_ns = [0] * connections
        self._left: list[bytes] = []
        self._unanswered = 0
        self._answers: Counter[tuple[int, bytes]] = Counter()
        self._latencies_ns: list[int] = []
        self._done = asyncio.Event()
        self._lost: Exception | None = None

    async def connect(self) -> None:
        """Every connection is open when this returns: the gateway closes those that are idle for seconds."""
        await asyncio.sleep(0)  # what was closed meanwhile is known after a turn of the loop
        there = self._connections
        gone = [n for n in range(self._count) if n not in there or not there[n].connected]
        for start in range(0, len(gone), CONNECT_BURST):
            burst = gone[start : start + CONNECT_BURST]
            there.update(zip(burst, await asyncio.gather(*map(self._open, burst)), strict=True))

    async def _open(self, number: int) -> HttpConnection:
        def heard(status: int, body: bytes) -> None:
            self._answered(number, status, body)

        return await open_http(self._host, self._port, heard, self._lose)

    async def run(self, requests: Iterable[bytes]) -> Ran:
        """One round, from its first sending to its last answer; raises when a connection ends meanwhile."""
        await self.connect()
        self._left = list(requests)[::-1]
        self._unanswered = len(self._left)
        self._answers, self._latencies_ns = Counter(), []
        self._done.clear()
        gc.collect()
        gc.disable()
        cpu, began_ns = cpu_seconds(), time.monotonic_ns()
        for number in self._connections:
            self._send(number)
        await self._done.wait()
        seconds, cpu = (time.monotonic_ns() - began_ns) / 1e9, cpu_seconds() - cpu
        gc.enable()
        if self._lost is not None:
            raise self._lost
        return Ran(seconds, self._answers, self._latencies_ns, cpu)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    def _send(self, number: int) -> None:
        if self._left:
            self._sent_ns[number] = time.monotonic_ns()
            self._connections[number].send(self._left.pop())

    def _answered(self, number: int, status: int, body: bytes) -> None:
        if not self._unanswered:  # an idle connection is told that it took too long
            return
        self._latencies_ns.append(time.monotonic_ns() - self._sent_ns[number])
        self._answers[status, body] += 1
        self._unanswered -= 1
        if self._unanswered:
            self._send(number)
        else:
            self._done.set()

    def _lose(self, error: Exception | None) -> None:
        if self._unanswered:
            said = f"The gateway ended a connection with {self._unanswered} requests to go."
            self._lost = error or ConnectionError(said)
            self._done.set()
