"""How a process is named in rows: its machine and its id there, so that everybody knows which one it is.

A hostname is not enough of a machine: copies of a virtual machine have the same one, and so may containers,
in which ids are the same too. So a machine is its hostname with a mark of the kernel that runs and of the
namespace its process ids are of: where two such names are alike, the ids are of one namespace.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from functools import cache
from pathlib import Path
from typing import Final

BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
NAMESPACE: Final = Path("/proc/self/ns/pid")
MARK_LENGTH: Final = 8


@cache
def machine() -> str:
    """This machine, as in `hall-2/5c1f09ab`. Where it does not tell, every process is of one of its own: then
    none is known to have ended, and who is not heard of is found out by that."""
    try:
        mark = f"{BOOT.read_text().strip()} {NAMESPACE.stat().st_ino}"
    except OSError:
        mark = secrets.token_hex()
    return f"{socket.gethostname()}/{hashlib.sha256(mark.encode()).hexdigest()[:MARK_LENGTH]}"


def process_name(pid: int | None = None) -> str:
    """Machine and process (this one)."""
    return f"{machine()}:{os.getpid() if pid is None else pid}"
