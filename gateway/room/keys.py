"""The waiting room's keys: what its tokens are signed with, and what is published to tell them. Pure.

One secret text, the same for all gateways, makes an Ed25519 key for tokens (JWT, EdDSA) and secrets of other
purposes. Several keys may be known at once: tokens are signed with the first, and those of the others stay
good. A token's `typ` says what it is for, so one of another kind is none.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any, Final

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.types import Options

from notifier.tickets import PublicKey

SECRET_LENGTH_MIN: Final = 32
"""Of the text a key is made from, in characters."""
ALGORITHM: Final = "EdDSA"
TOKEN_LENGTH_MAX: Final = 4_096
_SEED: Final = b"onsale room key\x00"


class RoomKeysNotValid(Exception):
    """The text that should be the waiting room's keys is none."""


class NotOurs(Exception):
    """This is no token of that kind from us, or its time is over."""


class RoomKeys:
    """The keys that are known, and the secret of the one that signs."""

    def __init__(self, secrets: str) -> None:
        """`secrets`: one or several, parted by commas; the first signs. Raises `RoomKeysNotValid`."""
        texts = [text.strip() for text in secrets.split(",") if text.strip()]
        if not texts or any(len(text) < SECRET_LENGTH_MIN for text in texts):
            raise RoomKeysNotValid(
                f"A key is {SECRET_LENGTH_MIN} characters or more, several are parted by commas; "
                "make one with: openssl rand -hex 32"
            )
        self._text = texts[0].encode()
        private = [_private_key(text) for text in texts]
        self.published: list[PublicKey] = [_published(key) for key in private]
        """All public keys, the one that signs first."""
        self._signs = private[0]
        self._public = {told.kid: key.public_key() for told, key in zip(self.published, private, strict=True)}

    def sign(self, claims: Mapping[str, Any], kind: str) -> str:
        """A token of that `typ`."""
        head = {"kid": self.published[0].kid, "typ": kind}
        return jwt.encode(dict(claims), self._signs, algorithm=ALGORITHM, headers=head)

    def read(self, token: str, kind: str, audience: str) -> dict[str, Any]:
        """The claims of a token of ours whose time is not over; raises `NotOurs`."""
        if len(token) > TOKEN_LENGTH_MAX:
            raise NotOurs
        try:
            head = jwt.get_unverified_header(token)
            key = self._public.get(str(head.get("kid")))
            if key is None or head.get("typ") != kind:
                raise NotOurs
            required: Options = {"require": ["exp", "sub", "aud"]}
            claims: dict[str, Any] = jwt.decode(
                token, key, algorithms=[ALGORITHM], audience=audience, options=required
            )
        except (jwt.PyJWTError, ValueError, TypeError):
            raise NotOurs from None
        return claims

    def secret(self, purpose: str) -> bytes:
        """32 bytes that only who has the key that signs can know, others for each purpose."""
        return hmac.digest(self._text, f"onsale room {purpose}".encode(), "sha256")


def _private_key(text: str) -> Ed25519PrivateKey:
    """Of a secret that was drawn by chance: hashed, because a key is 32 bytes and the text any."""
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(_SEED + text.encode()).digest())


def _published(key: Ed25519PrivateKey) -> PublicKey:
    """Its id is the key's thumbprint (RFC 7638)."""
    x = _base64url(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))
    members = json.dumps({"crv": "Ed25519", "kty": "OKP", "x": x}, separators=(",", ":"))
    return PublicKey(_base64url(hashlib.sha256(members.encode()).digest()), x)


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
