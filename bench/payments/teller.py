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

from bench.http_rounds import Rounds

PATH: Final = "/v1/payments/notices/simulated"
READY: Final = b"ready\n"
GO: Final = b"go\n"


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
    """Connections that stay open, and what the next round on them tells."""

    def __init__(self, orders: TellerOrders) -> None:
        self._host = f"{orders.host}:{orders.port}"
        self._webhook = Webhook(orders.secret)
        self._rounds = Rounds(orders.host, orders.port, orders.connections)
        self._next: list[bytes] = []
        self.connect, self.close = self._rounds.connect, self._rounds.close

    def sign(self, notices: list[tuple[str, str]]) -> None:
        """What the next round tells."""
        at = datetime.fromtimestamp(int(time.time()), UTC)
        self._next = [signed_request(self._webhook, *notice, self._host, at) for notice in notices]

    async def tell(self) -> Told:
        """One round, from its first sending to its last answer."""
        ran = await self._rounds.run(self._next)
        answers: Counter[str] = Counter()
        for (status, body), count in ran.answers.items():
            answers[answer_of(status, body)] += count
        return Told(ran.seconds, dict(answers), ran.latencies_ns, ran.cpu_seconds)


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
