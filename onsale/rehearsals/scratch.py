"""Where a rehearsal writes: one folder for its engines' data and logs, gone when the rehearsal is over.

It is made in `ONSALE_REHEARSAL_DIR`, else where this system keeps temporary files, and it is the rehearsal's
`TMPDIR`, so nothing is written anywhere else: not beside the code, which may be read-only. What a killed host
left there is removed by the next one. A disk it should be: in memory engines wait for no disk, and the
figures of a rehearsal come out better than a sale's.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from onsale.errors import FrontDoorError
from store.rehearsals.words import SECONDS_MAX

PREFIX: Final = "onsale-rehearsal-"
FREE_BYTES_MIN: Final = 1 << 30
"""Postgres takes 512 MiB to begin with; the largest rehearsal writes less than that on top of it."""
LEFT_SECONDS: Final = 4 * SECONDS_MAX
"""No rehearsal lasts so long: a folder that is older was left behind."""


class NowhereToWrite(FrontDoorError):
    """A rehearsal has no folder for its throwaway engines."""


@contextmanager
def folder(environ: Mapping[str, str]) -> Iterator[Path]:
    """An empty folder of its own; raises `NowhereToWrite`, which says what to set."""
    chosen = environ.get("ONSALE_REHEARSAL_DIR")
    try:
        within = Path(chosen) if chosen else Path(tempfile.gettempdir())
        _clear(within)
        made = Path(tempfile.mkdtemp(prefix=PREFIX, dir=within))
    except OSError as error:
        where = chosen or "the folder for temporary files"
        raise NowhereToWrite(
            f"A rehearsal keeps its engines' data in {where}, which cannot be written: {error.strerror}. "
            f"Set ONSALE_REHEARSAL_DIR of the chores to a folder with {FREE_BYTES_MIN >> 30} GiB free."
        ) from error
    try:
        free = shutil.disk_usage(made).free
        if free < FREE_BYTES_MIN:
            raise NowhereToWrite(
                f"A rehearsal takes up to {FREE_BYTES_MIN >> 30} GiB in {within}, where {free >> 20} MiB are "
                "free. Free some, or set ONSALE_REHEARSAL_DIR of the chores to a folder on another disk."
            )
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _clear(within: Path) -> None:
    """Folders of rehearsals that nobody ended: their host was killed."""
    for left in within.glob(f"{PREFIX}*"):
        try:
            old = time.time() - left.stat().st_mtime > LEFT_SECONDS
        except OSError:
            continue  # its own rehearsal has just removed it
        if old:
            shutil.rmtree(left, ignore_errors=True)
