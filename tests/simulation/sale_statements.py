"""The statements of operators' sales and of orders taken back, as the virtual Postgres runs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from store import sales
from tests.simulation.postgres import ONE, AreaRow, HoldRow, Session

Rows = list[tuple[Any, ...]]


def _lock_event(session: Session, values: Mapping[str, Any]) -> Rows:
    session.lock("event", ONE, 1.0)
    return [(1,)]


def _find_sale(session: Session, values: Mapping[str, Any]) -> Rows:
    holds = session.database.rows["hold"].items()
    return [
        (no,)
        for no, row in sorted(holds)
        if no >= values["first"] and row.request_id == values["request"] and row.state == "paid"
    ]


def _next_sale(session: Session, values: Mapping[str, Any]) -> Rows:
    numbers = [no for no in session.database.rows["hold"] if no >= values["first"]]
    return [(max(numbers) + 1 if numbers else values["first"],)]


def _insert_order(session: Session, values: Mapping[str, Any]) -> Rows:
    row = HoldRow(
        values["buyer"],
        values["request"],
        "paid",
        values["quantity"],
        session.database.clock(),
        kind=values["kind"],
    )
    session.insert("hold", values["hold"], row)
    return [()]


def _sell_seats(session: Session, values: Mapping[str, Any]) -> Rows:
    sold = [seat for seat in values["seats"] if session.get("seat", seat)[0] == "blocked"]
    for seat in sold:
        session.put("seat", seat, ("sold", values["hold"]))
        session.remember(seat, "sold", values["hold"], values["who"])
    return [(seat,) for seat in sold]


def _insert_hold_seats(session: Session, values: Mapping[str, Any]) -> Rows:
    for seat in values["seats"]:
        session.insert("hold_seat", seat, values["hold"])
    return []


def _sell_places(session: Session, values: Mapping[str, Any]) -> Rows:
    moved: Rows = []
    for area, places in zip(values["areas"], values["places"], strict=True):
        row: AreaRow = session.get("area", area)
        if row.blocked >= places:
            session.put("area", area, row._replace(blocked=row.blocked - places, sold=row.sold + places))
            moved.append((area,))
    return moved


def _insert_hold_areas(session: Session, values: Mapping[str, Any]) -> Rows:
    for area, places in zip(values["areas"], values["places"], strict=True):
        session.insert("hold_area", (values["hold"], area), places)
    return []


def _lock_order(session: Session, values: Mapping[str, Any]) -> Rows:
    session.lock("hold", values["hold"], 1.0)
    row: HoldRow | None = session.get("hold", values["hold"])
    return [] if row is None else [(row.state, row.quantity, row.buyer, row.kind)]


def _lock_sold(session: Session, values: Mapping[str, Any]) -> Rows:
    found: Rows = []
    for seat, hold_id in sorted(session.database.rows["hold_seat"].items()):
        if hold_id == values["hold"]:
            session.lock("seat", seat, 1.0)
            if session.get("seat", seat) == ("sold", hold_id):
                found.append((seat,))
    return found


def _refund(session: Session, values: Mapping[str, Any]) -> Rows:
    row: HoldRow = session.get("hold", values["hold"])
    if row.state != "paid":
        return []
    session.put("hold", values["hold"], row._replace(state="refunded"))
    return [(1,)]


def _keep_fewer(session: Session, values: Mapping[str, Any]) -> Rows:
    row: HoldRow = session.get("hold", values["hold"])
    if row.state != "paid" or row.quantity <= values["count"]:
        return []
    session.put("hold", values["hold"], row._replace(quantity=row.quantity - values["count"]))
    return [(1,)]


def _free_sold(session: Session, values: Mapping[str, Any]) -> Rows:
    freed = [seat for seat in values["seats"] if session.get("seat", seat) == ("sold", values["hold"])]
    for seat in freed:
        session.put("seat", seat, (values["becomes"], None))
        session.remember(seat, values["becomes"], values["hold"], values["who"])
    return [(seat,) for seat in freed]


def _free_sold_places(session: Session, values: Mapping[str, Any]) -> Rows:
    moved: Rows = []
    for area, places in zip(values["areas"], values["places"], strict=True):
        key = (values["hold"], area)
        session.lock("hold_area", key, 1.0)
        kept = session.get("hold_area", key)
        if kept is not None and kept >= places:
            session.put("hold_area", key, kept - places or None)
            row: AreaRow = session.get("area", area)
            blocked = places if values["becomes"] == "blocked" else 0
            row = row._replace(sold=row.sold - places, blocked=row.blocked + blocked)
            session.put("area", area, row)
            moved.append((area,))
    return moved


def _kept_seats(session: Session, values: Mapping[str, Any]) -> Rows:
    mine = session.pending.get("hold_seat", {})
    seats = {*session.database.rows["hold_seat"], *mine}
    return [(seat,) for seat in sorted(seats) if session.get("hold_seat", seat) == values["hold"]]


SALES = {
    sales.LOCK_EVENT: ("lock event for a sale", _lock_event),
    sales.FIND_SALE: ("find sale", _find_sale),
    sales.IS_CALLED_OFF: ("is it called off", lambda session, values: []),
    sales.NEXT_SALE: ("number of the sale", _next_sale),
    sales.INSERT_ORDER: ("insert order", _insert_order),
    sales.SELL_SEATS: ("sell blocked seats", _sell_seats),
    sales.INSERT_HOLD_SEATS: ("insert hold seats", _insert_hold_seats),
    sales.SELL_PLACES: ("sell blocked places", _sell_places),
    sales.INSERT_HOLD_AREAS: ("insert hold areas", _insert_hold_areas),
    sales.LOCK_ORDER: ("lock order", _lock_order),
    sales.LOCK_SOLD: ("lock sold seats", _lock_sold),
    sales.REFUND: ("refund", _refund),
    sales.KEEP_FEWER: ("keep fewer of an order", _keep_fewer),
    sales.FREE_SOLD: ("free sold seats", _free_sold),
    sales.FREE_SOLD_PLACES: ("free sold places", _free_sold_places),
    sales.KEPT_SEATS: ("seats of an order", _kept_seats),
}
