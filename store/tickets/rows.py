"""Rows of `ticket`: read and written by whoever has locked the order's hold row, which every change of a
ticket locks first. So one change of an order's tickets follows the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import psycopg
from psycopg.rows import tuple_row

from store.holds import Conn
from store.tickets.items import NOTHING, SEAT, Item, Remembered, Rows, places_there, places_to_take
from store.words import HoldState

READ: Final = """
SELECT area_no, number, serial, holder, offer_code, offered, gone,
       (extract(epoch FROM checked_at) * 1000000)::bigint, checked_by
  FROM ticket WHERE event_id = %(event)s AND order_id = %(hold)s
"""

MARK_GONE: Final = """
-- The order is locked. An offer of what is gone ends with it; its code stays, so that who claims is told.
INSERT INTO ticket (event_id, order_id, area_no, number, gone)
SELECT %(event)s, %(hold)s, area_no, number, true
  FROM unnest(%(items_areas)s::int[], %(items_numbers)s::int[]) AS went (area_no, number)
    ON CONFLICT (event_id, order_id, area_no, number) DO UPDATE SET gone = true, offered = false
"""

HAS_SEAT: Final = """
SELECT 1 FROM hold_seat WHERE event_id = %(event)s AND seat_no = %(number)s AND hold_id = %(hold)s
"""

HAS_PLACES: Final = """
SELECT quantity FROM hold_area WHERE event_id = %(event)s AND hold_id = %(hold)s AND area_no = %(area)s
"""


def rows_of(found: Sequence[tuple[Any, ...]]) -> Rows:
    """What `READ` gave."""
    return {Item(area, number): Remembered(*rest) for area, number, *rest in found}


async def is_there(
    connection: Conn, values: Mapping[str, Any], state: HoldState, rows: Rows, item: Item
) -> bool:
    """Whether an order, which is locked, is one and still has the item that `values` names."""
    if state is not HoldState.PAID or rows.get(item, NOTHING).gone:
        return False
    found = await connection.execute(HAS_SEAT if item.area == SEAT else HAS_PLACES, values)
    row = await found.fetchone()
    if row is None:
        return False
    return item.area == SEAT or item in places_there(item.area, row[0], rows)


def mark_gone(
    conn: psycopg.Connection[Any],
    event_id: int,
    order_id: int,
    seats: Sequence[int],
    areas: Mapping[int, tuple[int, int]],
    places: Sequence[Item] | None,
) -> None:
    """The order, which is locked and goes on, has these seats and places no longer.

    `areas`: area number → (how many places it had, how many go). `places` says which; by `places_to_take`
    where it does not.
    """
    values: dict[str, Any] = {"event": event_id, "hold": order_id}
    if places is None:
        places = []
        if areas:
            rows = rows_of(conn.cursor(row_factory=tuple_row).execute(READ, values).fetchall())
            for area, (had, count) in areas.items():
                places += places_to_take(area, had, count, rows)
    items = [Item(SEAT, seat) for seat in seats] + list(places)
    values |= {"items_areas": [item.area for item in items], "items_numbers": [item.number for item in items]}
    marked = conn.execute(MARK_GONE, values)
    assert marked.rowcount == len(items), "each of them has a row now"
