"""Where the tests write: in memory where that has room, for what they wait for most is a disk.

Nothing is turned off: every engine still syncs what it promises, to a file system on which that takes
microseconds. What a test can take away (a process, a connection, a server) it takes away as before; no test
can take the machine's power away. A `TMPDIR` of the caller's own stands.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

MEMORY = Path("/dev/shm")
ROOM_BYTES_MIN = 6 * 1024**3
"""What the whole suite may need: one Postgres with two gigabytes of log, and those of single tests."""
PREFIX = "onsale-tests-"


def use() -> None:
    """Sets where temporary files go, for this process and those it starts."""
    if "TMPDIR" not in os.environ and has_room(MEMORY):
        os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)


def has_room(folder: Path) -> bool:
    """Whether the file system of `folder`, which is memory, may be filled with what the suite needs."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    room = min(shutil.disk_usage(folder).free, psutil.virtual_memory().available)
    return room >= ROOM_BYTES_MIN


@contextlib.contextmanager
def own_folder() -> Iterator[Path]:
    """A folder for as long as the block lasts; those that killed runs left behind are removed."""
    home = Path(tempfile.mkdtemp(prefix=PREFIX))
    with _held(home) as ours:
        assert ours, "nobody else knows a folder just made"
        _remove_left_behind(home.parent)
        yield home
        shutil.rmtree(home, ignore_errors=True)


def _remove_left_behind(parent: Path) -> None:
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), _held(folder) as nobodys:
            if nobodys:
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[bool]:
    """Holds a lock on the folder, which ends with the process; False where another process holds it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)
