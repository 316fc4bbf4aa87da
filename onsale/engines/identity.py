"""As whom an engine runs: PostgreSQL refuses to run as root, and root is common in containers."""

from __future__ import annotations

import enum
import functools
import os
import subprocess
import sys
from pathlib import Path

from onsale.engines.errors import BinariesMissing
from store.jobs import launch
from store.jobs.crew import LAUNCHER


class Identity(enum.StrEnum):
    """How the launcher changes who a child is; the values are its arguments."""

    SELF = "self"
    NAMESPACE = "namespace"
    NOBODY = "nobody"

    @property
    def owner(self) -> int | None:
        """The uid that must own the engine's files as the host sees it; None: leave them alone."""
        return {Identity.SELF: None, Identity.NAMESPACE: 0, Identity.NOBODY: launch.NOBODY}[self]


@functools.cache
def engine_identity() -> Identity:
    """The best identity this machine permits: ourselves unless root, then a user namespace, then nobody."""
    if os.geteuid() != 0:
        return Identity.SELF
    if not sys.platform.startswith("linux"):
        return Identity.NOBODY
    probe = subprocess.run(
        launch_arguments(Identity.NAMESPACE, 9),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return Identity.NAMESPACE if probe.returncode == 0 else Identity.NOBODY


def launch_arguments(identity: Identity, death_signal: int, *program: str | Path) -> list[str]:
    """The command line that becomes `program` under `identity`, tied to this process."""
    return [*LAUNCHER, str(os.getpid()), identity, str(int(death_signal)), "--", *map(str, program)]


def hand_over(folder: Path, identity: Identity) -> None:
    """Makes everything in `folder` belong to `identity` (root only; nothing happens when it already does)."""
    owner = identity.owner
    if owner is None or folder.stat().st_uid == owner:
        return
    for parent, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            os.chown(os.path.join(parent, name), owner, owner, follow_symlinks=False)
    os.chown(folder, owner, owner)


def require_reachable(path: Path, identity: Identity, variable: str) -> None:
    """Raises BinariesMissing when `nobody` could not walk to `path`: its own error would name no reason."""
    if identity is not Identity.NOBODY:
        return
    for folder in path.resolve().parents:
        status = folder.stat()
        if not (status.st_mode & 0o001 or (status.st_uid == launch.NOBODY and status.st_mode & 0o100)):
            raise BinariesMissing(
                "Running as root without user namespaces, the engine runs as nobody, who may not enter "
                f"{folder}. Run as a normal user, put the repository and its data elsewhere, "
                f"or set {variable}."
            )
