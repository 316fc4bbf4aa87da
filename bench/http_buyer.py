"""One buyer of the load generator over HTTP: POST, and wait for the decision in its answer.

With `Prefer: wait` the answer is the decision. A server that answers 202 instead is asked with GET until
the request is decided; either way the buyer's latency runs from sending to decision.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bench.client import Buyer, Head, decode_head
from bench.http_client import HttpConnection, open_http

if TYPE_CHECKING:
    from bench.clients import Fleet

WAIT_SECONDS = 10


class HttpBuyer(Buyer):
    """One buyer with one connection."""

    def __init__(self, fleet: Fleet, number: int) -> None:
        super().__init__(fleet, number)
        address = urlsplit(fleet.orders.url)
        assert address.hostname, "an address is http://host:port"
        assert address.port, "an address is http://host:port"
        self._host, self._port = address.hostname, address.port
        self._path = f"/v1/events/{fleet.orders.event}"
        common = f"Host: {address.netloc}\r\nAuthorization: Bearer {self.token}\r\n"
        self._post = (
            f"POST {self._path}/requests HTTP/1.1\r\n{common}Content-Type: application/json\r\n"
            f"Prefer: wait={WAIT_SECONDS}\r\n"
        )
        self._common = common
        self._connection: HttpConnection | None = None
        self._in_flight: list[str] = []
        """What each answer to come is about, in order."""

    @property
    def connected(self) -> bool:
        return self._connection is not None and self._connection.connected

    async def connect(self) -> None:
        self._connection = await open_http(self._host, self._port, self._on_response, self._on_lost)
        self.fleet.welcome(self)

    def ask(self, request_id: str, want: str, again: bool = False) -> None:
        body = want.encode()
        head = f"{self._post}Idempotency-Key: {request_id}\r\nContent-Length: {len(body)}\r\n\r\n"
        self._send(request_id, head.encode() + body)

    def part_with(self, op: str, hold: str) -> None:
        head = f"POST {self._path}/holds/{hold}/{op} HTTP/1.1\r\n{self._common}Content-Length: 0\r\n\r\n"
        self._send(f"hold {hold}", head.encode())

    def hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _send(self, about: str, request: bytes) -> None:
        if self._connection is not None and self._connection.connected:
            self._in_flight.append(about)
            self._connection.send(request)

    def _wait_for(self, request_id: str) -> None:
        target = f"{self._path}/requests/{request_id}?wait_ms={WAIT_SECONDS * 1000}"
        self._send(request_id, f"GET {target} HTTP/1.1\r\n{self._common}\r\n".encode())

    def _on_response(self, status: int, body: bytes) -> None:
        now = time.monotonic_ns()
        about = self._in_flight.pop(0)
        head = decode_head(body) if body else Head()
        if about.startswith("hold "):
            head.hold = about[5:]
            head.type = "hold"
        elif status == 202:
            if not head.state:  # the answer to the POST; those to the GET say "undecided"
                head.type = "accepted"
                self.fleet.hear(self, head, body, now)
            self._wait_for(about)
            return
        elif status != 200:
            head.id = about
            head.type = "not_queued" if head.code == "not_queued" else "error"
            if status == 404 and head.code == "unknown_request":
                head.type = "unknown"
        self.fleet.hear(self, head, body, now)

    def _on_lost(self, error: Exception | None) -> None:
        self._in_flight.clear()
        self.fleet.lost(self)
