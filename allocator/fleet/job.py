"""A worker: one process that attends to the events its row in Postgres was assigned, until it is to stop.

RQ calls `attend` in the process it made for that, and nothing after that depends on RQ. The row is claimed by
one process; what is told twice ends at once. Told to stop (its row says so, or SIGTERM) it first lets who
follows the ledger elsewhere take what it owns, for a bounded time, and then gives the rest back. Without
its row it stops at once: somebody took it for lost and wants another.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Final
from uuid import UUID

import psutil
import psycopg

from allocator.attend import Assigned, Attendance, settle_process
from allocator.lease import Connection
from store.database import connect
from store.errors import Unavailable
from store.fleet import handing_on, workers
from store.processes import process_name
from store.settings import EngineUrls

log = logging.getLogger("onsale.allocator")

REPORT_SECONDS: Final = 1.0
HAND_ON_SECONDS_MAX: Final = 4.0
"""So long others have to take what this process owns, before it gives it back to whoever is quicker."""
OWED_LOOK_SECONDS: Final = 0.05


def attend(worker: str) -> None:
    """A worker, as RQ asks for it, by its row's id."""
    stop, leave = threading.Event(), threading.Event()

    def ask_to_leave(_signal: int, _frame: FrameType | None) -> None:
        leave.set()

    signal.signal(signal.SIGTERM, ask_to_leave)
    settle_process()
    run(EngineUrls.from_env(), UUID(worker), stop=stop, leave=leave)


def run(
    urls: EngineUrls,
    worker: UUID,
    *,
    stop: threading.Event,
    leave: threading.Event,
    attendance: Callable[[EngineUrls, str], Attendance] = Attendance,
) -> None:
    """Be that worker until it is to end; `leave` asks for that as the row does, `stop` ends it now."""
    process = process_name()
    with connect(urls.database_url, "onsale fleet worker") as conn:
        conn.autocommit = True
        if not workers.claim(conn, worker, process):
            log.info("worker %s is another process's already, or wanted no more", worker)
            return
    attending = attendance(urls, process)
    reporter = _Reporter(urls.database_url, worker, process, attending, stop, leave)
    reporter.start()
    log.info("worker %s is process %s", worker, process)
    try:
        attending.run(lambda conn: _wanted(conn, worker), stop)
    finally:
        stop.set()
        leave.set()
        reporter.join()
        _ended(urls.database_url, worker, process)


def _wanted(conn: Connection, worker: UUID) -> list[Assigned]:
    return [Assigned(*each) for each in workers.assigned_to(conn, worker)]


def _ended(database_url: str, worker: UUID, process: str) -> None:
    """Where Postgres does not answer, the row is taken for lost in a while."""
    try:
        with connect(database_url, "onsale fleet worker") as conn:
            workers.ended(conn, worker, process)
    except (Unavailable, psycopg.OperationalError) as error:
        log.warning("that worker %s ended cannot be written down: %s", worker, error)


class _Reporter(threading.Thread):
    """Says each second how the worker is, and hears whether it is to stop. No batch waits for it."""

    def __init__(
        self,
        database_url: str,
        worker: UUID,
        process: str,
        attending: Attendance,
        stop: threading.Event,
        leave: threading.Event,
    ) -> None:
        super().__init__(name="fleet-reporter", daemon=True)
        self._database_url = database_url
        self._worker = worker
        self._process = process
        self._attending = attending
        self._stop_asked = stop
        self._leave = leave
        self._self = psutil.Process()
        self._busy = (time.monotonic(), 0.0)

    def run(self) -> None:
        while not self._stop_asked.is_set():
            try:
                with connect(self._database_url, "onsale fleet worker") as conn:
                    conn.autocommit = True
                    self._report_until_leaving(conn)
                    self._hand_on(conn)
            except (Unavailable, psycopg.OperationalError) as error:
                log.warning("worker %s cannot say how it is: %s", self._worker, error)
            except Exception:
                log.exception("ALERT: worker %s cannot say how it is; trying again", self._worker)
            if self._leave.wait(REPORT_SECONDS):
                self._stop_asked.set()  # leaving does not wait for a Postgres that is away

    def _report_until_leaving(self, conn: Connection) -> None:
        while not self._stop_asked.is_set():
            told_to_stop = workers.beat(
                conn, self._worker, self._process, memory=self._self.memory_info().rss, cpu=self._cores()
            )
            if told_to_stop is None:
                log.warning("worker %s was taken for lost; this process ends", self._worker)
                self._stop_asked.set()
            elif told_to_stop:
                log.info("worker %s is to stop", self._worker)
                self._leave.set()
            self._report(conn)
            if self._leave.wait(REPORT_SECONDS):
                return

    def _report(self, conn: Connection) -> None:
        workers.report_warm(conn, self._worker, self._attending.warm())
        workers.report_loads(conn, self._worker, self._process, self._attending.loads())

    def _cores(self) -> float:
        """In use since this was asked before."""
        times = self._self.cpu_times()
        now, spent = time.monotonic(), times.user + times.system
        (before, spent_before), self._busy = self._busy, (now, spent)
        return (spent - spent_before) / max(now - before, 0.001)

    def _hand_on(self, conn: Connection) -> None:
        """Others take what they can; then this process ends."""
        if self._stop_asked.is_set():
            return
        handing_on.hand_on(conn, self._worker, self._process)
        until = time.monotonic() + HAND_ON_SECONDS_MAX
        while handing_on.owed(conn, self._worker, self._process) and time.monotonic() < until:
            self._stop_asked.wait(OWED_LOOK_SECONDS)
        self._stop_asked.set()
