"""A call with an Idempotency-Key is done once, and who repeats it gets the same answer.

As draft-ietf-httpapi-idempotency-key-header-07 has it: 400 for a key that is missing where one must be or
cannot be read, 409 while the same call is under way, 422 for the key of another content, and the first answer
(status, body, content type, location) with `Idempotent-Replayed: true` afterwards.

What is kept are decisions: what was done, and what was refused by how things stand. What was not understood,
not allowed, too much just now or failed is not, and the key is free again at once. `store.idempotency` says
what happens to a gateway that is killed in the middle.

ASGI middleware within CORS, whose headers depend on who asks. A call without the header goes by, and so does
one whose caller is nobody: the call itself refuses it. While Postgres is away a call with a key is answered
503 and nothing is done.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from fastapi import Request, Response
from starlette.requests import HTTPConnection

from gateway.bodies import BODY_BYTES_MAX
from gateway.buyers.posting import authenticate
from gateway.buyers.recall import DATABASE_AWAY
from gateway.idempotency_key import CHANGING, OPERATORS, key_in, key_required, needs_key, takes_key
from gateway.problems import KeyReused, TooLarge, TooMany, Unauthorized
from gateway.runtime import Runtime
from notifier.hub import Message
from store import idempotency
from store.errors import OnsaleError, Unavailable
from store.idempotency import Answer, Reused, Taken, TooManyKeys

log = logging.getLogger("onsale.gateway")

REPLAYED: Final = "Idempotent-Replayed"
DESCRIBED: Final = '</openapi.json>; rel="describedby"'
"""Where who uses a key wrongly can read how it is used: the draft's 2.7."""
TAKEN: Final = "onsale.taken"
"""Where in a call's scope its `Taken` is."""
KEPT_HEADERS: Final = frozenset({b"content-type", b"location", b"cache-control"})
_NOT_DECIDED: Final = frozenset({400, 401, 403, 405, 408, 413, 425, 429})
"""Refusals that say nothing about how things stand."""
_TOO_MANY_SECONDS: Final = 3_600
_AWAY: Final = "The database is away. Nothing was done; ask again with the same key."


class Asked(NamedTuple):
    """Who asks, and the header's values: none where it must be there and is not."""

    buyer: str | None
    """None: an operator."""
    operator: int | None
    """The number of the operator's key; None: the environment's, or a buyer."""
    keys: list[bytes]


def is_decision(status: int) -> bool:
    """Whether an answer is kept."""
    return 200 <= status < 300 or (400 <= status < 500 and status not in _NOT_DECIDED)


class Idempotent:
    """The middleware. `refused` makes the response of an error."""

    def __init__(self, app: Any, refused: Callable[[OnsaleError], Response]) -> None:
        self._app = app
        self._refused = refused

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        try:
            asked = await _asked(scope)
            body = None if asked is None else await _body(receive)
            found = None if asked is None or body is None else await _take(scope, asked, body)
        except OnsaleError as error:
            refused = self._refused(error)
            refused.headers["Link"] = DESCRIBED
            await refused(scope, receive, send)
            return
        if asked is None:
            await self._app(scope, receive, send)
        elif isinstance(found, Answer):
            head = dict(found.head) | {REPLAYED: "true"}
            await Response(found.body, found.status, head)(scope, receive, send)
        elif found is not None and body is not None:  # else the client left
            await self._do(scope, body, receive, send, found)

    async def _do(self, scope: Message, body: bytes, receive: Any, send: Any, taken: Taken) -> None:
        scope[TAKEN] = taken
        given = False

        async def once_more() -> Message:
            nonlocal given
            if given:
                message: Message = await receive()
                return message
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        outgoing = _Outgoing(scope, send, taken)
        try:
            await self._app(scope, once_more, outgoing.send)
        except Exception:
            await _let_go(_runtime(scope), taken)
            raise


class _Outgoing:
    """An answer on its way: kept back until it is kept, or passed on as it comes where it is too long."""

    def __init__(self, scope: Message, send: Any, taken: Taken) -> None:
        self._scope = scope
        self._send = send
        self._taken = taken
        self._held: list[Message] = []
        self._body_bytes = 0
        self._passes = False

    async def send(self, message: Message) -> None:
        if self._passes:
            await self._send(message)
            return
        self._held.append(message)
        self._body_bytes += len(message.get("body", b""))
        too_long = not idempotency.fits(self._body_bytes)
        over = message["type"] == "http.response.body" and not message.get("more_body", False)
        if not (too_long or over):
            return
        self._passes = True
        start = self._held[0]
        if not too_long and "endpoint" in self._scope and is_decision(start["status"]):
            await _keep(_runtime(self._scope), self._taken, self._answer(start))
        else:
            await _let_go(_runtime(self._scope), self._taken)
        for held in self._held:
            await self._send(held)

    def _answer(self, start: Message) -> Answer:
        head = [
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in start["headers"]
            if name.lower() in KEPT_HEADERS
        ]
        return Answer(start["status"], head, b"".join(held.get("body", b"") for held in self._held))


def taken_in(request: Request) -> Taken | None:
    """The key under which a call is done, for who writes its answer with what it changes."""
    taken: Taken | None = request.scope.get(TAKEN)
    return taken


def _runtime(scope: Message) -> Runtime:
    runtime: Runtime = scope["app"].state.runtime
    return runtime


async def _asked(scope: Message) -> Asked | None:
    """None: not with a key, or by nobody who may ask."""
    if scope["type"] != "http" or scope["method"] not in CHANGING:
        return None
    path: str = scope["path"]
    keys = [value for name, value in scope["headers"] if name == b"idempotency-key"]
    if not (keys or needs_key(path)) or not takes_key(scope["method"], path):
        return None
    runtime = _runtime(scope)
    said = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"), "")
    if path.startswith(OPERATORS):
        try:
            return Asked(None, (await runtime.callers.identify(HTTPConnection(scope))).key_id, keys)
        except OnsaleError:  # the call itself says so
            return None
    try:
        return Asked((await authenticate(runtime, said)).id, None, keys)
    except Unauthorized:  # the call itself says so
        return None


async def _body(receive: Any) -> bytes | None:
    """The whole body, or None where the client left before its end. Raises `TooLarge`."""
    body = bytearray()
    while True:
        message: Message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > BODY_BYTES_MAX:
            raise TooLarge("body_too_large", f"A body has at most {BODY_BYTES_MAX} bytes.")
        if not message.get("more_body", False):
            return bytes(body)


async def _take(scope: Message, asked: Asked, body: bytes) -> Taken | Answer:
    if not asked.keys:
        raise key_required()
    key, buyer = key_in(asked.keys), asked.buyer
    known_as = idempotency.scope_of(buyer, scope["method"], scope["path"], key, asked.operator)
    fingerprint = idempotency.fingerprint_of(scope["query_string"], body)
    try:
        async with _runtime(scope).pool.connection() as connection:
            return await idempotency.take(connection, known_as, buyer, fingerprint)
    except Reused:
        raise KeyReused from None
    except TooManyKeys as error:
        raise TooMany(error.code, str(error), retry_after_seconds=_TOO_MANY_SECONDS) from None
    except DATABASE_AWAY as error:
        raise Unavailable(_AWAY) from error


async def _keep(runtime: Runtime, taken: Taken, answer: Answer) -> None:
    """Where it cannot be kept, the call is done again after the lease, if it is asked for again."""
    if taken.kept:
        return
    try:
        async with runtime.pool.connection() as connection:
            await idempotency.keep(connection, taken, answer)
    except DATABASE_AWAY:
        log.warning("an answer could not be kept under its key: the database is away")


async def _let_go(runtime: Runtime, taken: Taken) -> None:
    with suppress(*DATABASE_AWAY):  # its lease ends by itself
        async with runtime.pool.connection() as connection:
            await idempotency.let_go(connection, taken)
