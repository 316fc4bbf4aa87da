"""The errors of onsale.

OnsaleError
├── Refused            the caller can do something about it (has a stable code and a next step)
│   ├── BadRequest
│   ├── NotFound
│   └── Conflicted
├── Fenced             this owner is no longer the event's owner
├── ShortWrite         a conditional write won fewer rows than decided
├── StreamMissing      the event's stream does not exist
├── OutcomeUnknown     sent, but no reply: ask again with the same key
├── BehindPooler       who is to own events reaches Postgres by way of a pooler
└── Unavailable        an engine is away; come back after `retry_after_seconds`
    └── StreamUnavailable

A docstring is its error's default message. What we did wrong ourselves is an assertion instead.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class FieldError(Struct, frozen=True):
    """A field by its path in the body, such as `event.limits.Gold`, and what is to be done about it."""

    field: str
    says: str


class OnsaleError(Exception):
    """Something went wrong in onsale."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or type(self).__doc__)


class Refused(OnsaleError):
    """The request is refused."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class BadRequest(Refused):
    """The request cannot be understood."""

    def __init__(self, code: str, message: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(code, message)
        self.errors = list(errors)
        """Which fields are wrong, where that is known."""


class NotFound(Refused):
    """There is nothing of that name."""


class Conflicted(Refused):
    """The state of things does not allow it now."""


class Fenced(OnsaleError):
    """Another worker owns this event now; this one stops deciding and stands by."""


class ShortWrite(OnsaleError):
    """A conditional write won fewer rows than decided; refresh and decide again."""


class StreamMissing(OnsaleError):
    """The event's stream does not exist; create it above the cursor and append again."""


class OutcomeUnknown(OnsaleError):
    """The stream did not answer; ask again with the same key."""


class BehindPooler(OnsaleError):
    """DATABASE_URL leads through a pooler; who owns events needs a connection of its own."""


class Unavailable(OnsaleError):
    """An engine is away; try again shortly."""

    def __init__(self, message: str | None = None, *, retry_after_seconds: int = 2) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class StreamUnavailable(Unavailable):
    """The stream server is away; what it acknowledged is on its disk."""
