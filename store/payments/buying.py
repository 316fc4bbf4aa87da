"""Holds become orders, many in one go: hold, seats, places, history and facts, in the transaction of whoever
was paid. See `store.holds.confirm` for one that costs nothing.

`look_at` locks holds and says how they are, `buy` changes those that are alive. Lock order, as for all
writers: holds by event and number, seats, areas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from store.holds import Conn
from store.lost_time import RUN_BY
from store.payments.states import HoldFate
from store.words import FactKind, HoldState

LOCK_HOLDS: Final = f"""
-- Locks every hold that is asked about, by event and number, whatever its state: it says what becomes of the
-- money. After a wait the row is read again. Alive: by the time that `store.holds.PAY` goes by. `event` is
-- not joined: of an event that is new to statistics all holds would be read for each.
SELECT hold.event_id, hold.hold_id, hold.buyer, hold.state, hold.quantity,
       hold.expires_at > (SELECT {RUN_BY} FROM event WHERE event.id = hold.event_id)
  FROM hold JOIN unnest(%(events)s::int[], %(holds)s::bigint[]) AS asked (event_id, hold_id)
    ON hold.event_id = asked.event_id AND hold.hold_id = asked.hold_id
 ORDER BY hold.event_id, hold.hold_id FOR NO KEY UPDATE OF hold
"""

PAY: Final = """
-- The rows are locked and were looked at; the condition says so once more, in a way that the index of active
-- holds does not answer: with it all of the event's would be read for each.
UPDATE hold SET state = 'paid', paid_at = clock_timestamp()
  FROM unnest(%(events)s::int[], %(holds)s::bigint[], %(buyers)s::text[]) AS bought (event_id, hold_id, buyer)
 WHERE hold.event_id = bought.event_id AND hold.hold_id = bought.hold_id AND hold.buyer = bought.buyer
   AND hold.state || '' = 'active'
"""

LOCK_SEATS: Final = """
-- By event and number, as all writers do.
SELECT 1 FROM seat
  JOIN unnest(%(events)s::int[], %(holds)s::bigint[], %(seats)s::int[]) AS bought (event_id, hold_id, seat_no)
    ON seat.event_id = bought.event_id AND seat.seat_no = bought.seat_no
 WHERE seat.state = 'held' AND seat.hold_id = bought.hold_id
 ORDER BY seat.event_id, seat.seat_no FOR UPDATE OF seat
"""

SELL_SEATS: Final = """
-- With their history, as everywhere.
WITH changed AS (
  UPDATE seat SET state = 'sold'
    FROM unnest(%(events)s::int[], %(holds)s::bigint[], %(seats)s::int[])
      AS bought (event_id, hold_id, seat_no)
   WHERE seat.event_id = bought.event_id AND seat.seat_no = bought.seat_no
     AND seat.state = 'held' AND seat.hold_id = bought.hold_id
  RETURNING seat.event_id, seat.seat_no, seat.hold_id)
INSERT INTO seat_history (event_id, seat_no, state, hold_id, by)
SELECT event_id, seat_no, 'sold', hold_id, 'buyer' FROM changed
"""

LOCK_AREAS: Final = """
SELECT 1 FROM area
 WHERE (event_id, area_no) IN (SELECT * FROM unnest(%(events)s::int[], %(areas)s::int[]))
 ORDER BY event_id, area_no FOR UPDATE
"""

SELL_PLACES: Final = """
-- Guarded by the CHECKs on the counters. Summed first: an area is one row, however many bought in it.
UPDATE area SET held = held - bought.places, sold = sold + bought.places
  FROM (SELECT event_id, area_no, sum(places)::int AS places
          FROM unnest(%(events)s::int[], %(areas)s::int[], %(places)s::int[])
            AS one (event_id, area_no, places)
         GROUP BY event_id, area_no) AS bought
 WHERE area.event_id = bought.event_id AND area.area_no = bought.area_no
"""

INSERT_FACTS: Final = """
INSERT INTO fact (event_id, kind, hold_id)
SELECT event_id, %(kind)s, hold_id
  FROM unnest(%(events)s::int[], %(holds)s::bigint[]) AS bought (event_id, hold_id)
"""

HoldKey = tuple[int, int]
"""(event, hold)"""


class Bought(Struct, frozen=True):
    """A hold and what it must have; by numbers of the plan."""

    event_id: int
    hold_id: int
    buyer: str
    seats: Sequence[int]
    areas: Mapping[int, int]

    @property
    def key(self) -> HoldKey:
        return self.event_id, self.hold_id

    @property
    def quantity(self) -> int:
        return len(self.seats) + sum(self.areas.values())


_FATES: Final = {
    HoldState.EXPIRED: HoldFate.OVER,
    HoldState.RELEASED: HoldFate.RELEASED,
    HoldState.PAID: HoldFate.PAID,
    HoldState.REFUNDED: HoldFate.REFUNDED,
}


async def look_at(connection: Conn, wanted: Sequence[Bought]) -> dict[HoldKey, HoldFate]:
    """Locks the holds and says what somebody who pays for them finds."""
    values = {"events": [one.event_id for one in wanted], "holds": [one.hold_id for one in wanted]}
    rows = await (await connection.execute(LOCK_HOLDS, values)).fetchall()
    found = {(event, hold): rest for event, hold, *rest in rows}
    fates = {}
    for one in wanted:
        assert one.key in found, f"hold {one.hold_id} of event {one.event_id} is paid for and not there"
        buyer, state, quantity, runs = found[one.key]
        assert buyer == one.buyer, f"hold {one.hold_id} of event {one.event_id} is not its payer's"
        if state == HoldState.ACTIVE and not runs:
            fates[one.key] = HoldFate.OVER
        elif state == HoldState.ACTIVE:
            fates[one.key] = HoldFate.ALIVE if quantity == one.quantity else HoldFate.CHANGED
        else:
            fates[one.key] = _FATES[HoldState(state)]
    return fates


async def buy(connection: Conn, bought: Sequence[Bought]) -> None:
    """Holds that are locked and alive become orders."""
    if not bought:
        return
    events, holds = [one.event_id for one in bought], [one.hold_id for one in bought]
    values: dict[str, object] = {"events": events, "holds": holds, "kind": FactKind.PAID.value}
    paid = await connection.execute(PAY, values | {"buyers": [one.buyer for one in bought]})
    assert paid.rowcount == len(bought), "the holds are locked and alive, so all of them are paid"
    each = [(one.event_id, one.hold_id, seat) for one in bought for seat in one.seats]
    if each:
        seats = dict(zip(("events", "holds", "seats"), map(list, zip(*each, strict=True)), strict=True))
        locked = await connection.execute(LOCK_SEATS, seats)
        assert locked.rowcount == len(each), "a hold of that quantity has the seats it was charged for"
        sold = await connection.execute(SELL_SEATS, seats)
        assert sold.rowcount == len(each), "the seats are locked, so all of them become sold"
    parts = [(one.event_id, area, count) for one in bought for area, count in one.areas.items()]
    if parts:
        places = dict(zip(("events", "areas", "places"), map(list, zip(*parts, strict=True)), strict=True))
        await connection.execute(LOCK_AREAS, places)
        moved = await connection.execute(SELL_PLACES, places)
        areas = len({(event, area) for event, area, _ in parts})
        assert moved.rowcount == areas, "an event has a row for every area of its plan"
    await connection.execute(INSERT_FACTS, values)
