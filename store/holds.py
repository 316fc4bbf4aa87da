"""A holder's own writes: release a hold, confirm (buy) it, extend it. Each one short transaction.

They are conditional writes that may only free, finalise or keep for longer (claims of free seats exist
only in the stream), insert the fact the allocator must consume in the same transaction, and are
idempotent. Law 6 is the buyer in every WHERE; somebody else's hold looks like no hold at all. Whoever
calls these pokes the stream afterwards, so the allocator wakes. `store.hold_parts` gives some of a hold back.

Lock order, as for all writers: the hold, its seats by number, its areas by number. Until the hold
row is locked nothing else is touched, so an expiry or a payment of the same moment waits there and
then finds the state changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeVar

import psycopg
from msgspec import Struct, json

from store import outbox
from store.errors import Conflicted, NotFound, Unavailable
from store.jitter import jitter
from store.lost_time import RUN_BY
from store.words import Extended, FactKind, HoldState, Micros

Conn = psycopg.AsyncConnection[tuple[Any, ...]]

TRIES_MAX: Final = 4
"""Once, and at most three times again after 40P01, 40001 or 55P03."""
LOCK_WAIT_MS_MAX: Final = 1_000
RETRY_SECONDS_MAX: Final = 0.1

# `state || ''`, in statements that find one hold by its number: the index of active holds would answer
# `state = 'active'`, and where statistics know of none yet all of the event's would be read for one.
PAY: Final = f"""
-- Locks the hold row. Only where it costs nothing, only its holder, only while it runs: by Postgres' clock,
-- while the event is paused by the moment it was paused, and by no time that it gets back
-- (`store.lost_time`). After a wait for the lock the WHERE is checked again on the new row.
UPDATE hold SET state = 'paid', paid_at = clock_timestamp()
  FROM event
 WHERE event.id = hold.event_id AND hold.event_id = %(event)s AND hold.hold_id = %(hold)s
   AND hold.buyer = %(buyer)s AND hold.state || '' = 'active'
   AND hold.expires_at > {RUN_BY} AND (event.payment = 'none' OR %(free)s)
RETURNING hold.quantity
"""

GIVE_BACK: Final = """
-- Locks the hold row. Its time does not matter: whatever ran out only loses what it would lose anyway.
UPDATE hold SET state = 'released'
 WHERE event_id = %(event)s AND hold_id = %(hold)s AND buyer = %(buyer)s AND state || '' = 'active'
RETURNING quantity
"""

EXTEND: Final = f"""
-- Locks the hold row. As PAY, and only as often as the organiser allows, and only from the end that the
-- buyer knows (in milliseconds): a call that is repeated after its reply was lost finds a later one.
UPDATE hold SET extensions = hold.extensions + 1,
       expires_at = hold.expires_at + event.extension_seconds * %(times)s * interval '1 second'
  FROM event
 WHERE event.id = hold.event_id AND hold.event_id = %(event)s AND hold.hold_id = %(hold)s
   AND hold.buyer = %(buyer)s AND hold.state || '' = 'active'
   AND hold.expires_at > {RUN_BY}
   AND hold.extensions < event.extensions_max
   AND floor(extract(epoch FROM hold.expires_at) * 1000) = %(ends)s
RETURNING event.extension_seconds::bigint * %(times)s * 1000000
"""

READ_HOLD_NOW: Final = f"""
SELECT hold.state, (extract(epoch FROM hold.expires_at) * 1000000)::bigint, hold.quantity,
       greatest(event.extensions_max - hold.extensions, 0),
       hold.expires_at > {RUN_BY}
  FROM hold JOIN event ON event.id = hold.event_id
 WHERE hold.event_id = %(event)s AND hold.hold_id = %(hold)s AND hold.buyer = %(buyer)s
"""

READ_HOLD: Final = """
SELECT state FROM hold WHERE event_id = %(event)s AND hold_id = %(hold)s AND buyer = %(buyer)s
"""

SEATS_DECIDED: Final = """
-- A hold's id is where its decision stands in the ledger, and that names its seats.
SELECT result::text FROM ledger
 WHERE event_id = %(event)s AND batch_no = %(hold)s::bigint >> 16 AND position = %(hold)s::bigint & 65535
"""

LOCK_SEATS: Final = """
-- The hold's seats, locked by number. `hold_seat` is read by its key: the seats of this event that the
-- ledger names, or without that knowledge all of this event's.
SELECT seat.seat_no FROM hold_seat JOIN seat USING (event_id, seat_no)
 WHERE hold_seat.event_id = %(event)s AND hold_seat.hold_id = %(hold)s
   AND seat.state = 'held' AND seat.hold_id = %(hold)s {among}
 ORDER BY seat.seat_no FOR UPDATE OF seat
"""
AMONG: Final = "AND hold_seat.seat_no = ANY (%(among)s::int[]) AND seat.seat_no = ANY (%(among)s::int[])"

SELL_SEATS: Final = """
-- The rows are locked and were 'held' by this hold; the condition says so once more. The history row
-- is written by the same statement.
WITH changed AS (
  UPDATE seat SET state = 'sold'
   WHERE event_id = %(event)s AND seat_no = ANY (%(seats)s::int[]) AND state = 'held' AND hold_id = %(hold)s
  RETURNING seat_no)
INSERT INTO seat_history (event_id, seat_no, state, hold_id, by)
SELECT %(event)s, seat_no, 'sold', %(hold)s, 'buyer' FROM changed
"""

FREE_SEATS: Final = """
-- As SELL_SEATS, the other way.
WITH changed AS (
  UPDATE seat SET state = 'available', hold_id = NULL
   WHERE event_id = %(event)s AND seat_no = ANY (%(seats)s::int[]) AND state = 'held' AND hold_id = %(hold)s
  RETURNING seat_no)
INSERT INTO seat_history (event_id, seat_no, state, hold_id, by)
SELECT %(event)s, seat_no, 'available', %(hold)s, 'buyer' FROM changed
"""

FREE_HOLD_SEATS: Final = """
DELETE FROM hold_seat
 WHERE event_id = %(event)s AND seat_no = ANY (%(seats)s::int[]) AND hold_id = %(hold)s
"""

LOCK_AREAS: Final = """
-- The hold's places, their counters locked by area number.
SELECT area_no, quantity FROM hold_area JOIN area USING (event_id, area_no)
 WHERE event_id = %(event)s AND hold_id = %(hold)s
 ORDER BY area_no FOR UPDATE OF area
"""

SELL_PLACES: Final = """
-- Guarded by the CHECKs on the counters; `hold_area` rows of a paid hold stay.
UPDATE area SET held = held - hold_area.quantity, sold = sold + hold_area.quantity
  FROM hold_area
 WHERE area.event_id = %(event)s AND hold_area.event_id = %(event)s AND hold_area.hold_id = %(hold)s
   AND area.area_no = hold_area.area_no
"""

FREE_PLACES: Final = """
WITH given_back AS (
  DELETE FROM hold_area WHERE event_id = %(event)s AND hold_id = %(hold)s RETURNING area_no, quantity)
UPDATE area SET held = held - given_back.quantity
  FROM given_back WHERE area.event_id = %(event)s AND area.area_no = given_back.area_no
"""

INSERT_FACT: Final = "INSERT INTO fact (event_id, kind, hold_id) VALUES (%(event)s, %(kind)s, %(hold)s)"
INSERT_TELLING_FACT: Final = """
INSERT INTO fact (event_id, kind, hold_id, body) VALUES (%(event)s, %(kind)s, %(hold)s, %(body)s)
"""

_RETRIED = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
)
_decode_result = json.Decoder(dict[str, Any]).decode
T = TypeVar("T")
SeatNumbers = Mapping[str, int]
"""guid → seat number of the event's plan"""


class HoldNow(Struct, frozen=True):
    """A hold as its holder may know it."""

    state: HoldState
    expires_at: Micros
    quantity: int
    extensions_left: int
    runs: bool
    """It has not run out, by Postgres' clock or the moment of a pause, or will get the time back."""
    seats: tuple[int, ...] | None = None
    """Numbers of the seats it has, where they were asked for."""
    areas: tuple[tuple[int, int], ...] | None = None
    """(area number, places)"""


async def confirm(
    connection: Conn,
    event_id: int,
    hold_id: int,
    buyer: str,
    numbers: SeatNumbers | None = None,
    *,
    free: bool = False,
) -> HoldState:
    """Make a hold that costs nothing an order: PAID, however often it is asked for.

    Where holds are bought with money, this one must be `free`. Raises `NotFound` (hold_not_found) for no
    such hold of this buyer, `Conflicted` (hold_expired, hold_released) when it is over, (payment_required).
    With `numbers` the seats are found by key instead of among all held seats of the event.
    """

    async def attempt() -> HoldState:
        values = {"event": event_id, "hold": hold_id, "buyer": buyer, "kind": FactKind.PAID.value}
        quantity = await _quantity(connection, PAY, values | {"free": free})
        if quantity is None:
            now = await look(connection, values)
            if now.state is HoldState.PAID:
                return now.state
            must_run(now)
            raise Conflicted("payment_required", "This hold is bought with money. Begin a payment for it.")
        seats, areas = await _lock(connection, values, quantity, numbers)
        sold = await connection.execute(SELL_SEATS, values | {"seats": seats})
        assert sold.rowcount == len(seats), "the seats are locked, so all of them become sold"
        await connection.execute(SELL_PLACES, values)
        await connection.execute(INSERT_FACT, values)
        told = {"order": str(hold_id), "buyer": buyer, "kind": "buyer", "seats": seats, "areas": areas}
        await connection.execute(outbox.INSERT, outbox.telling([(event_id, outbox.Told.ORDER_PAID, told)]))
        return HoldState.PAID

    return await in_transaction(connection, attempt)


async def release(
    connection: Conn, event_id: int, hold_id: int, buyer: str, numbers: SeatNumbers | None = None
) -> HoldState:
    """Give a hold back: RELEASED, however often it is asked for; EXPIRED when it ran out before.

    Raises `NotFound` (hold_not_found) for no such hold of this buyer, `Conflicted` (hold_paid) for an order.
    """

    async def attempt() -> HoldState:
        values = {"event": event_id, "hold": hold_id, "buyer": buyer, "kind": FactKind.RELEASED.value}
        quantity = await _quantity(connection, GIVE_BACK, values)
        if quantity is None:
            state = await _state(connection, values)
            if state is HoldState.PAID:
                raise Conflicted("hold_paid", "This hold is bought; an order is refunded, not released.")
            if state is HoldState.REFUNDED:
                raise _refunded()
            return state
        await free_all(connection, values, quantity, numbers)
        return HoldState.RELEASED

    return await in_transaction(connection, attempt)


async def free_all(
    connection: Conn, values: Mapping[str, object], quantity: int, numbers: SeatNumbers | None
) -> None:
    """Free what a hold has that was just given back whole, and tell the allocator."""
    seats, _ = await _lock(connection, values, quantity, numbers)
    freed = await connection.execute(FREE_SEATS, dict(values) | {"seats": seats})
    assert freed.rowcount == len(seats), "the seats are locked, so all of them become available"
    gone = await connection.execute(FREE_HOLD_SEATS, dict(values) | {"seats": seats})
    assert gone.rowcount == len(seats), "a held seat has exactly one hold_seat row"
    await connection.execute(FREE_PLACES, values)
    await connection.execute(INSERT_FACT, values)


async def extend(
    connection: Conn, event_id: int, hold_id: int, buyer: str, ends_ms: int, *, times: int = 1
) -> HoldNow:
    """Let a hold run on by `times` of what the organiser gives, if it still ends at `ends_ms`.

    A hold that ends at another time is answered as it is: whoever repeats a call, or did not know of an
    extension or a pause, learns its end and can ask again. Raises `NotFound` (hold_not_found) for no such
    hold of this buyer, `Conflicted` (no_extensions_left) or (hold_expired, hold_released, hold_paid) when it
    is over.
    """

    async def attempt() -> HoldNow:
        values = {"event": event_id, "hold": hold_id, "buyer": buyer, "ends": ends_ms, "times": times}
        by_us = await _quantity(connection, EXTEND, values)
        now = await look(connection, values)
        if by_us is not None:
            body = json.encode(Extended(by_us)).decode()
            fact = values | {"kind": FactKind.EXTENDED.value, "body": body}
            await connection.execute(INSERT_TELLING_FACT, fact)
            return now
        must_run(now)
        if now.expires_at // 1000 == ends_ms:
            raise Conflicted("no_extensions_left", "This hold cannot be extended again. Buy it or let it go.")
        return now

    return await in_transaction(connection, attempt)


async def look(connection: Conn, values: Mapping[str, object]) -> HoldNow:
    """The hold `values` names; raises `NotFound` (hold_not_found) for none of this buyer."""
    row = await (await connection.execute(READ_HOLD_NOW, values)).fetchone()
    if row is None:
        raise NotFound("hold_not_found", "You have no such hold.")
    return HoldNow(HoldState(row[0]), *row[1:])


def must_run(now: HoldNow) -> None:
    """Raises `Conflicted` (hold_expired, hold_released, hold_paid, hold_refunded) for a hold that is over."""
    if now.state is HoldState.PAID:
        raise Conflicted("hold_paid", "This hold is bought already.")
    if now.state is HoldState.REFUNDED:
        raise _refunded()
    if now.state is HoldState.RELEASED:
        raise Conflicted("hold_released", "This hold was given back. Ask for the seats again.")
    if now.state is HoldState.EXPIRED or not now.runs:
        raise Conflicted("hold_expired", "This hold ran out. Ask for the seats again.")


def _refunded() -> Conflicted:
    return Conflicted("hold_refunded", "The organiser took this order back. Ask for the seats again.")


async def _quantity(connection: Conn, statement: str, values: Mapping[str, object]) -> int | None:
    row = await (await connection.execute(statement, values)).fetchone()
    return None if row is None else int(row[0])


async def _state(connection: Conn, values: Mapping[str, object]) -> HoldState:
    row = await (await connection.execute(READ_HOLD, values)).fetchone()
    if row is None:
        raise NotFound("hold_not_found", "You have no such hold.")
    return HoldState(row[0])


async def _lock(
    connection: Conn, values: Mapping[str, object], quantity: int, numbers: SeatNumbers | None
) -> tuple[list[int], list[tuple[int, int]]]:
    """Locks the hold's seats and areas, and gives both; they must be exactly what the hold counts."""
    among = None if numbers is None else await seats_decided(connection, values, numbers)
    statement = LOCK_SEATS.format(among="" if among is None else AMONG)
    rows = await (await connection.execute(statement, dict(values) | {"among": among})).fetchall()
    places = await (await connection.execute(LOCK_AREAS, values)).fetchall()
    found = len(rows) + sum(count for _, count in places)
    assert found == quantity, f"hold {values['hold']} counts {quantity} but {found} seats and places name it"
    return [row[0] for row in rows], [(area, count) for area, count in places]


async def seats_decided(
    connection: Conn, values: Mapping[str, object], numbers: SeatNumbers
) -> list[int] | None:
    """Numbers of the seats that the hold was given, by the ledger."""
    row = await (await connection.execute(SEATS_DECIDED, values)).fetchone()
    if row is None:
        return None
    return [numbers[guid] for guid in _decode_result(row[0]).get("seats", ())]


async def in_transaction(connection: Conn, attempt: Callable[[], Awaitable[T]]) -> T:
    """What `attempt` returns, true; tried again where Postgres says it may be. Raises `Unavailable`."""
    for tries in range(1, TRIES_MAX + 1):
        try:
            async with connection.transaction():
                await connection.execute(f"SET LOCAL lock_timeout = {LOCK_WAIT_MS_MAX}")
                return await attempt()
        except _RETRIED as error:
            if tries == TRIES_MAX:
                raise Unavailable("The hold is being changed by somebody else. Try again.") from error
            await asyncio.sleep(jitter(0, RETRY_SECONDS_MAX * tries))
    raise AssertionError("the last try returns or raises")
