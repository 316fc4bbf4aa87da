"""An event loop that takes a bounded number of sockets a turn.

asyncio handles every socket that is readable before anything else gets its turn. When ten thousand
buyers press the button in the same moment, that is a fifth of a second in which nothing is appended
and no decision goes out. With a bounded turn the first are appended while the last are being read.
"""

from __future__ import annotations

import asyncio
import selectors
from typing import Any

EVENTS_A_TURN = 512


class _BoundedPoll:
    """An epoll object whose `poll` reports at most `EVENTS_A_TURN`; the kernel reports the others next."""

    def __init__(self, epoll: Any) -> None:
        self._epoll = epoll

    def poll(self, timeout: float | None, maxevents: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = self._epoll.poll(timeout, min(maxevents, EVENTS_A_TURN))
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._epoll, name)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A selector loop with bounded turns where there is epoll; asyncio's own elsewhere."""
    if not hasattr(selectors, "EpollSelector"):
        return asyncio.new_event_loop()
    selector = selectors.EpollSelector()
    selector._selector = _BoundedPoll(selector._selector)  # type: ignore[attr-defined]
    return asyncio.SelectorEventLoop(selector)
