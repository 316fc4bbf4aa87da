"""Operators' changes of seats: block and unblock them, release somebody's hold. Each with who and why.

House seats and broken seats are blocked, numbered ones by name, standing places by number of places. All
or nothing: a seat that somebody has is refused, and then nothing is changed. Each change is one short
transaction of conditional writes that leaves the fact the allocator must consume (so the ledger says
when buyers stopped or began to get these seats), the seats' history and a row of `audit`. Whoever
calls these pokes the stream afterwards, so the allocator wakes.

Lock order, as for all writers: the cursor (where anything comes back on sale or places go off), the hold,
seats by number, areas by number. The fact is inserted while they are locked, so facts about one seat or area
have ids in the order in which the changes were made.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import psycopg

from store import audit, holds
from store.audit import Audit, Said
from store.errors import BadRequest, Conflicted, NotFound, Unavailable
from store.events import get_event
from store.jitter import jitter
from store.plan import Plan
from store.venues.rows import load_plan
from store.words import Blocks, FactKind, HoldState, SeatState

Conn = psycopg.Connection[Any]
T = TypeVar("T")

SEATS_MAX: Final = 1_000
"""Most seats one call changes."""
TOLD_MAX: Final = 10
"""Most seats a refusal names one by one."""
NAME_TOLD_MAX: Final = 120
"""Most of a name that is said back: the seat, its state and the hold that has it."""
TRIES_MAX: Final = 4
"""Once, and at most three times again after 40P01, 40001 or 55P03."""
LOCK_WAIT_MS_MAX: Final = 1_000
RETRY_SECONDS_MAX: Final = 0.1

LOCK_CURSOR: Final = """
-- Before anything comes back on sale, and before places go off: neither happens while a batch is under way.
-- Else the batch could give what went off and came back meanwhile (places come back from anybody), and its
-- ledger row would stand before the fact that took it off.
SELECT 1 FROM event_cursor WHERE event_id = %(event)s FOR UPDATE
"""

LOCK_SEATS: Final = """
-- By number. After a wait the row is read again, so these are the states that the UPDATE will find.
SELECT seat_no, state, hold_id FROM seat
 WHERE event_id = %(event)s AND seat_no = ANY (%(seats)s::int[]) ORDER BY seat_no FOR UPDATE
"""

TURN_SEATS: Final = """
-- The rows are locked and were in the state they leave; the condition says so once more. The history row is
-- written by the same statement.
WITH changed AS (
  UPDATE seat SET state = %(becomes)s::text
   WHERE event_id = %(event)s AND seat_no = ANY (%(seats)s::int[]) AND state = %(was)s::text
  RETURNING seat_no)
INSERT INTO seat_history (event_id, seat_no, state, by)
SELECT %(event)s, seat_no, %(becomes)s::text, %(who)s::text FROM changed
"""

LOCK_AREAS: Final = """
SELECT area_no, capacity - held - sold - blocked, blocked FROM area
 WHERE event_id = %(event)s AND area_no = ANY (%(areas)s::int[]) ORDER BY area_no FOR UPDATE
"""

MOVE_PLACES: Final = """
-- Guarded counters: the CHECK constraints are law 1 for standing places; this keeps them from firing.
UPDATE area SET blocked = blocked + moved.quantity
  FROM unnest(%(areas)s::int[], %(quantities)s::int[]) AS moved (area_no, quantity)
 WHERE area.event_id = %(event)s AND area.area_no = moved.area_no
   AND blocked + moved.quantity >= 0 AND held + sold + blocked + moved.quantity <= capacity
"""

RELEASE: Final = """
-- Locks the hold row. Whoever has it, and whatever its time: what ran out only loses what it would lose.
UPDATE hold SET state = 'released'
 WHERE event_id = %(event)s AND hold_id = %(hold)s AND state || '' = 'active'
RETURNING quantity, buyer
"""

READ_HOLD: Final = "SELECT state, buyer FROM hold WHERE event_id = %(event)s AND hold_id = %(hold)s"

FREE_SEATS: Final = """
-- As a buyer's release (`store.holds`), by somebody else.
WITH changed AS (
  UPDATE seat SET state = 'available', hold_id = NULL
   WHERE event_id = %(event)s AND seat_no = ANY (%(seats)s::int[]) AND state = 'held' AND hold_id = %(hold)s
  RETURNING seat_no)
INSERT INTO seat_history (event_id, seat_no, state, hold_id, by)
SELECT %(event)s, seat_no, 'available', %(hold)s, %(who)s::text FROM changed
"""

INSERT_FACT: Final = """
INSERT INTO fact (event_id, kind, hold_id, body) VALUES (%(event)s, %(kind)s, %(hold)s, %(body)s)
"""

_RETRIED = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.LockNotAvailable,
)


class Released(NamedTuple):
    """A hold that an operator released, and whose it was."""

    hold: str
    state: HoldState
    buyer: str


def event_and_plan(conn: Conn, slug: str) -> tuple[int, Plan]:
    """An event's number and its plan, as the functions below take them. Raises `NotFound`."""
    event = get_event(conn, slug)
    return event.id, load_plan(conn, event.venue_id)


def block(
    conn: Conn, event_id: int, plan: Plan, seats: Sequence[str], areas: Mapping[str, int], said: Said
) -> Audit:
    """Take free seats (by guid) and places (by area) off sale.

    Raises `BadRequest`, `NotFound` for what the plan does not have, `Conflicted` (seats_not_free,
    places_not_free) when somebody has one of them or it is blocked already, `Unavailable` when it is locked
    for too long.
    """
    return _turn(conn, event_id, plan, FactKind.BLOCKED, seats, areas, said)


def unblock(
    conn: Conn, event_id: int, plan: Plan, seats: Sequence[str], areas: Mapping[str, int], said: Said
) -> Audit:
    """Put blocked seats and places on sale again.

    Raises as `block`; `Conflicted` is seats_not_blocked or places_not_blocked.
    """
    return _turn(conn, event_id, plan, FactKind.UNBLOCKED, seats, areas, said)


def release_hold(conn: Conn, event_id: int, plan: Plan, hold_id: int, said: Said) -> Released:
    """Take a hold from its buyer: RELEASED, however often it is asked for; EXPIRED when it ran out before.

    Raises `NotFound` (hold_not_found), `Conflicted` (hold_paid, hold_refunded) for an order.
    """
    values = {"event": event_id, "hold": hold_id, "who": said.who}

    def attempt() -> Released:
        row = conn.execute(RELEASE, values).fetchone()
        if row is None:
            return Released(str(hold_id), *_over(conn, values))
        quantity, buyer = row
        seats = [seat for (seat,) in conn.execute(holds.LOCK_SEATS.format(among=""), values).fetchall()]
        places = conn.execute(holds.LOCK_AREAS, values).fetchall()
        found = len(seats) + sum(count for _, count in places)
        assert found == quantity, f"hold {hold_id} counts {quantity} but {found} seats and places name it"
        freed = conn.execute(FREE_SEATS, values | {"seats": seats})
        assert freed.rowcount == len(seats), "the seats are locked, so all of them become available"
        gone = conn.execute(holds.FREE_HOLD_SEATS, values | {"seats": seats})
        assert gone.rowcount == len(seats), "a held seat has exactly one hold_seat row"
        conn.execute(holds.FREE_PLACES, values)
        conn.execute(INSERT_FACT, values | {"kind": FactKind.RELEASED.value, "body": None})
        had = named(plan, seats, [(area, count) for area, count in places])
        audit.write(conn, event_id, said, {"change": "release", "hold": str(hold_id), "buyer": buyer, **had})
        return Released(str(hold_id), HoldState.RELEASED, buyer)

    return in_transaction(conn, attempt)


def _over(conn: Conn, values: Mapping[str, object]) -> tuple[HoldState, str]:
    row = conn.execute(READ_HOLD, values).fetchone()
    if row is None:
        raise NotFound("hold_not_found", "There is no such hold in this event.")
    state = HoldState(row[0])
    if state is HoldState.PAID:
        raise Conflicted("hold_paid", "This hold is bought; an order is refunded, not released.")
    if state is HoldState.REFUNDED:
        raise Conflicted("hold_refunded", "This order was taken back before; nothing is left to release.")
    return state, row[1]


def _turn(
    conn: Conn,
    event_id: int,
    plan: Plan,
    kind: FactKind,
    seats: Sequence[str],
    areas: Mapping[str, int],
    said: Said,
) -> Audit:
    """`block`, or with `kind` UNBLOCKED the other way."""
    blocks = numbers(plan, seats, areas)
    blocked = kind is FactKind.BLOCKED
    was = SeatState.AVAILABLE if blocked else SeatState.BLOCKED
    values: dict[str, object] = {"event": event_id, "who": said.who}
    values |= {"seats": list(blocks.seats), "areas": [area for area, _ in blocks.areas]}

    def attempt() -> Audit:
        if blocks.areas or not blocked:
            conn.execute(LOCK_CURSOR, values)
        _refuse_seats(plan, conn.execute(LOCK_SEATS, values).fetchall(), blocks, was)
        _refuse_places(plan, conn.execute(LOCK_AREAS, values).fetchall(), blocks, kind)
        turn(conn, values, blocks, kind)
        change = {"change": "block" if blocked else "unblock", **named(plan, blocks.seats, blocks.areas)}
        return audit.write(conn, event_id, said, change)

    return in_transaction(conn, attempt)


def turn(conn: Conn, values: Mapping[str, object], blocks: Blocks, kind: FactKind) -> None:
    """Block or unblock what is locked and was looked at, and tell the allocator. `values`: event, who."""
    blocked = kind is FactKind.BLOCKED
    was, becomes = (SeatState.AVAILABLE, SeatState.BLOCKED)[:: 1 if blocked else -1]
    given: dict[str, object] = {"event": values["event"], "who": values["who"]}
    given |= {"was": was.value, "becomes": becomes.value, "seats": list(blocks.seats)}
    given["areas"] = [area for area, _ in blocks.areas]
    given["quantities"] = [places if blocked else -places for _, places in blocks.areas]
    turned = conn.execute(TURN_SEATS, given)
    assert turned.rowcount == len(blocks.seats), "the seats are locked and were looked at"
    moved = conn.execute(MOVE_PLACES, given)
    assert moved.rowcount == len(blocks.areas), "the areas are locked and were looked at"
    body = msgspec.json.encode(blocks).decode()
    conn.execute(INSERT_FACT, given | {"kind": kind.value, "hold": None, "body": body})


def numbers(plan: Plan, seats: Sequence[str], areas: Mapping[str, int]) -> Blocks:
    """What is named, by number; raises `BadRequest`, `NotFound`."""
    if not seats and not areas:
        raise BadRequest("nothing_asked", "Name at least one seat or area.")
    if len(seats) > SEATS_MAX:
        raise BadRequest("too_many_asked", f"At most {SEATS_MAX} seats a call; split them over several.")
    if len(set(seats)) < len(seats):
        raise BadRequest("seat_twice", "A seat is named twice; name each once.")
    seat_numbers = {seat.guid: number for number, seat in enumerate(plan.seats)}
    unknown = [guid for guid in seats if guid not in seat_numbers]
    if unknown:
        raise NotFound("unknown_seat", f"The plan has no {some(unknown)}. Nothing was changed.")
    area_numbers = {area.guid: number for number, area in enumerate(plan.areas)}
    unknown = [guid for guid in areas if guid not in area_numbers]
    if unknown:
        raise NotFound("unknown_area", f"The plan has no area {some(unknown)}. Nothing was changed.")
    for guid, places in areas.items():
        if places < 1:
            raise BadRequest("invalid_places", f"Of {guid} name at least one place, not {places}.")
    return Blocks(
        tuple(sorted(seat_numbers[guid] for guid in seats)),
        tuple(sorted((area_numbers[guid], places) for guid, places in areas.items())),
    )


def _refuse_seats(plan: Plan, found: Sequence[Any], blocks: Blocks, was: SeatState) -> None:
    assert len(found) == len(blocks.seats), "an event has a row for every seat of its plan"
    wrong = [row for row in found if row[1] != was]
    if not wrong:
        return
    told = some([f"{plan.seats[seat].guid} ({_has(state, hold)})" for seat, state, hold in wrong])
    if was is SeatState.BLOCKED:
        raise Conflicted("seats_not_blocked", f"Not blocked: {told}. Nothing was changed; leave these out.")
    advice = "leave these out, or release a hold before you block its seats"
    raise Conflicted("seats_not_free", f"Not free: {told}. Nothing was changed; {advice}.")


def _has(state: str, hold_id: int | None) -> str:
    return state if hold_id is None else f"{state} by hold {hold_id}"


def _refuse_places(plan: Plan, found: Sequence[Any], blocks: Blocks, kind: FactKind) -> None:
    assert len(found) == len(blocks.areas), "an event has a row for every area of its plan"
    for (area, wanted), (_, free, blocked) in zip(blocks.areas, found, strict=True):
        name = plan.areas[area].guid
        if kind is FactKind.BLOCKED and wanted > free:
            story = f"{name} has {free} free places, not {wanted}. Nothing was changed; name fewer."
            raise Conflicted("places_not_free", story)
        if kind is FactKind.UNBLOCKED and wanted > blocked:
            story = f"{name} has {blocked} blocked places, not {wanted}. Nothing was changed; name fewer."
            raise Conflicted("places_not_blocked", story)


def some(names: Sequence[str]) -> str:
    """The first few of these names, and how many more there are."""
    more = len(names) - TOLD_MAX
    told = ", ".join([name[:NAME_TOLD_MAX] for name in names[:TOLD_MAX]])
    return told + (f" and {more} more" if more > 0 else "")


def named(plan: Plan, seats: Sequence[int], areas: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Seats and places in the plan's names, as `audit` keeps them."""
    return {
        "seats": [plan.seats[seat].guid for seat in seats],
        "areas": {plan.areas[area].guid: places for area, places in areas},
    }


def in_transaction(conn: Conn, attempt: Callable[[], T]) -> T:
    """What `attempt` returns, true; tried again where Postgres says it may be. Raises `Unavailable`."""
    for tries in range(1, TRIES_MAX + 1):
        try:
            with conn.transaction():
                conn.execute(f"SET LOCAL lock_timeout = {LOCK_WAIT_MS_MAX}")
                return attempt()
        except _RETRIED as error:
            if tries == TRIES_MAX:
                raise Unavailable(
                    "The seats are being changed by somebody else; nothing was changed. Try again."
                ) from error
            time.sleep(jitter(0, RETRY_SECONDS_MAX * tries))
    raise AssertionError("the last try returns or raises")
