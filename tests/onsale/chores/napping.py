"""A worker, as a program of its own, for one long chore that says where it runs and waits to be stopped."""

from __future__ import annotations

import os
import sys
import threading

import psycopg

from onsale.chores import catalogue, worker
from onsale.chores.catalogue import Chore

NAP = Chore("nap", "waits", 1, "tests.onsale.chores.napping:nap", long=True)


def nap(database_url: str, stop: threading.Event) -> None:
    with psycopg.connect(database_url, autocommit=True) as conn:
        conn.execute("INSERT INTO napping (pid) VALUES (%s)", (os.getpid(),))
        stop.wait()
        conn.execute("UPDATE napping SET ended = true WHERE pid = %s", (os.getpid(),))


if __name__ == "__main__":
    catalogue.LONG = (NAP,)  # type: ignore[misc]
    sys.exit(worker.main(["nap"]))
