"""The planner's turn in Postgres: one transaction that takes the fleet's turn, reads, plans and writes.

Any number of hosts have a planner; whoever finds the turn taken leaves it to who has it. A planner that is
killed in the middle of its turn has changed nothing, and its turn is free when its connection is gone.
"""

from __future__ import annotations

import logging
import time
from types import TracebackType
from typing import Final
from uuid import uuid4

import psycopg

from allocator.fleet.plan import plan
from store.database import connect
from store.errors import Unavailable
from store.fleet import steps, turn, view
from store.fleet.limits import Limits
from store.fleet.steps import Overtaken, Step
from store.fleet.view import Conn
from store.processes import process_name

log = logging.getLogger("onsale.fleet")

GAP_SECONDS: Final = 2.5
"""A planner that did not look for so long counts nobody as lost before they had time to show up."""


class Planner:
    """`turn` about once a second. Keeps its connection; after an error the next turn makes another one."""

    def __init__(self, database_url: str, limits: Limits | None = None, *, name: str = "") -> None:
        self._database_url = database_url
        self._limits = limits or Limits.from_env()
        self._name = name or process_name()
        self._conn: Conn | None = None
        self._heard_since = 0
        self._looked_at = 0.0
        self._now = 0
        self._set_back = False

    def turn(self) -> list[Step]:
        """What was done, in order; nothing where somebody else plans just now, or changed what was planned
        with. Raises `Unavailable` where Postgres is away: then nothing was done, or all of it."""
        looked_at, self._looked_at = self._looked_at, time.monotonic()
        if self._looked_at - looked_at > GAP_SECONDS:
            self._heard_since = 0
        try:
            if self._conn is None:
                self._conn = connect(self._database_url, "onsale fleet planner")
            with self._conn.transaction():
                planned = self._plan(self._conn)
            if planned is not None:
                self._set_back = False  # what was done for it is committed
            else:
                with self._conn.transaction():
                    turn.make(self._conn)
            return planned or []
        except Overtaken as overtaken:
            log.info("%s", overtaken)
            return []
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            self.close()
            raise Unavailable(f"Postgres does not answer the planner of the fleet: {error}") from error
        except Unavailable:
            self.close()
            raise

    def close(self) -> None:
        """Give the connection up."""
        self._heard_since = 0
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def __enter__(self) -> Planner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _plan(self, conn: Conn) -> list[Step] | None:
        """None: it is somebody else's turn."""
        before, now = self._now, view.now(conn)
        if now < before:
            log.warning("Postgres' clock was set back by %.1f s or more", (before - now) / 1_000)
            self._set_back, self._heard_since = True, 0
        self._now, self._heard_since = now, self._heard_since or now
        if not turn.try_take(conn):
            return None
        if self._set_back:
            turn.set_back(conn)
        seen = view.read(conn, now=now, heard_since=self._heard_since, seed=uuid4(), limits=self._limits)
        planned = plan(seen)
        steps.write(conn, planned)
        turn.planned(conn, self._name)
        return planned
