"""The statements of tickets and of what the world is told, as the virtual Postgres runs them.

What the outbox has is looked at in the end (`returned`, `payers`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from store import outbox
from store.tickets import returns, rows
from tests.simulation.postgres import ONE, HoldRow, OutboxRow, Session

Rows = list[tuple[Any, ...]]
_bodies = msgspec.json.Decoder(list[msgspec.Raw]).decode


def _tell(session: Session, values: Mapping[str, Any]) -> Rows:
    session.lock("outbox_count", ONE)
    number = session.get("outbox_count", ONE) or 0
    for kind, body in zip(values["kinds"], _bodies(values["bodies"]), strict=True):
        number += 1
        session.insert("outbox", number, OutboxRow(kind, bytes(body), session.database.clock()))
    session.put("outbox_count", ONE, number)
    return [(1,)]


def _lock_mine(session: Session, values: Mapping[str, Any]) -> Rows:
    def mine() -> HoldRow | None:
        row: HoldRow | None = session.get("hold", values["hold"])
        return row if row is not None and row.buyer == values["buyer"] else None

    if mine() is None:
        return []
    session.lock("hold", values["hold"], 1.0)
    row = mine()
    return [] if row is None else [(row.state, row.quantity, row.kind, True)]


def _read(session: Session, values: Mapping[str, Any]) -> Rows:
    """Of the order, which is locked: so are its tickets' rows, as good as."""
    there = session.database.rows["ticket"].items()
    gone = (1, None, None, False, True, None, None)
    return [(area, number, *gone) for (order, area, number), _ in there if order == values["hold"]]


def _mark_gone(session: Session, values: Mapping[str, Any]) -> Rows:
    items = list(zip(values["items_areas"], values["items_numbers"], strict=True))
    for area, number in items:
        key = (values["hold"], area, number)
        session.lock("ticket", key, 1.0)
        session.put("ticket", key, True)
    return [(1,) for _ in items]


TICKETS = {
    outbox.INSERT: ("tell the world", _tell),
    returns.LOCK_MINE: ("lock one's order", _lock_mine),
    rows.READ: ("read tickets", _read),
    rows.MARK_GONE: ("tickets that went", _mark_gone),
}
