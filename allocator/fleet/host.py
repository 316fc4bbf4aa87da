"""A host's agent: enlists it, keeps its RQ workers running, and has each worker that is wanted here begun.

What is wanted stands in Postgres, and the agent reads it anew each second: it enqueues a job for each row
that no process is, so wiping RQ's Redis costs a second, and being told twice costs nothing
(`allocator.fleet.job`). Who owns an event and who takes it over never waits for the agent. Its workers end
with it.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Final, Protocol
from uuid import UUID

import psutil
import psycopg
import redis
from rq import Queue
from rq.serializers import JSONSerializer

from allocator.fleet.settings import HostSettings
from allocator.lease import Connection
from store import __version__
from store.database import connect, connect_to_own
from store.errors import Unavailable
from store.fleet import hosts, workers
from store.fleet.hosts import Host, HostTaken, Standing
from store.fleet.workers import Running
from store.jobs.crew import Crew, Hand
from store.processes import machine, process_name
from store.stream.redis_stream import connect as connect_redis

log = logging.getLogger("onsale.fleet")

JOB: Final = "allocator.fleet.job.attend"
SLOT: Final = "allocator.fleet.slot"
TURN_SECONDS: Final = 1.0
LEAVE_SECONDS_MAX: Final = 15.0
"""So long workers have to hand over what they own when the agent is stopped."""
RQ_SECONDS_MAX: Final = 1.0
"""Longest wait for RQ's Redis: beating and planning go on while it is away."""
RQ_AWAY_SECONDS: Final = 3.0
"""Pause between tries while it is."""
FAILED_SECONDS: Final = 600
"""So long RQ keeps a failed job to look at."""
FOREVER: Final = -1
SAYS: Final = {
    Standing.TAKES: "no longer draining",
    Standing.DRAINS: "draining: nothing new begins here",
    Standing.LAST_RESORT: "draining, but no other host is there: what is on sale stays here until one is",
}


class Planner(Protocol):
    """Whoever says which workers there are to be (`allocator.fleet.planner`)."""

    def turn(self) -> object:
        """Plan, unless another host does in this moment. May raise what Postgres raises."""


class Agent:
    """One host's. `run` blocks; `say` is told what happens, in plain words."""

    def __init__(
        self, settings: HostSettings, planner: Planner, say: Callable[[str], None] = log.info
    ) -> None:
        self._settings = settings
        self._planner = planner
        self._say = say
        self._host = Host(settings.host, settings.slots, process_name(), __version__)
        self._conn: Connection | None = None
        self._rq = Enlister(settings)
        self._known: dict[UUID, Running] = {}
        self._standing = Standing.TAKES

    def run(self, stop: threading.Event) -> None:
        """Until `stop`. Raises `HostTaken` where another agent has the name, `BehindPooler` where Postgres is
        reached by way of one, and `Unavailable` where it does not answer from the beginning."""
        with connect_to_own(self._settings.engines.database_url, "onsale fleet host") as conn:
            conn.autocommit = True
            self._enlist(conn, stop)
        slots = range(1, self._host.slots + 1)
        crew = Crew([Hand(SLOT, [], f"the worker of slot {number}", log) for number in slots])
        try:
            while not stop.is_set():
                crew.look()
                self.look(stop)
                stop.wait(TURN_SECONDS)
        finally:
            self._leave(crew)

    def _enlist(self, conn: Connection, stop: threading.Event) -> None:
        """A predecessor that gives signs of life keeps the name; of one that does not it waits to be sure."""
        gone, seen_at = None, None
        while True:
            try:
                hosts.enlist(conn, self._host, gone=gone)
                break
            except HostTaken as taken:
                lives = seen_at is not None and taken.seen_at != seen_at
                seen_at = taken.seen_at
                if _is_gone(taken.process):
                    gone = taken.process
                elif lives or stop.wait(TURN_SECONDS):
                    raise
        self._say(f"host {self._host.name} is there, with {self._host.slots} slots")

    def look(self, stop: threading.Event) -> None:
        """One turn, but for the crew. What fails is tried again in the next."""
        try:
            if self._conn is None:
                self._conn = connect(self._settings.engines.database_url, "onsale fleet host")
                self._conn.autocommit = True
            self._turn(self._conn, stop)
        except (Unavailable, psycopg.OperationalError) as error:
            log.warning("Postgres does not answer: %s; what runs goes on", error)
            self._disconnect()
        except psycopg.Error:
            log.exception("ALERT: this host cannot say that it is there; what runs goes on")
            self._disconnect()

    def _turn(self, conn: Connection, stop: threading.Event) -> None:
        memory = psutil.virtual_memory()
        standing = hosts.beat(
            conn,
            self._host,
            memory=memory.total - memory.available,
            memory_max=memory.total,
            load=os.getloadavg()[0] / (os.cpu_count() or 1),
        )
        if standing is None:
            self._enlist(conn, stop)  # it was taken for lost: suspended, or cut off
            return
        if standing != self._standing:
            self._standing = standing
            self._say(SAYS[standing])
        self._tell(self._bury(conn, workers.running(conn, self._host.name)))
        try:
            self._planner.turn()
        except (Unavailable, psycopg.OperationalError) as error:
            log.warning("the fleet cannot be planned: %s; what runs goes on", error)
        except Exception:
            log.exception("ALERT: the fleet cannot be planned; what runs goes on")
        self._rq.enqueue(workers.nobody_runs(conn, self._host.name))

    def _bury(self, conn: Connection, running: list[Running]) -> list[Running]:
        """Rows go whose processes are known to have ended without taking them along; those that live."""
        dead = [one for one in running if _is_gone(one.process)]
        workers.lost(conn, dead, self._host.process)
        for one in dead:
            self._say(f"{_told(one.worker)} is gone (process {one.process}); another is wanted in its place")
            self._known.pop(one.worker, None)
        return [one for one in running if one not in dead]

    def _tell(self, running: list[Running]) -> None:
        """What changed since the turn before."""
        for one in running:
            before = self._known.get(one.worker)
            if before is None:
                self._say(f"{_told(one.worker)} runs as process {one.process}")
            if one.events != (before.events if before else ()):
                self._say(f"{_told(one.worker)} attends to {', '.join(one.events) or 'nothing'}")
        for worker in self._known.keys() - {one.worker for one in running}:
            self._say(f"{_told(worker)} ended")
        self._known = {one.worker: one for one in running}

    def _leave(self, crew: Crew) -> None:
        """The host goes first, so that nothing is planned on it; its workers hand over and end."""
        self._say("stopping: workers hand over what they own")
        self._with_postgres(lambda conn: hosts.leave(conn, self._host))
        crew.stop(LEAVE_SECONDS_MAX)
        self._with_postgres(lambda conn: self._bury(conn, workers.running(conn, self._host.name)))
        self.close()
        self._say(f"host {self._host.name} has left")

    def _with_postgres(self, do: Callable[[Connection], object]) -> None:
        """Where it does not answer, others notice in a while that this host is gone."""
        try:
            with connect(self._settings.engines.database_url, "onsale fleet host") as conn:
                conn.autocommit = True
                do(conn)
        except (Unavailable, psycopg.OperationalError) as error:
            log.warning("Postgres does not answer: %s", error)

    def _disconnect(self) -> None:
        if self._conn is not None:
            self._conn.close()
        self._conn = None

    def close(self) -> None:
        """Its connections end."""
        self._disconnect()
        self._rq.close()


class Enlister:
    """Puts workers that are wanted into RQ's queue of this host, unless they wait there."""

    def __init__(self, settings: HostSettings) -> None:
        self._queue_name = settings.queue
        self._client = connect_redis(settings.rq_url, seconds_max=RQ_SECONDS_MAX)
        self._again_at = 0.0

    def enqueue(self, wanted: list[UUID]) -> None:
        """A job for each that has none waiting. RQ's Redis may be away: those wait for the next turn."""
        if not wanted or time.monotonic() < self._again_at:
            return
        try:
            queue = Queue(self._queue_name, connection=self._client, serializer=JSONSerializer)
            waiting = {job_id.partition("_")[0] for job_id in queue.get_job_ids()}
            for worker in wanted:
                if str(worker) not in waiting:
                    self._enqueue(queue, worker)
        except (redis.RedisError, OSError) as error:
            log.warning("RQ's Redis does not answer: %r; %d workers wait to begin", error, len(wanted))
            self._again_at = time.monotonic() + RQ_AWAY_SECONDS

    def _enqueue(self, queue: Queue, worker: UUID) -> None:
        queue.enqueue(
            JOB,
            str(worker),
            job_id=f"{worker}_{time.time_ns()}",
            job_timeout=FOREVER,
            result_ttl=0,
            failure_ttl=FAILED_SECONDS,
            description=f"worker {worker}",
        )

    def close(self) -> None:
        self._client.close()


def _told(worker: UUID) -> str:
    """As people are told of it: the beginning of its id is enough to tell it from others."""
    return f"worker {str(worker)[:8]}"


def _is_gone(process: str) -> bool:
    """Whether a process of this machine has ended; of another machine's nothing is known here."""
    where, _, pid = process.rpartition(":")
    if where != machine() or not pid.isdigit():
        return False
    try:
        return psutil.Process(int(pid)).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
    except psutil.Error:
        return False
