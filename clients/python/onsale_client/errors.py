"""The errors of the client.

OnsaleError
├── Refused        onsale says no; `code` is stable, the message says what to do
├── Ended          the place is over: given up, expired, or used
└── NotOpen        the connection cannot be made: the token is not valid, or there is no such event
"""

from __future__ import annotations

from typing import Any


class OnsaleError(Exception):
    """Something went wrong."""


class Refused(OnsaleError):
    """onsale refuses what was asked."""

    def __init__(self, code: str, message: str, problem: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.problem = problem or {}
        """All that was answered, where it was answered over HTTP."""


class Ended(OnsaleError):
    """The place is over."""

    def __init__(self, state: str) -> None:
        super().__init__(f"The place is {state}. Join again for another one.")
        self.state = state


class NotOpen(OnsaleError):
    """The connection is closed for good; `code` is the socket's."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
