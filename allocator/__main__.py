"""`python -m allocator`: works for every event that is on sale, as owner or standby, until SIGTERM."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import sys
import threading
from types import FrameType

import psycopg

from allocator import lease
from allocator.balance import BalanceWatch
from allocator.worker import EventWorker, renew
from store.database import connect
from store.errors import Unavailable
from store.settings import EngineUrls

log = logging.getLogger("onsale.allocator")

DISCOVER_SECONDS = 0.3
EVENTS_MAX = 200
"""Most events an allocator works for, those that were made first; that more are on sale is an alert."""

ON_SALE = """
-- A draft from a minute before it opens by itself.
SELECT id, slug FROM event
 WHERE state IN ('lobby', 'open', 'paused')
    OR state = 'draft' AND opens_at <= clock_timestamp() + interval '1 minute'
    OR state = 'closed' AND (EXISTS (SELECT FROM hold WHERE event_id = event.id AND hold.state = 'active')
                             OR EXISTS (SELECT FROM fact WHERE event_id = event.id)
                             OR EXISTS (SELECT FROM room WHERE event_id = event.id AND ballot
                                         AND lobby_ended_at IS NOT NULL AND ballot_ended_at IS NULL))
 ORDER BY id LIMIT %s
"""


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    gc.set_threshold(400_000, 50, 1_000_000)  # batches leave no cycles; below it no collection falls into one
    sys.setswitchinterval(0.001)  # the thread that reads ahead should not wait for a whole batch
    stop = threading.Event()

    def ask_to_stop(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, ask_to_stop)
    urls = EngineUrls.from_env()
    name = f"{socket.gethostname()}:{os.getpid()}"
    workers: dict[int, EventWorker] = {}
    balance = BalanceWatch(urls.database_url, lambda: _owned_by_name(workers))
    balance.start()
    while not stop.is_set():
        try:
            with connect(urls.database_url, "onsale allocator lease") as conn:
                _attend(conn, urls, name, workers, stop)
        except (Unavailable, psycopg.OperationalError) as error:
            log.warning("%s; trying again", error)
            stop.wait(1.0)
    balance.stop()
    for worker in workers.values():
        worker.stop()
    for worker in workers.values():
        worker.join(timeout=5.0)


def _owned_by_name(workers: dict[int, EventWorker]) -> dict[int, str]:
    return {event: worker.slug for event, worker in list(workers.items()) if worker.owned}


def _attend(
    conn: lease.Connection,
    urls: EngineUrls,
    name: str,
    workers: dict[int, EventWorker],
    stop: threading.Event,
) -> None:
    """Find events, start their workers, renew what they own. Ends with `stop` or an error."""
    too_many = False
    while not stop.wait(DISCOVER_SECONDS):
        found = conn.execute(ON_SALE, (EVENTS_MAX + 1,)).fetchall()
        conn.commit()
        on_sale = dict(found[:EVENTS_MAX])
        if len(found) > EVENTS_MAX and not too_many:
            log.error(
                "ALERT: more than %d events are on sale at once: nobody decides %s and those made after it"
                " until others are closed",
                EVENTS_MAX,
                found[-1][1],
            )
        too_many = len(found) > EVENTS_MAX
        for event_id, slug in on_sale.items():
            if event_id not in workers:
                workers[event_id] = EventWorker(urls.database_url, urls.redis_url, event_id, slug, name)
                workers[event_id].start()
        for event_id in workers.keys() - on_sale.keys():
            workers.pop(event_id).stop()
        renew(conn, workers.values())


if __name__ == "__main__":
    main()
