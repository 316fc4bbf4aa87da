"""A bound on the bodies of calls that have none of their own: FastAPI reads what is sent, however long."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException

from notifier.hub import Message

BODY_BYTES_MAX = 64 * 1024


class BoundedBodies:
    """ASGI middleware: 413 when more than `BODY_BYTES_MAX` were read. What nobody reads is not kept."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        read = 0

        async def bounded() -> Message:
            nonlocal read
            message: Message = await receive()
            read += len(message.get("body", b""))
            if read > BODY_BYTES_MAX:
                raise HTTPException(413, f"A body has at most {BODY_BYTES_MAX} bytes.")
            return message

        await self._app(scope, bounded if scope["type"] == "http" else receive, send)
