"""A fact as the plain reference takes it in."""

from __future__ import annotations

from dataclasses import dataclass, field

from store.words import Policy


@dataclass
class ReferenceFact:
    kind: str
    hold_id: int | None = None
    """Of `left`: a wait id."""
    policy: Policy | None = None
    by_us: int = 0
    since: int | None = None
    seats: tuple[int, ...] = ()
    areas: tuple[tuple[int, int], ...] = ()
    """What is given back of a hold; none: all of it. What is blocked, sold or taken back."""
    buyer: str = ""
    blocked: bool = False
    """What is taken back stays off sale."""
    category: int = 0
    """What `seats` and `areas` are of from now on."""
    counts: dict[str, int] = field(default_factory=dict)
    """What buyers have on the tour's other dates."""
