"""Who a buyer is: the `sub` of a verified token.

A shared secret verifies HS256 and nothing else; a key set (JWKS) verifies asymmetric algorithms
and nothing else. Which of the two a token goes to is decided by its header, but neither accepts
the other's algorithms, so a public key can never be used as a secret. Verified tokens are kept for
a while, because an HTTP client sends its token with every request.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jwt
from jwt import PyJWK, PyJWKSet

from gateway.buyers.decode import TOKEN_LENGTH_MAX
from gateway.buyers.secret_key import ALGORITHM, secret_key
from gateway.problems import Unauthorized
from gateway.settings import Settings
from store.errors import Unavailable

ASYMMETRIC = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
SUBJECT_LENGTH_MAX = 128
KEPT_MAX = 10_000
LEEWAY_SECONDS = 5
KEYS_AGE_SECONDS_MAX = 600.0
KEYS_FETCH_SECONDS_MIN = 10.0
"""Shortest time between two fetches, whatever key ids tokens name."""
KEYS_FETCH_TIMEOUT_SECONDS = 5
DEMO_SECONDS = 12 * 3600
BUYERS = ("exp", "sub")
"""What a buyer's token must say."""

_REFUSED = "The token is not valid. Sign in again to get a new one."


class Buyer(NamedTuple):
    id: str
    expires_at: float
    """Unix time by the host's clock, as in the token."""


def subject_ok(subject: object) -> bool:
    """1 to 128 printable characters without quote or backslash: frames and COPY lines carry it as it is."""
    return (
        isinstance(subject, str)
        and 0 < len(subject) <= SUBJECT_LENGTH_MAX
        and subject.isprintable()
        and '"' not in subject
        and "\\" not in subject
    )


class KeySet:
    """The issuer's public keys, fetched when they are old or a token names one that is not there."""

    def __init__(self, url: str) -> None:
        self._client = jwt.PyJWKClient(url, cache_jwk_set=False, timeout=KEYS_FETCH_TIMEOUT_SECONDS)
        self._keys: dict[str, PyJWK] = {}
        self._fetched_at = self._tried_at = float("-inf")
        self._lock = asyncio.Lock()

    async def key(self, key_id: str) -> PyJWK:
        """Raises `Unauthorized` for a key the issuer does not have, `Unavailable` when it cannot be asked."""
        now = time.monotonic()
        if key_id not in self._keys or now - self._fetched_at > KEYS_AGE_SECONDS_MAX:
            await self._fetch()
        found = self._keys.get(key_id)
        if found is None:
            if not self._keys:
                raise Unavailable("The issuer of tokens cannot be reached. Try again shortly.")
            raise Unauthorized("token_not_valid", _REFUSED)
        return found

    async def _fetch(self) -> None:
        async with self._lock:
            now = time.monotonic()
            if now - self._tried_at < KEYS_FETCH_SECONDS_MIN:
                return
            self._tried_at = now
            try:
                raw: dict[str, Any] = await asyncio.to_thread(self._client.fetch_data)
                keys = PyJWKSet.from_dict(raw).keys
            except (jwt.PyJWTError, OSError, ValueError):
                return  # the keys there are stay good
            self._keys = {key.key_id: key for key in keys if key.key_id}
            self._fetched_at = now


class Tokens:
    """Verifies and, for demos, gives tokens."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self._secret = secret_key(settings.token_secret) if settings.token_secret else None
        self._audience = settings.token_audience or None
        self._key_set = KeySet(settings.jwks_url) if settings.jwks_url else None
        self._clock = clock
        self._kept: dict[str, Buyer] = {}

    def known(self, token: str) -> Buyer | None:
        """A buyer whose token was verified before and still runs."""
        buyer = self._kept.get(token)
        if buyer is not None and buyer.expires_at <= self._clock():
            del self._kept[token]
            return None
        return buyer

    def verify_at_once(self, token: str) -> Buyer | None:
        """The same where no issuer may have to be asked, else None."""
        buyer = self.known(token)
        if buyer is None and self._secret is not None and self._key_set is None:
            buyer = self._buyer_of(token, self._decode(token, self._secret, [ALGORITHM], BUYERS))
        return buyer

    async def verify(self, token: str) -> Buyer:
        """Raises `Unauthorized` (token_not_valid), and `Unavailable` while the issuer cannot be asked."""
        buyer = self.verify_at_once(token)
        return buyer or self._buyer_of(token, await self.claims(token, *BUYERS))

    def _buyer_of(self, token: str, claims: dict[str, Any]) -> Buyer:
        if not subject_ok(claims["sub"]):
            raise Unauthorized(
                "token_not_valid", "The token's subject has characters a buyer's id cannot have."
            )
        buyer = Buyer(claims["sub"], float(claims["exp"]))
        if len(self._kept) >= KEPT_MAX:
            self._kept.clear()
        self._kept[token] = buyer
        return buyer

    async def claims(self, token: str, *required: str) -> dict[str, Any]:
        """What a token says that is signed by whom this gateway trusts, has not run out and says all of
        `required`. Raises as `verify`."""
        if len(token) > TOKEN_LENGTH_MAX:
            raise Unauthorized("token_not_valid", _REFUSED)
        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError, TypeError):
            raise Unauthorized("token_not_valid", _REFUSED) from None
        return self._decode(token, *await self._key_for(header), required)

    def _decode(self, token: str, key: Any, algorithms: list[str], required: Sequence[str]) -> dict[str, Any]:
        if len(token) > TOKEN_LENGTH_MAX:
            raise Unauthorized("token_not_valid", _REFUSED)
        try:
            return jwt.decode(
                token,
                key,
                algorithms=algorithms,
                audience=self._audience,
                leeway=LEEWAY_SECONDS,
                options={"require": list(required), "verify_aud": self._audience is not None},
            )
        except (jwt.PyJWTError, ValueError, TypeError):
            raise Unauthorized("token_not_valid", _REFUSED) from None

    async def _key_for(self, header: dict[str, Any]) -> tuple[Any, list[str]]:
        algorithm = header.get("alg")
        if algorithm == ALGORITHM and self._secret is not None:
            return self._secret, [ALGORITHM]
        if algorithm in ASYMMETRIC and self._key_set is not None:
            return (await self._key_set.key(str(header.get("kid", "")))).key, [algorithm]
        raise Unauthorized("token_not_valid", _REFUSED)

    def demo_token(self) -> tuple[str, str]:
        """(token, buyer) for somebody nobody knows."""
        buyer = f"anon-{secrets.token_hex(8)}"
        return self.demo_token_of(buyer), buyer

    def demo_token_of(self, buyer: str) -> str:
        """One more token for a buyer of a demo."""
        assert self._secret is not None, "settings refuse a demo without a secret"
        claims: dict[str, Any] = {"sub": buyer, "exp": int(self._clock()) + DEMO_SECONDS}
        if self._audience is not None:
            claims["aud"] = self._audience
        return jwt.encode(claims, self._secret, algorithm=ALGORITHM)
