"""The long chore that runs rehearsals: takes one when there is one, in a process of its own.

The process is a program (`python -m onsale.rehearsals`) with an environment that names none of this onsale's
engines, keys or providers: what it starts is a throwaway, and can be nothing else. It has the least of the
machine's time, ends with this process, and is ended when it takes too long.
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
from typing import Final

import psycopg

from onsale.engines.data_dir import REPOSITORY
from onsale.engines.identity import Identity, launch_arguments
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
    process = subprocess.Popen(
        launch_arguments(
            Identity.SELF, signal.SIGKILL, sys.executable, "-m", "onsale.rehearsals", str(taken.id)
        ),
        stdin=subprocess.PIPE,
        cwd=REPOSITORY,
        env={**bare(os.environ), "PYTHONPATH": str(REPOSITORY)},
        start_new_session=True,
    )
    assert process.stdin is not None, "it was started with a pipe"
    process.stdin.write(f"{database_url}\n{taken.event}\n{taken.buyers}\n{taken.sized_for}\n".encode())
    process.stdin.close()
    give_up_at, why = time.monotonic() + SECONDS_MAX, ""
    while process.poll() is None and not why:
        if stop.wait(ALIVE_SECONDS):
            why = "The chores were stopped; ask for it again."
        elif not rows.alive(conn, taken.id):
            why = "It counted as over."
        elif time.monotonic() > give_up_at:
            why = f"It took longer than {SECONDS_MAX} s. Rehearse with fewer buyers."
    if why:
        _end(process)
    rows.end(conn, taken.id, error=why or "It ended without a result; see the chores' log.")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
