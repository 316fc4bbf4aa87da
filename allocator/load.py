"""Memory from the tables, in one snapshot; and the keys that were decided.

Facts that are committed but not consumed are in the snapshot's tables already; when they are
consumed, memory no longer names their hold and they change nothing. Keys are loaded apart, because
a ledger of a million rows takes a second and a standby has them already.
"""

from __future__ import annotations

from typing import Any, Final

import psycopg

from allocator import waiting
from allocator.keys import Keys
from allocator.layout import Layout
from allocator.memory import BLOCKED, Hold, Memory
from allocator.ports import Cursor
from allocator.wishes import Wishes
from store import plan as plans
from store.events import load_policy
from store.lookups import PLAN_THAT_COUNTS
from store.words import Arrival, HoldId, WaitId

Connection = psycopg.Connection[Any]


READ_PLAN: Final = f"""
SELECT coalesce(event_plan.plan, venue.plan), coalesce(event_plan.version, 0)
  FROM event JOIN venue ON event.venue_id = venue.id {PLAN_THAT_COUNTS} WHERE event.id = %s
"""

READ_FIRST_PLAN: Final = """
SELECT coalesce(event_plan.plan, venue.plan), 0
  FROM event JOIN venue ON event.venue_id = venue.id
  LEFT JOIN event_plan ON event_plan.event_id = event.id AND event_plan.version = 0 WHERE event.id = %s
"""

READ_VERSION: Final = """
SELECT coalesce(max(version), 0) FROM event_plan WHERE event_id = %s AND ledger_at IS NOT NULL
"""


def load_layout(conn: Connection, event_id: int) -> Layout:
    """The event's plan as the last batch left it, ready for decisions."""
    layout = _layout(conn, event_id, READ_PLAN)
    conn.commit()
    return layout


def load_first_layout(conn: Connection, event_id: int) -> Layout:
    """The event's plan as the sale began with it: of what was moved since, the ledger says when."""
    layout = _layout(conn, event_id, READ_FIRST_PLAN)
    conn.commit()
    return layout


def _layout(conn: Connection, event_id: int, statement: str) -> Layout:
    row = conn.execute(statement.encode(), (event_id,)).fetchone()
    assert row is not None, "an event has a venue"
    return Layout(plans.decode(row[0].encode()), row[1])


def load_memory(conn: Connection, event_id: int, layout: Layout) -> tuple[Memory, Cursor]:
    """The state after the last committed batch and where it stands.

    By `layout`, unless the event's plan is another by then: that is read with the rest.
    """
    conn.rollback()
    with conn.transaction():
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        (version,) = conn.execute(READ_VERSION, (event_id,)).fetchall()[0]
        if version != layout.version:
            layout = _layout(conn, event_id, READ_PLAN)
        memory = Memory(layout, load_policy(conn, event_id))
        cursor = _cursor(conn, event_id, memory)
        _seats(conn, event_id, memory)
        _holds(conn, event_id, memory)
        for area_no, free in conn.execute(
            "SELECT area_no, capacity - held - sold - blocked FROM area WHERE event_id = %s", (event_id,)
        ):
            memory.areas_free[area_no] = free
        _waiting(conn, event_id, memory)
        facts = conn.execute("SELECT id FROM fact WHERE event_id = %s", (event_id,))
        memory.reflected = frozenset(fact_id for (fact_id,) in facts)
    return memory, cursor


def _cursor(conn: Connection, event_id: int, memory: Memory) -> Cursor:
    row = conn.execute(
        "SELECT epoch, batch_no, arrival, (extract(epoch FROM batch_time) * 1000000)::bigint"
        "  FROM event_cursor WHERE event_id = %s",
        (event_id,),
    ).fetchone()
    assert row is not None, "an event has a cursor row"
    epoch, memory.batch_no, arrival, memory.batch_time = row
    return Cursor(epoch, memory.batch_no, Arrival(arrival))


def _seats(conn: Connection, event_id: int, memory: Memory) -> None:
    rows = conn.execute(
        "SELECT seat_no, coalesce(hold_id, %s) FROM seat WHERE event_id = %s AND state <> 'available'",
        (BLOCKED, event_id),
    )
    for seat_no, hold_id in rows:
        memory.take(seat_no, hold_id)


def _holds(conn: Connection, event_id: int, memory: Memory) -> None:
    """Active holds with what they have, and how much each buyer holds or owns."""
    seats: dict[int, list[int]] = {}
    for hold_id, seat_no in conn.execute(
        "SELECT hold_id, seat_no FROM hold_seat JOIN hold USING (event_id, hold_id)"
        " WHERE event_id = %s AND state = 'active' ORDER BY seat_no",
        (event_id,),
    ):
        seats.setdefault(hold_id, []).append(seat_no)
    areas: dict[int, list[tuple[int, int]]] = {}
    for hold_id, area_no, quantity in conn.execute(
        "SELECT hold_id, area_no, hold_area.quantity FROM hold_area JOIN hold USING (event_id, hold_id)"
        " WHERE event_id = %s AND state = 'active' ORDER BY area_no",
        (event_id,),
    ):
        areas.setdefault(hold_id, []).append((area_no, quantity))
    counts = memory.count_by_buyer
    for hold_id, buyer, state, quantity, expires_at in conn.execute(
        "SELECT hold_id, buyer, state, quantity, (extract(epoch FROM expires_at) * 1000000)::bigint"
        "  FROM hold WHERE event_id = %s AND state IN ('active', 'paid') AND kind = 'buyer'",
        (event_id,),
    ):
        counts[buyer] = counts.get(buyer, 0) + quantity
        if state == "active":
            hold = Hold(buyer, tuple(seats.get(hold_id, ())), tuple(areas.get(hold_id, ())), expires_at)
            memory.put(HoldId(hold_id), hold)
    if memory.category_limits:
        _counts_by_category(conn, event_id, memory)


def _counts_by_category(conn: Connection, event_id: int, memory: Memory) -> None:
    """How much of each limited category each buyer holds or owns."""
    counts, plan = memory.count_by_category, memory.layout.plan
    rows = conn.execute(
        "SELECT buyer, seat_no, NULL, 1 FROM hold_seat JOIN hold USING (event_id, hold_id)"
        " WHERE event_id = %(event)s AND state IN ('active', 'paid') AND kind = 'buyer' UNION ALL"
        " SELECT buyer, NULL, area_no, hold_area.quantity FROM hold_area JOIN hold USING (event_id, hold_id)"
        " WHERE event_id = %(event)s AND state IN ('active', 'paid') AND kind = 'buyer'",
        {"event": event_id},
    )
    for buyer, seat_no, area_no, quantity in rows:
        category = plan.areas[area_no].category if seat_no is None else plan.seats[seat_no].category
        if category in memory.category_limits:
            counts[buyer, category] = counts.get((buyer, category), 0) + quantity


def _waiting(conn: Connection, event_id: int, memory: Memory) -> None:
    """Who waits, for what; and whether the last batch left offers to the next."""
    wishes = Wishes(memory.layout)
    for wait_id, buyer, request_id, want in conn.execute(
        "SELECT wait_id, waiting.buyer, waiting.request_id, ledger.input::text"
        "  FROM waiting JOIN ledger ON ledger.event_id = waiting.event_id"
        "   AND ledger.batch_no = wait_id >> 16 AND ledger.position = (wait_id & 65535)::int"
        " WHERE waiting.event_id = %s AND waiting.state = 'waiting' ORDER BY wait_id",
        (event_id,),
    ):
        memory.waiting.add(WaitId(wait_id), buyer, request_id, wishes.read_again(want.encode()))
    row = conn.execute(
        "SELECT count(*) FROM ledger WHERE event_id = %s AND batch_no = %s AND kind = 'offer'",
        (event_id, memory.batch_no),
    ).fetchone()
    assert row is not None, "a count is a row"
    memory.offers_owed = row[0] >= waiting.OFFERS_PER_BATCH_MAX


def load_keys(conn: Connection, event_id: int) -> Keys:
    """Every decided key of the event."""
    with conn.cursor().copy(
        "COPY (SELECT buyer, request_id FROM ledger"
        f" WHERE event_id = {int(event_id)} AND kind = 'request') TO STDOUT"
    ) as copy:
        copy.set_types(["text", "text"])
        keys = Keys((buyer, request_id) for buyer, request_id in copy.rows())
    conn.commit()
    return keys
