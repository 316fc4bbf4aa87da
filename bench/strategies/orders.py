"""What the strategies' load generator is told, and what it tells; and the process, as its owner sees it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct, field

from bench.generator import REPOSITORY, GeneratorFailed
from bench.strategies.wire import Transport


class Open(Struct, tag=True):
    """A line: connections to the ports in turn, opened when a round needs them."""

    line: str
    transport: Transport
    ports: list[int]
    path: str
    tokens: list[str] = []
    """A buyer's token for each connection, in turn."""
    hello: str = ""
    """The event to say hello for; empty where the server expects none."""


class Go(Struct, tag=True):
    """One round on a line. Request `i` is asked for `wants[i % len(wants)]`, a fragment of JSON.

    Replied to twice: when its connections are open, and when it is over.
    """

    line: str
    event: str
    wants: list[str]
    connections: int
    requests: int
    seconds: float
    """No request is sent after this; those under way are waited for."""
    result_path: str
    onsale: bool = False
    patience_seconds: float = 10.0


class Close(Struct, tag=True):
    """Hang up a line."""

    line: str


class Reply(Struct):
    """`error` is empty when what was ordered was done."""

    error: str = ""


class Told(Struct):
    """A round; times in nanoseconds of the machine's monotonic clock."""

    answers: list[tuple[int, int, int, int, bytes]] = field(default_factory=list)
    """(request, sent, answered, HTTP status, body)"""
    unanswered: list[tuple[int, int]] = field(default_factory=list)
    """(request, sent)"""
    lost: int = 0
    """Connections that broke."""
    cut_off: bool = False
    """The time was over before every request was sent."""
    cpu_seconds: float = 0.0


decode_order = msgspec.json.Decoder(Open | Go | Close).decode
encode_order = msgspec.json.Encoder().encode
encode_reply = msgspec.json.Encoder().encode
decode_reply = msgspec.json.Decoder(Reply).decode
encode_told = msgspec.msgpack.Encoder().encode
decode_told = msgspec.msgpack.Decoder(Told).decode


class Asker:
    """The running generator. Not for several threads."""

    def __init__(self, process: subprocess.Popen[bytes], result_path: Path) -> None:
        self._process = process
        self._result_path = result_path

    def open(self, order: Open) -> None:
        self._tell(order)

    def close(self, line: str) -> None:
        self._tell(Close(line))

    def start(
        self,
        line: str,
        event: str,
        wants: list[str],
        *,
        connections: int,
        requests: int,
        seconds: float,
        onsale: bool = False,
        patience_seconds: float = 10.0,
    ) -> None:
        """Open what is missing and begin a round; `finish` waits for its end. In between harm may be done."""
        path = str(self._result_path)
        self._tell(Go(line, event, wants, connections, requests, seconds, path, onsale, patience_seconds))

    def finish(self) -> Told:
        self._hear()
        return decode_told(self._result_path.read_bytes())

    def _tell(self, order: Open | Go | Close) -> None:
        assert self._process.stdin is not None, "the process was started with pipes"
        self._process.stdin.write(encode_order(order) + b"\n")
        self._process.stdin.flush()
        self._hear()

    def _hear(self) -> None:
        assert self._process.stdout is not None, "the process was started with pipes"
        line = self._process.stdout.readline()
        error = decode_reply(line).error if line else "its process ended"
        if error:
            raise GeneratorFailed(f"The load generator gave up: {error}")


@contextlib.contextmanager
def asker() -> Iterator[Asker]:
    """A generator process for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="onsale-load-") as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.strategies.load"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=REPOSITORY,
        )
        try:
            yield Asker(process, Path(folder) / "told")
        finally:
            assert process.stdin is not None, "the process was started with pipes"
            assert process.stdout is not None, "the process was started with pipes"
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
