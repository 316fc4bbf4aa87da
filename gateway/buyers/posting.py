"""One `POST …/requests`, from its headers to its answer. Nothing here waits: it is answered by a callback.

202 with the arrival, by then on disk; or with `Prefer: wait=SECONDS` (RFC 7240) 200 with the decision.

Before anything is appended the ledger is asked once for all POSTs of the moment, because an HTTP
client that repeats a key does not say so: a known key gets its answer again, or 422 for other
content. The fast gate is asked before the ledger and believed after it, so what the gate saw of
this very key is found there.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence

import msgspec

from gateway.buyers.decode import is_event_slug, is_request_id, request_from_json
from gateway.buyers.pending import Pending
from gateway.buyers.tokens import Buyer
from gateway.events import EventRuntime
from gateway.gate import Refusal, refusable, told
from gateway.problems import (
    PROBLEM_TYPE,
    Busy,
    KeyReused,
    Unauthorized,
    body_of,
    problem_body,
    retry_after_of,
    status_of,
)
from gateway.runtime import Runtime
from store.errors import BadRequest, NotFound, OnsaleError, Unavailable
from store.lookups import Decided
from store.wire import canonical_want

log = logging.getLogger("onsale.gateway")

APPEND_SECONDS_MAX = 8.0
"""Longest wait for the stream's reply; after that the outcome is unknown."""
WAIT_SECONDS_MAX = 20
"""Longest wait for a decision that a client may prefer."""
EXPOSED = b"Location, Preference-Applied, Retry-After"

Head = list[tuple[bytes, bytes]]
Answer = Callable[[int, Head, bytes], None]
"""Called once with (status, headers without content-length, body); must not raise."""

_JSON = (b"content-type", b"application/json")
_PROBLEM = (b"content-type", PROBLEM_TYPE.encode())
_quoted = re.compile(r'"([A-Za-z0-9._~-]{1,64})"').fullmatch
_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?([0-9]{1,6})", re.IGNORECASE)


class _Arrived(msgspec.Struct):
    arrival: str


_decode_arrived = msgspec.json.Decoder(_Arrived).decode


def event_in(path: str) -> str | None:
    """The event a hot path names, or None for any other path."""
    if path.startswith("/v1/events/") and path.endswith("/requests"):
        slug = path[11:-9]
        if "/" not in slug:
            return slug
    return None


async def authenticate(runtime: Runtime, header: str) -> Buyer:
    """The buyer an Authorization header names; raises `Unauthorized`."""
    return await runtime.tokens.verify(_token_in(header))


class Posting:
    """Also the `Waiter` of its request. Keep it until it has answered; `begin` starts it."""

    __slots__ = (
        "_answer", "_body", "_buyer", "_content", "_event", "_gone", "_head", "_key",
        "_pending", "_runtime", "_slug", "_task", "_timer", "_token", "_wait_seconds", "prompt",
    )  # fmt: skip

    def __init__(
        self,
        runtime: Runtime,
        slug: str,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
        answer: Answer,
    ) -> None:
        self._runtime = runtime
        self._slug = slug
        self._body = body
        self._answer: Answer | None = answer
        self._token = self._key = ""
        self._wait_seconds = 0
        self._head: Head = []
        self._gone: Refusal | None = None
        """Why the fast gate knows that it cannot be had."""
        self._pending: Pending | None = None
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._read(headers)
        self.prompt = not self._wait_seconds

    def _read(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        for name, value in headers:
            if name == b"authorization":
                self._token = value.decode("latin-1")
            elif name == b"idempotency-key":
                self._key = value.decode("latin-1")
            elif name == b"prefer":
                self._wait_seconds = self._wait_seconds or _wait_seconds(value.decode("latin-1"))
            elif name == b"origin":  # what Starlette's middleware would add; the hot path does not pass it
                if value.decode("latin-1") in self._runtime.settings.origins:
                    self._head.append((b"access-control-allow-origin", value))
                    self._head.append((b"access-control-expose-headers", EXPOSED))
                self._head.append((b"vary", b"Origin"))

    def begin(self) -> None:
        """Answer now or later. A first request of its buyer or event may have to ask who that is."""
        runtime = self._runtime
        try:
            token = _token_in(self._token)
            if not is_event_slug(self._slug):
                raise NotFound("event_not_found", "There is no such event. GET /v1/events lists them.")
            buyer, event = runtime.tokens.verify_at_once(token), runtime.events.known(self._slug)
            if buyer is None or event is None:
                self._task = asyncio.get_running_loop().create_task(self._find_out(token))
            else:
                self._ask(buyer, event)
        except OnsaleError as error:
            self._refuse(error)

    async def _find_out(self, token: str) -> None:
        try:
            buyer = await self._runtime.tokens.verify(token)
            self._ask(buyer, await self._runtime.events.get(self._slug))
        except OnsaleError as error:
            self._refuse(error)
        except Exception:
            about = {"event": self._slug, "request": self._key}
            log.exception("ALERT: a POST could not be handled", extra=about)
            self._end(500, [_PROBLEM], problem_body(500, "internal", "Something is wrong here; ask again."))

    def _ask(self, buyer: Buyer, event: EventRuntime) -> None:
        self._buyer, self._event = buyer.id, event
        if not self._key:
            raise BadRequest(
                "idempotency_key_required", "Send Idempotency-Key: a name of your own for this request."
            )
        if not is_request_id(self._key):
            quoted = _quoted(self._key)  # as a structured field is written
            if quoted is None:
                raise BadRequest("idempotency_key_not_valid", "A key is 1 to 64 of A-Z a-z 0-9 . _ ~ -")
            self._key = quoted[1]
        want = request_from_json(self._body)
        self._content = canonical_want(want)
        if refusable(want, again=False, undecided=event.intake.undecided_of(buyer.id)):
            self._gone = event.gate(want)
        if event.intake.find(buyer.id, self._key) is None:
            event.recall.ask(buyer.id, self._key, self._recalled)
        else:
            self._submit()

    def _recalled(self, decided: Decided | None, error: OnsaleError | None) -> None:
        event = self._event
        try:
            if decided is not None:
                if decided.want.encode() != self._content:
                    raise KeyReused
                self._found(decided.arrival, decided.frame)
                return
            if error is not None and not isinstance(error, Unavailable):
                raise error
            event.must_sell()
            # without the ledger nobody can say that this is a first attempt, and only those are gated
            first = error is None
            if event.room is None or event.room.lets_in(self._buyer):
                self._take(first)
            else:
                event.room.let_in(self._buyer, lambda refused: self._let_in(refused, first))
        except OnsaleError as refused:
            self._refuse(refused)

    def _let_in(self, refused: OnsaleError | None, first: bool) -> None:
        """The waiting room says whether it is this buyer's turn."""
        try:
            if refused is not None:
                raise refused
            self._take(first)
        except OnsaleError as error:
            self._refuse(error)

    def _take(self, first: bool) -> None:
        event = self._event
        if self._gone and first and event.intake.find(self._buyer, self._key) is None:
            event.gated += 1
            detail = "What you ask for is gone, see `reason`. No place in the order was used."
            more = {"id": self._key, **told(self._gone)}
            self._end(409, [_PROBLEM], problem_body(409, "not_queued", detail, **more))
            return
        self._submit()

    def _submit(self) -> None:
        seconds = self._wait_seconds or APPEND_SECONDS_MAX
        self._timer = asyncio.get_running_loop().call_later(seconds, self._time_is_over)
        self._pending = self._event.intake.submit(self._buyer, self._key, self._content, self)

    def _time_is_over(self) -> None:
        arrival = ""
        if self._pending is not None:
            arrival = self._pending.arrival
            self._event.intake.detach(self._pending, self)
        if arrival:
            self._found(arrival, b"")
        else:
            self._refuse(Busy("outcome_unknown", "The queue did not answer. Ask again with the same key."))

    # --- Waiter ---

    def accepted(self, request_id: str, arrival: str) -> None:
        if self.prompt:
            self._found(arrival, b"")

    def decided(self, frame: bytes) -> None:
        self._found("", frame)

    def delayed(self, request_id: str) -> None:
        return

    def refused(self, request_id: str, error: OnsaleError) -> None:
        self._refuse(error)

    # --- answers ---

    def _found(self, arrival: str, frame: bytes) -> None:
        location = (b"location", f"/v1/events/{self._slug}/requests/{self._key}".encode())
        if self._wait_seconds and frame:
            applied = (b"preference-applied", b"wait=%d" % self._wait_seconds)
            self._end(200, [_JSON, location, applied], frame)
            return
        body = f'{{"id":"{self._key}","arrival":"{arrival or _decode_arrived(frame).arrival}"}}'
        self._end(202, [_JSON, location], body.encode())

    def _refuse(self, error: OnsaleError) -> None:
        status, head = status_of(error), [_PROBLEM]
        if (seconds := retry_after_of(error)) is not None:
            head.append((b"retry-after", str(seconds).encode()))
        if status == 401:
            head.append((b"www-authenticate", b"Bearer"))
        self._end(status, head, body_of(error))

    def _end(self, status: int, head: Head, body: bytes) -> None:
        if self._timer is not None:
            self._timer.cancel()
        answer, self._answer = self._answer, None
        if answer is not None:
            answer(status, self._head + head, body)


def _token_in(header: str) -> str:
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Unauthorized("token_required", "Send Authorization: Bearer and your token.")
    return token.strip()


def _wait_seconds(preference: str) -> int:
    """Seconds a client prefers to wait for the decision, at most `WAIT_SECONDS_MAX`; 0: it does not."""
    found = _WAIT.search(preference)
    return min(int(found[1]), WAIT_SECONDS_MAX) if found else 0
