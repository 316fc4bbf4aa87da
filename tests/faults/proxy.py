"""A TCP proxy that cuts or holds back where a test wants it: before a word, at its reply, after N bytes, now.

What it does is decided by the bytes that pass, never by time:

    with CuttingProxy("127.0.0.1", port) as proxy:
        proxy.cut_before(b"COMMIT")        # the server never gets it
        proxy.cut_reply_to(b"COMMIT")      # the server gets it; its reply never arrives
        proxy.cut_after(DOWN, 10)          # ten more bytes of replies, then the end
        proxy.cut()                        # every connection, now
        proxy.was_cut.wait(5)

        proxy.hold_before(b"COMMIT")       # as above, but the bytes wait here, with the connection open
        proxy.hold_reply_to(b"COMMIT")
        proxy.hold_within(b"word")         # the server gets everything up to and including the word
        proxy.was_held.wait(5)
        proxy.let_go()                     # what was held goes on; drop_held() ends its connection instead

With `half_open=True` the server's side stays connected and silent, as when a host is lost. Rules apply to
whichever connection meets them first, once; with `after` only to one that sent that word before. `UP` is from
the client to the server.
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
    half_open: bool = False
    hold: bool = False
    within: bool = False
    """What comes up to the word, and the word, still passes."""
    reply: bool = False
    """Becomes a rule for the first bytes in the other direction."""
    after: bytes = b""
    """Not before the connection sent this."""


@dataclass(eq=False)
class _Link:
    client: socket.socket
    server: socket.socket
    silenced: bool = False
    half_open: bool = False
    directions: int = 2
    lock: threading.Lock = field(default_factory=threading.Lock)
    may_go: threading.Event = field(default_factory=threading.Event)

    def end(self, *, half_open: bool = False) -> None:
        with self.lock:
            self.silenced = True
            self.half_open = half_open
            for end in (self.client,) if half_open else (self.client, self.server):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self.may_go.set()


class CuttingProxy:
    """Forwards to `host:port` from a free local port; see the module."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._links: set[_Link] = set()
        self._held: list[_Link] = []
        self._rules: list[tuple[_Rule, _Link | None]] = []
        self._refusing = False
        self.was_cut = threading.Event()
        self.was_held = threading.Event()
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

    # --- cutting ---

    def cut_before(self, word: bytes, *, half_open: bool = False, after: bytes = b"") -> None:
        """Cut when the client sends `word`; the server gets nothing of what carries it."""
        self._add(_Rule(UP, word, half_open=half_open, after=after))

    def cut_reply_to(self, word: bytes, *, half_open: bool = False, after: bytes = b"") -> None:
        """Let `word` reach the server, and cut when it replies; the client gets nothing of the reply."""
        self._add(_Rule(UP, word, half_open=half_open, reply=True, after=after))

    def cut_after(self, direction: Direction, count: int, *, half_open: bool = False) -> None:
        """Cut once `count` more bytes went that way."""
        self._add(_Rule(direction, after_bytes=count, half_open=half_open))

    def cut(self) -> None:
        """End every connection now."""
        with self._lock:
            links = list(self._links)
        self.was_cut.set()
        self._end(links)

    def refuse(self, refusing: bool = True) -> None:
        """While refusing, new connections are ended at once: the server is away."""
        self._refusing = refusing

    # --- holding back ---

    def hold_before(self, word: bytes, *, after: bytes = b"") -> None:
        """Hold back what carries `word` and all that the client sends behind it."""
        self._add(_Rule(UP, word, hold=True, after=after))

    def hold_within(self, word: bytes, *, after: bytes = b"") -> None:
        """Let everything up to and including `word` pass and hold back the rest."""
        self._add(_Rule(UP, word, hold=True, within=True, after=after))

    def hold_reply_to(self, word: bytes, *, after: bytes = b"") -> None:
        """Let `word` reach the server, and hold its reply back."""
        self._add(_Rule(UP, word, hold=True, reply=True, after=after))

    def let_go(self) -> None:
        """What is held back goes on its way."""
        with self._lock:
            held, self._held = self._held, []
        for link in held:
            link.may_go.set()

    def drop_held(self) -> None:
        """What is held back is lost, and its connection ends at both sides."""
        with self._lock:
            held, self._held = self._held, []
        for link in held:
            link.end()

    def heal(self) -> None:
        """No rules, nothing held back, nothing refused: a plain way to the server."""
        with self._lock:
            self._rules.clear()
            half_open = [link for link in self._links if link.half_open]
        self.refuse(False)
        self.let_go()
        self._end(half_open)

    # --- forwarding ---

    def _add(self, rule: _Rule) -> None:
        (self.was_held if rule.hold else self.was_cut).clear()
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
                self._links.add(link)
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            self._threads.append(self._start(self._forward, link, UP))
            self._threads.append(self._start(self._forward, link, DOWN))

    def _forward(self, link: _Link, direction: Direction) -> None:
        source, target = (link.client, link.server) if direction == UP else (link.server, link.client)
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if not self._pass_on(link, direction, data, target):
                    break
        if not link.silenced:
            link.end()
        self._leave(link)

    def _pass_on(self, link: _Link, direction: Direction, data: bytes, target: socket.socket) -> bool:
        """Whether the connection goes on after `data`."""
        rule, length = self._met(link, direction, data)
        if link.silenced:
            return False
        if length:
            target.sendall(data[:length])
            self.bytes_passed[direction] += length
        if rule is None:
            return True
        if not rule.hold:
            self.was_cut.set()
            link.end(half_open=rule.half_open)
            return False
        self.was_held.set()
        link.may_go.wait()
        if not link.silenced:
            target.sendall(data[length:])
            self.bytes_passed[direction] += len(data) - length
        return not link.silenced

    def _end(self, links: list[_Link]) -> None:
        for link in links:
            link.end()
            self._close_if_over(link)

    def _leave(self, link: _Link) -> None:
        with self._lock:
            link.directions -= 1
        self._close_if_over(link)

    def _close_if_over(self, link: _Link) -> None:
        """Nobody forwards any more: close the sockets; of a half-open link the server's side stays."""
        with self._lock:
            if link.directions or link.half_open:
                return
            self._links.discard(link)
        link.client.close()
        link.server.close()

    def _met(self, link: _Link, direction: Direction, data: bytes) -> tuple[_Rule | None, int]:
        """(the rule that applies here, how much of `data` still passes)"""
        with self._lock:
            for index, (rule, only) in enumerate(self._rules):
                if rule.direction != direction or only not in (None, link):
                    continue
                if rule.after:
                    if rule.after in data:
                        rule.after = b""
                        self._rules[index] = (rule, link)
                    continue
                if rule.word:
                    if rule.word not in data:
                        continue
                    del self._rules[index]
                    if rule.reply:
                        other = DOWN if direction == UP else UP
                        self._rules.append((_Rule(other, half_open=rule.half_open, hold=rule.hold), link))
                        continue
                    length = data.index(rule.word) + len(rule.word) if rule.within else 0
                    return self._applied(rule, link), length
                if rule.after_bytes > len(data):
                    rule.after_bytes -= len(data)
                    continue
                del self._rules[index]
                return self._applied(rule, link), rule.after_bytes
        return None, len(data)

    def _applied(self, rule: _Rule, link: _Link) -> _Rule:
        if rule.hold:
            link.may_go.clear()
            self._held.append(link)
        return rule
