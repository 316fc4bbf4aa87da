"""Solves a proof of work, by ALTCHA's protocol (version 2, PBKDF2). Pure; it takes part of a second."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any


def solve(challenge: Mapping[str, Any], tries_max: int = 10_000_000) -> str:
    """The solution as a join takes it; raises `ValueError` for a challenge that is not of this kind, or not
    solved within `tries_max`."""
    asked = challenge["parameters"]
    kind, _, digest = str(asked["algorithm"]).partition("/")
    if kind != "PBKDF2":
        raise ValueError(f"Only PBKDF2 is known here, not {asked['algorithm']!r}.")
    nonce, salt = bytes.fromhex(asked["nonce"]), bytes.fromhex(asked["salt"])
    name, prefix = digest.replace("-", "").lower(), bytes.fromhex(asked["keyPrefix"])
    for counter in range(tries_max):
        password = nonce + counter.to_bytes(4, "big")
        key = hashlib.pbkdf2_hmac(name, password, salt, asked["cost"], asked["keyLength"])
        if key.startswith(prefix):
            solution = {"counter": counter, "derivedKey": key.hex()}
            return base64.b64encode(
                json.dumps({"challenge": challenge, "solution": solution}).encode()
            ).decode()
    raise ValueError(f"Not solved within {tries_max:,} tries.")
