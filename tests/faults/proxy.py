"""A TCP proxy that cuts where a test wants it: before a word, before the reply to a word, after N bytes, now.

What it does is decided by the bytes that pass, never by time:

    with CuttingProxy("127.0.0.1", port) as proxy:
        proxy.cut_before(b"COMMIT")        # the server never gets it
        proxy.cut_reply_to(b"COMMIT")      # the server gets it; its reply never arrives
        proxy.cut_after(DOWN, 10)          # ten more bytes of replies, then the end
        proxy.cut()                        # every connection, now
        proxy.was_cut.wait(5)

With `half_open=True` the server's side stays connected and silent, as when a host is lost. Rules apply to
whichever connection meets them first, once. `UP` is from the client to the server.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

Direction = Literal["up", "down"]
UP: Direction = "up"
DOWN: Direction = "down"


@dataclass
class _Rule:
    direction: Direction
    word: bytes = b""
    after_bytes: int = 0
    forward: bool = False
    half_open: bool = False
    reply: bool = False
    """Becomes a cut of the first bytes in the other direction."""


@dataclass(eq=False)
class _Link:
    client: socket.socket
    server: socket.socket
    silenced: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def end(self, *, half_open: bool = False) -> None:
        with self.lock:
            self.silenced = True
            for end in (self.client,) if half_open else (self.client, self.server):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)


class CuttingProxy:
    """Forwards to `host:port` from a free local port; see the module."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._links: list[_Link] = []
        self._rules: list[tuple[_Rule, _Link | None]] = []
        self._refusing = False
        self.was_cut = threading.Event()
        self.bytes_passed = {UP: 0, DOWN: 0}
        self._threads = [self._start(self._accept)]

    def __enter__(self) -> CuttingProxy:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(timeout=5)
        for link in self._links:
            link.client.close()
            link.server.close()

    @classmethod
    def before(cls, url: str) -> CuttingProxy:
        """A proxy before the server of a URL."""
        parts = urlsplit(url)
        assert parts.port is not None, "the URL names a host and a port"
        return cls(parts.hostname or "127.0.0.1", parts.port)

    def url(self, of: str) -> str:
        """The same URL, by way of this proxy."""
        parts = urlsplit(of)
        user, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{user}{at}127.0.0.1:{self.port}"))

    def cut_before(self, word: bytes, *, half_open: bool = False) -> None:
        """Cut when the client sends `word`; the server gets nothing of what carries it."""
        self._add(_Rule(UP, word, half_open=half_open))

    def cut_reply_to(self, word: bytes, *, half_open: bool = False) -> None:
        """Let `word` reach the server, and cut when it replies; the client gets nothing of the reply."""
        self._add(_Rule(UP, word, forward=True, half_open=half_open, reply=True))

    def cut_after(self, direction: Direction, count: int, *, half_open: bool = False) -> None:
        """Cut once `count` more bytes went that way."""
        self._add(_Rule(direction, after_bytes=count, half_open=half_open))

    def cut(self) -> None:
        """End every connection now."""
        with self._lock:
            links = list(self._links)
        self.was_cut.set()
        for link in links:
            link.end()

    def refuse(self, refusing: bool = True) -> None:
        """While refusing, new connections are ended at once: the server is away."""
        self._refusing = refusing

    def _add(self, rule: _Rule) -> None:
        self.was_cut.clear()
        with self._lock:
            self._rules.append((rule, None))

    def _start(self, target: object, *args: object) -> threading.Thread:
        assert callable(target)
        thread = threading.Thread(target=target, args=args, name="cutting proxy", daemon=True)
        thread.start()
        return thread

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                client.close()
                continue
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link = _Link(client, server)
            with self._lock:
                self._links.append(link)
            self._threads.append(self._start(self._forward, link, UP))
            self._threads.append(self._start(self._forward, link, DOWN))

    def _forward(self, link: _Link, direction: Direction) -> None:
        source, target = (link.client, link.server) if direction == UP else (link.server, link.client)
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                rule, length = self._met(link, direction, data)
                if link.silenced:
                    return
                if length:
                    target.sendall(data[:length])
                    self.bytes_passed[direction] += length
                if rule is not None:
                    self.was_cut.set()
                    link.end(half_open=rule.half_open)
                    return
        if not link.silenced:
            link.end()

    def _met(self, link: _Link, direction: Direction, data: bytes) -> tuple[_Rule | None, int]:
        """(the rule that cuts here, how much of `data` still passes)"""
        with self._lock:
            for index, (rule, only) in enumerate(self._rules):
                if rule.direction != direction or only not in (None, link):
                    continue
                if rule.word:
                    if rule.word not in data:
                        continue
                    del self._rules[index]
                    if rule.reply:
                        other = DOWN if direction == UP else UP
                        self._rules.append((_Rule(other, half_open=rule.half_open), link))
                        continue
                    return rule, 0
                if rule.after_bytes > len(data):
                    rule.after_bytes -= len(data)
                    continue
                del self._rules[index]
                return rule, rule.after_bytes
        return None, len(data)
