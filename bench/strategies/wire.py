"""How a client asks and what an answer means: the strategies' JSON and onsale's protocol, both ways.

Pure: bytes in, bytes out. Both sides are asked by the same connections (`load.py`); a `Wire` is the
difference. Over HTTP onsale is asked with `Prefer: wait`, so that its one answer is the decision; where it
answers 202 the client asks for the decision by GET, as docs/protocol.md says.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import msgspec

WAIT_SECONDS = 20
Transport = Literal["http", "ws"]


class Response(NamedTuple):
    status: int
    body: bytes
    rest: bytes
    """What came after this response."""


class Heard(NamedTuple):
    """A decided answer in one form. `outcome` is `error` for what is no answer."""

    outcome: str
    seats: list[Any]
    """Seat numbers, or names where onsale answered."""
    retries: int = 0
    deadlocks: int = 0


def parse_response(data: bytes) -> Response | None:
    """One HTTP/1.1 response with a Content-Length; None while it is not whole. Raises ValueError."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    head = data[:end].lower()
    if not head.startswith(b"http/1.1 "):
        raise ValueError(f"not an HTTP/1.1 response: {data[:40]!r}")
    status = int(head[9:12])
    at = head.find(b"\r\ncontent-length:")
    if at < 0:
        if status != 204:
            raise ValueError("a response without Content-Length")
        length = 0
    else:
        line_end = head.find(b"\r\n", at + 17)
        length = int(head[at + 17 : line_end if line_end > 0 else end])
    whole = end + 4 + length
    if len(data) < whole:
        return None
    return Response(status, data[end + 4 : whole], data[whole:])


class Wire:
    """The strategies' own: one POST or one text message."""

    def __init__(self, transport: Transport, event: str, wants: list[str], path: str = "/book") -> None:
        self.http = transport == "http"
        self._wants = wants
        self._event = event
        self._head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: "
        )

    def frame(self, token: str, number: int) -> bytes:
        """The bytes that ask request `number`."""
        body = f'{{"event":{self._event},"request":"r{number}",{self._wants[number % len(self._wants)]}}}'
        return f"{self._head}{len(body)}\r\n\r\n{body}".encode() if self.http else body.encode()

    def decided(self, status: int, body: bytes) -> bool:
        """Whether this ends the request; anything else is passed over."""
        return True

    def follow(self, token: str, number: int, status: int) -> bytes | None:
        """What to send next to hear the decision, where the answer was not it."""
        return None


class OnsaleWire(Wire):
    """onsale's: `request` frames after a hello, or POST with a key and a token."""

    def __init__(self, transport: Transport, slug: str, wants: list[str]) -> None:
        super().__init__(transport, slug, wants)
        self._path = f"/v1/events/{slug}/requests"

    def frame(self, token: str, number: int) -> bytes:
        want = self._wants[number % len(self._wants)]
        if not self.http:
            return f'{{"type":"request","id":"r{number}",{want}}}'.encode()
        return (
            f"POST {self._path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
            f"Idempotency-Key: r{number}\r\nPrefer: wait={WAIT_SECONDS}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(want) + 2}\r\n\r\n{{{want}}}"
        ).encode()

    def decided(self, status: int, body: bytes) -> bool:
        return (
            status != 202 if self.http else not body.startswith((b'{"type":"accepted"', b'{"type":"delayed"'))
        )

    def follow(self, token: str, number: int, status: int) -> bytes | None:
        if not self.http or status != 202:
            return None
        return (
            f"GET {self._path}/r{number}?wait_ms={WAIT_SECONDS * 1000} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {token}\r\n\r\n"
        ).encode()


def hello(slug: str, token: str) -> bytes:
    """The first frame of a socket to onsale."""
    return msgspec.json.encode({"type": "hello", "event": slug, "token": token, "watch": False})


class _Body(msgspec.Struct):
    """Any answer, of either side."""

    outcome: str = ""
    type: str = ""
    code: str = ""
    seats: list[Any] = []
    result: dict[str, Any] = {}
    retries: int = 0
    deadlocks: int = 0


_decode = msgspec.json.Decoder(_Body).decode
ANSWERS = {"held", "taken", "sold_out", "not_queued"}


def heard(body: bytes) -> Heard:
    """What an answer says. `busy`, 5xx and refusals of the protocol are errors: nobody got a decision."""
    try:
        answer = _decode(body)
    except msgspec.DecodeError:
        return Heard("error", [])
    outcome = "not_queued" if answer.code == "not_queued" else answer.outcome or answer.type
    if outcome not in ANSWERS:
        return Heard("error", [], answer.retries, answer.deadlocks)
    seats = answer.seats or answer.result.get("seats", [])
    return Heard(outcome, seats if outcome == "held" else [], answer.retries, answer.deadlocks)
