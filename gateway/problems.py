"""What a caller is told when something is refused: one code, the same over HTTP and on the socket.

OnsaleError (store.errors)
├── Refused
│   ├── BadRequest      400
│   ├── NotFound        404
│   ├── Conflicted      409
│   ├── Unauthorized    401   no token, or not a valid one
│   ├── Forbidden       403   not now, whoever asks
│   ├── TooLarge        413
│   │   └── FarTooLarge  and nobody reads the rest
│   ├── KeyReused       422   the key is known with other content
│   └── TooMany         429   the caller's own bound
└── Unavailable         503   an engine is away
    └── Busy            503   the gateway's own bound
"""

from __future__ import annotations

from http import HTTPStatus

import msgspec

from store.errors import BadRequest, Conflicted, NotFound, OnsaleError, Refused, Unavailable

PROBLEM_TYPE = "application/problem+json"


class Unauthorized(Refused):
    """The token is missing or not valid."""


class Forbidden(Refused):
    """It is not the caller's turn."""


class TooLarge(Refused):
    """The body is too large."""


class FarTooLarge(TooLarge):
    """The body is so large that the rest of it is not read: the connection ends with the answer."""


class KeyReused(Refused):
    """This key was used before with other content; choose a new one."""

    def __init__(self) -> None:
        super().__init__("key_reused", str(self.__doc__))


class TooMany(Refused):
    """Too much of this caller is under way."""

    def __init__(self, code: str, message: str, *, retry_after_seconds: int = 1) -> None:
        super().__init__(code, message)
        self.retry_after_seconds = retry_after_seconds


class Busy(Unavailable):
    """The gateway is at one of its bounds."""

    def __init__(self, code: str, message: str, *, retry_after_seconds: int = 2) -> None:
        super().__init__(message, retry_after_seconds=retry_after_seconds)
        self.code = code


_STATUS: tuple[tuple[type[OnsaleError], int], ...] = (
    (BadRequest, 400),
    (NotFound, 404),
    (Conflicted, 409),
    (Unauthorized, 401),
    (Forbidden, 403),
    (TooLarge, 413),
    (KeyReused, 422),
    (TooMany, 429),
    (Unavailable, 503),
)


def status_of(error: OnsaleError) -> int:
    """The HTTP status an error is answered with; 500 for what should never reach a caller."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def code_of(error: OnsaleError) -> str:
    """The stable code."""
    code: str = getattr(error, "code", "unavailable" if isinstance(error, Unavailable) else "internal")
    return code


def retry_after_of(error: OnsaleError) -> int | None:
    """Seconds to wait before asking again, where that helps."""
    seconds: int | None = getattr(error, "retry_after_seconds", None)
    return seconds


def problem_body(status: int, code: str, detail: str, **more: object) -> bytes:
    """RFC 9457 with our `code`."""
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "code": code, "detail": detail}
    return msgspec.json.encode(body | more)


def body_of(error: OnsaleError) -> bytes:
    """The problem; with `errors` where it is known which fields are wrong."""
    errors: object = getattr(error, "errors", None)
    more = {"errors": errors} if errors else {}
    return problem_body(status_of(error), code_of(error), str(error), **more)


def error_frame(error: OnsaleError, request_id: str | None = None) -> bytes:
    """The same on the socket; `retry_after` in seconds where waiting helps."""
    frame: dict[str, object] = {"type": "error", "code": code_of(error), "message": str(error)}
    if request_id is not None:
        frame["id"] = request_id
    if (seconds := retry_after_of(error)) is not None:
        frame["retry_after"] = seconds
    return msgspec.json.encode(frame)
