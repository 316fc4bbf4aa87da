"""An event loop that takes a bounded number of clients a turn, and its own connections before them.

asyncio handles every socket that is readable before anything else gets its turn. When ten thousand
buyers press the button in the same moment, that is a fifth of a second in which nothing is appended
and no decision goes out. With a bounded turn the first are appended while the last are being read.
And epoll reports what became readable first, first: a reply of the stream or a batch of decisions
would come after all the buyers that are waiting to be read. So clients have a queue of their own.
"""

from __future__ import annotations

import asyncio
import select
import selectors
from typing import Any

CLIENTS_A_TURN = 32


class _TwoQueues:
    """Stands for an epoll object: an epoll of our own sockets, with the clients' epoll as one of them."""

    def __init__(self, own: Any) -> None:
        self._own = own
        self._clients = select.epoll()
        self._clients_fd = self._clients.fileno()
        own.register(self._clients_fd, select.EPOLLIN)
        self._queue_of: dict[int, Any] = {}
        self.client_fds: set[int] = set()

    def poll(self, timeout: float | None, maxevents: int) -> list[tuple[int, int]]:
        """Ours first, then at most `CLIENTS_A_TURN` clients; the kernel reports the others next, in turn."""
        found: list[tuple[int, int]] = self._own.poll(timeout, maxevents + 1)
        for index, (fd, _) in enumerate(found):
            if fd == self._clients_fd:
                del found[index]
                return found + self._clients.poll(0, CLIENTS_A_TURN)
        return found

    def register(self, fd: int, events: int) -> None:
        queue = self._clients if fd in self.client_fds else self._own
        queue.register(fd, events)
        self._queue_of[fd] = queue

    def modify(self, fd: int, events: int) -> None:
        self._queue_of[fd].modify(fd, events)

    def unregister(self, fd: int) -> None:
        self._queue_of.pop(fd).unregister(fd)

    def fileno(self) -> int:
        return int(self._own.fileno())

    def close(self) -> None:
        self._clients.close()
        self._own.close()


class FairLoop(asyncio.SelectorEventLoop):
    """Knows which sockets are clients': see `enter` and `leave`."""

    def __init__(self) -> None:
        selector = selectors.EpollSelector()
        queues = _TwoQueues(selector._selector)  # type: ignore[attr-defined]
        selector._selector = queues  # type: ignore[attr-defined]
        super().__init__(selector)
        self.client_fds = queues.client_fds


def enter(transport: asyncio.BaseTransport) -> None:
    """A client's connection was made; asyncio begins to read it after this."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, FairLoop):
        loop.client_fds.add(transport.get_extra_info("socket").fileno())


def leave(transport: asyncio.BaseTransport) -> None:
    """A client's connection was lost; its number may be another socket's soon."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, FairLoop):
        loop.client_fds.discard(transport.get_extra_info("socket").fileno())


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A fair loop where there is epoll; asyncio's own elsewhere."""
    return FairLoop() if hasattr(selectors, "EpollSelector") else asyncio.new_event_loop()
