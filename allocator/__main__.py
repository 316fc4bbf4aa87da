"""`python -m allocator`: works for every event that is on sale, as owner or standby, until SIGTERM."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from types import FrameType

from allocator.attend import Assigned, Attendance, settle_process
from allocator.lease import Connection
from store import logs
from store.errors import OnsaleError
from store.fleet import on_sale
from store.processes import process_name
from store.settings import EngineUrls

log = logging.getLogger("onsale.allocator")

EVENTS_MAX = 400
"""Most events an allocator works for, those that were made first; that more are on sale is an alert."""
OWN_MAX = 16
"""So many have threads and connections of their own; those that come when there are as many share."""

ON_SALE = f"SELECT id, slug FROM event WHERE {on_sale.ON_SALE} ORDER BY id LIMIT %s"


def main() -> int:
    """The exit code: 2 where a setting is refused, or where Postgres is reached by way of a pooler."""
    logs.begin("allocator")
    settle_process()
    stop = threading.Event()

    def ask_to_stop(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, ask_to_stop)
    try:
        Attendance(EngineUrls.from_env(), process_name()).run(OnSale(), stop)
    except OnsaleError as error:
        log.critical("%s", error)
        return 2
    return 0


class OnSale:
    """Every event on sale is wanted, whoever is quicker owns it."""

    def __init__(self) -> None:
        self._too_many = False
        self._own: set[int] = set()
        self._shared: set[int] = set()

    def __call__(self, conn: Connection) -> list[Assigned]:
        found = conn.execute(ON_SALE, (EVENTS_MAX + 1,)).fetchall()
        if len(found) > EVENTS_MAX and not self._too_many:
            log.error(
                "ALERT: more than %d events are on sale at once: nobody decides %s and those made after it"
                " until others are closed",
                EVENTS_MAX,
                found[-1][1],
            )
        self._too_many = len(found) > EVENTS_MAX
        on_sale = dict(found[:EVENTS_MAX])
        self._own &= on_sale.keys()
        self._shared &= on_sale.keys()  # who shares does so until its end: changing has a price
        for event_id in sorted(on_sale.keys() - self._own - self._shared):
            (self._own if len(self._own) < OWN_MAX else self._shared).add(event_id)
        return [Assigned(event, slug, shared=event in self._shared) for event, slug in on_sale.items()]


if __name__ == "__main__":
    sys.exit(main())
