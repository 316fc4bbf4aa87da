"""One websocket client of the load generator: its frames, and what it hears handed to its fleet."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from picows import WSFrame, WSListener, WSMsgType, WSTransport

from bench.evidence import Ask, Seen

if TYPE_CHECKING:
    from bench.clients import Fleet

TEXT = WSMsgType.TEXT


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


class Client(WSListener):
    """One buyer with one socket, and at most one undecided request."""

    __slots__ = (
        "asks",
        "fleet",
        "hello",
        "number",
        "pending",
        "seen",
        "sent_ns",
        "stays",
        "transport",
        "want",
    )

    def __init__(self, fleet: Fleet, number: int) -> None:
        orders = fleet.orders
        buyer, token = orders.buyers[number]
        self.fleet = fleet
        self.number = number
        self.want = orders.wants[number % len(orders.wants)]
        head = {"type": "hello", "event": orders.event, "token": token, "watch": False}
        self.hello = msgspec.json.encode(head)
        self.seen = Seen(buyer)
        self.asks: dict[str, Ask] = {}
        self.pending = ""
        self.sent_ns = 0
        self.stays = True
        self.transport: WSTransport | None = None

    def on_ws_connected(self, transport: WSTransport) -> None:
        self.transport = transport
        transport.send(TEXT, self.hello)

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        if frame.msg_type is TEXT:
            self.fleet.hear(self, frame.get_payload_as_bytes(), time.monotonic_ns())
        elif frame.msg_type is WSMsgType.CLOSE:
            reason = frame.get_close_reason() or ""
            self.fleet.closed[f"{frame.get_close_code()} {reason}".strip()] += 1
            transport.disconnect()

    def on_ws_disconnected(self, transport: WSTransport) -> None:
        self.transport = None
        self.fleet.lost(self)

    def request_frame(self, request_id: str, again: bool = False) -> bytes:
        """A request in the client's own words; the want's braces are left out to join them."""
        tail = ',"again":true' if again else ""
        return f'{{"type":"request","id":"{request_id}",{self.want[1:-1]}{tail}}}'.encode()
