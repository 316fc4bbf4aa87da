"""RQ's worker, as onsale uses it: each run is a process of its own, forked, that shares no connection.

A run ends when its worker does, however that ends; on SIGTERM it is told to stop and waited for. While it
runs nothing it does waits for RQ's Redis: that may be wiped or away, and the run goes on and is watched all
the same.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any, Final

from redis.client import Pipeline
from redis.exceptions import RedisError
from rq import Queue, Worker
from rq.job import Job
from rq.serializers import JSONSerializer

from store.jobs import launch
from store.stream.redis_stream import connect as connect_redis

log = logging.getLogger("onsale.jobs")

LOOK_SECONDS: Final = 0.5
AWAY_SECONDS_MAX: Final = 5.0
"""Longest pause between tries while RQ's Redis is away."""
MONITOR_SECONDS: Final = 10
IDLE_SECONDS: Final = 75
"""RQ blocks for a quarter of a minute less than this, and so notices a Redis that went away silently."""


class TiedWorker(Worker):
    """RQ's, whose runs live no longer than it, stop when it is asked to, and outlive RQ's Redis."""

    max_connection_wait_time = AWAY_SECONDS_MAX

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        """In the forked process."""
        assert self.pid is not None, "a worker knows its process"
        _end_with(self.pid)
        super().main_work_horse(job, queue)

    def handle_warm_shutdown_request(self) -> None:
        """The run under way is asked to stop; RQ waits for it."""
        super().handle_warm_shutdown_request()  # type: ignore[no-untyped-call]
        if self.horse_pid:
            os.kill(self.horse_pid, signal.SIGTERM)

    def set_shutdown_requested_date(self) -> None:
        with contextlib.suppress(RedisError, OSError):
            super().set_shutdown_requested_date()  # type: ignore[no-untyped-call]

    def set_current_job_working_time(
        self, current_job_working_time: float, pipeline: Pipeline | None = None
    ) -> None:
        with contextlib.suppress(RedisError, OSError):
            super().set_current_job_working_time(current_job_working_time, pipeline)

    def maintain_heartbeats(self, job: Job) -> None:
        with contextlib.suppress(RedisError, OSError):
            super().maintain_heartbeats(job)


def _end_with(parent: int) -> None:
    """This process ends when its parent does: at once where the kernel knows how, else a moment later."""
    try:
        launch.die_with_parent(parent, signal.SIGKILL)
    except SystemExit:
        os._exit(launch.EXIT_PARENT_GONE)  # RQ takes an exception for the worker's own end
    if not sys.platform.startswith("linux"):
        threading.Thread(target=_watch, args=(parent,), name="watches the worker", daemon=True).start()


def _watch(parent: int) -> None:
    wait = threading.Event()
    while os.getppid() == parent:
        wait.wait(LOOK_SECONDS)
    os._exit(launch.EXIT_PARENT_GONE)


def work(kind: type[TiedWorker], rq_url: str, queues: Sequence[str], **options: Any) -> int:
    """Takes runs from these queues until SIGTERM: the exit code, 1 where RQ's Redis does not answer."""
    client = connect_redis(rq_url)
    try:
        worker = kind(
            [Queue(name, connection=client, serializer=JSONSerializer) for name in queues],
            connection=client,
            serializer=JSONSerializer,
            worker_ttl=IDLE_SECONDS,
            job_monitoring_interval=MONITOR_SECONDS,
            log_job_description=False,
            **options,
        )
        worker.work(logging_level="WARNING")
    except RedisError as error:
        log.warning("RQ's Redis does not answer: %s", error)
        return 1
    return 0
