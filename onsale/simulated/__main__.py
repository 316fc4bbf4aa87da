"""`python -m onsale.simulated` serves, with its settings from the environment, until SIGINT or SIGTERM."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys

from onsale.simulated.service import serve
from onsale.simulated.settings import SettingMissing, Settings
from store import logs

log = logging.getLogger("onsale.simulated")


async def _until_stopped(settings: Settings) -> None:
    loop, serving = asyncio.get_running_loop(), asyncio.create_task(serve(settings))
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, serving.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await serving


def main() -> int:
    logs.begin("provider")
    try:
        settings = Settings.from_env()
    except SettingMissing as error:
        log.critical("%s", error)
        return 2
    asyncio.run(_until_stopped(settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
