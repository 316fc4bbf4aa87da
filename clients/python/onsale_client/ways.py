"""How a buyer speaks with onsale: over a socket; where none can be had, as `onsale_client.news` does.

It promises no delivery: whoever wants an answer says it again after `opened` (`onsale_client.buyer`).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from typing import Final

from onsale_client.calls import Calls, Frame
from onsale_client.link import Link
from onsale_client.news import EVENTS, POLL, News

SOCKET: Final = "socket"
ALL: Final = (SOCKET, EVENTS, POLL)
PAUSE_SECONDS_FIRST: Final = 0.2
PAUSE_SECONDS_MAX: Final = 10.0
SOCKETS_FAILED_MAX: Final = 3
"""After so many sockets in a row that were never greeted the other ways are used."""


class Ways:
    """`run` until cancelled; `opened` is called when something can be said, `told` with each frame."""

    def __init__(
        self,
        link: Link,
        calls: Calls,
        told: Callable[[Frame], None],
        opened: Callable[[], None],
        ways: Sequence[str],
    ) -> None:
        if not ways or not set(ways) <= set(ALL):
            raise ValueError(f"A buyer's ways are some of {', '.join(ALL)}, not {list(ways)}.")
        self._link = link
        self._news = News(calls, told, ways)
        self._opened = opened
        self._ways = ways
        self._failed = 0
        self._saying: dict[str, asyncio.Task[None]] = {}

    @property
    def by_socket(self) -> bool:
        """Whether a socket is used, or tried."""
        return SOCKET in self._ways and (self._failed < SOCKETS_FAILED_MAX or len(self._ways) == 1)

    def send(self, name: str, frame: Frame) -> None:
        """Say something, if that can be done now; over HTTP what is said already is not said beside it."""
        if self.by_socket:
            self._link.send(frame)
        elif name not in self._saying:
            task = asyncio.get_running_loop().create_task(self._news.say(name, frame))
            self._saying[name] = task
            task.add_done_callback(lambda _: self._saying.pop(name, None))

    async def run(self) -> None:
        """Raises `NotOpen` when coming back is of no use."""
        pause = PAUSE_SECONDS_FIRST
        said = False
        while True:
            if self.by_socket:
                answered = await self._link.once()
                self._failed = 0 if answered else self._failed + 1
            else:
                if not said:
                    self._opened()
                    said = True
                answered = await self._news.once()
            if answered:
                pause = PAUSE_SECONDS_FIRST
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, PAUSE_SECONDS_MAX)

    async def stop(self) -> None:
        """What is being said is not waited for."""
        saying = list(self._saying.values())
        for task in saying:
            task.cancel()
        await asyncio.gather(*saying, return_exceptions=True)
