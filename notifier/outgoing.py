"""One webhook, sent once: signed by Standard Webhooks, to an address that may be asked, within bounds.

Only addresses of the public internet are connected to (`store.subscribers.addresses`), unless private ones
are allowed: a name that has any other address is refused whole, and what was resolved is what is connected
to, so a name that changes in between leads nowhere else. Every socket is looked at once more where it is
made; there a host written in numbers is caught too. Redirects are not followed, proxies of the environment
not used.

An answer may take `SECONDS_MAX` in all; of its body nothing is kept.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from standardwebhooks import Webhook
from yarl import URL

from store.subscribers.addresses import is_public
from store.subscribers.lanes import Endpoint

SECONDS_MAX: Final = 10.0
BODY_BYTES_MAX: Final = 64 * 1024
"""Of an answer; a connection with more to read is closed."""
CONNECTIONS_MAX: Final = 128
ERROR_LENGTH_MAX: Final = 200
GONE: Final = 410
_DNS_SECONDS: Final = 10

_signer = lru_cache(maxsize=1_000)(Webhook)


class NotPublic(OSError):
    """The address is not one of the public internet."""


class Message(NamedTuple):
    """What is sent, the same each time."""

    id: str
    body: bytes


class Answer(NamedTuple):
    """What became of it. No status: nobody answered, and `error` says why."""

    status: int | None
    error: str | None
    took_ms: int
    asked_seconds: float = 0.0
    """In Retry-After."""

    @property
    def delivered(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def gone(self) -> bool:
        return self.status == GONE


def signed(message: Message, secrets: Sequence[str], now_seconds: float) -> dict[str, str]:
    """The headers of a message, with a signature of each secret."""
    at = datetime.fromtimestamp(int(now_seconds), UTC)
    body = message.body.decode()
    return {
        "content-type": "application/json",
        "user-agent": "onsale-webhooks",
        "webhook-id": message.id,
        "webhook-timestamp": str(int(now_seconds)),
        "webhook-signature": " ".join(_signer(secret).sign(message.id, at, body) for secret in secrets),
    }


class Outgoing:
    """Sends webhooks; enter it before. `resolver` is another one than this host's, for tests."""

    def __init__(self, *, allow_private: bool, resolver: AbstractResolver | None = None) -> None:
        self._allowed: Callable[[str], bool] = (lambda _: True) if allow_private else is_public
        self._resolver = resolver
        self._clock = time.time

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=CONNECTIONS_MAX,
                ttl_dns_cache=_DNS_SECONDS,
                resolver=_Checked(self._resolver or aiohttp.ThreadedResolver(), self._allowed),
                socket_factory=self._socket,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=SECONDS_MAX),
            auto_decompress=False,
            trust_env=False,
            skip_auto_headers=("Accept", "Accept-Encoding"),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def send(self, endpoint: Endpoint, message: Message) -> Answer:
        """Send it once; never raises for what the other side does."""
        began = time.monotonic()
        try:
            async with self._session.post(
                _url(endpoint.url),
                data=message.body,
                headers=signed(message, endpoint.secrets, self._clock()),
                allow_redirects=False,
            ) as response:
                await _read_to_its_end(response)
                asked = _seconds(response.headers.get("Retry-After", ""))
                status, error = response.status, None if 200 <= response.status < 300 else response.reason
        except TimeoutError:
            status, error, asked = None, f"no answer within {SECONDS_MAX:g} s", 0.0
        except (aiohttp.ClientError, OSError, ValueError) as failed:
            status, error, asked = None, _story(failed), 0.0
        took_ms = round((time.monotonic() - began) * 1000)
        return Answer(status, None if error is None else _plain(error), took_ms, asked)

    def _socket(self, info: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, proto, _, address = info
        if not self._allowed(str(address[0])):
            raise NotPublic(f"{address[0]} is not an address of the public internet")
        return socket.socket(family, kind, proto)


class _Checked(AbstractResolver):
    """Resolves names all of whose addresses may be asked."""

    def __init__(self, resolver: AbstractResolver, allowed: Callable[[str], bool]) -> None:
        self._resolver = resolver
        self._allowed = allowed

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        for one in found:
            if not self._allowed(one["host"]):
                raise NotPublic(f"{host} has the address {one['host']}, not one of the public internet")
        return found

    async def close(self) -> None:
        await self._resolver.close()


@lru_cache(maxsize=1_000)
def _url(url: str) -> URL:
    return URL(url)


async def _read_to_its_end(response: aiohttp.ClientResponse) -> None:
    """So that the connection serves the next message; one that sends too much is closed."""
    read = 0
    while chunk := await response.content.read(BODY_BYTES_MAX):
        read += len(chunk)
        if read > BODY_BYTES_MAX:
            response.close()
            return


def _seconds(header: str) -> float:
    return float(header) if header.isascii() and header.isdigit() and len(header) < 10 else 0.0


def _story(error: BaseException) -> str:
    """What an operator needs to know of it."""
    inner: Any = error
    while isinstance(inner, aiohttp.ClientConnectorError) and inner.os_error is not None:
        inner = inner.os_error
    return f"{type(inner).__name__}: {inner}" if str(inner) else type(inner).__name__


def _plain(text: str) -> str:
    """One printable line, short."""
    return "".join(one if one.isprintable() else " " for one in text)[:ERROR_LENGTH_MAX]
