"""`python -m onsale.chores.heard`: exit code 0 while the chores go on, for their health check.

Two things must hold. This host's process turns: the file that `ONSALE_CHORES_BEAT` names is given a new time
at each turn of its loop (without that setting nothing is known of one host). And no chore stands still: each
ran, wherever, when it should have (`store.chores.runs`), which needs Postgres, RQ's Redis and a worker that
takes runs. A chore that runs and fails is not a reason: whoever it asks may be away, and starting it anew
would not help; `./run chores` and an alert tell that.
"""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import Final

import psycopg

from onsale.chores.catalogue import chores
from onsale.chores.settings import ChoreSettingNotValid, ChoreSettings
from onsale.errors import OnsaleError
from store.chores import runs

SILENT_SECONDS: Final = 30.0
"""Longer than a turn that waits for an engine until it gives up."""
CONNECT_SECONDS_MAX: Final = 3


class Beat:
    """The file; without one nothing is written."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    @classmethod
    def begin(cls, path: Path | None) -> Beat:
        """Gives the first sign; raises `ChoreSettingNotValid` where none can be given."""
        try:
            if path is not None:
                path.touch()
        except OSError as error:
            raise ChoreSettingNotValid(
                f"ONSALE_CHORES_BEAT names {path}, which cannot be written: {error.strerror}. Name a file in "
                "a folder that is there and that this process may write."
            ) from error
        return cls(path)

    def give(self) -> None:
        """Where it fails (a full disk) the health check finds the file too old, and the chores go on."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.touch()

    def end(self) -> None:
        """No sign is expected any more, nor believed."""
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)


def silent(path: Path | None) -> str | None:
    """What is wrong with this host's process, if anything."""
    if path is None:
        return None
    try:
        age_seconds = time.time() - path.stat().st_mtime
    except OSError:
        return f"the chores' process does not run here: there is no {path}"
    if age_seconds > SILENT_SECONDS:
        return f"the chores' process gave no sign of life for {age_seconds:.0f} s"
    return None


def standing(conn: runs.Conn) -> str | None:
    """Which chores do not run when they should, if any, whichever host runs them."""
    ours = {chore.name for chore in chores()}
    found = [run for run in runs.read(conn) if run.chore in ours]
    if not found:
        return "no chore was ever planned here"
    late = [run.chore for run in found if run.late]
    return f"did not run when they should have: {', '.join(late)}" if late else None


def main() -> int:
    try:
        settings = ChoreSettings.from_env()
        wrong = silent(settings.beat)
        if wrong is None:
            url = settings.engines.database_url
            with psycopg.connect(url, connect_timeout=CONNECT_SECONDS_MAX, autocommit=True) as conn:
                wrong = standing(conn)
    except OnsaleError as error:
        wrong = str(error)
    except psycopg.Error as error:
        wrong = f"Postgres does not answer: {type(error).__name__}"
    print(wrong or "the chores go on", file=sys.stderr)
    return 0 if wrong is None else 1


if __name__ == "__main__":
    sys.exit(main())
