"""Rows of a fleet as agents, workers and owners would write them."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg

from store.events import create_event, set_state
from store.venues.make import make
from store.venues.rows import save_venue
from store.words import EventState

AGO = "clock_timestamp() - make_interval(secs => %s)"
LATELY = -600.0
"""When who is alive was heard of: not yet, for nothing here says so again and a test may take long."""


def add_event(conn: psycopg.Connection, slug: str, state: EventState | None = EventState.OPEN) -> int:
    """An event of three seats, open unless told otherwise."""
    found = conn.execute("SELECT id FROM venue WHERE slug = 'hall'").fetchone()
    plan = make("hall", 3)
    venue = found[0] if found else save_venue(conn, "hall", plan)
    event = create_event(conn, slug, slug, venue, plan)
    if state is not None:
        set_state(conn, slug, state)
    return event


def add_host(
    conn: psycopg.Connection,
    name: str,
    slots: int = 4,
    *,
    silent_seconds: float = LATELY,
    draining: bool = False,
) -> None:
    conn.execute(
        "INSERT INTO fleet_host (name, slots, process, version, seen_at, draining_at)"
        f" VALUES (%s, %s, %s, '1', {AGO}, CASE WHEN %s THEN clock_timestamp() END)",
        (name, slots, f"{name}:1", silent_seconds, draining),
    )


def add_worker(conn: psycopg.Connection, host: str, *, silent_seconds: float | None = LATELY) -> UUID:
    """A worker that runs; with `silent_seconds=None` one that never began."""
    worker = uuid4()
    conn.execute(
        f"INSERT INTO fleet_worker (id, host, process, began_at, seen_at) VALUES (%s, %s, %s, {AGO}, {AGO})",
        (
            worker,
            host,
            None if silent_seconds is None else f"{host}:{worker}",
            None if silent_seconds is None else max(silent_seconds, 0),
            silent_seconds,
        ),
    )
    return worker


def assign(
    conn: psycopg.Connection, event: int, worker: UUID, *, preferred: bool = False, warm: bool = True
) -> None:
    conn.execute(
        "INSERT INTO fleet_assignment (event_id, worker_id, preferred, warm_batch, warm_at)"
        " VALUES (%s, %s, %s, CASE WHEN %s THEN 0 END, CASE WHEN %s THEN clock_timestamp() END)",
        (event, worker, preferred, warm, warm),
    )


def own(conn: psycopg.Connection, event: int, worker: UUID) -> None:
    """Its process has the event's lease."""
    conn.execute(
        "UPDATE lease SET owner = gen_random_uuid(), renewed_at = clock_timestamp(),"
        " worker = (SELECT process FROM fleet_worker WHERE id = %s) WHERE event_id = %s",
        (worker, event),
    )


def load(conn: psycopg.Connection, event: int, *, arrivals: float = 0, undecided: int = 0) -> None:
    conn.execute(
        "INSERT INTO event_load (event_id, process, epoch, batch_no, decided, decided_per_second,"
        " arrived_per_second, undecided, latency_ms_p50, latency_ms_p99)"
        " VALUES (%s, 'p', 1, 0, 0, 1.5, %s, %s, 3, 9) ON CONFLICT (event_id) DO UPDATE"
        " SET at = clock_timestamp(), arrived_per_second = excluded.arrived_per_second,"
        " undecided = excluded.undecided",
        (event, arrivals, undecided),
    )


def beat(conn: psycopg.Connection) -> None:
    """All that is there shows up: hosts, workers that were wanted, who is warm by now."""
    conn.execute(f"UPDATE fleet_host SET seen_at = {AGO}", [LATELY])
    conn.execute("DELETE FROM fleet_worker WHERE stop_at IS NOT NULL")
    conn.execute(
        f"UPDATE fleet_worker SET seen_at = {AGO}, process = coalesce(process, host || ':' || id)", [LATELY]
    )
    conn.execute("UPDATE fleet_assignment SET warm_at = clock_timestamp(), warm_batch = 0")


def attended(conn: psycopg.Connection) -> dict[str, list[tuple[str, bool]]]:
    """Of each event the hosts of who attends to it, and whether they are preferred."""
    rows = conn.execute(
        "SELECT slug, host, preferred FROM fleet_assignment"
        " JOIN event ON event.id = event_id JOIN fleet_worker ON fleet_worker.id = worker_id"
        " ORDER BY slug, host, preferred"
    ).fetchall()
    found: dict[str, list[tuple[str, bool]]] = {}
    for slug, host, preferred in rows:
        found.setdefault(slug, []).append((host, preferred))
    return found
