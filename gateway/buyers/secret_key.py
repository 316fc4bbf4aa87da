"""The shared secret of tokens, as PyJWT takes a key.

PyJWT makes sure with each token that the secret is no public key by mistake, which takes as long as the
signature does. Here that is made sure of once. All else, also which algorithm a token may name, is PyJWT's.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode
from typing import Any, Final

from jwt import PyJWK
from jwt.algorithms import HMACAlgorithm

ALGORITHM: Final = "HS256"


class _Checked(HMACAlgorithm):
    def prepare_key(self, key: Any) -> bytes:
        assert isinstance(key, bytes), "a secret of `secret_key`"
        return key

    def sign(self, msg: bytes, key: bytes) -> bytes:
        return hmac.digest(key, msg, hashlib.sha256)


def secret_key(secret: str) -> PyJWK:
    """Verifies tokens of `ALGORITHM`, and no others; raises `jwt.InvalidKeyError` for a public key."""
    checked = HMACAlgorithm(HMACAlgorithm.SHA256).prepare_key(secret)
    key = PyJWK({"kty": "oct", "k": urlsafe_b64encode(checked).decode().rstrip("="), "alg": ALGORITHM})
    key.Algorithm = _Checked(HMACAlgorithm.SHA256)
    return key
