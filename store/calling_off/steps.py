"""What calling an event off does, step by step: holds end, the waiting list ends, orders go back or along.

Each order is a transaction of its own that also counts it, so whoever is killed anywhere, the next one goes
on; two at once wait for each other or find it done. It is done when no hold runs, nobody waits and no order
stands: since the event was closed none of these can come anew.

A refund is owed here, and given by who gives refunds (`store.payments.refunds`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec
import psycopg

from store import blocks, sales
from store.audit import Said
from store.blocks import Released, in_transaction
from store.calling_off.begin import LOCK_CURSORS
from store.calling_off.rebook import Side, Translation, rebook
from store.calling_off.state import Conn
from store.errors import Unavailable
from store.figures.read import plan_of
from store.plan import Plan
from store.sales import Order
from store.words import Blocks, FactKind, HoldState, SeatState

log = logging.getLogger("onsale.calling_off")

EVENTS_MAX: Final = 10
"""So many events one step goes on with."""
HOLDS_MAX: Final = 50
ORDERS_MAX: Final = 20
WAITING_MAX: Final = 500

RUNNING: Final = f"""
-- The oldest first; one that is being waited for stands behind none that is done.
SELECT called_off.event_id, event.slug, to_event_id, target.slug, who, why
  FROM called_off JOIN event ON event.id = called_off.event_id
  LEFT JOIN event AS target ON target.id = to_event_id
 WHERE done_at IS NULL ORDER BY begun_at, called_off.event_id LIMIT {EVENTS_MAX}
"""
ACTIVE_HOLDS: Final = f"""
SELECT hold_id FROM hold WHERE event_id = %(event)s AND state = 'active' AND hold_id > %(after)s
 ORDER BY hold_id LIMIT {HOLDS_MAX}
"""
ORDERS: Final = f"""
SELECT hold_id FROM hold WHERE event_id = %(event)s AND state = 'paid' AND hold_id > %(after)s
 ORDER BY hold_id LIMIT {ORDERS_MAX}
"""
LOCK_ACTIVE: Final = """
SELECT 1 FROM hold WHERE event_id = %(event)s AND hold_id = %(hold)s AND state = 'active' FOR UPDATE
"""
LEAVE_LIST: Final = f"""
-- In the list's order, as a batch takes them off; each with the fact that a buyer who leaves writes.
WITH gone AS (
  SELECT wait_id FROM waiting WHERE event_id = %(event)s AND state = 'waiting'
   ORDER BY wait_id LIMIT {WAITING_MAX} FOR UPDATE),
left_now AS (
  UPDATE waiting SET state = 'left' FROM gone
   WHERE waiting.event_id = %(event)s AND waiting.wait_id = gone.wait_id RETURNING waiting.wait_id)
INSERT INTO fact (event_id, kind, body)
SELECT %(event)s, '{FactKind.LEFT.value}', json_build_object('wait', wait_id::text)
  FROM left_now ORDER BY wait_id
"""
COUNT: Final = """
UPDATE called_off SET holds = holds + %(holds)s, waiting = waiting + %(waiting)s,
       refunded = refunded + %(refunded)s, rebooked = rebooked + %(rebooked)s
 WHERE event_id = %(event)s
"""
FINISH: Final = """
-- Only when nothing is left, in the moment of this statement.
UPDATE called_off SET done_at = clock_timestamp()
 WHERE event_id = %(event)s AND done_at IS NULL
   AND NOT EXISTS (SELECT FROM hold WHERE hold.event_id = %(event)s AND hold.state IN ('active', 'paid'))
   AND NOT EXISTS (SELECT FROM waiting WHERE waiting.event_id = %(event)s AND waiting.state = 'waiting')
RETURNING reserved::text
"""
PLACES_USED: Final = """
SELECT (one ->> 0)::int, sum((one ->> 1)::int)::int
  FROM rebooked CROSS JOIN LATERAL json_array_elements(areas) AS one
 WHERE event_id = %(event)s GROUP BY 1
"""

Tell = Callable[[str, Order | Released], object]
"""Called after a hold or an order of that event was changed: to tell its buyer's sockets, best effort."""


class _Running(NamedTuple):
    event_id: int
    slug: str
    to_id: int | None
    to_slug: str | None
    said: Said


def step(conn: Conn, tell: Tell | None = None) -> int:
    """A bounded piece of every event that is being called off; how much was done, 0: nothing for now.

    `conn` commits by itself. Twice at once, and again and again, does no harm.
    """
    return sum([_step(conn, one, tell) for one in _running(conn)])


def step_of(conn: Conn, slug: str, tell: Tell | None = None) -> int:
    """`step` of one event."""
    return sum([_step(conn, one, tell) for one in _running(conn, slug)])


def _running(conn: Conn, slug: str | None = None) -> list[_Running]:
    found = conn.execute(RUNNING if slug is None else _OF_ONE, {"slug": slug}).fetchall()
    return [_Running._make((*its, Said(who, why))) for *its, who, why in found]


_OF_ONE: Final = RUNNING.replace("WHERE done_at IS NULL", "WHERE done_at IS NULL AND event.slug = %(slug)s")


def _step(conn: Conn, one: _Running, tell: Tell | None) -> int:
    plan = plan_of(conn, one.event_id)
    done = _end_holds(conn, one, plan, tell) + _end_waiting(conn, one)
    done += _end_orders(conn, one, plan, tell)
    return done or _finish(conn, one)


def _end_some(conn: Conn, one: _Running, find: str, end: Callable[[int], int]) -> int:
    """The first that `find` gives are ended; where that fails with all of them, those behind them."""
    done = after = 0
    while not done:
        found = [hold for (hold,) in conn.execute(find, {"event": one.event_id, "after": after}).fetchall()]
        if not found:
            break
        done, after = sum([end(hold) for hold in found]), found[-1]
    return done


def _end_holds(conn: Conn, one: _Running, plan: Plan, tell: Tell | None) -> int:
    def end(hold_id: int) -> int:
        def attempt() -> Released | None:
            if conn.execute(LOCK_ACTIVE, {"event": one.event_id, "hold": hold_id}).fetchone() is None:
                return None  # bought, given back or ended by somebody else meanwhile
            released = blocks.release_hold(conn, one.event_id, plan, hold_id, one.said)
            _count(conn, one, holds=1)
            return released

        return _told(one.slug, _alone(conn, attempt, f"hold {hold_id} of {one.slug}"), tell)

    return _end_some(conn, one, ACTIVE_HOLDS, end)


def _end_waiting(conn: Conn, one: _Running) -> int:
    def attempt() -> int:
        gone = conn.execute(LEAVE_LIST, {"event": one.event_id}).rowcount
        if gone:
            _count(conn, one, waiting=gone)
        return gone

    return _alone(conn, attempt, f"the waiting list of {one.slug}") or 0


def _end_orders(conn: Conn, one: _Running, plan: Plan, tell: Tell | None) -> int:
    if one.to_id is None or one.to_slug is None:
        return _end_some(conn, one, ORDERS, lambda order: _refund(conn, one, plan, order, tell))
    event = Side(one.event_id, one.slug, plan)
    to = Side(one.to_id, one.to_slug, plan_of(conn, one.to_id))
    by = Translation(plan, to.plan)
    return _end_some(conn, one, ORDERS, lambda order: _move(conn, one, event, to, by, order, tell))


def _refund(conn: Conn, one: _Running, plan: Plan, order_id: int, tell: Tell | None) -> int:
    values = {"event": one.event_id, "hold": order_id}

    def attempt() -> Order | None:
        conn.execute(blocks.LOCK_CURSOR, values)
        row = conn.execute(sales.LOCK_ORDER, values).fetchone()
        if row is None or row[0] != HoldState.PAID:
            return None
        back = sales.take_back(conn, one.event_id, plan, order_id, one.said, reason="event_canceled")
        _count(conn, one, refunded=1)
        return back

    return _told(one.slug, _alone(conn, attempt, f"order {order_id} of {one.slug}"), tell)


def _move(
    conn: Conn, one: _Running, event: Side, to: Side, by: Translation, order_id: int, tell: Tell | None
) -> int:
    def attempt() -> tuple[Order, Order | None] | None:
        moved = rebook(conn, event, to, by, order_id, one.said)
        if moved is not None:
            _count(conn, one, refunded=int(moved[1] is None), rebooked=int(moved[1] is not None))
        return moved

    moved = _alone(conn, attempt, f"order {order_id} of {one.slug}")
    if moved is None:
        return 0
    _told(to.slug, moved[1], tell)
    return _told(one.slug, moved[0], tell)


def _finish(conn: Conn, one: _Running) -> int:
    """What was kept for a move and not needed is on sale again."""

    def attempt() -> int:
        if one.to_id is not None:
            conn.execute(sales.LOCK_EVENT, {"event": one.to_id})
            conn.execute(LOCK_CURSORS, {"events": [one.to_id]})
        row = conn.execute(FINISH, {"event": one.event_id}).fetchone()
        if row is not None and one.to_id is not None:
            _unblock(conn, one, one.to_id, msgspec.json.decode(row[0], type=Blocks))
        return 0 if row is None else 1

    return _alone(conn, attempt, f"the end of calling {one.slug} off") or 0


def _unblock(conn: Conn, one: _Running, to_id: int, reserved: Blocks) -> None:
    used: dict[int, int] = dict(conn.execute(PLACES_USED, {"event": one.event_id}).fetchall())
    values: dict[str, Any] = {"event": to_id, "who": one.said.who, "seats": list(reserved.seats)}
    values["areas"] = [area for area, _ in reserved.areas]
    found = conn.execute(blocks.LOCK_SEATS, values).fetchall()
    seats = [seat for seat, state, _ in found if state == SeatState.BLOCKED]
    blocked = {area: count for area, _, count in conn.execute(blocks.LOCK_AREAS, values).fetchall()}
    left = {area: min(count - used.get(area, 0), blocked[area]) for area, count in reserved.areas}
    what = Blocks(tuple(seats), tuple([(area, count) for area, count in left.items() if count > 0]))
    if what.seats or what.areas:
        blocks.turn(conn, values, what, FactKind.UNBLOCKED)


def _count(conn: Conn, one: _Running, **more: int) -> None:
    none = {"holds": 0, "waiting": 0, "refunded": 0, "rebooked": 0}
    conn.execute(COUNT, {"event": one.event_id, **none, **more})


def _told(slug: str, changed: Order | Released | None, tell: Tell | None) -> int:
    if changed is not None and tell is not None:
        tell(slug, changed)
    return int(changed is not None)


def _alone(conn: Conn, attempt: Callable[[], Any], what: str) -> Any:
    """What `attempt` made true; None where that failed: the others go on, and the next step tries again."""
    try:
        return in_transaction(conn, attempt)
    except Unavailable as error:
        log.info("%s is left for the next step: %s", what, error)
    except (AssertionError, psycopg.IntegrityError):
        log.exception("%s: ALERT: its rows contradict each other; it is left as it is", what)
    return None
