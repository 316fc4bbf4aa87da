"""`python -m allocator.fleet`: this host's agent and its workers, until SIGTERM."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from types import FrameType

from allocator.fleet.host import Agent
from allocator.fleet.planner import Planner
from allocator.fleet.settings import HostSettings
from store import logs
from store.errors import OnsaleError

log = logging.getLogger("onsale.fleet")


def main() -> int:
    """The exit code: 2 where a setting, or the host's name, is refused."""
    logs.begin("worker")
    stop = threading.Event()

    def ask_to_stop(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, ask_to_stop)
    try:
        settings = HostSettings.from_env()
        with Planner(settings.engines.database_url) as planner:
            Agent(settings, planner).run(stop)
    except OnsaleError as error:
        log.critical("%s", error)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
