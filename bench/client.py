"""One buyer of the load generator: what it asked and saw, and its way over a websocket.

`HttpBuyer` (`bench/http_buyer.py`) is the other way; both hand what they hear to their fleet.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from picows import WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

from bench.evidence import Ask, Seen

if TYPE_CHECKING:
    from bench.clients import Fleet

TEXT = WSMsgType.TEXT
HANDSHAKE_SECONDS_MAX = 30.0


class Head(Struct):
    """The part of a server's frame that says what it is."""

    type: str = ""
    id: str = ""
    outcome: str = ""
    arrival: str = ""
    code: str = ""
    message: str = ""
    hold: str = ""
    state: str = ""


decode_head = msgspec.json.Decoder(Head).decode


class Buyer:
    """What every buyer has, whatever its way to the server."""

    def __init__(self, fleet: Fleet, number: int) -> None:
        name, self.token = fleet.orders.buyers[number]
        self.fleet = fleet
        self.number = number
        self.seen = Seen(name)
        self.asks: dict[str, Ask] = {}
        self.pending: dict[str, tuple[int, str]] = {}
        """request id → (when its latency counts from, want)"""
        self.turns = 0
        """Requests sent in this round."""
        self.stays = True

    @property
    def connected(self) -> bool:
        raise NotImplementedError

    async def connect(self) -> None:
        """Open the connection; the fleet hears `welcome` when the buyer may ask."""
        raise NotImplementedError

    def ask(self, request_id: str, want: str, again: bool = False) -> None:
        raise NotImplementedError

    def part_with(self, op: str, hold: str) -> None:
        """Release or confirm a hold."""
        raise NotImplementedError

    def hang_up(self) -> None:
        raise NotImplementedError


class SocketBuyer(WSListener, Buyer):
    """One buyer with one websocket."""

    def __init__(self, fleet: Fleet, number: int) -> None:
        Buyer.__init__(self, fleet, number)
        head = {"type": "hello", "event": fleet.orders.event, "token": self.token, "watch": False}
        self.hello = msgspec.json.encode(head)
        self.transport: WSTransport | None = None

    @property
    def connected(self) -> bool:
        return self.transport is not None

    async def connect(self) -> None:
        await ws_connect(
            lambda: self,
            self.fleet.orders.url,
            websocket_handshake_timeout=HANDSHAKE_SECONDS_MAX,
            max_frame_size=1 << 20,
            read_buffer_init_size=2048,
        )

    def ask(self, request_id: str, want: str, again: bool = False) -> None:
        if self.transport is not None:
            self.transport.send(TEXT, request_frame(request_id, want, again))

    def part_with(self, op: str, hold: str) -> None:
        if self.transport is not None:
            self.transport.send(TEXT, f'{{"type":"{op}","hold":"{hold}"}}'.encode())

    def hang_up(self) -> None:
        if self.transport is not None:
            self.transport.disconnect()

    def on_ws_connected(self, transport: WSTransport) -> None:
        self.transport = transport
        transport.send(TEXT, self.hello)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type is TEXT:
            payload = frame.get_payload_as_bytes()
            self.fleet.hear(self, decode_head(payload), payload, time.monotonic_ns())
        elif frame.msg_type is WSMsgType.CLOSE:
            reason = frame.get_close_reason() or ""
            self.fleet.closed[f"{frame.get_close_code()} {reason}".strip()] += 1
            transport.disconnect()

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self.transport = None
        self.fleet.lost(self)


def request_frame(request_id: str, want: str, again: bool = False) -> bytes:
    """A request in the client's own words; the want's braces are left out to join them."""
    tail = ',"again":true' if again else ""
    return f'{{"type":"request","id":"{request_id}",{want[1:-1]}{tail}}}'.encode()
