"""Below FastAPI's machinery: `POST …/room/join`, and `GET …/room`, the document that everybody polls.

A join is answered by a callback once its place is durable; the document is written from the bytes that were
encoded when it changed. Both are pure of tasks but for the first who ask for an event.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from gateway.addresses import Address, Headers, Peer, address_of
from gateway.buyers.decode import JoinBody, body_from_json, is_event_slug
from gateway.buyers.posting import Answer, Head, Posting
from gateway.buyers.tokens import Buyer
from gateway.events import EventRuntime
from gateway.problems import PROBLEM_TYPE, body_of, problem_body, retry_after_of, status_of
from gateway.room.acting import Asker, ask_to_join, room_of
from gateway.room.document import Encoded
from gateway.runtime import Runtime
from store.errors import NotFound, OnsaleError
from store.room.words import Place

log = logging.getLogger("onsale.gateway")

EVENTS: Final = "/v1/events/"
JOIN: Final = "/room/join"
STATUS: Final = "/room"
_JSON: Final = (b"content-type", b"application/json")
_NO_STORE: Final = (b"cache-control", b"no-store")
_PROBLEM: Final = (b"content-type", PROBLEM_TYPE.encode())
_PUBLIC: Final = [(b"cache-control", b"public, max-age=1"), (b"access-control-allow-origin", b"*")]
"""Everybody may read it from anywhere: it says nothing of anybody."""


def event_in(path: str, ending: str) -> str | None:
    """The event whose room a path names that ends so, or None for any other path."""
    if path.startswith(EVENTS) and path.endswith(ending):
        slug = path[len(EVENTS) : -len(ending)]
        if "/" not in slug:
            return slug
    return None


class JoinPosting(Posting):
    """As a request's, up to knowing the buyer and the event."""

    __slots__ = ("_address", "_room")

    def from_address(self, address: Address) -> JoinPosting:
        """Of whom it is; before it begins."""
        self._address = address
        return self

    def _ask(self, buyer: Buyer, event: EventRuntime) -> None:
        body = body_from_json(self._body or b"{}", JoinBody)
        self._room = room_of(event)
        ask_to_join(self._runtime, event, Asker(buyer.id, self._address), body, self._joined)

    def _joined(self, place: Place | None, error: OnsaleError | None) -> None:
        if place is None:
            assert error is not None, "who has no place is told why"
            self._refuse(error)
        else:
            self._end(200, [_JSON, _NO_STORE], self._room.place_body(place))


class StatusAsking:
    """One who asks for the status document."""

    __slots__ = ("_answer", "_known_etag", "_slug", "_task")

    def __init__(self, slug: str, headers: Headers, answer: Answer) -> None:
        self._slug = slug
        self._answer = answer
        self._known_etag = next((value for name, value in headers if name == b"if-none-match"), b"")
        self._task: asyncio.Task[None] | None = None

    def begin(self, runtime: Runtime) -> None:
        """Answer now, or after a look where nobody looked lately."""
        event = runtime.events.known(self._slug)
        if event is not None and event.room is not None and (encoded := event.room.shown()) is not None:
            event.used_at = time.monotonic()
            self._show(encoded)
        else:
            self._task = asyncio.get_running_loop().create_task(self._find_out(runtime))

    async def _find_out(self, runtime: Runtime) -> None:
        try:
            if not is_event_slug(self._slug):
                raise NotFound("event_not_found", "There is no such event. GET /v1/events lists them.")
            room = room_of(await runtime.events.get(self._slug))
            self._show(room.shown() or await room.freshened())
        except OnsaleError as error:
            head: Head = [_PROBLEM, (b"access-control-allow-origin", b"*")]
            if (seconds := retry_after_of(error)) is not None:
                head.append((b"retry-after", str(seconds).encode()))
            self._answer(status_of(error), head, body_of(error))
        except Exception:
            log.exception("ALERT: a room could not be shown")
            why = "Something is wrong here; ask again."
            self._answer(500, [_PROBLEM], problem_body(500, "internal", why))

    def _show(self, encoded: Encoded) -> None:
        head = [(b"etag", encoded.etag), *_PUBLIC]
        if encoded.etag in self._known_etag:
            self._answer(304, head, b"")
        else:
            self._answer(200, [_JSON, *head], encoded.body)


Begin = Callable[[Runtime, str, Headers, bytes, Answer, Peer], object]
"""Begins one call of (runtime, event, headers, body, answer, who connected); what it returns is kept until
the answer is known."""


def begin_join(
    runtime: Runtime, slug: str, headers: Headers, body: bytes, answer: Answer, peer: Peer
) -> JoinPosting:
    address = address_of(peer, headers, runtime.settings.trusted_proxies)
    posting = JoinPosting(runtime, slug, headers, body, answer).from_address(address)
    posting.begin()
    return posting


def begin_status(
    runtime: Runtime, slug: str, headers: Headers, body: bytes, answer: Answer, peer: Peer
) -> StatusAsking:
    asking = StatusAsking(slug, headers, answer)
    asking.begin(runtime)
    return asking


def called(method: str, path: str) -> tuple[Begin, str] | None:
    """(how it begins, the event) for a path that is answered here; None for any other."""
    if method == "POST" and (slug := event_in(path, JOIN)) is not None:
        return begin_join, slug
    if method == "GET" and (slug := event_in(path, STATUS)) is not None:
        return begin_status, slug
    return None
