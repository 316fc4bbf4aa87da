"""Every error that the front door shows to a person.

OnsaleError             (store/errors.py)         the root of all rooms
└── FrontDoorError      this machine cannot do what was asked of the command line
    ├── EngineError     (onsale/engines/errors.py) an embedded engine cannot run
    └── ProcessError    (onsale/processes.py)      a gateway or allocator cannot run

Each message says what happened and what to do next; the command line prints it without a traceback.
"""

from __future__ import annotations

from store.errors import OnsaleError

__all__ = ["FrontDoorError", "OnsaleError"]


class FrontDoorError(OnsaleError):
    """Something onsale needs on this machine is not there."""
