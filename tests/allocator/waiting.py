"""A statement that waits for a lock, so that a test can look at which locks its transaction has by then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

SECONDS_MAX = 30
WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
)

Conn = psycopg.Connection[Any]


@contextmanager
def held_up(database_url: str, lock: str, change: Callable[[], object]) -> Iterator[Conn]:
    """`change` runs beside and waits for what `lock` locks; yields the connection that makes it wait.

    When the block ends `change` goes on to its end; what it raises is raised here.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            change()
        except BaseException as error:
            raised.append(error)

    beside = threading.Thread(target=run)
    with psycopg.connect(database_url) as other, psycopg.connect(database_url, autocommit=True) as watcher:
        other.execute(lock)
        beside.start()
        deadline = time.monotonic() + SECONDS_MAX
        while watcher.execute(WAITING).fetchone() == (0,):
            assert beside.is_alive(), f"it did not wait for {lock}: {raised}"
            assert time.monotonic() < deadline, f"nobody waits for {lock}"
        try:
            yield other
        finally:
            other.rollback()
            beside.join(timeout=SECONDS_MAX)
    if raised:
        raise raised[0]


def until_waiting(conn: Conn, count: int) -> None:
    """Until so many statements of this database wait for locks."""
    deadline = time.monotonic() + SECONDS_MAX
    while conn.execute(WAITING).fetchone() != (count,):
        assert time.monotonic() < deadline, f"{count} should wait"


def is_free(conn: Conn, rows: str) -> bool:
    """Whether nobody has locked `rows` (`FROM … WHERE …`). Locks nothing for longer than this question."""
    try:
        with conn.transaction(force_rollback=True):
            conn.execute(f"SELECT 1 {rows} FOR UPDATE NOWAIT")
    except psycopg.errors.LockNotAvailable:
        return False
    return True
