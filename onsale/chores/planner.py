"""Enqueues each chore when it is due. The schedule is in the code and in Postgres; Redis only carries it.

A turn claims what is due and has something to do (`store.chores.runs.claim`, so of several hosts one does),
and puts it into the chore's own queue, unless a run waits there already. What could not be enqueued is due
again a moment later. Of one that has nothing to do that is asked as often as it would run.
A Redis that was wiped, or a worker that died with a run, costs the time to the next slot and nothing else.
"""

from __future__ import annotations

import logging
import time
from typing import Final

import psycopg
import redis
from rq import Queue
from rq.serializers import JSONSerializer

from onsale.chores.catalogue import Chore, chores
from onsale.chores.settings import ChoreSettings
from store.chores import runs
from store.database import connect
from store.errors import Unavailable
from store.jitter import jitter
from store.stream.redis_stream import connect as connect_redis

log = logging.getLogger("onsale.chores")

JOB: Final = "onsale.chores.run.job"
SHORT_SECONDS_MAX: Final = 120
"""RQ ends a short chore that takes so long; by itself it stops beginning things far earlier."""
FOREVER: Final = -1
FAILED_SECONDS: Final = 600
"""So long RQ keeps a failed run to look at."""
AGAIN_SECONDS: Final = (0.5, 1.5)


class Planner:
    """One host's."""

    def __init__(self, settings: ChoreSettings) -> None:
        self._settings = settings
        self._chores = {chore.name: chore for chore in chores()}
        self._conn: psycopg.Connection[tuple[object, ...]] | None = None
        self._redis: redis.Redis | None = None
        self._look_again: dict[str, float] = {}
        """Of chores that had nothing to do: when, by `time.monotonic`."""

    def turn(self) -> list[str]:
        """Enqueue what is due; the names. Raises `Unavailable` when an engine is away: try the next turn."""
        try:
            conn = self._connection()
            claimed = self._claim(conn)
            left = list(claimed)
            try:
                for name in claimed:
                    self._enqueue(self._chores[name])
                    left.remove(name)
            except (redis.RedisError, OSError) as error:
                runs.put_back(conn, left, jitter(*AGAIN_SECONDS))
                raise Unavailable(f"RQ's Redis does not answer: {error!r}") from error
        except psycopg.OperationalError as error:
            self.close()
            raise Unavailable(f"Postgres does not answer: {error}") from error
        return claimed

    def _claim(self, conn: psycopg.Connection[tuple[object, ...]]) -> list[str]:
        now = time.monotonic()
        due = [name for name in runs.due(conn, list(self._chores)) if now >= self._look_again.get(name, now)]
        claimed = runs.claim(conn, due) if due else []
        for name in set(due) - set(claimed):
            self._look_again[name] = now + self._chores[name].every_seconds
        return claimed

    def _connection(self) -> psycopg.Connection[tuple[object, ...]]:
        if self._conn is None:
            self._conn = connect(self._settings.engines.database_url, "onsale chores")
            self._conn.autocommit = True
            runs.enlist(
                self._conn, [(one.name, one.every_seconds, one.long) for one in self._chores.values()]
            )
        return self._conn

    def _enqueue(self, chore: Chore) -> None:
        if self._redis is None:
            self._redis = connect_redis(self._settings.rq_url)
        queue = Queue(chore.queue, connection=self._redis, serializer=JSONSerializer)
        if queue.count:  # no worker has come to it: another one would not run earlier
            return
        queue.enqueue(
            JOB,
            chore.name,
            job_timeout=FOREVER if chore.long else SHORT_SECONDS_MAX,
            result_ttl=0,
            failure_ttl=FAILED_SECONDS,
            description=chore.name,
        )

    def close(self) -> None:
        """Its connections end."""
        if self._conn is not None:
            self._conn.close()
        if self._redis is not None:
            self._redis.close()
        self._conn = self._redis = None
