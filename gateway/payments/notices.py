"""`POST /v1/payments/notices/{provider}`: what a payment provider tells, answered below FastAPI.

The body is read up to a bound and given to the provider's adapter as it came, for the signature is over its
bytes. What is genuine is settled together with what arrives in the same moment (`gateway.payments.settling`);
the answer comes once it is true. 200 also for what was done before, and for what onsale does not act on.

Whatever is refused is counted by its code and logged without a word of what was sent; the log has a line a
second for each code at most.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from typing import Any, Final

import msgspec
from msgspec import Struct

from gateway.payments.port import Provider
from gateway.payments.settling import Settling
from gateway.problems import PROBLEM_TYPE, TooLarge, body_of, code_of, retry_after_of, status_of
from notifier.hub import Message
from store.errors import BadRequest, NotFound, OnsaleError
from store.payments.states import NoticeKind, PaymentState

log = logging.getLogger("onsale.gateway")

PATH: Final = "/v1/payments/notices/"
BODY_BYTES_MAX: Final = 256 * 1024
LOG_SECONDS: Final = 1.0


class Heard(Struct, frozen=True):
    """The answer to a notice; null where onsale does not act on what it tells."""

    payment: str | None
    state: PaymentState | None
    repeated: bool
    """It was acted on before, or says nothing new."""


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

    async def serve(self, name: str, scope: Message, receive: Any, send: Any) -> None:
        """Answer one notice."""
        headers: list[tuple[bytes, bytes]] = []
        known = name if name in self._providers else "unknown"
        try:
            heard = await self._hear(name, scope, receive)
            status, body, kind = 200, msgspec.json.encode(heard), "application/json"
            self.answered[known, _how(heard)] += 1
        except OnsaleError as error:
            status, body, kind = status_of(error), body_of(error), PROBLEM_TYPE
            if (seconds := retry_after_of(error)) is not None:
                headers.append((b"retry-after", b"%d" % seconds))
            self._refused(known, code_of(error))
        headers += [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _hear(self, name: str, scope: Message, receive: Any) -> Heard:
        provider = self._providers.get(name)
        if provider is None:
            raise NotFound("unknown_provider", "This gateway has no such payment provider.")
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        notice = provider.read(headers, await _body(headers, receive))
        if notice.kind is NoticeKind.OTHER:
            return _IGNORED
        settled = await self._settling.put(notice)
        return Heard(str(settled.payment), settled.state, settled.repeated)

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


async def _body(headers: dict[str, str], receive: Any) -> bytes:
    told = headers.get("content-length", "0")
    if told.isdigit() and int(told) > BODY_BYTES_MAX:
        raise _too_large()
    parts = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BadRequest("bad_body", "The connection ended before the body did.")
        parts += message.get("body", b"")
        if len(parts) > BODY_BYTES_MAX:
            raise _too_large()
        if not message.get("more_body", False):
            return bytes(parts)


def _too_large() -> TooLarge:
    return TooLarge("body_too_large", f"A notice has at most {BODY_BYTES_MAX} bytes.")
