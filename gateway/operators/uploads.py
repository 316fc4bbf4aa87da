"""Large bodies of operators: a seating plan as a file, or a launch with one in it.

What is too large is refused by its length before any of it is read, or as soon as too much came; a few are
read at a time, and plans are taken apart one after the other, so that buyers' calls go on beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

import anyio
import anyio.to_thread
from fastapi import Request

from gateway.problems import Busy, FarTooLarge

T = TypeVar("T")

UNDER_WAY_MAX: Final = 4
"""Uploads of a gateway that are read or wait to be taken apart."""


class Uploads:
    """A gateway's uploads."""

    def __init__(self) -> None:
        self._under_way = 0
        self._one = anyio.CapacityLimiter(1)

    async def take(self, request: Request, bytes_max: int, work: Callable[[bytes], T]) -> T:
        """What `work` makes of the body, in a thread. Raises `FarTooLarge`, `Busy`, and what it raises."""
        if self._under_way >= UNDER_WAY_MAX:
            raise Busy("uploads_busy", "Others send seating plans right now. Try again in a moment.")
        self._under_way += 1
        try:
            raw = await read_raw(request, bytes_max)
            return await anyio.to_thread.run_sync(work, raw, limiter=self._one)
        finally:
            self._under_way -= 1


def uploads_of(request: Request) -> Uploads:
    """The gateway's, made at the first call."""
    state = request.app.state
    if not hasattr(state, "uploads"):
        state.uploads = Uploads()
    uploads: Uploads = state.uploads
    return uploads


async def read_raw(request: Request, bytes_max: int) -> bytes:
    """The body as it was sent; raises `FarTooLarge`."""
    told = request.headers.get("content-length", "")
    if told.isascii() and told.isdigit() and len(told) <= 18 and int(told) > bytes_max:
        raise _too_large(bytes_max)
    raw = bytearray()
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > bytes_max:
            raise _too_large(bytes_max)
    return bytes(raw)


def _too_large(bytes_max: int) -> FarTooLarge:
    return FarTooLarge("body_too_large", f"This may have at most {bytes_max // 2**20} MiB. Nothing was kept.")
