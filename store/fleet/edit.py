"""What operators change of the fleet: how many workers an event has, where it goes, which hosts are to be
empty.

Each is one transaction that has the fleet's turn, so planner and operators never undo each other halfway,
with a row in the fleet's log and one in the audit. What changes nothing leaves
no row. These are wishes: the planner and the leases make them true (`docs/fleet.md`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID, uuid4

import psycopg
from msgspec import Struct
from psycopg.rows import kwargs_row, tuple_row

from store import audit, events
from store.audit import Said
from store.errors import BadRequest, Conflicted, NotFound
from store.fleet import log, turn
from store.fleet.alive import HOST_ALIVE, LOST_SECONDS, OWNS
from store.fleet.on_sale import ON_SALE
from store.fleet.words import WORKERS_DEFAULT, WORKERS_MAX, FleetWhat, Mode

Conn = psycopg.Connection[Any]

WANTED: Final = f"""
SELECT coalesce(mode, 'auto') AS mode, coalesce(workers, {WORKERS_DEFAULT}) AS workers,
       coalesce(hot, false) AS hot, coalesce(edition, 0) AS edition
  FROM (SELECT 1) AS one LEFT JOIN fleet_event ON event_id = %s
"""
SCALE: Final = """
-- An operator's word counts at once; without one an event stays what it was until its load says otherwise.
INSERT INTO fleet_event (event_id, mode, workers, hot, hot_since)
VALUES (%(event)s, %(mode)s, %(workers)s, %(hot)s, CASE WHEN %(hot)s THEN clock_timestamp() END)
ON CONFLICT (event_id) DO UPDATE
   SET mode = excluded.mode, workers = excluded.workers, hot = excluded.hot,
       hot_since = CASE WHEN excluded.hot THEN coalesce(fleet_event.hot_since, clock_timestamp()) END,
       busy_since = NULL, quiet_since = NULL, edition = fleet_event.edition + 1
"""
IS_ON_SALE: Final = f"SELECT 1 FROM event WHERE id = %s AND {ON_SALE}"
HOSTS: Final = f"""
SELECT name, slots, {HOST_ALIVE} AS alive, draining_at IS NOT NULL AS draining,
       (SELECT count(*) FROM fleet_worker WHERE host = name) AS used
  FROM fleet_host ORDER BY name FOR UPDATE OF fleet_host
"""
ON_HOST: Final = f"""
-- Workers there that go on, with what they do: first who owns the event, or attends to it already.
SELECT fleet_worker.id,
       EXISTS (SELECT FROM lease WHERE event_id = %(event)s AND {OWNS}) AS owns,
       EXISTS (SELECT FROM fleet_assignment
                WHERE worker_id = fleet_worker.id AND event_id = %(event)s) AS attends,
       EXISTS (SELECT FROM fleet_assignment
                WHERE worker_id = fleet_worker.id AND event_id = %(event)s AND preferred) AS preferred,
       (SELECT count(*) FROM fleet_assignment
         WHERE worker_id = fleet_worker.id AND event_id <> %(event)s) AS others,
       (SELECT count(*) FROM fleet_assignment LEFT JOIN fleet_event USING (event_id)
         WHERE worker_id = fleet_worker.id AND event_id <> %(event)s
           AND NOT coalesce(hot, false)) AS cold
  FROM fleet_worker WHERE host = %(host)s AND stop_at IS NULL
 ORDER BY owns DESC, preferred DESC, attends DESC, fleet_worker.id
"""
START: Final = "INSERT INTO fleet_worker (id, host) VALUES (%s, %s)"
ASSIGN: Final = "INSERT INTO fleet_assignment (event_id, worker_id) VALUES (%s, %s) ON CONFLICT DO NOTHING"
NOT_PREFERRED: Final = "UPDATE fleet_assignment SET preferred = false WHERE event_id = %s AND preferred"
PREFERRED: Final = "UPDATE fleet_assignment SET preferred = true WHERE event_id = %s AND worker_id = %s"
DRAIN: Final = "UPDATE fleet_host SET draining_at = clock_timestamp() WHERE name = %s"
KEEP: Final = "UPDATE fleet_host SET draining_at = NULL WHERE name = %s"


class Wanted(Struct, frozen=True):
    """What an event is to have. `hot`: it has workers of its own, or is about to; `edition` goes up with each
    change by an operator."""

    mode: Mode
    workers: int
    hot: bool
    edition: int


class Host(Struct, frozen=True):
    name: str
    slots: int
    alive: bool
    draining: bool
    used: int


class Moved(Struct, frozen=True):
    """Where an event goes; `hot`: on to a worker of its own."""

    event: str
    host: str
    worker: UUID
    hot: bool
    edition: int


class _There(Struct, frozen=True):
    id: UUID
    owns: bool
    attends: bool
    preferred: bool
    others: int
    cold: int


def scale(
    conn: Conn, slug: str, said: Said, *, workers: int, mode: Mode | None = None, edition: int | None = None
) -> Wanted:
    """So many workers from now on, in that mode; raises `BadRequest` (invalid_workers), `NotFound`
    (unknown_event) and, where somebody changed it since that edition, `Conflicted` (fleet_changed)."""
    if not 1 <= workers <= WORKERS_MAX:
        raise BadRequest(
            "invalid_workers",
            f"An event has 1 to {WORKERS_MAX} workers, one that owns it and others that stand by; "
            f"{workers:,} is neither.",
        )
    with _changing(conn):
        event = events.get_event(conn, slug).id
        was = _wanted(conn, event)
        if edition is not None and edition != was.edition:
            raise Conflicted(
                "fleet_changed",
                f"Somebody changed it meanwhile: {slug} has {was.workers} workers, mode {was.mode}, in "
                f"edition {was.edition}, not {edition}. Look at it again, then change it from there.",
            )
        now = mode or was.mode
        if (now, workers) == (was.mode, was.workers):
            return was
        _scale(conn, event, was, workers, now)
        detail = {"workers": workers, "mode": now.value}
        _tell(conn, FleetWhat.SCALED, said, event=event, detail=detail)
        audit.write(conn, event, said, {"change": "scale", **detail})
        return _wanted(conn, event)


def move(conn: Conn, slug: str, to: str, said: Said) -> Moved:
    """The event's owner is to be on that host: on a worker that attends to it there or that it may share,
    else on one of its own, and then the event is hot. The owner hands over once the other one is warm.

    Raises `NotFound` (unknown_event, host_not_found) and `Conflicted` (event_not_on_sale, host_gone,
    host_draining, host_full).
    """
    with _changing(conn):
        event = events.get_event(conn, slug).id
        if conn.execute(IS_ON_SALE, (event,)).fetchone() is None:
            story = f"{slug} is not on sale, so nobody attends to it. It can be moved once it is."
            raise Conflicted("event_not_on_sale", story)
        host = _host(_hosts(conn), to)
        if not host.alive:
            story = (
                f"{to} was not heard of for {LOST_SECONDS} s. Look at ./run worker there, or choose another."
            )
            raise Conflicted("host_gone", story)
        if host.draining:
            story = f"{to} is draining: events leave it. Take it back first: ./run fleet keep {to}."
            raise Conflicted("host_draining", story)
        was = _wanted(conn, event)
        worker, own = _worker(conn, event, was, host)
        moved = Moved(slug, to, worker.id, was.hot or own, was.edition)
        if worker.preferred:
            return moved
        if own and not was.hot:
            _scale(conn, event, was, was.workers, Mode.HOT)
        conn.execute(ASSIGN, (event, worker.id))
        conn.execute(NOT_PREFERRED, (event,))
        conn.execute(PREFERRED, (event, worker.id))
        detail = {"to": to, "hot": moved.hot}
        _tell(conn, FleetWhat.MOVED, said, event=event, host=to, worker=worker.id, detail=detail)
        audit.write(conn, event, said, {"change": "move to host", **detail})
        return Moved(slug, to, worker.id, moved.hot, _wanted(conn, event).edition)


def drain(conn: Conn, name: str, said: Said) -> None:
    """Events leave the host, few at a time, then its workers stop. Raises `NotFound` (host_not_found) and
    `Conflicted` (last_host) for the last one that is there and not draining."""
    with _changing(conn):
        hosts = _hosts(conn)
        if _host(hosts, name).draining:
            return
        if not any(host.alive and not host.draining for host in hosts if host.name != name):
            raise Conflicted(
                "last_host",
                f"{name} is the last host that takes events: drained, it would have to go on with "
                "them. Add another one (./run worker) or take one back (./run fleet keep) first.",
            )
        conn.execute(DRAIN, (name,))
        _tell(conn, FleetWhat.DRAINING, said, host=name)
        audit.write(conn, None, said, {"change": "drain host", "host": name})


def keep(conn: Conn, name: str, said: Said) -> None:
    """The host takes events again; raises `NotFound` (host_not_found)."""
    with _changing(conn):
        if not _host(_hosts(conn), name).draining:
            return
        conn.execute(KEEP, (name,))
        _tell(conn, FleetWhat.KEPT, said, host=name)
        audit.write(conn, None, said, {"change": "keep host", "host": name})


@contextmanager
def _changing(conn: Conn) -> Iterator[None]:
    """Raises `Unavailable` where the turn is taken for too long."""
    with events.changing(conn):
        turn.take(conn)
        yield


def _wanted(conn: Conn, event: int) -> Wanted:
    row = conn.cursor(row_factory=tuple_row).execute(WANTED, (event,)).fetchone()
    assert row is not None, "the statement gives the defaults where nothing is written"
    mode, *others = row
    return Wanted(Mode(mode), *others)


def _scale(conn: Conn, event: int, was: Wanted, workers: int, mode: Mode) -> None:
    hot = was.hot if mode is Mode.AUTO else mode is Mode.HOT
    conn.execute(SCALE, {"event": event, "workers": workers, "mode": mode.value, "hot": hot})


def _hosts(conn: Conn) -> list[Host]:
    with conn.cursor(row_factory=kwargs_row(Host)) as cursor:
        return cursor.execute(HOSTS).fetchall()


def _host(hosts: list[Host], name: str) -> Host:
    found = next((host for host in hosts if host.name == name), None)
    if found is None:
        there = ", ".join(host.name for host in hosts) or "none"
        raise NotFound("host_not_found", f"There is no host {name!r}. There are: {there}.")
    return found


def _worker(conn: Conn, event: int, was: Wanted, host: Host) -> tuple[_There, bool]:
    """Who on that host is to own the event, and whether it is its own; a new one where there is a slot."""
    with conn.cursor(row_factory=kwargs_row(_There)) as cursor:
        there = cursor.execute(ON_HOST, {"event": event, "host": host.name}).fetchall()
    attending = [worker for worker in there if worker.attends]
    if attending:
        return attending[0], was.hot
    shared = [worker for worker in there if worker.cold and not was.hot]
    if shared:
        return max(shared, key=lambda worker: worker.cold), False
    spare = [worker for worker in there if not worker.others]
    if spare:
        return spare[0], True
    if host.used >= host.slots:
        raise Conflicted(
            "host_full",
            f"{host.name} has no slot left: {host.used} of {host.slots} are taken. Choose another host, or "
            "give it more slots (./run worker --slots).",
        )
    new = _There(uuid4(), owns=False, attends=False, preferred=False, others=0, cold=0)
    conn.execute(START, (new.id, host.name))
    return new, True


def _tell(
    conn: Conn,
    what: FleetWhat,
    said: Said,
    *,
    event: int | None = None,
    host: str | None = None,
    worker: UUID | None = None,
    detail: dict[str, Any] | None = None,
) -> None:
    entry = log.Entry(
        what=what, who=said.who, why=said.why, event=event, host=host, worker=worker, detail=detail or {}
    )
    log.write(conn, [entry])
