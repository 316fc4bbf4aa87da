"""What the planner does, step by step: the kinds there are, how each is written, and what the log says of
it.

Each write has its condition, and its rows are counted: where something changed since the view was read, all
of the turn's steps are undone (`Overtaken`) and the next turn plans anew. Whoever writes has the fleet's
turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, ClassVar, Final
from uuid import UUID

import msgspec
import psycopg
from msgspec import Struct

from store.errors import OnsaleError
from store.fleet import log
from store.fleet.alive import MAY_TAKE, milliseconds
from store.fleet.words import FleetWhat

Conn = psycopg.Connection[Any]

PLANNER: Final = "planner"
"""Who the log says it was."""


class Overtaken(OnsaleError):
    """Somebody changed the fleet meanwhile; nothing was written, the next turn plans anew."""


class Step(Struct, frozen=True, kw_only=True):
    """Fields are the values of `SQL`, which changes one row; with `FIRST` before it, whose rows nobody
    counts. `why` is for people."""

    WHAT: ClassVar[FleetWhat | None] = None
    """What the log calls it; None: it is not told."""
    FIRST: ClassVar[str] = ""
    SQL: ClassVar[str] = ""

    why: str


class LoseHost(Step, frozen=True, kw_only=True):
    """A host that was not heard of since."""

    WHAT = FleetWhat.LOST
    SQL = f"DELETE FROM fleet_host WHERE name = %(host)s AND {milliseconds('seen_at')} = %(seen_at)s"

    host: str
    seen_at: int


class LoseWorker(Step, frozen=True, kw_only=True):
    """A worker that was not heard of since, or never, with all it attended to."""

    WHAT = FleetWhat.LOST
    FIRST = "DELETE FROM fleet_assignment WHERE worker_id = %(worker)s"
    SQL = f"""
    DELETE FROM fleet_worker
     WHERE id = %(worker)s AND {milliseconds("seen_at")} IS NOT DISTINCT FROM %(seen_at)s::bigint"""

    worker: UUID
    host: str
    seen_at: int | None


class Start(Step, frozen=True, kw_only=True):
    """A worker is wanted on that host."""

    WHAT = FleetWhat.STARTED
    SQL = f"""
    INSERT INTO fleet_worker (id, host)
    SELECT %(worker)s, name FROM fleet_host
     WHERE name = %(host)s AND {MAY_TAKE}
       AND slots > (SELECT count(*) FROM fleet_worker WHERE host = fleet_host.name)"""

    worker: UUID
    host: str


class Stop(Step, frozen=True, kw_only=True):
    """A worker that attends to nothing is to end."""

    WHAT = FleetWhat.STOPPED
    SQL = """
    UPDATE fleet_worker SET stop_at = clock_timestamp()
     WHERE id = %(worker)s AND stop_at IS NULL
       AND NOT EXISTS (SELECT FROM fleet_assignment WHERE worker_id = %(worker)s)"""

    worker: UUID
    host: str


class Assign(Step, frozen=True, kw_only=True):
    """A worker is to attend to an event too."""

    WHAT = FleetWhat.ASSIGNED
    SQL = """
    INSERT INTO fleet_assignment (event_id, worker_id)
    SELECT %(event)s, id FROM fleet_worker WHERE id = %(worker)s AND stop_at IS NULL
    ON CONFLICT DO NOTHING"""

    event: int
    worker: UUID
    host: str


class Unassign(Step, frozen=True, kw_only=True):
    """A worker is no longer to attend to an event."""

    WHAT = FleetWhat.UNASSIGNED
    SQL = "DELETE FROM fleet_assignment WHERE event_id = %(event)s AND worker_id = %(worker)s"

    event: int
    worker: UUID
    host: str | None


class Prefer(Step, frozen=True, kw_only=True):
    """Of those that attend to an event this one is to own it."""

    WHAT = FleetWhat.PREFERRED
    FIRST = "UPDATE fleet_assignment SET preferred = false WHERE event_id = %(event)s AND preferred"
    SQL = """
    UPDATE fleet_assignment SET preferred = true
     WHERE event_id = %(event)s AND worker_id = %(worker)s AND NOT preferred"""

    event: int
    worker: UUID
    host: str


class Note(Step, frozen=True, kw_only=True):
    """Since when an event is busy, or quiet. A first row is of edition 0: no operator changed anything."""

    SQL = """
    INSERT INTO fleet_event (event_id, edition, busy_since, quiet_since)
    VALUES (%(event)s, 0, to_timestamp(%(busy_since)s::bigint / 1000.0),
            to_timestamp(%(quiet_since)s::bigint / 1000.0))
    ON CONFLICT (event_id) DO UPDATE
       SET busy_since = excluded.busy_since, quiet_since = excluded.quiet_since
     WHERE fleet_event.edition = %(edition)s"""

    event: int
    edition: int
    busy_since: int | None
    quiet_since: int | None


class _Turn(Step, frozen=True, kw_only=True):
    SQL = """
    INSERT INTO fleet_event (event_id, edition, hot, hot_since)
    VALUES (%(event)s, 0, %(hot)s, CASE WHEN %(hot)s THEN clock_timestamp() END)
    ON CONFLICT (event_id) DO UPDATE
       SET hot = excluded.hot, hot_since = excluded.hot_since, busy_since = NULL, quiet_since = NULL
     WHERE fleet_event.edition = %(edition)s AND fleet_event.hot <> excluded.hot"""

    event: int
    edition: int
    hot: bool


class Heat(_Turn, frozen=True, kw_only=True):
    """An event is hot from now on."""

    WHAT = FleetWhat.HOT
    hot: bool = True


class Cool(_Turn, frozen=True, kw_only=True):
    """An event is cold from now on."""

    WHAT = FleetWhat.COLD
    hot: bool = False


class Short(Step, frozen=True, kw_only=True):
    """Fewer slots than are wanted, or none but on hosts that drain; or no more of that. Only told."""

    WHAT = FleetWhat.SHORT

    wanted: int
    slots: int
    kept_cold: int
    drained: int


def write(conn: Conn, steps: Sequence[Step]) -> None:
    """All of them, in order, with their log; raises `Overtaken` where one does not find what was planned
    with. Steps of one kind that follow each other travel together."""
    for _, group in groupby(steps, type):
        same = list(group)
        values = [msgspec.structs.asdict(step) for step in same]
        with conn.cursor() as cursor:
            if same[0].FIRST:
                cursor.executemany(same[0].FIRST, values)
            if same[0].SQL:
                cursor.executemany(same[0].SQL, values)
                if cursor.rowcount != len(values):
                    raise Overtaken
    log.write(conn, [_told(step) for step in steps if step.WHAT is not None])


def _told(step: Step) -> log.Entry:
    assert step.WHAT is not None, "asked for those that are told"
    values: dict[str, Any] = msgspec.structs.asdict(step)
    detail: dict[str, Any] = {
        name: values[name] for name in ("wanted", "slots", "kept_cold") if name in values
    }
    if values.get("drained"):  # left out otherwise: a version before this one takes it for a shortage
        detail["drained"] = values["drained"]
    return log.Entry(
        what=step.WHAT,
        event=values.get("event"),
        host=values.get("host"),
        worker=values.get("worker"),
        who=PLANNER,
        why=step.why,
        detail=detail,
    )
