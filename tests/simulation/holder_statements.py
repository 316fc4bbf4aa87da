"""The statements by which holders change their holds, as the virtual Postgres runs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from store import hold_parts, holds
from tests.simulation.postgres import ONE, AreaRow, EventRow, FactRow, HoldRow, Session

Rows = list[tuple[Any, ...]]
Statement = Callable[[Session, Any], Rows]


def leave_active(session: Session, values: Mapping[str, Any], state: str, deadline: int | None) -> Rows:
    hold_id = values["hold"]

    def mine() -> HoldRow | None:
        row: HoldRow | None = session.get("hold", hold_id)
        good = row is not None and row.buyer == values["buyer"] and row.state == "active"
        return row if good and (deadline is None or row.expires_at > deadline) else None  # type: ignore[union-attr]

    if mine() is None:
        return []
    session.lock("hold", hold_id, 1.0)
    row = mine()
    if row is None:
        return []
    session.put("hold", hold_id, row._replace(state=state))
    return [(row.quantity,)]


def _pay(session: Session, values: Mapping[str, Any]) -> Rows:
    return leave_active(session, values, "paid", session.database.run_by())


def _give_back(session: Session, values: Mapping[str, Any]) -> Rows:
    return leave_active(session, values, "released", None)


def _read_hold(session: Session, values: Mapping[str, Any]) -> Rows:
    row: HoldRow | None = session.get("hold", values["hold"])
    return [(row.state,)] if row is not None and row.buyer == values["buyer"] else []


def _seats_decided(session: Session, values: Mapping[str, Any]) -> Rows:
    row = session.get("ledger", (values["hold"] >> 16, values["hold"] & 65535))
    return [] if row is None else [(row.result,)]


def _extend(session: Session, values: Mapping[str, Any]) -> Rows:
    event: EventRow = session.get("event", ONE)
    now = session.database.run_by()

    def may() -> HoldRow | None:
        row: HoldRow | None = session.get("hold", values["hold"])
        good = (
            row is not None
            and row.buyer == values["buyer"]
            and row.state == "active"
            and row.expires_at > now
            and row.extensions < event.extensions_max
            and row.expires_at // 1000 == values["ends"]
        )
        return row if good else None

    row = _locked_hold(session, values, may)
    if row is None:
        return []
    by_us = event.extension_seconds * values["times"] * 1_000_000
    later = row._replace(extensions=row.extensions + 1, expires_at=row.expires_at + by_us)
    session.put("hold", values["hold"], later)
    return [(by_us,)]


def _locked_hold(
    session: Session, values: Mapping[str, Any], may: Callable[[], HoldRow | None]
) -> HoldRow | None:
    """As an UPDATE: the row is looked at, and after the wait for its lock once more."""
    if may() is None:
        return None
    session.lock("hold", values["hold"], 1.0)
    return may()


def _read_hold_now(session: Session, values: Mapping[str, Any]) -> Rows:
    row: HoldRow | None = session.get("hold", values["hold"])
    if row is None or row.buyer != values["buyer"]:
        return []
    event: EventRow = session.get("event", ONE)
    now = session.database.run_by()
    left = max(event.extensions_max - row.extensions, 0)
    return [(row.state, row.expires_at, row.quantity, left, row.expires_at > now)]


def _lock_hold(session: Session, values: Mapping[str, Any]) -> Rows:
    def his() -> HoldRow | None:
        row: HoldRow | None = session.get("hold", values["hold"])
        return row if row is not None and row.buyer == values["buyer"] else None

    return [] if _locked_hold(session, values, his) is None else [(1,)]


def _keep_fewer(session: Session, values: Mapping[str, Any]) -> Rows:
    def may() -> HoldRow | None:
        row: HoldRow | None = session.get("hold", values["hold"])
        good = (
            row is not None
            and row.buyer == values["buyer"]
            and row.state == "active"
            and row.quantity > values["count"]
            and values["of"] in (None, row.quantity)
        )
        return row if good else None

    row = _locked_hold(session, values, may)
    if row is None:
        return []
    session.put("hold", values["hold"], row._replace(quantity=row.quantity - values["count"]))
    return [(row.quantity - values["count"],)]


def _give_places(session: Session, values: Mapping[str, Any]) -> Rows:
    moved: Rows = []
    for area, count in zip(values["areas"], values["places"], strict=True):
        key = (values["hold"], area)
        session.lock("hold_area", key, 1.0)
        kept = session.get("hold_area", key)
        if kept is not None and kept >= count:
            session.put("hold_area", key, kept - count or None)
            row: AreaRow = session.get("area", area)
            session.put("area", area, row._replace(held=row.held - count))
            moved.append((area,))
    return moved


def _kept_seats(session: Session, values: Mapping[str, Any]) -> Rows:
    return [(seat,) for seat in sorted(values["among"]) if session.get("hold_seat", seat) == values["hold"]]


def _kept_places(session: Session, values: Mapping[str, Any]) -> Rows:
    return list(_places(session, values["hold"]))


def _lock_seats(session: Session, values: Mapping[str, Any]) -> Rows:
    return _lock(session, values, sorted(session.database.rows["hold_seat"]))


def _lock_seats_among(session: Session, values: Mapping[str, Any]) -> Rows:
    return _lock(session, values, sorted(values["among"]))


def _lock(session: Session, values: Mapping[str, Any], seats: Sequence[int]) -> Rows:
    hold_id, found = values["hold"], []
    for seat in seats:
        if session.get("hold_seat", seat) == hold_id:
            session.lock("seat", seat, 1.0)
            if session.get("seat", seat) == ("held", hold_id):
                found.append((seat,))
    return found


def _change_seats(session: Session, values: Mapping[str, Any], state: str) -> Rows:
    hold_id, changed = values["hold"], []
    for seat in values["seats"]:
        if session.get("seat", seat) == ("held", hold_id):
            session.put("seat", seat, (state, hold_id if state == "sold" else None))
            session.remember(seat, state, hold_id, values.get("who", "buyer"))
            changed.append((seat,))
    return changed


def _sell_seats(session: Session, values: Mapping[str, Any]) -> Rows:
    return _change_seats(session, values, "sold")


def free_seats(session: Session, values: Mapping[str, Any]) -> Rows:
    return _change_seats(session, values, "available")


def _free_hold_seats(session: Session, values: Mapping[str, Any]) -> Rows:
    gone = []
    for seat in values["seats"]:
        session.lock("hold_seat", seat, 1.0)
        if session.get("hold_seat", seat) == values["hold"]:
            session.put("hold_seat", seat, None)
            gone.append((seat,))
    return gone


def _places(session: Session, hold_id: int) -> list[tuple[int, int]]:
    kept = session.database.rows["hold_area"]
    return sorted((area, count) for (hold, area), count in kept.items() if hold == hold_id)


def _lock_areas(session: Session, values: Mapping[str, Any]) -> Rows:
    found = []
    for area, count in _places(session, values["hold"]):
        session.lock("area", area, 1.0)
        found.append((area, count))
    return list(found)


def _sell_places(session: Session, values: Mapping[str, Any]) -> Rows:
    for area, count in _places(session, values["hold"]):
        row: AreaRow = session.get("area", area)
        assert row.held >= count, "the CHECK on area keeps counters from going below nothing"
        session.put("area", area, row._replace(held=row.held - count, sold=row.sold + count))
    return []


def _free_places(session: Session, values: Mapping[str, Any]) -> Rows:
    for area, count in _places(session, values["hold"]):
        session.lock("hold_area", (values["hold"], area), 1.0)
        session.put("hold_area", (values["hold"], area), None)
        row: AreaRow = session.get("area", area)
        assert row.held >= count, "the CHECK on area keeps counters from going below nothing"
        session.put("area", area, row._replace(held=row.held - count))
    return []


def _insert_fact(session: Session, values: Mapping[str, Any]) -> Rows:
    fact = session.database.next_fact()
    session.insert("fact", fact, FactRow(values["kind"], values["hold"], values.get("body", "null")))
    return []


HOLDERS: dict[str, tuple[str, Statement]] = {
    holds.PAY: ("pay", _pay),
    holds.GIVE_BACK: ("release", _give_back),
    holds.READ_HOLD: ("read hold", _read_hold),
    holds.SEATS_DECIDED: ("read decision", _seats_decided),
    holds.EXTEND: ("extend", _extend),
    holds.READ_HOLD_NOW: ("read hold now", _read_hold_now),
    holds.INSERT_TELLING_FACT: ("insert fact", _insert_fact),
    hold_parts.KEEP_FEWER: ("keep fewer", _keep_fewer),
    hold_parts.LOCK_HOLD: ("lock hold", _lock_hold),
    hold_parts.GIVE_PLACES: ("give places", _give_places),
    hold_parts.KEPT_SEATS: ("kept seats", _kept_seats),
    hold_parts.KEPT_PLACES: ("kept places", _kept_places),
    holds.LOCK_SEATS.format(among=""): ("lock seats", _lock_seats),
    holds.LOCK_SEATS.format(among=holds.AMONG): ("lock seats", _lock_seats_among),
    holds.SELL_SEATS: ("sell seats", _sell_seats),
    holds.FREE_SEATS: ("free seats", free_seats),
    holds.FREE_HOLD_SEATS: ("free hold seats", _free_hold_seats),
    holds.LOCK_AREAS: ("lock areas", _lock_areas),
    holds.SELL_PLACES: ("sell places", _sell_places),
    holds.FREE_PLACES: ("free places", _free_places),
    holds.INSERT_FACT: ("insert fact", _insert_fact),
}
