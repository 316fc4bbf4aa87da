"""Words and bounds of rehearsals."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

BUYERS_MAX: Final = 5_000
"""That storm a copy on one machine."""
SIZED_FOR_MAX: Final = 100_000_000
SECONDS_MAX: Final = 300
"""Of one rehearsal, from its beginning."""
LISTED_MAX: Final = 50


class RehearsalState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Rehearsal(Struct, frozen=True):
    """A row; `result` once it is done, `error` once it failed."""

    id: int
    event: str
    buyers: int
    sized_for: int
    state: RehearsalState
    who: str
    why: str
    asked_at: datetime
    began_at: datetime | None
    ended_at: datetime | None
    phase: str
    done: int
    total: int
    result: dict[str, Any] | None
    error: str | None
