"""The delivery log: the last attempts of each subscriber. See `store.subscribers.trim` for its bound."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

WRITE: Final = """
-- Of those there are; nothing is left of one that was removed.
INSERT INTO delivery_log (subscriber_id, message, event_id, kind, attempt, outcome, status, error, took_ms)
SELECT n.* FROM unnest(%(subscribers)s::int[], %(messages)s::text[], %(events)s::int[], %(kinds)s::text[],
                       %(attempts)s::smallint[], %(outcomes)s::text[], %(statuses)s::smallint[],
                       %(errors)s::text[], %(took)s::int[])
       AS n (subscriber_id, message, event_id, kind, attempt, outcome, status, error, took_ms)
  JOIN subscriber s ON s.id = n.subscriber_id
"""


class LogOutcome(StrEnum):
    """What became of an attempt."""

    DELIVERED = "delivered"
    FAILED = "failed"
    SET_ASIDE = "set_aside"
    """It failed, and those behind it go first from now on."""
    DEAD = "dead"
    """It failed, and is not tried again by itself."""


class Entry(Struct, frozen=True):
    """An attempt."""

    subscriber: int
    message: str
    event_id: int | None
    kind: str
    attempt: int
    outcome: LogOutcome
    status: int | None
    error: str | None
    took_ms: int


def values_of(entries: Sequence[Entry]) -> dict[str, list[Any]]:
    """What `WRITE` takes."""
    return {
        "subscribers": [one.subscriber for one in entries],
        "messages": [one.message for one in entries],
        "events": [one.event_id for one in entries],
        "kinds": [one.kind for one in entries],
        "attempts": [one.attempt for one in entries],
        "outcomes": [one.outcome.value for one in entries],
        "statuses": [one.status for one in entries],
        "errors": [one.error for one in entries],
        "took": [one.took_ms for one in entries],
    }
