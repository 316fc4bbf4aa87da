"""Which calls take an Idempotency-Key, which need one, and how the header reads. Pure.

The header is a structured field of one string (draft-ietf-httpapi-idempotency-key-header-07, 2.1, and RFC
9651): `"8e03978e-40d5-43e8-bc93-6894a57f9324"`. The bare form without quotes is taken as well, as long as it
has only letters, digits and `. _ ~ -`: it is how `POST …/requests` has named requests from the beginning, and
what most clients send. Both forms name the same key.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from store.errors import BadRequest

CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
KEY_LENGTH_MAX: Final = 255
OPERATORS: Final = "/v1/operator/"
BUYERS: Final = ("/v1/events/", "/v1/tickets/")

NO_KEY: Final = ("/requests", "/room/codes", "/room/join")
SECRETS: Final = (f"{OPERATORS}session", f"{OPERATORS}keys")
"""Calls whose answers let somebody in: they are kept nowhere."""
BY_SLUG: Final = ("/v1/operator/launches", "/v1/operator/venues")
"""What is made there has a name of its own, and is made once under it."""

_BARE: Final = r"[A-Za-z0-9._~-]{1,64}"
_QUOTED: Final = r'"(?:[ !#-\[\]-~]|\\["\\]){1,255}"'
_PARAMETERS: Final = r"(?:[ ]*;[ ]*[a-z*][a-z0-9_.*-]*(?:=[^;,]*)?)*"
_KEY: Final = re.compile(f"({_BARE})|({_QUOTED}){_PARAMETERS}")
_ESCAPED: Final = re.compile(r'\\(["\\])')
_COUNTS_UP: Final = re.compile(r"/v1/operator/events/[^/]+/(?:blocks|unblock)")
"""Calls that are not idempotent by nature: blocking 20 places again blocks 20 more."""


def key_in(values: Sequence[bytes]) -> str:
    """The key in the headers of that name; raises `BadRequest` (idempotency_key_not_valid)."""
    said = ", ".join(value.decode("latin-1") for value in values).strip()
    found = _KEY.fullmatch(said)
    key = "" if found is None else found[1] or _ESCAPED.sub(r"\1", found[2][1:-1])
    if not 0 < len(key) <= KEY_LENGTH_MAX:
        raise BadRequest(
            "idempotency_key_not_valid",
            'Idempotency-Key is one string: "…" with 1 to 255 printable ASCII characters, or without quotes '
            "1 to 64 of A-Z a-z 0-9 . _ ~ -",
        )
    return key


def key_required() -> BadRequest:
    """What a call is refused with that must have a key and has none."""
    return BadRequest(
        "idempotency_key_required",
        "Done twice this does more than done once: send Idempotency-Key, a name of your own for this call.",
    )


def needs_key(path: str) -> bool:
    """Whether a changing call of that path, or of that template of paths, is refused without a key."""
    return _COUNTS_UP.fullmatch(path) is not None


def takes_key(method: str, path: str) -> bool:
    """Whether what that call is answered is kept under its key. A key of `POST …/requests` is a name for the
    request, which the ledger keeps for good, and is none of ours. What makes presale codes takes none: its
    answer is kept nowhere, and neither is what is about operators' keys and sessions. Joining needs none: a
    place is one however often it is asked for; and none is for plans and launches, that are kept under a name
    of their own, and may make codes."""
    mine = path.startswith((OPERATORS, *BUYERS)) and not path.endswith(NO_KEY)
    return mine and method.upper() in CHANGING and not path.startswith((*SECRETS, *BY_SLUG))


def parameter(path: str) -> dict[str, Any]:
    """The header in the published description."""
    return {
        "name": "idempotency-key",
        "in": "header",
        "required": needs_key(path),
        "description": (
            "A name of your own for this call: with the same key and content it is done once, and answered "
            "the same for a day. 409 while it is under way, 422 `key_reused` with other content."
        ),
        "schema": {"type": "string", "pattern": f"^(?:{_BARE}|{_QUOTED})$"},
    }
