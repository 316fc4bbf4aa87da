"""What operators' keys are: roles and their order, the text of a key, and bounds. Pure.

A key's text is `onsale_<id>_<secret>`: the id finds its row, the secret has 256 random bits, so that its
plain SHA-256 is as good as a slow hash, and whoever looks for secrets where none should be finds it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from enum import StrEnum
from typing import Final, NamedTuple

ENVIRONMENT: Final = "environment"
"""The name of who has the gateway's ONSALE_OPERATOR_KEY: an owner without a row."""
RESERVED: Final = frozenset({ENVIRONMENT, "allocator", "buyer", "expiry", "planner", "onsale", "restore"})
"""Who else acts, by the names that histories have for them."""
NAME: Final = re.compile(r"\w(?:[\w .@+'-]{0,38}[\w.])?")
NAME_RULE: Final = "1 to 40 letters, digits, spaces or . _ @ + ' -, not beginning or ending with a space"
KEYS_MAX: Final = 500
"""Keys that are not revoked."""
SCOPE_MAX: Final = 100
"""Events that one key may be limited to."""
DAYS_MAX: Final = 366
"""A key that runs out does so within that."""
GRACE_SECONDS: Final = 0
GRACE_SECONDS_MAX: Final = 7 * 86_400
"""How long at most the secret before a rotation goes on."""
NOTED_SECONDS: Final = 60
"""When a key was last used is written at most so often, and how long a session goes on too."""
SESSION_IDLE_SECONDS: Final = 4 * 3_600
SESSION_SECONDS_MAX: Final = 24 * 3_600
SESSIONS_PER_KEY_MAX: Final = 50
SECRET_BYTES: Final = 32

_TEXT: Final = re.compile(r"onsale_([1-9][0-9]{0,8})_([A-Za-z0-9_-]{43})")


class Role(StrEnum):
    """What a key may do; each may all that those before it may."""

    VIEWER = "viewer"
    """Looks."""
    OPERATOR = "operator"
    """Changes a sale and the fleet."""
    OWNER = "owner"
    """Changes keys and webhooks, calls events off, gives out and erases people's data."""

    def includes(self, other: Role) -> bool:
        """Whether who has this role may do what `other` may."""
        return _RANK[self] >= _RANK[other]


_RANK: Final = {role: rank for rank, role in enumerate(Role)}


class Written(NamedTuple):
    """A key as it was shown: which it is, and the digest of its secret."""

    id: int
    digest: bytes


def new_secret() -> str:
    """256 random bits, in characters that need no quoting anywhere."""
    return secrets.token_urlsafe(SECRET_BYTES)


def digest_of(secret: str) -> bytes:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode()).digest()


def text_of(key_id: int, secret: str) -> str:
    """A key as it is shown, once."""
    return f"onsale_{key_id}_{secret}"


def read_text(text: str) -> Written | None:
    """What a key's text says; None where it is none."""
    found = _TEXT.fullmatch(text)
    return None if found is None else Written(int(found[1]), digest_of(found[2]))


def bound(cookie: str, digest: bytes) -> bytes:
    """What ties a session to the secret it was begun with, without telling that secret to who reads it."""
    return hmac.digest(cookie.encode(), digest, "sha256")
