"""A client that may send any bytes: raw sockets with bounded waits, and websocket frames made by hand."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
from collections.abc import Iterator
from typing import Any

WITHIN_SECONDS = 30.0
TEXT, BINARY, CLOSE, PING, PONG, CONTINUED = 1, 2, 8, 9, 10, 0


def frame(
    opcode: int, payload: bytes = b"", *, last: bool = True, masked: bool = True, bits: int = 0
) -> bytes:
    """`bits` are the reserved ones; the mask is zero, so the payload stands there as it is."""
    length, mask = len(payload), 0x80 if masked else 0
    if length < 126:
        size = bytes([mask | length])
    elif length < 65_536:
        size = bytes([mask | 126]) + struct.pack(">H", length)
    else:
        size = bytes([mask | 127]) + struct.pack(">Q", length)
    return (
        bytes([opcode | (0x80 if last else 0) | bits << 4]) + size + (bytes(4) if masked else b"") + payload
    )


class Wire:
    """One connection. What is read is bounded in time: waiting in vain is a failure."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._read = b""
        self._reset = False

    def send(self, raw: bytes) -> None:
        """All of it, or as much as the other side takes before it closes."""
        with contextlib.suppress(ConnectionError):
            self._connection.sendall(raw)

    def end(self) -> None:
        """Nothing more will be sent."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)

    def read(self) -> bytes:
        """Everything until the other side closes."""
        while self._more():
            continue
        read, self._read = self._read, b""
        return read

    def upgrade(self, more: bytes = b"") -> bytes:
        """Ask for a websocket; the head of the answer."""
        self.send(
            b"GET /v1/socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n" + more + b"\r\n"
        )
        while b"\r\n\r\n" not in self._read and self._more():
            continue
        head, _, self._read = self._read.partition(b"\r\n\r\n")
        return head

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """(opcode, payload) of each frame until the other side closes."""
        while True:
            found = self._frame()
            if found is not None:
                yield found
            elif not self._more():
                # a reset, as who is closed upon while still sending gets it, cuts what was under way
                assert self._reset or not self._read, "the gateway's last frame is whole"
                return

    def until_answered(self, name: str) -> list[dict[str, Any]]:
        """All JSON until `unknown` for that name, or the end; each must be a frame the protocol knows."""
        told: list[dict[str, Any]] = []
        for opcode, payload in self.frames():
            if opcode == CLOSE:
                self.send(frame(CLOSE, payload))  # whoever closes waits for this before it cuts the line
            if opcode != TEXT:
                assert opcode in (CLOSE, PONG, PING), opcode
                continue
            told.append(json.loads(payload))
            if told[-1]["type"] == "unknown" and told[-1]["id"] == name:
                break
        return told

    def _frame(self) -> tuple[int, bytes] | None:
        raw = self._read
        if len(raw) < 2:
            return None
        assert raw[0] & 0x80, "the gateway does not fragment"
        length, at = raw[1], 2
        if length == 126:
            length, at = int.from_bytes(raw[2:4], "big"), 4
        elif length == 127:
            length, at = int.from_bytes(raw[2:10], "big"), 10
        if len(raw) < at + length:
            return None
        self._read = raw[at + length :]
        return raw[0] & 0x0F, raw[at : at + length]

    def _more(self) -> bool:
        try:
            piece = self._connection.recv(65_536)
        except ConnectionError:
            self._reset = True
            return False
        self._read += piece
        return bool(piece)


@contextlib.contextmanager
def wire(port: int) -> Iterator[Wire]:
    with socket.create_connection(("127.0.0.1", port), timeout=WITHIN_SECONDS) as connection:
        yield Wire(connection)
