"""What is said of a call in the published description; `gateway.openapi` puts it all together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple


class Call(NamedTuple):
    """What a call answers when all is well, the problems it may answer, and whose token it needs."""

    answers: Mapping[int, tuple[str, type | None]]
    """Status: (what it means, the type of the JSON; None for no body)."""
    problems: tuple[int, ...] = ()
    key: Literal["", "buyer", "operator"] = ""
    located: bool = False
    """The answer that is no problem has a `Location`."""
