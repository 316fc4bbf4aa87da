"""A bound on the bodies of calls that have none of their own: FastAPI reads what is sent, however long."""

from __future__ import annotations

from typing import Any, Final

from starlette.exceptions import HTTPException

from notifier.hub import Message
from store.launches.reading import LAUNCH_BYTES_MAX
from store.venues.source import PLAN_BYTES_MAX

BODY_BYTES_MAX = 64 * 1024
LARGER_BYTES_MAX: Final = {
    "/v1/operator/venues": PLAN_BYTES_MAX,
    "/v1/operator/venues/preview": PLAN_BYTES_MAX,
    "/v1/operator/launches": LAUNCH_BYTES_MAX,
}
"""Calls that send a seating plan. They read it themselves, and only from operators."""


def bytes_max_of(path: str) -> int:
    """Of a call's body."""
    return LARGER_BYTES_MAX.get(path, BODY_BYTES_MAX)


class BoundedBodies:
    """ASGI middleware: 413 when more than `bytes_max_of` its path were read. What is unread is not kept."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        read, bytes_max = 0, bytes_max_of(scope.get("path", ""))

        async def bounded() -> Message:
            nonlocal read
            message: Message = await receive()
            read += len(message.get("body", b""))
            if read > bytes_max:
                raise HTTPException(413, f"A body has at most {bytes_max} bytes.")
            return message

        await self._app(scope, bounded if scope["type"] == "http" else receive, send)
