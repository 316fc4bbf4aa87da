"""uvicorn's websocket with a short way in and out for small text frames.

The stock protocol carries each frame through a queue to a waiting task and each answer back through
a coroutine, and stops reading the transport at every frame. Here the application may hand over a
callback (`SocketProtocol.on_text`): a text frame is then handled where it is read, unless the
callback says that it must wait its turn; and `write_text` puts an unfragmented frame on the
transport itself. Fragments and pings have bounds, and a handshake that cannot be read has an answer.
Everything else (handshake, closing, limits) is uvicorn's and websockets' own. `tests/notifier/test_hub.py`
and `tests/gateway/test_short_frames.py` hold it to the stock behaviour.
"""

from __future__ import annotations

from collections.abc import Callable

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.http11 import Request
from websockets.protocol import OPEN

from gateway import turns

QUEUED_MAX = 32
FRAGMENTS_MAX = 1_024
INVALID_UTF8 = 1007
TOO_LARGE = 1009
EXTENSION = "onsale.socket"
"""In an ASGI scope's `extensions`: the `SocketProtocol` of the connection."""
_TEXT = b"\x81"
"""A frame that is whole and text."""


class SocketProtocol(WebSocketsSansIOProtocol):
    """Frames that wait are bounded by `QUEUED_MAX` of `ws_max_size`, where uvicorn's bound is one."""

    on_text: Callable[[str], bool] | None = None
    """Called with each text frame while none waits; False sends the frame the usual way."""

    def connection_lost(self, exc: Exception | None) -> None:
        turns.leave(self.transport)
        super().connection_lost(exc)

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if hasattr(self, "scope"):  # not for a handshake that was refused
            self.scope["extensions"][EXTENSION] = {"protocol": self}

    def send_receive_event_to_app(self) -> None:
        frames, self.frames = self.frames, []
        if self.close_sent:
            return
        data = frames[0] if len(frames) == 1 else b"".join(frames)
        if self.curr_msg_data_type == "text":
            try:
                text = data.decode()
            except UnicodeDecodeError:
                self.conn.send_close(INVALID_UTF8)
                self.handle_parser_exception()
                return
            if self.on_text is not None and self.queue.empty() and self.on_text(text):
                return
            self.queue.put_nowait({"type": "websocket.receive", "text": text})
        else:
            self.queue.put_nowait({"type": "websocket.receive", "bytes": data})
        if not self.read_paused and self.queue.qsize() >= QUEUED_MAX:
            self.read_paused = True
            self.transport.pause_reading()

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) >= FRAGMENTS_MAX:  # they may be empty, so their length is no bound
            self.conn.fail(TOO_LARGE, f"a message has at most {FRAGMENTS_MAX} fragments")
            self.handle_parser_exception()
            return
        super().handle_cont(event)

    def handle_ping(self) -> None:
        """Pings of a client that does not read are not answered: the answers would pile up here."""
        answer = b"".join(self.conn.data_to_send())
        if self.writable.is_set():
            self.transport.write(answer)

    def end_failed_handshake(self) -> None:
        """Send what websockets says of a handshake it cannot read, and close; uvicorn would do neither."""
        if not self.handshake_initiated:
            self.handshake_complete = self.close_sent = True
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()

    def write_text(self, text: bytes) -> bool:
        """Send a text frame now; False when the write buffer is above its high-water mark, and then nothing.

        Raises what uvicorn's `send` raises when the client is gone or closing.
        """
        if not self.writable.is_set():
            return False
        if self.disconnected or self.close_sent or self.conn.state is not OPEN:
            raise ClientDisconnected
        length = len(text)
        if length < 126:
            head = _TEXT + length.to_bytes(1, "big")
        elif length < 65_536:
            head = _TEXT + b"\x7e" + length.to_bytes(2, "big")
        else:
            head = _TEXT + b"\x7f" + length.to_bytes(8, "big")
        self.transport.write(head + text)
        return True
