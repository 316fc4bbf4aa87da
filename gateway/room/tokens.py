"""The token that takes a place to another device: as good as the buyer's sign-in, for one event, for hours.

Whoever has it may be the buyer there, so it is given to the buyer alone, and pages put it into a link only
where the buyer asks for one. It is signed with a key made from the gateway's secret for nothing else: it is
never taken for a buyer's token, nor a buyer's token for it. Where buyers sign in by the organiser's keys only
(no shared secret) there is none, and a place is found again by signing in.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from typing import Final
from uuid import UUID

import jwt
import msgspec
from jwt.utils import base64url_encode
from msgspec import Struct

from gateway.buyers.tokens import subject_ok
from gateway.problems import Unauthorized
from store.room.words import Place

AUDIENCE: Final = "place"
TOKEN_SECONDS: Final = 6 * 3600
LEEWAY_SECONDS: Final = 5
_PURPOSE: Final = b"onsale: tokens of places"
_HEADER: Final = base64url_encode(b'{"alg":"HS256","typ":"JWT"}')


class PlaceToken(Struct, frozen=True):
    """What a token says: whose place it is."""

    place: UUID
    buyer: str


class PlaceTokens:
    """Makes and judges them."""

    def __init__(self, secret: str, clock: Callable[[], float] = time.time) -> None:
        self._key = hmac.digest(secret.encode(), _PURPOSE, hashlib.sha256) if secret else b""
        self._clock = clock

    def make(self, event: str, place: Place) -> str | None:
        """Written by hand, for each who joins is given one: PyJWT takes ten times as long, and judges it."""
        if not self._key:
            return None
        expires_at = int(self._clock()) + TOKEN_SECONDS
        claims = {"aud": AUDIENCE, "sub": place.buyer, "event": event, "place": str(place.id)}
        says = b"%b.%b" % (_HEADER, base64url_encode(msgspec.json.encode(claims | {"exp": expires_at})))
        signature = base64url_encode(hmac.digest(self._key, says, hashlib.sha256))
        return f"{says.decode()}.{signature.decode()}"

    def judge(self, event: str, token: str) -> PlaceToken:
        """Raises `Unauthorized` (place_token_not_valid): forged, run out, or of another event."""
        try:
            if not self._key:
                raise jwt.InvalidKeyError
            claims = jwt.decode(
                token,
                self._key,
                algorithms=["HS256"],
                audience=AUDIENCE,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "sub", "aud"], "verify_exp": False},
            )
            if claims["event"] != event or not subject_ok(claims["sub"]):
                raise jwt.InvalidTokenError
            if float(claims["exp"]) + LEEWAY_SECONDS <= self._clock():
                raise jwt.ExpiredSignatureError
            return PlaceToken(UUID(claims["place"]), claims["sub"])
        except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError):
            raise Unauthorized(
                "place_token_not_valid",
                "This link does not lead to a place any more. Sign in as you did when you joined.",
            ) from None
