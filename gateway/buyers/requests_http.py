"""`POST /v1/events/{event}/requests`, below FastAPI: the same intake as the socket's, in raw ASGI.

Before anything is appended the ledger is asked once for all POSTs of the moment, because an HTTP
client that repeats a key does not say so: a known key gets 202 again, or 422 for other content. The
fast gate is asked before the ledger and believed after it, so what the gate saw of this very key
is found there.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from gateway.buyers.decode import is_event_slug, is_request_id, request_from_json
from gateway.buyers.tokens import Buyer
from gateway.events import EventRuntime
from gateway.gate import refusable
from gateway.problems import (
    PROBLEM_TYPE,
    Busy,
    KeyReused,
    TooLarge,
    Unauthorized,
    body_of,
    problem_body,
    retry_after_of,
    status_of,
)
from gateway.runtime import Runtime
from notifier.hub import Message
from store.errors import BadRequest, NotFound, OnsaleError, Unavailable
from store.wire import canonical_want
from store.words import REQUEST_BYTES_MAX, Want

APPEND_SECONDS_MAX = 8.0
"""Longest wait for the stream's reply; after that the outcome is unknown."""
EXPOSED = b"Location, Retry-After"

_Head = list[tuple[bytes, bytes]]


class _Decision(msgspec.Struct):
    arrival: str


_decode_decision = msgspec.json.Decoder(_Decision).decode


class Posted:
    """The waiter of one POST: the first of arrival, decision or refusal."""

    __slots__ = ("answer",)
    prompt = True

    def __init__(self) -> None:
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def accepted(self, request_id: str, arrival: str) -> None:
        if not self.answer.done():
            self.answer.set_result(arrival)

    def decided(self, frame: bytes) -> None:
        if not self.answer.done():
            self.answer.set_result(_decode_decision(frame).arrival)

    def delayed(self, request_id: str) -> None:
        return

    def refused(self, request_id: str, error: OnsaleError) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


def event_in(path: str) -> str | None:
    """The event a hot path names, or None for any other path."""
    if path.startswith("/v1/events/") and path.endswith("/requests"):
        slug = path[11:-9]
        if "/" not in slug:
            return slug
    return None


async def serve(runtime: Runtime, slug: str, scope: Message, receive: Any, send: Any) -> None:
    """Answer one POST."""
    head = cors_head(runtime, scope)
    try:
        status, more, body = await _answer(runtime, slug, scope, receive)
    except OnsaleError as error:
        status, more, body = status_of(error), [(b"content-type", PROBLEM_TYPE.encode())], body_of(error)
        if (seconds := retry_after_of(error)) is not None:
            more.append((b"retry-after", str(seconds).encode()))
        if status == 401:
            more.append((b"www-authenticate", b"Bearer"))
    head += more
    head.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


def cors_head(runtime: Runtime, scope: Message) -> _Head:
    """What Starlette's middleware would add; the hot path does not pass it."""
    for name, value in scope["headers"]:
        if name == b"origin":
            if value.decode("latin-1") in runtime.settings.origins:
                return [
                    (b"access-control-allow-origin", value),
                    (b"access-control-expose-headers", EXPOSED),
                    (b"vary", b"Origin"),
                ]
            return [(b"vary", b"Origin")]
    return []


async def _answer(runtime: Runtime, slug: str, scope: Message, receive: Any) -> tuple[int, _Head, bytes]:
    token, key = "", ""
    for name, value in scope["headers"]:
        if name == b"authorization":
            token = value.decode("latin-1")
        elif name == b"idempotency-key":
            key = value.decode("latin-1")
    buyer = await authenticate(runtime, token)
    if not is_event_slug(slug):
        raise NotFound("event_not_found", "There is no such event. GET /v1/events lists them.")
    event = await runtime.events.get(slug)
    if not key:
        raise BadRequest(
            "idempotency_key_required", "Send Idempotency-Key: a name of your own for this request."
        )
    if not is_request_id(key):
        raise BadRequest("idempotency_key_not_valid", "A key is 1 to 64 of A-Z a-z 0-9 . _ ~ -")
    want = request_from_json(await _read(receive))
    taken = _gated(event, buyer, want)
    arrival = await _arrival(event, buyer, key, canonical_want(want), gated=bool(taken))
    if not arrival:
        event.gated += 1
        detail = "A seat you named is gone. No place in the order was used."
        body = problem_body(409, "not_queued", detail, id=key, reason="taken", taken=taken)
        return 409, [(b"content-type", PROBLEM_TYPE.encode())], body
    location = f"/v1/events/{slug}/requests/{key}".encode()
    body = f'{{"id":"{key}","arrival":"{arrival}"}}'.encode()
    return 202, [(b"content-type", b"application/json"), (b"location", location)], body


async def authenticate(runtime: Runtime, header: str) -> Buyer:
    """The buyer an Authorization header names; raises `Unauthorized`."""
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Unauthorized("token_required", "Send Authorization: Bearer and your token.")
    token = token.strip()
    return runtime.tokens.known(token) or await runtime.tokens.verify(token)


async def _read(receive: Any) -> bytes:
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BadRequest("bad_body", "The connection ended before the body did.")
        body = body + message["body"] if body else message.get("body", b"")
        if len(body) > REQUEST_BYTES_MAX:
            raise TooLarge("body_too_large", f"A request has at most {REQUEST_BYTES_MAX} bytes.")
        if not message.get("more_body", False):
            return body


def _gated(event: EventRuntime, buyer: Buyer, want: Want) -> list[str]:
    if not refusable(want, again=False, undecided=event.intake.undecided_of(buyer.id)):
        return []
    return event.gate(want.seats)


async def _arrival(event: EventRuntime, buyer: Buyer, key: str, content: bytes, *, gated: bool) -> str:
    """The arrival this key has, by then on disk; empty when the fast gate refuses it."""
    if event.intake.find(buyer.id, key) is None:
        try:
            decided = await event.recall.find(buyer.id, key)
        except Unavailable:
            decided, gated = None, False  # without the ledger nobody can say this is a first attempt
        if decided is not None:
            if decided.want.encode() != content:
                raise KeyReused
            return decided.arrival
        event.must_sell()
        if gated and event.intake.find(buyer.id, key) is None:
            return ""
    posted = Posted()
    event.intake.submit(buyer.id, key, content, posted)
    try:
        return await asyncio.wait_for(posted.answer, APPEND_SECONDS_MAX)
    except TimeoutError:
        raise Busy("outcome_unknown", "The queue did not answer. Ask again with the same key.") from None
