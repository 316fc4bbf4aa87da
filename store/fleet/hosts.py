"""Hosts of the fleet: a row each, kept by the agent that runs there (`allocator.fleet`).

A name belongs to one agent at a time. Who is heard of keeps it; an agent that came back under its name, or
whose predecessor is gone, takes the row over, and whether it is draining stays as operators said, also
where it was lost meanwhile. One that was stopped has left: it comes back as any other. While every host is
draining, those that are there are given events all the same: the last resort.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

import psycopg
from psycopg.rows import tuple_row

from store.errors import Conflicted
from store.fleet.alive import HOST_ALIVE, LAST_RESORT
from store.fleet.words import FleetWhat

Conn = psycopg.Connection[Any]

ENLIST: Final = f"""
-- One agent for each name: another's row only once nothing is heard of it, or it is known to be gone. A host
-- that was lost while it drained has no row, and drains on: the log has what operators said of it last.
WITH joined AS (
  INSERT INTO fleet_host (name, slots, process, version, draining_at)
  SELECT %(name)s, %(slots)s, %(process)s, %(version)s,
         (SELECT at FROM fleet_log AS said WHERE said.host = %(name)s AND what = '{FleetWhat.DRAINING}'
             AND NOT EXISTS (SELECT FROM fleet_log AS later
                              WHERE later.host = %(name)s AND later.id > said.id
                                AND later.what IN ('{FleetWhat.KEPT}', '{FleetWhat.LEFT}'))
           ORDER BY id DESC LIMIT 1)
  ON CONFLICT (name) DO UPDATE
     SET slots = excluded.slots, process = excluded.process, version = excluded.version,
         joined_at = clock_timestamp(), seen_at = clock_timestamp()
   WHERE fleet_host.process IN (excluded.process, %(gone)s)
      OR NOT {HOST_ALIVE}
  RETURNING name, process, slots
), told AS (
  INSERT INTO fleet_log (what, host, who, why)
  SELECT '{FleetWhat.JOINED}', name, process, 'it was started with ' || slots || ' slots' FROM joined
)
SELECT true FROM joined
"""


class Standing(StrEnum):
    """What a host is to do with events."""

    TAKES = "takes"
    DRAINS = "drains"
    LAST_RESORT = "last resort"
    """It drains, and as all others drain too, or are gone, it takes events until another one can."""


WHOSE: Final = "SELECT process, seen_at FROM fleet_host WHERE name = %(name)s"

BEAT: Final = f"""
UPDATE fleet_host
   SET seen_at = clock_timestamp(), memory_bytes = %(memory)s, memory_bytes_max = %(memory_max)s,
       load = %(load)s
 WHERE name = %(name)s AND process = %(process)s
RETURNING CASE WHEN draining_at IS NULL THEN '{Standing.TAKES}'
               WHEN {LAST_RESORT} THEN '{Standing.LAST_RESORT}' ELSE '{Standing.DRAINS}' END
"""

LEAVE: Final = f"""
-- Workers of it that run end by themselves and take their rows along.
WITH gone AS (DELETE FROM fleet_host WHERE name = %(name)s AND process = %(process)s RETURNING name),
unbegun AS (
  DELETE FROM fleet_worker USING gone WHERE host = gone.name AND fleet_worker.process IS NULL RETURNING id),
unassigned AS (DELETE FROM fleet_assignment USING unbegun WHERE worker_id = unbegun.id)
INSERT INTO fleet_log (what, host, who, why)
SELECT '{FleetWhat.LEFT}', name, %(process)s, 'its agent was stopped' FROM gone
"""


class HostTaken(Conflicted):
    """Another agent that is alive has this name."""

    def __init__(self, name: str, process: str, seen_at: datetime | None) -> None:
        super().__init__(
            "host_taken",
            f"The host {name!r} is there already and alive: its agent is process {process}. "
            "Give this one a name of its own with --name (ONSALE_HOST_NAME), or stop that one first.",
        )
        self.process = process
        self.seen_at = seen_at
        """When it was last heard of, by Postgres' clock."""


class Host(NamedTuple):
    """What an agent says of itself when it enlists."""

    name: str
    slots: int
    process: str
    """Machine and process id."""
    version: str


def enlist(conn: Conn, host: Host, *, gone: str | None = None) -> None:
    """This agent's host is in the fleet, under its name; raises `HostTaken`.

    `gone` is a process that is known to have ended: its row is taken over at once.
    """
    values = {**host._asdict(), "gone": gone}
    if conn.cursor(row_factory=tuple_row).execute(ENLIST, values).fetchone() is None:
        row = conn.cursor(row_factory=tuple_row).execute(WHOSE, values).fetchone()
        raise HostTaken(host.name, *(row or ("of a moment ago", None)))


def beat(conn: Conn, host: Host, *, memory: int, memory_max: int, load: float) -> Standing | None:
    """This agent lives; how its host stands, None where the row is no longer its own."""
    values = {**host._asdict(), "memory": memory, "memory_max": memory_max, "load": load}
    row = conn.cursor(row_factory=tuple_row).execute(BEAT.encode(), values).fetchone()
    return None if row is None else Standing(row[0])


def leave(conn: Conn, host: Host) -> None:
    """The host is in the fleet no more, nor what was wanted of it and had not begun."""
    conn.execute(LEAVE, host._asdict())
