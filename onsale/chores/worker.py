"""`python -m onsale.chores.worker NAME…`: RQ's worker for these chores' queues, until SIGTERM.

Each run is a process of its own (`store.jobs.worker`); one that was killed is written down as failed.
"""

from __future__ import annotations

import resource
import sys

from rq.job import Job
from rq.utils import now

from onsale.chores import run
from onsale.chores.catalogue import chores
from onsale.chores.settings import ChoreSettings
from store import logs
from store.jobs.worker import TiedWorker, work


class ChoreWorker(TiedWorker):
    """Whose runs have failed when they were killed."""

    def handle_work_horse_killed(
        self, job: Job, retpid: int, ret_val: int, rusage: resource.struct_rusage
    ) -> None:
        """The run's process is gone (killed, out of memory, or by RQ because it hung)."""
        super().handle_work_horse_killed(job, retpid, ret_val, rusage)  # type: ignore[no-untyped-call]
        begun = job.started_at or now()
        run.was_killed(
            str(job.args[0]), ChoreSettings.from_env(), retpid or 0, (now() - begun).total_seconds()
        )


def main(names: list[str]) -> int:
    logs.begin("chores")
    settings = ChoreSettings.from_env()
    listened = [chore for chore in chores() if chore.name in names]
    for chore in listened:
        chore.load()  # before the fork: a run begins at once
    return work(ChoreWorker, settings.rq_url, [chore.queue for chore in listened])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
