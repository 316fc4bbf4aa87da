"""TCP links that can be broken: every process of the torture reaches its engines through one of its own.

`Relay` is one thread that forwards; `Link` is one way, from a local port to an engine's, and breaks as told:

- `cut`: every connection ends now, both ends with a reset;
- `cut_replies`: what is asked next still arrives, its reply never does: the connection ends instead;
- `half_open`: the near end is gone now, the engine's end stays connected and hears nothing until `heal`;
- `part`: nothing passes either way, nor do new connections get anywhere, until `heal` ends them all.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

T = TypeVar("T")
LOOPBACK = "127.0.0.1"
ANSWER_SECONDS_MAX = 10.0


class Relay:
    """A thread that forwards; a context manager."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay", daemon=True)
        self._links: list[Link] = []

    def __enter__(self) -> Relay:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(ANSWER_SECONDS_MAX)
        self._loop.close()

    def link(self, url: str) -> Link:
        """A way to the server that `url` names."""
        parts = urlsplit(url)
        assert parts.port is not None, "the URL names a host and a port"
        link = self._do(Link.listening(self, parts.hostname or LOOPBACK, parts.port))
        self._links.append(link)
        return link

    def run(self, action: Callable[[], None]) -> None:
        """Do `action` in the thread; returns when it is done."""

        async def act() -> None:
            action()

        self._do(act())

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(ANSWER_SECONDS_MAX)

    async def _close(self) -> None:
        for link in self._links:
            link.close()
        await asyncio.sleep(0)  # transports that were aborted say so in the next turn


class Link:
    """One way to an engine. Its methods may be called from any thread and return when it is done."""

    def __init__(self, relay: Relay, host: str, port: int) -> None:
        self._relay = relay
        self.target = (host, port)
        self.port = 0
        self.pairs: set[Pair] = set()
        self.parted = False
        self._server: asyncio.Server | None = None

    @classmethod
    async def listening(cls, relay: Relay, host: str, port: int) -> Link:
        """Made by `Relay.link`."""
        link = cls(relay, host, port)
        loop = asyncio.get_running_loop()
        link._server = await loop.create_server(lambda: Pair(link).near, LOOPBACK, 0)
        link.port = link._server.sockets[0].getsockname()[1]
        return link

    def url(self, of: str) -> str:
        """The same URL, by this way."""
        parts = urlsplit(of)
        user, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{user}{at}{LOOPBACK}:{self.port}"))

    def cut(self) -> None:
        self._each(Pair.end)

    def cut_replies(self) -> None:
        self._each(Pair.cut_next_reply)

    def half_open(self) -> None:
        self._each(Pair.lose_near)

    def part(self) -> None:
        def part() -> None:
            self.parted = True
            for pair in self.pairs:
                pair.silent = True

        self._relay.run(part)

    def heal(self) -> None:
        """New connections pass; those that were silenced are over."""

        def heal() -> None:
            self.parted = False
            for pair in list(self.pairs):
                pair.replies_cut = False
                if pair.silent:
                    pair.end()

        self._relay.run(heal)

    def close(self) -> None:
        """In the relay's thread: no more connections."""
        if self._server is not None:
            self._server.close()
        for pair in list(self.pairs):
            pair.end()

    def _each(self, what: Callable[[Pair], None]) -> None:
        def act() -> None:
            for pair in list(self.pairs):
                what(pair)

        self._relay.run(act)


class Pair:
    """One connection: the near end (a process of onsale) and the far end (an engine)."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.near = End(self, is_near=True)
        self.far = End(self, is_near=False)
        self.near.other, self.far.other = self.far, self.near
        self.silent = False
        self.replies_cut = False
        self._asked_since = False
        self._dialling: asyncio.Task[None] | None = None
        self.waiting: list[bytes] = []
        """What came before the far end was there."""

    def came(self) -> None:
        """Somebody connected: dial the engine, unless the way is parted."""
        self.link.pairs.add(self)
        self.silent = self.link.parted
        if not self.silent:
            self._dialling = asyncio.get_running_loop().create_task(self._dial())

    async def _dial(self) -> None:
        try:
            await asyncio.get_running_loop().create_connection(lambda: self.far, *self.link.target)
        except OSError:
            self.end()

    def passes(self, data: bytes, *, is_near: bool) -> bool:
        """Whether these bytes go on."""
        if self.silent:
            return False
        if self.replies_cut:
            if is_near:
                self._asked_since = True
            elif self._asked_since:
                self.end()
                return False
        return True

    def cut_next_reply(self) -> None:
        self.replies_cut, self._asked_since = True, False

    def lose_near(self) -> None:
        self.silent = True
        if self.near.transport is not None:
            self.near.transport.abort()

    def lost(self, end: End) -> None:
        """An end is gone: so is the other, unless the engine is meant to stay alone until healed."""
        if self.silent and end is self.near and self.far.transport is not None:
            return
        self.link.pairs.discard(self)
        for each in (self.near, self.far):
            if each.transport is not None:
                each.transport.close()  # what it still has to say is said

    def end(self) -> None:
        """Both ends are reset; what was on its way is lost."""
        self.link.pairs.discard(self)
        for each in (self.near, self.far):
            if each.transport is not None:
                each.transport.abort()


class End(asyncio.Protocol):
    """One end of a `Pair`."""

    other: End

    def __init__(self, pair: Pair, *, is_near: bool) -> None:
        self._pair = pair
        self._is_near = is_near
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport), "TCP gives one that writes"
        self.transport = transport
        pair = self._pair
        if self._is_near:
            pair.came()
            return
        if pair not in pair.link.pairs:  # it ended while the engine was dialled
            transport.abort()
            return
        for data in pair.waiting:
            transport.write(data)
        pair.waiting.clear()

    def data_received(self, data: bytes) -> None:
        if not self._pair.passes(data, is_near=self._is_near):
            return
        to = self.other.transport
        if to is not None:
            to.write(data)
        elif self._is_near:
            self._pair.waiting.append(data)

    def pause_writing(self) -> None:
        if self.other.transport is not None and not self.other.transport.is_closing():
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other.transport is not None and not self.other.transport.is_closing():
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._pair.lost(self)
