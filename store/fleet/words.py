"""The fleet's words and bounds."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

HOST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""A host's name."""
SLOTS_MAX: Final = 64
"""Workers that one host runs at most."""
WORKERS_DEFAULT: Final = 2
WORKERS_MAX: Final = 8
"""Of one event: one owner, the others stand by."""


class Mode(StrEnum):
    """Who says whether an event has workers of its own."""

    AUTO = "auto"
    """Its load does."""
    HOT = "hot"
    """An operator: it has workers of its own."""
    COLD = "cold"
    """An operator: it shares one with other events."""


class FleetWhat(StrEnum):
    """What a row of the fleet's log tells."""

    JOINED = "joined"
    LEFT = "left"
    LOST = "lost"
    """A host or worker that was not heard of any more."""
    STARTED = "started"
    STOPPED = "stopped"
    ASSIGNED = "assigned"
    UNASSIGNED = "unassigned"
    PREFERRED = "preferred"
    """Which worker is to own the event."""
    HOT = "hot"
    COLD = "cold"
    SCALED = "scaled"
    MOVED = "moved"
    DRAINING = "draining"
    KEPT = "kept"
    """A host that was draining takes events again."""
    SHORT = "short"
    """There are fewer slots than are wanted, or none but on hosts that drain; or that is over."""
