"""Whole HTTP requests, sent in rounds by a process of its own, so that its time is not the server's.

    python -m bench.asker

The first line on standard input is `AskerOrders`; each further one is a round (`Asks`), and what became of
it comes as a line on standard output (`Answered`). It ends when its input ends.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import PIPE, Popen
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, field

from bench.generator import REPOSITORY
from bench.http_rounds import Rounds
from store.errors import OnsaleError


class AskerFailed(OnsaleError):
    """Who asks gave up; its last words are above."""


class AskerOrders(Struct):
    """Whom to ask, and over how many connections."""

    host: str
    port: int
    connections: int


class Asks(Struct):
    """One round: these whole requests, all of them so many times."""

    requests: list[str]
    times: int = 1


class Answered(Struct):
    """What became of a round; times in nanoseconds."""

    seconds: float = 0.0
    """First sending to last answer."""
    statuses: dict[str, int] = field(default_factory=dict)
    latencies_ns: list[int] = field(default_factory=list)
    cpu_seconds: float = 0.0
    """The asking process' own."""


_encode = msgspec.json.Encoder().encode


class Asker:
    """One running process with its connections open."""

    def __init__(self, process: Popen[bytes]) -> None:
        self._process = process

    def ask(self, requests: list[str], times: int = 1) -> Answered:
        """A round; returns when all are answered. Raises `AskerFailed`."""
        return msgspec.json.decode(self.tell(_encode(Asks(requests, times))), type=Answered)

    def tell(self, line: bytes) -> bytes:
        into, out = self._process.stdin, self._process.stdout
        assert into is not None, "the process was started with pipes"
        assert out is not None, "the process was started with pipes"
        into.write(line + b"\n")
        into.flush()
        answer = out.readline()
        if not answer:
            raise AskerFailed
        return answer


@contextmanager
def asker(base_url: str, connections: int) -> Iterator[Asker]:
    """Ready to ask when the block begins; ended with it."""
    address = urlsplit(base_url)
    assert address.hostname, "an address is http://host:port"
    assert address.port, "an address is http://host:port"
    command = [sys.executable, "-m", "bench.asker"]
    with Popen(command, stdin=PIPE, stdout=PIPE, cwd=REPOSITORY) as process:
        try:
            made = Asker(process)
            made.tell(_encode(AskerOrders(address.hostname, address.port, connections)))
            yield made
        finally:
            process.terminate()


async def main() -> None:
    """See the top of this module."""
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=AskerOrders)
    rounds = Rounds(orders.host, orders.port, orders.connections)
    await rounds.connect()
    gc.freeze()
    _say(Answered())
    while line := await asyncio.to_thread(sys.stdin.buffer.readline):
        asks = msgspec.json.decode(line, type=Asks)
        ran = await rounds.run([one.encode() for one in asks.requests] * asks.times)
        statuses: Counter[str] = Counter()
        for (status, _), count in ran.answers.items():
            statuses[str(status)] += count
        _say(Answered(ran.seconds, dict(statuses), ran.latencies_ns, ran.cpu_seconds))
    rounds.close()


def _say(answered: Answered) -> None:
    sys.stdout.buffer.write(_encode(answered) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(main())
