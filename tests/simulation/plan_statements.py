"""The statements of moves to other categories, as the virtual Postgres runs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from store import recategorise
from tests.simulation.postgres import ONE, PlanRow, Session

Rows = list[tuple[Any, ...]]


def _lock_event(session: Session, _values: Any) -> Rows:
    session.lock("event", ONE, 1.0)
    row = session.get("event", ONE)
    return [(row.state, dict(row.limits), False)]


def _read(session: Session, _values: Any) -> Rows:
    versions = {*session.database.rows["event_plan"], *session.pending.get("event_plan", {})}
    return [(version, session.get("event_plan", version).plan) for version in sorted(versions)[-1:]]


def _keep_move(session: Session, values: Mapping[str, Any]) -> Rows:
    session.insert("event_plan", values["version"], PlanRow(values["plan"], None))
    return []


def plan_counts(session: Session, ledger_at: int, version: int) -> int:
    """PLAN_COUNTS."""
    session.lock("event_plan", version)
    row: PlanRow | None = session.get("event_plan", version)
    if row is None or row.ledger_at is not None:
        return 0
    session.put("event_plan", version, row._replace(ledger_at=ledger_at))
    return 1


MOVES = {
    recategorise.LOCK_EVENT: ("lock event for a move", _lock_event),
    recategorise.READ: ("read the last plan", _read),
    recategorise.KEEP_MOVE: ("keep a plan", _keep_move),
}
