"""The chore that keeps samples and tallies: every `SAMPLE_SECONDS` a row for each event that sells or lets
buyers join, and what is new in its ledger counted, each at a pace of its own (`store.console.now.Pace`).

It reads without locking and has no transaction open; nobody waits for it, and no decision depends on it.
Killed anywhere, it goes on from what is written; twice at once it writes no more than once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

import psycopg

from store.console import samples, tally
from store.console.now import Conn, Pace, Reader
from store.database import OPTIONS

log = logging.getLogger("onsale.console")

AWAY_SECONDS: Final = 1.0
COUNT_SECONDS: Final = 1
THIN_SECONDS: Final = 60


def run(database_url: str, stop: threading.Event) -> None:
    """Keep samples until told to stop; returns within a reading of that."""
    while not stop.is_set():
        try:
            with _connect(database_url) as conn:
                _follow(conn, stop)
        except psycopg.OperationalError as error:
            log.warning("samples wait for the database: %s", error)
            stop.wait(AWAY_SECONDS)


def _connect(database_url: str) -> Conn:
    return psycopg.connect(
        database_url, autocommit=True, application_name="onsale samples", options=OPTIONS, connect_timeout=3
    )


def _follow(conn: Conn, stop: threading.Event) -> None:
    reader = Reader(conn)
    works: list[tuple[Pace, Callable[[], object]]] = [
        (Pace(samples.SAMPLE_SECONDS), lambda: samples.write(conn, reader.sampled())),
        (Pace(COUNT_SECONDS), lambda: tally.count(conn)),
        (Pace(tally.BEGAN_SECONDS), lambda: tally.count_begun(conn)),
        (Pace(THIN_SECONDS), lambda: samples.thin(conn)),
    ]
    while not stop.is_set():
        for pace, work in works:
            if pace.due():
                with pace:
                    work()
        stop.wait(min(pace.left_seconds() for pace, _ in works))
