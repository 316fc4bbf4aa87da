"""A provider that tells of many payments, fast: a process of its own, so that its time is not the server's.

    python -m bench.payments.teller

The first line on standard input is `TellerOrders`. A round is two lines: its notices (`Notices`), which are
signed as Standard Webhooks has it and then `READY` is said; and `GO`, upon which they are told over
connections that stay open, each its next one when the last is answered. What became of them comes as a line
on standard output (`Told`). It ends when its input ends.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import Struct, field
from standardwebhooks import Webhook

from bench.clients import cpu_seconds
from bench.http_client import HttpConnection, open_http

PATH: Final = "/v1/payments/notices/simulated"
READY: Final = b"ready\n"
GO: Final = b"go\n"
CONNECT_BURST: Final = 50


class TellerOrders(Struct):
    """Whom to tell, and how."""

    host: str
    port: int
    secret: str
    """`whsec_…`"""
    connections: int


class Notices(Struct):
    """One round."""

    notices: list[tuple[str, str]]
    """(the provider's id, the body)"""


class Told(Struct):
    """What became of a round; times in nanoseconds."""

    seconds: float = 0.0
    """First sending to last answer."""
    answers: dict[str, int] = field(default_factory=dict)
    """By `status state`, such as `200 succeeded`; of a repeat `200 succeeded again`."""
    latencies_ns: list[int] = field(default_factory=list)
    cpu_seconds: float = 0.0
    """This process' own, without the signing."""


class _Heard(Struct):
    state: str | None = None
    repeated: bool = False
    code: str = ""


_decode_heard = msgspec.json.Decoder(_Heard).decode
decode_told = msgspec.json.Decoder(Told).decode
encode = msgspec.json.Encoder().encode


def signed_request(
    webhook: Webhook, notice: str, body: str, host: str, at: datetime, *, path: str = PATH
) -> bytes:
    """A whole HTTP request that tells a notice, signed by the library."""
    raw = body.encode()
    return (
        f"POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
        f"webhook-id: {notice}\r\nwebhook-timestamp: {int(at.timestamp())}\r\n"
        f"webhook-signature: {webhook.sign(notice, at, body)}\r\ncontent-length: {len(raw)}\r\n\r\n"
    ).encode() + raw


def answer_of(status: int, body: bytes) -> str:
    """As in `Told.answers`."""
    heard = _decode_heard(body)
    return f"{status} {heard.state or heard.code}{' again' if heard.repeated else ''}"


class Teller:
    """Connections that stay open, and the round that runs on them."""

    def __init__(self, orders: TellerOrders) -> None:
        self._orders = orders
        self._webhook = Webhook(orders.secret)
        self._connections: dict[int, HttpConnection] = {}
        self._sent_ns = [0] * orders.connections
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
        gone = [n for n in range(self._orders.connections) if n not in there or not there[n].connected]
        for start in range(0, len(gone), CONNECT_BURST):
            burst = gone[start : start + CONNECT_BURST]
            there.update(zip(burst, await asyncio.gather(*map(self._open, burst)), strict=True))

    async def _open(self, number: int) -> HttpConnection:
        def heard(status: int, body: bytes) -> None:
            self._answered(number, status, body)

        return await open_http(self._orders.host, self._orders.port, heard, self._lose)

    def sign(self, notices: list[tuple[str, str]]) -> None:
        """What the next round tells."""
        at = datetime.fromtimestamp(int(time.time()), UTC)
        host = f"{self._orders.host}:{self._orders.port}"
        self._left = [signed_request(self._webhook, *notice, host, at) for notice in reversed(notices)]

    async def tell(self) -> Told:
        """One round, from its first sending to its last answer."""
        await self.connect()
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
        answers: Counter[str] = Counter()
        for (status, body), count in self._answers.items():
            answers[answer_of(status, body)] += count
        return Told(seconds, dict(answers), self._latencies_ns, cpu)

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
            said = f"The gateway ended a connection with {self._unanswered} notices to go."
            self._lost = error or ConnectionError(said)
            self._done.set()


async def main() -> None:
    """See the top of this module."""
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=TellerOrders)
    teller = Teller(orders)
    await teller.connect()
    gc.freeze()
    _say(READY)
    while line := await asyncio.to_thread(sys.stdin.buffer.readline):
        if line == GO:
            _say(encode(await teller.tell()) + b"\n")
        else:
            teller.sign(msgspec.json.decode(line, type=Notices).notices)
            _say(READY)
    teller.close()


def _say(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    asyncio.run(main())
