"""A subscriber that does as little as one can: `python -m bench.payments.sink` prints its port and answers
every POST with 204, until its stdin ends. A GET is answered with how many messages came, and how many
different ones.
"""

from __future__ import annotations

import asyncio
import sys

_END = b"\r\n\r\n"
_ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"


class Sink(asyncio.Protocol):
    """One connection; `seen` is everybody's."""

    received = 0

    def __init__(self, seen: set[bytes]) -> None:
        self._seen = seen
        self._unread = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._unread += data
        while (at := self._unread.find(_END)) >= 0:
            head = self._unread[:at].lower() + b"\r\n"
            end = at + len(_END) + int(_header(head, b"content-length:") or b"0")
            if len(self._unread) < end:
                return
            self._unread = self._unread[end:]
            self._transport.write(self._answer(head))

    def _answer(self, head: bytes) -> bytes:
        if head.startswith(b"get"):
            told = b'{"received":%d,"different":%d}' % (Sink.received, len(self._seen))
            return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(told), told)
        Sink.received += 1
        self._seen.add(_header(head, b"webhook-id:"))
        return _ANSWER


def _header(head: bytes, name: bytes) -> bytes:
    at = head.find(b"\r\n" + name)
    return b"" if at < 0 else head[at + 2 + len(name) : head.find(b"\r\n", at + 2)].strip()


async def main() -> None:
    """Listens on a free port of this machine."""
    loop = asyncio.get_running_loop()
    seen: set[bytes] = set()
    server = await loop.create_server(lambda: Sink(seen), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
