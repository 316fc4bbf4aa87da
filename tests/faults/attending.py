"""`python -m tests.faults.attending WISHES`: an allocator that attends to what a file wants of it.

Until SIGTERM. The file is JSON, as in `Assigned`; beside it is written what is warm here.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from pathlib import Path

import msgspec

from allocator.attend import Assigned, Attendance, settle_process
from store.settings import EngineUrls


def main(path: Path) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    settle_process()
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    attendance = Attendance(EngineUrls.from_env(), f"here:{os.getpid()}")

    def wanted(_conn: object) -> list[Assigned]:
        new = path.with_suffix(".new-warm")
        new.write_bytes(msgspec.json.encode(attendance.warm()))
        new.rename(path.with_suffix(".warm"))
        wishes = msgspec.json.decode(path.read_bytes(), type=list[dict[str, int | str | bool | None]])
        return [Assigned(**wish) for wish in wishes]  # type: ignore[arg-type]

    attendance.run(wanted, stop)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
