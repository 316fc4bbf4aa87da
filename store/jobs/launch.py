"""Becomes the program it is given, after tying its life to the parent's and dropping what it may not have.

Started as a file with `python -I -S`, so it imports the standard library only and never a room:

    launch.py PARENT_PID IDENTITY DEATH_SIGNAL -- program arguments...

IDENTITY: `self` changes nothing. `namespace` is for root: the program runs in a user namespace of its own
where it is nobody (65534, mapped to the root outside, setgroups denied): PostgreSQL refuses uid 0, and
this way its files still belong to root. `nobody` is for root where user namespaces are forbidden.
DEATH_SIGNAL reaches the program when the thread that started it ends (Linux). It is set after the
identity, because the kernel clears it whenever credentials change.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import sys
from pathlib import Path

NOBODY = 65534
CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1
EXIT_NO_NAMESPACE = 77
EXIT_PARENT_GONE = 78
FILES_MAX = 65536


def enter_user_namespace() -> None:
    """Makes uid and gid 0 outside appear as nobody inside; raises OSError where that is forbidden."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWUSER) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{NOBODY} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{NOBODY} {gid} 1")


def become_nobody() -> None:
    """Gives up root for good."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def die_with_parent(parent_pid: int, death_signal: int) -> None:
    """Asks the kernel for `death_signal` when the parent dies; ends at once if it is dead already."""
    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    if os.getppid() != parent_pid:
        sys.exit(EXIT_PARENT_GONE)


def raise_file_limit() -> None:
    """Every socket is a file: takes what the hard limit allows, up to FILES_MAX."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, FILES_MAX)
    if soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def main(arguments: list[str]) -> None:
    parent_pid, identity, death_signal = int(arguments[0]), arguments[1], int(arguments[2])
    program = arguments[4:]
    raise_file_limit()
    if identity == "namespace":
        try:
            enter_user_namespace()
        except OSError as error:
            print(f"no user namespace: {error}", file=sys.stderr)
            sys.exit(EXIT_NO_NAMESPACE)
    elif identity == "nobody":
        become_nobody()
    os.umask(0o077)
    die_with_parent(parent_pid, death_signal)
    if program:
        os.execv(program[0], program)


if __name__ == "__main__":
    main(sys.argv[1:])
