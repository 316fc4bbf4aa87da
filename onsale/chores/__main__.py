"""`python -m onsale.chores`: this host's planner and workers of chores, until SIGTERM."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from types import FrameType
from typing import Final

from onsale.chores.catalogue import chores
from onsale.chores.crew import crew_for
from onsale.chores.heard import Beat
from onsale.chores.outside import payment_settings
from onsale.chores.planner import Planner
from onsale.chores.settings import ChoreSettings
from onsale.errors import OnsaleError
from store import logs
from store.errors import Unavailable

log = logging.getLogger("onsale.chores")

TURN_SECONDS: Final = 0.5
AWAY_SECONDS: Final = 1.0


def main() -> int:
    logs.begin("chores")
    stop = threading.Event()

    def ask_to_stop(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, ask_to_stop)
    try:
        settings = ChoreSettings.from_env()
        payment_settings()
        beat = Beat.begin(settings.beat)
    except OnsaleError as error:
        log.critical("%s", error)
        return 2
    planner, crew = Planner(settings), crew_for(chores())
    try:
        while not stop.is_set():
            crew.look()
            pause = AWAY_SECONDS if _is_away(planner) else TURN_SECONDS
            beat.give()
            stop.wait(pause)
    finally:
        beat.end()
        planner.close()
        crew.stop()
    return 0


def _is_away(planner: Planner) -> bool:
    try:
        planner.turn()
    except Unavailable as error:
        log.warning("%s Chores wait.", error)
        return True
    return False


if __name__ == "__main__":
    sys.exit(main())
