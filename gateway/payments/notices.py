"""`POST /v1/payments/notices/{provider}`: what a payment provider tells, answered below FastAPI.

The body, which has a bound, is given to the provider's adapter as it came, for the signature is over its
bytes. What is genuine is settled together with what arrives in the same moment (`gateway.payments.settling`);
the answer comes once it is true. 200 also for what was done before, and for what onsale does not act on.

Whatever is refused is counted by its code and logged without a word of what was sent; the log has a line a
second for each code at most.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from gateway.payments.port import Provider
from gateway.payments.settling import Settling
from gateway.problems import PROBLEM_TYPE, TooLarge, body_of, code_of, retry_after_of, status_of
from notifier.hub import Message
from store.errors import BadRequest, NotFound, OnsaleError
from store.payments.settle import Settled
from store.payments.states import NoticeKind, PaymentState

log = logging.getLogger("onsale.gateway")

PATH: Final = "/v1/payments/notices/"
BODY_BYTES_MAX: Final = 256 * 1024
LOG_SECONDS: Final = 1.0

Head = list[tuple[bytes, bytes]]
Answer = Callable[[int, Head, bytes], None]
"""Called once with (status, headers without content-length, body); must not raise."""
_JSON: Final = (b"content-type", b"application/json")


class Heard(Struct, frozen=True):
    """The answer to a notice; null where onsale does not act on what it tells."""

    payment: str | None
    state: PaymentState | None
    repeated: bool
    """It was acted on before, or says nothing new."""


TOO_LARGE: Final = TooLarge("body_too_large", f"A notice has at most {BODY_BYTES_MAX} bytes.")
_IGNORED: Final = Heard(None, None, repeated=False)


def provider_in(path: str) -> str | None:
    """The provider that a path of notices names, or None for any other path."""
    if path.startswith(PATH):
        name = path[len(PATH) :]
        if "/" not in name:
            return name
    return None


class Notices:
    """One gateway's way in for what providers tell."""

    def __init__(self, providers: dict[str, Provider], settling: Settling) -> None:
        self._providers = providers
        self._settling = settling
        self.answered: Counter[tuple[str, str]] = Counter()
        """By (provider, code); the codes of what went well are `settled`, `repeated` and `ignored`."""
        self._logged: dict[str, tuple[float, int]] = {}

    def knows(self, name: str) -> bool:
        """Whether there is such a provider here."""
        return name in self._providers

    def hear(self, name: str, headers: Head, body: bytes, answer: Answer) -> None:
        """Answer one notice, now or once it is settled. Never waits, never raises."""
        known = name if name in self._providers else "unknown"
        try:
            provider = self._providers.get(name)
            if provider is None:
                raise NotFound("unknown_provider", "This gateway has no such payment provider.")
            notice = provider.read(
                {key.decode("latin-1"): value.decode("latin-1") for key, value in headers}, body
            )
            if notice.kind is NoticeKind.OTHER:
                self._heard(known, _IGNORED, answer)
                return
            settling = self._settling.put(notice)
        except OnsaleError as error:
            self.refuse(known, error, answer)
        else:
            settling.add_done_callback(lambda settled: self._settled(known, settled, answer))

    def refuse(self, known: str, error: OnsaleError, answer: Answer) -> None:
        """Say why not."""
        self._refused(known, code_of(error))
        head: Head = [(b"content-type", PROBLEM_TYPE.encode())]
        if (seconds := retry_after_of(error)) is not None:
            head.insert(0, (b"retry-after", b"%d" % seconds))
        answer(status_of(error), head, body_of(error))

    async def serve(self, name: str, scope: Message, receive: Any, send: Any) -> None:
        """The same in plain ASGI."""
        answered: asyncio.Future[tuple[int, Head, bytes]] = asyncio.get_running_loop().create_future()

        def answer(status: int, head: Head, body: bytes) -> None:
            if not answered.done():  # it is when who told it is gone
                answered.set_result((status, head, body))

        try:
            self.hear(name, scope["headers"], await _body(scope["headers"], receive), answer)
        except OnsaleError as error:
            self.refuse(name if self.knows(name) else "unknown", error, answer)
        status, head, body = await answered
        head = [*head, (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": body})

    def _settled(self, known: str, settling: asyncio.Future[Settled], answer: Answer) -> None:
        error = settling.exception()
        if error is None:
            settled = settling.result()
            heard = Heard(str(settled.payment), settled.state, settled.repeated)
            self._heard(known, heard, answer)
        else:
            assert isinstance(error, OnsaleError), "whatever breaks is answered with one"
            self.refuse(known, error, answer)

    def _heard(self, known: str, heard: Heard, answer: Answer) -> None:
        self.answered[known, _how(heard)] += 1
        answer(200, [_JSON], msgspec.json.encode(heard))

    def _refused(self, provider: str, code: str) -> None:
        self.answered[provider, code] += 1
        now = time.monotonic()
        last, more = self._logged.get(code, (-LOG_SECONDS, 0))
        if now - last < LOG_SECONDS:
            self._logged[code] = (last, more + 1)
            return
        self._logged[code] = (now, 0)
        since = f", and {more} more since the last line" if more else ""
        log.warning("a notice of provider %r was refused: %s%s", provider, code, since)


def _how(heard: Heard) -> str:
    if heard.payment is None:
        return "ignored"
    return "repeated" if heard.repeated else "settled"


def told_length(headers: Head) -> int:
    """What `content-length` says; 0 where it says nothing that counts."""
    for name, value in headers:
        if name == b"content-length":
            return int(value) if value.isdigit() else 0
    return 0


async def _body(headers: Head, receive: Any) -> bytes:
    if told_length(headers) > BODY_BYTES_MAX:
        raise TOO_LARGE
    parts = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BadRequest("bad_body", "The connection ended before the body did.")
        parts += message.get("body", b"")
        if len(parts) > BODY_BYTES_MAX:
            raise TOO_LARGE
        if not message.get("more_body", False):
            return bytes(parts)
