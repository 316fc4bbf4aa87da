"""Verifies admission tokens by the public keys of the room that gave them.

The keys are fetched when they are old or a token names one that is not there, and never more often than every
`FETCH_SECONDS_MIN`, whatever tokens come. While they cannot be fetched, those that are there stay good.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

import httpx
import jwt
from jwt import PyJWK, PyJWKSet
from jwt.types import Options

KIND: Final = "onsale-admission+jwt"
TOKEN_LENGTH_MAX: Final = 4_096
LEEWAY_SECONDS: Final = 5
AGE_SECONDS_MAX: Final = 600.0
FETCH_SECONDS_MIN: Final = 10.0
FETCH_SECONDS_MAX: Final = 5.0
REQUIRED: Final[Options] = {"require": ["exp", "sub", "aud", "jti"]}


class NotAdmitted(Exception):
    """It is not this one's turn; the text says why."""


class KeysAway(Exception):
    """The waiting room's keys cannot be fetched, and none are known."""


async def _fetch(url: str) -> Any:
    async with httpx.AsyncClient(timeout=FETCH_SECONDS_MAX) as client:
        return (await client.get(url)).raise_for_status().json()


class KeySet:
    """The public keys at a URL."""

    def __init__(
        self,
        url: str,
        fetch: Callable[[str], Awaitable[Any]] = _fetch,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._fetch = fetch
        self._clock = clock
        self._keys: dict[str, PyJWK] = {}
        self._fetched_at = self._tried_at = float("-inf")
        self._lock = asyncio.Lock()

    async def key(self, key_id: str) -> PyJWK | None:
        """Raises `KeysAway`."""
        if key_id not in self._keys or self._clock() - self._fetched_at > AGE_SECONDS_MAX:
            await self._refresh()
        if not self._keys:
            raise KeysAway("The waiting room cannot be asked for its keys. Try again shortly.")
        return self._keys.get(key_id)

    async def _refresh(self) -> None:
        async with self._lock:
            now = self._clock()
            if now - self._tried_at < FETCH_SECONDS_MIN:
                return
            self._tried_at = now
            try:
                keys = PyJWKSet.from_dict(await self._fetch(self._url)).keys
            except (httpx.HTTPError, jwt.PyJWTError, ValueError, TypeError, AttributeError, OSError):
                return
            self._keys = {key.key_id: key for key in keys if key.key_id}
            self._fetched_at = now


class Verifier:
    """Of one shop and one event."""

    def __init__(self, keys: KeySet, event: str, audience: str, issuer: str | None) -> None:
        self._keys = keys
        self._event = event
        self._audience = audience
        self._issuer = issuer

    async def verify(self, token: str) -> dict[str, Any]:
        """What a token says; raises `NotAdmitted` and `KeysAway`."""
        if len(token) > TOKEN_LENGTH_MAX:
            raise NotAdmitted("This is no admission.")
        try:
            head = jwt.get_unverified_header(token)
            if head.get("typ") != KIND or head.get("alg") != "EdDSA":
                raise NotAdmitted("This is no admission.")
            key = await self._keys.key(str(head.get("kid", "")))
            if key is None:
                raise NotAdmitted("This admission is not by the waiting room of this shop.")
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=["EdDSA"],
                audience=self._audience,
                issuer=self._issuer,
                leeway=LEEWAY_SECONDS,
                options=REQUIRED,
            )
        except jwt.ExpiredSignatureError:
            raise NotAdmitted("Your time to shop is over. Join the waiting room again.") from None
        except (jwt.PyJWTError, ValueError, TypeError):
            raise NotAdmitted("This admission is not valid here.") from None
        if claims.get("event") != self._event or not isinstance(claims.get("place"), str):
            raise NotAdmitted("This admission is for another event.")
        return claims
