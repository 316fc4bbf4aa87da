"""The long chore that runs rehearsals: takes one when there is one, in a process of its own.

The process is a program (`python -m onsale.rehearsals`) with an environment that names none of this onsale's
engines, keys or providers: what it starts is a throwaway, and can be nothing else. It has the least of the
machine's time, writes into one folder (`scratch`), ends with this process, and is ended when it takes too
long.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import psycopg

from onsale.engines.data_dir import REPOSITORY
from onsale.engines.identity import Identity, launch_arguments
from onsale.rehearsals import scratch
from store.database import connect
from store.errors import Unavailable
from store.rehearsals import rows
from store.rehearsals.rows import Taken
from store.rehearsals.words import SECONDS_MAX

log = logging.getLogger("onsale.chores")

LOOK_SECONDS: Final = 1.0
ALIVE_SECONDS: Final = 5.0
STOP_SECONDS_MAX: Final = 15.0
NICE: Final = 15
OURS: Final = ("ONSALE_", "DATABASE_URL", "REDIS_URL", "PG")
"""How the names of what belongs to this onsale begin."""


def run(database_url: str, stop: threading.Event) -> None:
    """Until `stop`."""
    while not stop.wait(LOOK_SECONDS):
        try:
            with connect(database_url, "onsale rehearsals") as conn:
                conn.autocommit = True
                while not stop.wait(LOOK_SECONDS):
                    taken = rows.take(conn)
                    if taken is not None:
                        _run(conn, database_url, taken, stop)
        except (Unavailable, psycopg.OperationalError) as error:
            log.warning("rehearsals wait: %s", error)


def bare(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without anything of this onsale."""
    return {name: value for name, value in environ.items() if not name.startswith(OURS)}


def _run(conn: rows.Conn, database_url: str, taken: Taken, stop: threading.Event) -> None:
    try:
        with scratch.folder(os.environ) as folder:
            why = _rehearse(conn, database_url, taken, stop, folder)
    except scratch.NowhereToWrite as error:
        log.warning("a rehearsal of %s cannot begin: %s", taken.event, error)
        why = str(error)
    rows.end(conn, taken.id, error=why or "It ended without a result; see the chores' log.")


def _rehearse(
    conn: rows.Conn, database_url: str, taken: Taken, stop: threading.Event, folder: Path
) -> str | None:
    """Until its process has ended; why it had to be, if it had."""
    process = subprocess.Popen(
        launch_arguments(
            Identity.SELF, signal.SIGKILL, sys.executable, "-m", "onsale.rehearsals", str(taken.id)
        ),
        stdin=subprocess.PIPE,
        cwd=REPOSITORY,
        env={**bare(os.environ), "PYTHONPATH": str(REPOSITORY), "TMPDIR": str(folder)},
        start_new_session=True,
    )
    try:
        assert process.stdin is not None, "it was started with a pipe"
        process.stdin.write(f"{database_url}\n{taken.event}\n{taken.buyers}\n{taken.sized_for}\n".encode())
        process.stdin.close()
        return _watch(conn, taken.id, process, stop)
    finally:
        _end(process)  # also where Postgres went away: the next one would run beside it


def _watch(
    conn: rows.Conn, rehearsal_id: int, process: subprocess.Popen[bytes], stop: threading.Event
) -> str | None:
    """Until it has ended by itself, or is to be ended: why."""
    give_up_at = time.monotonic() + SECONDS_MAX
    while process.poll() is None:
        if stop.wait(ALIVE_SECONDS):
            return "The chores were stopped; ask for it again."
        if not rows.alive(conn, rehearsal_id):
            return "It counted as over."
        if time.monotonic() > give_up_at:
            return f"It took longer than {SECONDS_MAX} s. Rehearse with fewer buyers."
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """The same where it has ended by itself."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
