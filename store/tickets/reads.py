"""What a buyer may see of orders and their tickets: their own, and what others gave them. Reads only.

Each function is one REPEATABLE READ snapshot, so that seats, places and what is remembered of tickets fit
each other. Law 6 is the buyer in the statements that find the orders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct, json

from store.holds import Conn, SeatNumbers
from store.payments.begin import decode_charged
from store.payments.charges import Line
from store.tickets.items import NOTHING, SEAT, Item, Remembered, Rows, items_there
from store.words import OPERATORS_HOLDS, HoldKind, HoldState

ORDERS_MAX: Final = 50
"""Most orders one reading gives."""

_COLUMNS: Final = """
SELECT hold.hold_id, hold.state, hold.kind, hold.buyer, (extract(epoch FROM hold.paid_at) * 1000000)::bigint,
       payment.id, payment.state, payment.currency, payment.amount_minor, payment.fee_minor,
       payment.tax_minor, payment.refunded_minor, payment.refund_due_minor, payment.charged::text,
       event.returns_allowed, event.transfers_allowed
  FROM hold JOIN event ON event.id = hold.event_id
  LEFT JOIN payment ON payment.event_id = hold.event_id AND payment.order_id = hold.hold_id
"""

ORDERS: Final = f"""
-- Those the buyer bought, along `hold_order`, and those some ticket of which the buyer was given, along
-- `ticket_holder`. Newest first.
{_COLUMNS}
 WHERE hold.event_id = %(event)s AND hold.state IN ('paid', 'refunded')
   AND hold.hold_id IN (
     SELECT hold_id FROM hold AS mine
      WHERE mine.event_id = %(event)s AND mine.buyer = %(buyer)s AND mine.state IN ('paid', 'refunded')
      UNION
     SELECT order_id FROM ticket
      WHERE ticket.event_id = %(event)s AND ticket.holder = %(buyer)s AND ticket.holder IS NOT NULL)
   AND (hold.paid_at, hold.hold_id) < (
     SELECT coalesce(max(paid_at), 'infinity'), coalesce(max(hold_id), 9223372036854775807) FROM hold AS at
      WHERE at.event_id = %(event)s AND at.hold_id = %(before)s)
 ORDER BY hold.paid_at DESC, hold.hold_id DESC LIMIT %(limit)s
"""

ORDER: Final = f"""
{_COLUMNS}
 WHERE hold.event_id = %(event)s AND hold.hold_id = %(hold)s AND hold.state IN ('paid', 'refunded')
"""

TICKETS: Final = """
SELECT order_id, area_no, number, serial, holder, offer_code, offered, gone,
       (extract(epoch FROM checked_at) * 1000000)::bigint, checked_by
  FROM ticket WHERE event_id = %(event)s AND order_id = ANY (%(holds)s::bigint[])
"""

DECIDED: Final = """
-- A hold's id is where its decision stands in the ledger, and that names the seats it was given.
SELECT asked.hold_id, ledger.result::text
  FROM unnest(%(holds)s::bigint[]) AS asked (hold_id)
  JOIN ledger ON ledger.event_id = %(event)s AND ledger.batch_no = asked.hold_id >> 16
   AND ledger.position = (asked.hold_id & 65535)::int
"""

SEATS_AMONG: Final = """
-- By the key of `hold_seat`.
SELECT hold_id, seat_no FROM hold_seat
 WHERE event_id = %(event)s AND seat_no = ANY (%(among)s::int[]) AND hold_id = ANY (%(holds)s::bigint[])
"""

SEATS_BY_HAND: Final = """
-- What operators sold is in no decision: all of the event's rows are looked at. Few buyers have such an
-- order.
SELECT hold_id, seat_no FROM hold_seat WHERE event_id = %(event)s AND hold_id = ANY (%(holds)s::bigint[])
"""

PLACES: Final = """
SELECT hold_id, area_no, quantity FROM hold_area
 WHERE event_id = %(event)s AND hold_id = ANY (%(holds)s::bigint[])
"""

SNAPSHOT: Final = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"

_decode_result = json.Decoder(dict[str, Any]).decode


class Paid(Struct, frozen=True):
    """The payment that bought an order."""

    id: int
    state: str
    currency: str
    amount_minor: int
    fee_minor: int
    tax_minor: int
    refunded_minor: int
    refund_due_minor: int
    lines: tuple[Line, ...]


class Seen(Struct, frozen=True):
    """An order as this buyer may see it."""

    id: int
    state: HoldState
    kind: HoldKind
    mine: bool
    """The buyer bought it; else only some of its tickets are theirs."""
    paid_at: int
    """Microseconds."""
    payment: Paid | None
    """Only for who bought it."""
    returns_allowed: bool
    transfers_allowed: bool
    items: tuple[tuple[Item, Remembered], ...]
    """Of an order of the buyer's own all it has; else what of it the buyer has."""

    def has(self, item: Item) -> bool:
        """Whether the ticket is this buyer's; of their own order what nobody was given."""
        return any(one == item and (row.holder is None) == self.mine for one, row in self.items)


async def orders(
    connection: Conn,
    event_id: int,
    buyer: str,
    numbers: SeatNumbers,
    *,
    before: int = 0,
    limit: int = ORDERS_MAX,
) -> list[Seen]:
    """A buyer's orders, newest first; with `before` those after that one."""
    values = {"event": event_id, "buyer": buyer, "before": before, "limit": min(limit, ORDERS_MAX)}
    async with connection.transaction():
        await connection.execute(SNAPSHOT)
        rows = await (await connection.execute(ORDERS, values)).fetchall()
        return await _seen(connection, event_id, buyer, numbers, rows)


async def order(
    connection: Conn, event_id: int, order_id: int, buyer: str, numbers: SeatNumbers
) -> Seen | None:
    """An order of which something is this buyer's; None where nothing is."""
    async with connection.transaction():
        await connection.execute(SNAPSHOT)
        rows = await (await connection.execute(ORDER, {"event": event_id, "hold": order_id})).fetchall()
        found = await _seen(connection, event_id, buyer, numbers, rows)
    return next((one for one in found if one.mine or one.items), None)


async def _seen(
    connection: Conn, event_id: int, buyer: str, numbers: SeatNumbers, rows: Sequence[tuple[Any, ...]]
) -> list[Seen]:
    holds = [row[0] for row in rows if row[1] == HoldState.PAID]
    values = {"event": event_id, "holds": holds}
    remembered: dict[int, dict[Item, Remembered]] = {}
    for order_id, area, number, *rest in await (await connection.execute(TICKETS, values)).fetchall():
        remembered.setdefault(order_id, {})[Item(area, number)] = Remembered(*rest)
    seats = await _seats(connection, event_id, holds, numbers)
    places: dict[int, dict[int, int]] = {}
    for hold_id, area, quantity in await (await connection.execute(PLACES, values)).fetchall():
        places.setdefault(hold_id, {})[area] = quantity
    return [
        _of(row, buyer, seats.get(row[0], []), places.get(row[0], {}), remembered.get(row[0], {}))
        for row in rows
    ]


def _of(
    row: tuple[Any, ...], buyer: str, seats: Sequence[int], places: Mapping[int, int], rows: Rows
) -> Seen:
    hold_id, state, kind, owner, paid_at, *payment, charged, returns, transfers = row
    mine = owner == buyer
    there = [(item, rows.get(item, NOTHING)) for item in items_there(seats, places, rows)]
    items = tuple([(item, kept) for item, kept in there if mine or kept.holder == buyer])
    paid = None
    if mine and charged is not None:
        paid = Paid(*(*payment, decode_charged(charged).lines))
    return Seen(hold_id, HoldState(state), HoldKind(kind), mine, paid_at, paid, returns, transfers, items)


async def _seats(
    connection: Conn, event_id: int, holds: Sequence[int], numbers: SeatNumbers
) -> dict[int, list[int]]:
    """The seats each order has, by number."""
    asked = [hold for hold in holds if hold < OPERATORS_HOLDS]
    by_hand = [hold for hold in holds if hold >= OPERATORS_HOLDS]
    found: list[tuple[Any, ...]] = []
    if asked:
        values: dict[str, Any] = {"event": event_id, "holds": asked}
        decided = await (await connection.execute(DECIDED, values)).fetchall()
        values["among"] = [
            numbers[guid] for _, result in decided for guid in _decode_result(result).get("seats", ())
        ]
        found += await (await connection.execute(SEATS_AMONG, values)).fetchall()
    if by_hand:
        found += await (
            await connection.execute(SEATS_BY_HAND, {"event": event_id, "holds": by_hand})
        ).fetchall()
    seats: dict[int, list[int]] = {}
    for hold_id, seat in found:
        seats.setdefault(hold_id, []).append(seat)
    return seats


def paid_for(lines: Sequence[Line], item: Item) -> int | None:
    """What a ticket cost, in the smallest unit."""
    for line in lines:
        if (line.seat == item.number) if item.area == SEAT else (line.area == item.area):
            return line.total_minor
    return None
