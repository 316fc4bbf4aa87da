"""`worker`: this machine is a host of a running onsale's fleet, until Ctrl-C.

It needs the engines of an onsale that runs: by DATABASE_URL and REDIS_URL, or those in the data directory.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from allocator.fleet.host import Agent
from allocator.fleet.planner import Planner
from allocator.fleet.settings import HostSettings
from onsale.commands.event_seats import DataDirOption
from onsale.commands.plainly import print_plainly, told_plainly
from onsale.engines import DataDir, default_data_dir
from onsale.errors import FrontDoorError
from store import migrate
from store.database import connect_to_own
from store.settings import EngineUrls

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class NothingRuns(FrontDoorError):
    """There is no onsale that a host could be added to."""


def worker(
    slots: Annotated[
        str, typer.Option("--slots", metavar="N", help="How many workers run here at most, 1 to 64.")
    ],
    name: Annotated[
        str, typer.Option("--name", metavar="HOST", help="The host's name; the machine's unless given.")
    ] = "",
    data_dir: DataDirOption = None,
) -> None:
    """Add this machine to a running onsale: it takes its share of events, and hands them over on Ctrl-C."""
    stop = threading.Event()

    def ask_to_stop(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    with told_plainly(False):
        urls = running_engines(data_dir or default_data_dir())
        given = {"ONSALE_HOST_NAME": name, "ONSALE_SLOTS": slots} if name else {"ONSALE_SLOTS": slots}
        os.environ.update({**urls.as_env(), **given})  # for its workers too
        settings = HostSettings.from_env()
        connect_to_own(urls.database_url, "onsale fleet host").close()  # what is no use is left as it is
        migrate.upgrade(urls.database_url)
        for number in STOP_SIGNALS:
            signal.signal(number, ask_to_stop)
        logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
        _say(f"joining the fleet as {settings.host}; Ctrl-C hands over what runs here and leaves")
        with Planner(urls.database_url) as planner:
            Agent(settings, planner, _say).run(stop)


def running_engines(path: Path) -> EngineUrls:
    """Those that URLs name, else those of the onsale that runs in this directory; raises `NothingRuns`."""
    database_url, redis_url = os.environ.get("DATABASE_URL"), os.environ.get("REDIS_URL")
    if not (database_url and redis_url):
        runtime = DataDir(path).runtime()
        if runtime is None:
            raise NothingRuns(
                f"No onsale runs in {path}. Start ./run up there first, or say where the engines of one "
                "are with DATABASE_URL and REDIS_URL."
            )
        database_url, redis_url = database_url or runtime.database_url, redis_url or runtime.redis_url
    return EngineUrls(database_url=database_url, redis_url=redis_url)


def _say(what: str) -> None:
    print_plainly(f"{datetime.now().astimezone():%H:%M:%S}  {what}")
