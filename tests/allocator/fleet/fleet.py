"""Rows of a fleet, made by hand as a planner would."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg

from store.fleet import workers


class Fleet:
    """Events, workers and assignments of one database."""

    def __init__(self, conn: psycopg.Connection) -> None:
        self.conn = conn
        conn.execute("INSERT INTO fleet_turn DEFAULT VALUES ON CONFLICT DO NOTHING")

    def one(self, query: str, *values: object) -> Any:
        """The only value of the only row."""
        [(value,)] = self.conn.execute(query, values).fetchall()
        return value

    def event(self, slug: str, *, hot: bool = False, owner: str | None = None) -> int:
        """An open event, with a lease of `owner`'s (machine and process)."""
        event: int = self.one(
            "INSERT INTO event (slug, name, venue_id, state) VALUES (%s, 'Gala', 1, 'open') RETURNING id",
            slug,
        )
        self.conn.execute("INSERT INTO event_cursor (event_id) VALUES (%s)", (event,))
        self.conn.execute(
            "INSERT INTO lease (event_id, owner, worker) VALUES (%s, %s, %s)",
            (event, UUID(int=event) if owner else None, owner),
        )
        if hot:
            self.conn.execute("INSERT INTO fleet_event (event_id, hot) VALUES (%s, true)", (event,))
        return event

    def host(self, *names: str) -> None:
        """Hosts of these names."""
        for name in names:
            self.conn.execute(
                "INSERT INTO fleet_host (name, slots, process, version) VALUES (%s, 4, %s, '1')",
                (name, f"{name}:0"),
            )

    def worker(self, host: str = "hall", process: str | None = None, *, silent_seconds: float = 0) -> UUID:
        """A worker that is wanted on a host, and runs where `process` is given."""
        worker: UUID = self.one("INSERT INTO fleet_worker (host) VALUES (%s) RETURNING id", host)
        if process is not None:
            assert workers.claim(self.conn, worker, process)
            self.conn.execute(
                "UPDATE fleet_worker SET seen_at = seen_at - make_interval(secs => %s) WHERE id = %s",
                (silent_seconds, worker),
            )
        return worker

    def assign(
        self, event: int, worker: UUID, *, preferred: bool = False, warm_batch: int | None = None
    ) -> None:
        self.conn.execute(
            "INSERT INTO fleet_assignment (event_id, worker_id, preferred, warm_batch, warm_at) VALUES"
            " (%s, %s, %s, %s, CASE WHEN %s::bigint IS NOT NULL THEN clock_timestamp() END)",
            (event, worker, preferred, warm_batch, warm_batch),
        )

    def preferred(self, event: int) -> UUID | None:
        rows = self.conn.execute(
            "SELECT worker_id FROM fleet_assignment WHERE event_id = %s AND preferred", (event,)
        ).fetchall()
        return rows[0][0] if rows else None

    def log(self) -> list[tuple[str, str | None]]:
        """What was told, in order, and of which host."""
        return self.conn.execute("SELECT what, host FROM fleet_log ORDER BY id").fetchall()
