"""uvicorn's websocket, with one change: reading is paused for a full queue, not for every frame.

`WebSocketsSansIOProtocol` stops reading the transport at each frame and starts again when the
application has taken it: two system calls a frame, and one frame a turn. With a few frames of room
TCP still slows a client down that sends faster than it is served, at `QUEUED_MAX` frames.
"""

from __future__ import annotations

import logging

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

QUEUED_MAX = 32
INVALID_UTF8 = 1007

log = logging.getLogger("onsale.gateway")


class SocketProtocol(WebSocketsSansIOProtocol):
    """Bounded by `QUEUED_MAX` frames of `ws_max_size`, as uvicorn's own is by one."""

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
            self.queue.put_nowait({"type": "websocket.receive", "text": text})
        else:
            self.queue.put_nowait({"type": "websocket.receive", "bytes": data})
        if not self.read_paused and self.queue.qsize() >= QUEUED_MAX:
            self.read_paused = True
            self.transport.pause_reading()
