"""`python -m onsale.chores.worker NAME…`: RQ's worker for these chores' queues, until SIGTERM.

Each run is a process of its own, forked by RQ: it opens connections of its own and shares none with others.
It ends when this process does, however that ends; on SIGTERM it is told to stop, so long chores do.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import sys
import threading
from typing import Final

from redis.exceptions import RedisError
from rq import Queue, Worker
from rq.job import Job
from rq.serializers import JSONSerializer
from rq.utils import now

from onsale.chores import run
from onsale.chores.catalogue import chores
from onsale.chores.settings import ChoreSettings
from store.stream.redis_stream import connect as connect_redis

log = logging.getLogger("onsale.chores")

LOOK_SECONDS: Final = 0.5
AWAY_SECONDS_MAX: Final = 5.0
"""Longest pause between tries while RQ's Redis is away."""
MONITOR_SECONDS: Final = 10
IDLE_SECONDS: Final = 75
"""RQ blocks for a quarter of a minute less than this, and so notices a Redis that went away silently."""
EXIT_PARENT_GONE: Final = 78


class ChoreWorker(Worker):
    """RQ's, whose runs live no longer than it, stop when it is asked to, and have failed when killed."""

    max_connection_wait_time = AWAY_SECONDS_MAX

    def main_work_horse(self, job: Job, queue: Queue) -> None:
        """In the forked process."""
        parent = os.getppid()
        threading.Thread(target=_end_with, args=(parent,), name="watches the worker", daemon=True).start()
        super().main_work_horse(job, queue)

    def handle_warm_shutdown_request(self) -> None:
        """The run under way is asked to stop; RQ waits for it."""
        super().handle_warm_shutdown_request()  # type: ignore[no-untyped-call]
        if self.horse_pid:
            os.kill(self.horse_pid, signal.SIGTERM)

    def handle_work_horse_killed(
        self, job: Job, retpid: int, ret_val: int, rusage: resource.struct_rusage
    ) -> None:
        """The run's process is gone (killed, out of memory, or by RQ because it hung)."""
        super().handle_work_horse_killed(job, retpid, ret_val, rusage)  # type: ignore[no-untyped-call]
        begun = job.started_at or now()
        run.was_killed(
            str(job.args[0]), ChoreSettings.from_env(), retpid or 0, (now() - begun).total_seconds()
        )


def _end_with(parent: int) -> None:
    wait = threading.Event()
    while os.getppid() == parent:
        wait.wait(LOOK_SECONDS)
    os._exit(EXIT_PARENT_GONE)


def main(names: list[str]) -> int:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    settings = ChoreSettings.from_env()
    for chore in chores():
        if chore.name in names:
            chore.load()  # before the fork: a run begins at once
    client = connect_redis(settings.rq_url)
    listened = [chore.queue for chore in chores() if chore.name in names]
    queues = [Queue(name, connection=client, serializer=JSONSerializer) for name in listened]
    try:
        worker = ChoreWorker(
            queues,
            connection=client,
            serializer=JSONSerializer,
            worker_ttl=IDLE_SECONDS,
            job_monitoring_interval=MONITOR_SECONDS,
            log_job_description=False,
        )
        worker.work(logging_level="WARNING")
    except RedisError as error:
        log.warning("RQ's Redis does not answer: %s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
