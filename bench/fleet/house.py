"""An onsale with hosts of its own: who owns what there, moved and waited for as an operator would."""

from __future__ import annotations

import contextlib
import json
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import psycopg

from bench.target import StageEvent, Target
from onsale.processes import Stack, throwaway_stack
from store.errors import OnsaleError
from store.fleet.alive import HOST_ALIVE, WARM, WORKER_ALIVE

READY_SECONDS_MAX = 60.0
LOOK_SECONDS = 0.05
CALL_SECONDS_MAX = 20.0
STEADY_LOOKS = 10
"""So often in a row nothing may be missing."""

OWNER = """
SELECT fleet_worker.host, fleet_worker.process FROM lease
  JOIN fleet_worker ON fleet_worker.process = lease.worker
 WHERE lease.event_id = %s AND lease.owner IS NOT NULL
"""
OWNED = """
SELECT lease.worker, count(*) FROM lease JOIN fleet_worker ON fleet_worker.process = lease.worker
 WHERE lease.owner IS NOT NULL AND lease.event_id = ANY (%s) GROUP BY 1 ORDER BY 2 DESC, 1
"""
ATTENDED = f"""
-- Of each event: on how many hosts a live worker owns it or follows it, and whether who is to own it does.
-- A worker that ends counts no more, nor two on one host for two: the other host may be ended next.
SELECT count(DISTINCT fleet_worker.host) FILTER (
         WHERE {WORKER_ALIVE} AND {WARM} AND stop_at IS NULL
           AND EXISTS (SELECT FROM fleet_host WHERE name = fleet_worker.host AND {HOST_ALIVE})),
       coalesce(bool_or(preferred AND lease.worker = fleet_worker.process AND lease.owner IS NOT NULL), false)
  FROM unnest(%s::int[]) AS wanted (event_id)
  JOIN event_cursor USING (event_id) JOIN lease USING (event_id)
  LEFT JOIN fleet_assignment USING (event_id) LEFT JOIN fleet_worker ON fleet_worker.id = worker_id
 GROUP BY wanted.event_id
"""


class Owner(NamedTuple):
    """Whose an event is: a host, and the process there."""

    host: str
    process: int


class House:
    """One stack with hosts; what is asked of it is asked of Postgres and of the operators' API."""

    def __init__(self, stack: Stack) -> None:
        self.stack = stack
        self.target = Target(stack.base_url, stack.urls.database_url, stack.token_secret)
        self.conn: psycopg.Connection[Any] = psycopg.connect(stack.urls.database_url, autocommit=True)

    def owner(self, event: StageEvent) -> Owner | None:
        row = self.conn.execute(OWNER, (event.id,)).fetchone()
        return None if row is None else Owner(row[0], int(row[1].rpartition(":")[2]))

    def owned(self, events: list[StageEvent]) -> list[tuple[int, int]]:
        """(process, how many of these it owns), who owns most first."""
        rows = self.conn.execute(OWNED, ([event.id for event in events],)).fetchall()
        return [(int(worker.rpartition(":")[2]), count) for worker, count in rows]

    def wait_steady(self, events: list[StageEvent], hosts: int) -> None:
        """Until each of these is owned by who is to own it, and on so many hosts somebody could decide."""
        ids = [event.id for event in events]
        seen = 0

        def steady() -> bool:
            nonlocal seen
            rows = self.conn.execute(ATTENDED, (ids,)).fetchall()
            whole = len(rows) == len(ids) and all(warm >= hosts and owned for warm, owned in rows)
            seen = seen + 1 if whole else 0
            return seen >= STEADY_LOOKS

        wait(steady, f"{len(ids)} events are attended to on {hosts} hosts, each owned by who is preferred")

    def says(self, method: str, path: str, body: Mapping[str, object]) -> Any:
        """A call of an operator."""
        request = urllib.request.Request(
            f"{self.stack.base_url}/v1/operator{path}",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.stack.operator_key}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=CALL_SECONDS_MAX) as answer:
            return json.load(answer)


@contextlib.contextmanager
def house(hosts: Mapping[str, int], **options: Any) -> Iterator[House]:
    """Hosts by name with their slots, and a gateway; `options` as of `throwaway_stack`."""
    with throwaway_stack(allocators=0, hosts=hosts, **options) as stack:
        made = House(stack)
        with contextlib.closing(made.conn):
            yield made


def wait(true_when: Callable[[], bool], what: str, seconds_max: float = READY_SECONDS_MAX) -> None:
    """Looks until it is so; raises after `seconds_max`."""
    give_up_at = time.monotonic() + seconds_max
    while not true_when():
        if time.monotonic() > give_up_at:
            raise OnsaleError(f"Waited {seconds_max:g} s until {what}; see the logs.")
        time.sleep(LOOK_SECONDS)
