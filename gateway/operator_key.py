"""Whether somebody has the operator key."""

from __future__ import annotations

import hmac

from gateway.settings import Settings


def has_operator_key(settings: Settings, authorization: str) -> bool:
    """Whether an Authorization header carries it; nobody does where there is none. In constant time."""
    scheme, _, given = authorization.partition(" ")
    key = settings.operator_key.encode()
    return key != b"" and scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), key)
