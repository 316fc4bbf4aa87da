"""Admission tokens: with one a buyer whose turn it is passes into a shop that onsale does not run.

A JWT (EdDSA) of `typ` `onsale-admission+jwt`: `iss`, `aud` (the shop's origin), `sub` (the buyer), `event`,
`place`, `iat` (when they began), `exp` (until when they may shop), `jti`. It follows from the place, so it
is the same however often it is asked for. Shops verify it by `/.well-known/jwks.json`; what they need for
that is in `clients/python/onsale_client/middleware.py`.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from gateway.problems import Forbidden
from gateway.room.keys import RoomKeys
from gateway.room.settings import RoomSettings
from notifier.tickets import PublicKey
from store.errors import BadRequest, Conflicted, NotFound
from store.room.words import Place, PlaceState

ADMISSION: Final = "onsale-admission+jwt"
MICROS: Final = 1_000_000


class Admission(Struct, frozen=True):
    """A token for a shop; `expires_at` in milliseconds."""

    token: str
    shop: str
    place: str
    expires_at: int


class KeySet(Struct, frozen=True):
    """A JSON Web Key Set (RFC 7517)."""

    keys: list[PublicKey]


class AdmissionTokens:
    """One gateway's, with the keys and shops of its settings."""

    def __init__(self, settings: RoomSettings) -> None:
        self._keys = RoomKeys(settings.key) if settings.key else None
        self._shops = settings.shops
        self._issuer = settings.issuer

    @property
    def published(self) -> KeySet:
        """Raises `NotFound` (admission_tokens_off)."""
        return KeySet(self._known.published)

    def of(self, event: str, place: Place | None, shop: str = "") -> Admission:
        """For who is admitted and has begun; raises `Forbidden` (not_admitted), `Conflicted` (not_begun),
        `BadRequest` (unknown_shop) and `NotFound` (admission_tokens_off)."""
        keys, shop = self._known, self._shop(shop)
        if place is None or place.state is not PlaceState.ADMITTED:
            story = "It is not your turn yet. Wait in line; the waiting room's page says when it is."
            raise Forbidden("not_admitted", story)
        if place.begun_at is None or place.until is None:
            raise Conflicted("not_begun", "It is your turn: begin first, with POST …/room/begin.")
        claims = {
            "iss": self._issuer,
            "aud": shop,
            "sub": place.buyer,
            "event": event,
            "place": str(place.id),
            "iat": place.begun_at // MICROS,
            "exp": place.until // MICROS,
            "jti": f"{place.id}.{place.begun_at}",
        }
        return Admission(keys.sign(claims, ADMISSION), shop, str(place.id), place.until // 1000)

    @property
    def _known(self) -> RoomKeys:
        if self._keys is None:
            story = "This server gives no admission tokens. Start its gateway with ONSALE_ROOM_KEY for that."
            raise NotFound("admission_tokens_off", story)
        return self._keys

    def _shop(self, asked: str) -> str:
        if not asked and self._shops:
            return self._shops[0]
        if asked.rstrip("/") not in self._shops:
            story = "The shop is none of those of ONSALE_SHOPS, so there are no tokens for it."
            raise BadRequest("unknown_shop", story)
        return asked.rstrip("/")
