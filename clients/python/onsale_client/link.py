"""The socket to a gateway: one connection at a time, greeted or not.

It promises no delivery: whoever wants an answer says it again after `opened` (`onsale_client.buyer`).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from onsale_client.errors import NotOpen

FRAME_BYTES_MAX: Final = 1024 * 1024
FOR_GOOD: Final = {
    4401: "The token is not valid or ran out. Sign in again.",
    4403: "This origin may not connect.",
    4404: "There is no such event.",
}
"""Close codes after which coming back helps nobody."""


class Link:
    """`once`, again and again; `opened` is called after each greeting, `told` with each frame."""

    def __init__(
        self,
        url: str,
        event: str,
        token: str,
        opened: Callable[[], None],
        told: Callable[[dict[str, Any]], None],
    ) -> None:
        self._url = "ws" + url.rstrip("/").removeprefix("http") + "/v1/socket"
        self._hello = {"type": "hello", "event": event, "token": token}
        self._opened = opened
        self._told = told
        self._connection: ClientConnection | None = None
        self._sending: set[asyncio.Task[None]] = set()

    def send(self, frame: dict[str, Any]) -> None:
        """Say something, if there is a connection; who says it says it again after the next `opened`."""
        if self._connection is not None:
            task = asyncio.get_running_loop().create_task(self._send(self._connection, frame))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def once(self) -> bool:
        """A connection until it ends; whether it was greeted. Raises `NotOpen` when coming back is of no
        use."""
        with contextlib.suppress(OSError, TimeoutError, InvalidHandshake):
            async with connect(self._url, max_size=FRAME_BYTES_MAX, compression=None) as connection:
                return await self._listen(connection)
        return False

    async def _listen(self, connection: ClientConnection) -> bool:
        """Whether it was greeted."""
        greeted = False
        try:
            await connection.send(json.dumps(self._hello))
            async for text in connection:
                frame: dict[str, Any] = json.loads(text)
                if frame["type"] == "welcome":
                    self._connection, greeted = connection, True
                    self._opened()
                self._told(frame)
        except ConnectionClosed:
            pass
        finally:
            self._connection = None
        code = connection.close_code or 0
        if code in FOR_GOOD:
            raise NotOpen(code, connection.close_reason or FOR_GOOD[code])
        return greeted

    async def _send(self, connection: ClientConnection, frame: dict[str, Any]) -> None:
        with contextlib.suppress(ConnectionClosed):
            await connection.send(json.dumps(frame))
