"""`python -m allocator.fleet.slot`: RQ's worker for one slot of this host, until SIGTERM.

What a worker needs is imported before it is forked, so that one that is wanted is there in a moment.
"""

from __future__ import annotations

import gc
import sys

import allocator.fleet.job  # noqa: F401 - what RQ calls
from allocator.fleet.settings import HostSettings
from store import logs
from store.jobs.worker import TiedWorker, work


def main() -> int:
    logs.begin("worker")
    settings = HostSettings.from_env()
    gc.collect()
    gc.freeze()  # pages that all workers share stay shared
    return work(TiedWorker, settings.rq_url, [settings.queue])


if __name__ == "__main__":
    sys.exit(main())
