"""Giving some of a hold back: named seats and places are freed, the rest stays held until the same end.

As `store.holds`: one short transaction of conditional writes, law 6 in the WHERE, the fact in the same
transaction (its body names what was freed), locks in every writer's order: the hold, its seats by
number, its areas by number. Giving back all there is, is `store.holds.release`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import json
from msgspec.structs import replace

from store import holds
from store.errors import Conflicted
from store.holds import Conn, HoldNow, SeatNumbers
from store.words import FactKind, GivenBack, HoldState

KEEP_FEWER: Final = """
-- Locks the hold row. Only its holder, only while it is active, only if something stays (a hold counts
-- at least one), and only of as many as the buyer knows of, where they say so. Its time does not matter.
UPDATE hold SET quantity = quantity - %(count)s
 WHERE event_id = %(event)s AND hold_id = %(hold)s AND buyer = %(buyer)s AND state || '' = 'active'
   AND quantity > %(count)s AND quantity = coalesce(%(of)s::int, quantity)
RETURNING quantity
"""

LOCK_HOLD: Final = """
-- A hold that is only told of: what is read of it until the end belongs together.
SELECT 1 FROM hold
 WHERE event_id = %(event)s AND hold_id = %(hold)s AND buyer = %(buyer)s FOR NO KEY UPDATE
"""

TAKE_PLACES: Final = """
-- From a hold or an order that is locked with its counters; of each area it has at least as many. What is
-- left of none goes. `freed` is what was taken.
WITH given (area_no, quantity) AS (SELECT * FROM unnest(%(areas)s::int[], %(places)s::int[])),
gone AS (
  DELETE FROM hold_area USING given
   WHERE event_id = %(event)s AND hold_id = %(hold)s AND hold_area.area_no = given.area_no
     AND hold_area.quantity = given.quantity
  RETURNING given.area_no, given.quantity),
fewer AS (
  UPDATE hold_area SET quantity = hold_area.quantity - given.quantity FROM given
   WHERE event_id = %(event)s AND hold_id = %(hold)s AND hold_area.area_no = given.area_no
     AND hold_area.quantity > given.quantity
  RETURNING given.area_no, given.quantity),
freed AS (SELECT * FROM gone UNION ALL SELECT * FROM fewer)
"""

GIVE_PLACES: Final = f"""{TAKE_PLACES}
UPDATE area SET held = held - freed.quantity FROM freed
 WHERE area.event_id = %(event)s AND area.area_no = freed.area_no
"""

KEPT_SEATS: Final = """
SELECT seat_no FROM hold_seat
 WHERE event_id = %(event)s AND hold_id = %(hold)s AND seat_no = ANY (%(among)s::int[]) ORDER BY seat_no
"""

KEPT_PLACES: Final = """
SELECT area_no, quantity FROM hold_area
 WHERE event_id = %(event)s AND hold_id = %(hold)s ORDER BY area_no
"""


class _Named(NamedTuple):
    """What is to be freed, each by number."""

    seats: list[int]
    areas: list[int]
    places: list[int]
    """So many of each of `areas`."""

    @property
    def quantity(self) -> int:
        return len(self.seats) + sum(self.places)


async def release_some(
    connection: Conn,
    event_id: int,
    hold_id: int,
    buyer: str,
    numbers: SeatNumbers,
    seats: Sequence[int],
    areas: Mapping[int, int],
    *,
    of: int | None = None,
) -> HoldNow:
    """Give back these seats and places (by number); the hold with what stays of it.

    With `of`, only if the hold has so many seats and places; one that has others is answered as it is, so
    a repeated call gives nothing back twice. So is one that is given back or ran out. Raises `NotFound`
    (hold_not_found) for no such hold of this buyer, `Conflicted` (not_in_hold) where it lacks something
    named, (hold_paid) for an order.
    """
    named = _Named(sorted(seats), sorted(areas), [areas[area] for area in sorted(areas)])
    values = {"event": event_id, "hold": hold_id, "buyer": buyer, "of": of, "count": named.quantity}
    values |= {"kind": FactKind.RELEASED.value} | named._asdict() | {"among": named.seats}

    assert named.quantity > 0, "callers name something"

    async def attempt() -> HoldNow:
        kept = await (await connection.execute(KEEP_FEWER, values)).fetchone()
        if kept is None:
            await connection.execute(LOCK_HOLD, values)
        now = await holds.look(connection, values)
        if kept is not None:
            await _free(connection, values, named)
        elif now.state is HoldState.PAID:
            raise Conflicted("hold_paid", "This hold is bought; an order is refunded, not released.")
        elif now.state is HoldState.REFUNDED:
            holds.must_run(now)
        elif now.state is HoldState.ACTIVE and (of is None or now.quantity == of):
            if now.quantity != named.quantity:
                raise _not_in_hold()
            now = await _give_back_all(connection, values, named, numbers)
        return await _with_contents(connection, values, now, numbers)

    return await holds.in_transaction(connection, attempt)


async def _free(connection: Conn, values: Mapping[str, object], named: _Named) -> None:
    """The hold counts fewer already and is locked; nobody else changes what it has."""
    await _lock(connection, values, named)
    freed = await connection.execute(holds.FREE_SEATS, values)
    assert freed.rowcount == len(named.seats), "the seats are locked, so all of them become available"
    gone = await connection.execute(holds.FREE_HOLD_SEATS, values)
    assert gone.rowcount == len(named.seats), "a held seat has exactly one hold_seat row"
    moved = await connection.execute(GIVE_PLACES, values)
    assert moved.rowcount == len(named.areas), "the counters are locked, so all of them move"
    body = GivenBack(tuple(named.seats), tuple(zip(named.areas, named.places, strict=True)))
    fact = dict(values) | {"body": json.encode(body).decode()}
    await connection.execute(holds.INSERT_TELLING_FACT, fact)


async def _lock(connection: Conn, values: Mapping[str, object], named: _Named) -> None:
    """Locks what is named; raises `Conflicted` (not_in_hold) unless the hold has all of it."""
    statement = holds.LOCK_SEATS.format(among=holds.AMONG)
    locked = await (await connection.execute(statement, values)).fetchall()
    kept: dict[int, int] = dict(await (await connection.execute(holds.LOCK_AREAS, values)).fetchall())
    if len(locked) < len(named.seats):
        raise _not_in_hold()
    for area, quantity in zip(named.areas, named.places, strict=True):
        if kept.get(area, 0) < quantity:
            raise _not_in_hold()


async def _give_back_all(
    connection: Conn, values: Mapping[str, object], named: _Named, numbers: SeatNumbers
) -> HoldNow:
    """As many are named as there are; that they are those is found out before anything is freed."""
    row = await (await connection.execute(holds.GIVE_BACK, values)).fetchone()
    if row is None or row[0] != named.quantity:
        raise Conflicted("hold_changed", "The hold was changed at the same moment. Look at it and try again.")
    await _lock(connection, values, named)
    await holds.free_all(connection, values, int(row[0]), numbers)
    return await holds.look(connection, values)


async def _with_contents(
    connection: Conn, values: Mapping[str, object], now: HoldNow, numbers: SeatNumbers
) -> HoldNow:
    if now.state is not HoldState.ACTIVE:
        return replace(now, seats=(), areas=())
    among = dict(values) | {"among": await holds.seats_decided(connection, values, numbers) or []}
    seats = await (await connection.execute(KEPT_SEATS, among)).fetchall()
    areas = await (await connection.execute(KEPT_PLACES, values)).fetchall()
    return replace(now, seats=tuple(seat for (seat,) in seats), areas=tuple(areas))


def _not_in_hold() -> Conflicted:
    return Conflicted(
        "not_in_hold", "The hold has not all of what you name. Look at it and name what it has."
    )
