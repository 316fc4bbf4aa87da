"""`python -m onsale.rehearsals ID`: one rehearsal. Where the event is, and how large it is to be, come on
standard input, so that neither arguments nor environment tell them.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from types import FrameType

import psycopg

from onsale.errors import OnsaleError as FrontDoorError
from onsale.rehearsals.chore import NICE
from store import logs
from store.errors import OnsaleError
from store.rehearsals import rows

log = logging.getLogger("onsale.chores")


def main(rehearsal_id: int) -> int:
    logs.begin("rehearsal")
    signal.signal(signal.SIGTERM, _stop)
    os.nice(NICE)
    database_url, event, buyers, sized_for = (sys.stdin.readline().strip() for _ in range(4))
    with psycopg.connect(database_url, autocommit=True, application_name="onsale rehearsal") as conn:
        try:
            rows.end(
                conn, rehearsal_id, result=_rehearse(conn, rehearsal_id, event, int(buyers), int(sized_for))
            )
        except (OnsaleError, FrontDoorError, TimeoutError, psycopg.Error) as error:
            rows.end(conn, rehearsal_id, error=f"It could not take place. {error}")
            return 1
    return 0


def _rehearse(conn: rows.Conn, rehearsal_id: int, event: str, buyers: int, sized_for: int) -> bytes:
    import msgspec

    from bench.rehearsal.copying import read_copy
    from bench.rehearsal.run import rehearse

    def say(phase: str, done: int, total: int) -> None:
        rows.tell(conn, rehearsal_id, phase, done, total)

    copy = read_copy(conn, event)
    return msgspec.json.encode(rehearse(copy, buyers, sized_for, say))


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(1)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
