"""Why an embedded engine cannot run.

EngineError
├── BinariesMissing          no engine binaries for this platform, or not runnable by this user
├── DataDirInUse             another onsale works in the data directory
├── DataDirNotOurs           the data directory holds something else
├── DataDirOfAnotherVersion  written by another major version of Postgres
├── DiskFull                 not enough room for the data directory
├── PortTaken                the port asked for belongs to someone else
└── EngineDidNotStart        anything else, with the engine's last words
"""

from __future__ import annotations

from onsale.errors import FrontDoorError


class EngineError(FrontDoorError):
    """An embedded engine cannot run."""


class BinariesMissing(EngineError):
    """The engine's binaries are not there or cannot be run by this user."""


class DataDirInUse(EngineError):
    """Another onsale is working in this data directory."""


class DataDirNotOurs(EngineError):
    """The directory holds files that onsale did not make."""


class DataDirOfAnotherVersion(EngineError):
    """The data directory was written by another major version of the engine."""


class DiskFull(EngineError):
    """The disk has no room left for the engine."""


class PortTaken(EngineError):
    """The port is used by another program."""


class EngineDidNotStart(EngineError):
    """The engine ended, or stayed unreachable, while it was starting."""
