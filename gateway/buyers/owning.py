"""What a buyer does with what is theirs: release all or some of a hold, confirm it, extend it; leave the
waiting list. The same for the socket and for HTTP.
"""

from __future__ import annotations

import logging

import msgspec
from msgspec import UNSET
from redis.exceptions import RedisError

from gateway.buyers.decode import HOLD_ID_MAX, Confirm, Extend, Release, named
from gateway.buyers.recall import DATABASE_AWAY
from gateway.events import EventRuntime
from gateway.holders import ChangedHold, hold_frame
from gateway.problems import code_of, retry_after_of
from gateway.runtime import Runtime
from notifier.hub import Client
from store import hold_parts, holds, waiting
from store.errors import Conflicted, NotFound, OnsaleError, Unavailable
from store.holds import Conn, HoldNow
from store.words import HoldState

log = logging.getLogger("onsale.gateway")

ACCESSIBLE_TIMES = 2
"""How many times as long an extension is for who asks for accessibility."""
UNKNOWN = "The database is away. Whether it was done is unknown: ask again."

Change = Release | Confirm | Extend


async def change(
    runtime: Runtime, event: EventRuntime, wish: Change, buyer: str, socket: Client | None = None
) -> ChangedHold:
    """The hold, changed as its holder wishes; see `store.holds` and `store.hold_parts` for what is refused.

    The buyer's other sockets than `socket` are told. Raises `Unavailable` when Postgres is away.
    """
    hold_id = int(wish.hold)
    if hold_id > HOLD_ID_MAX:
        raise NotFound("hold_not_found", "You have no such hold.")
    try:
        async with runtime.pool.connection() as connection:
            changed = await _write(connection, event, wish, hold_id, buyer)
    except DATABASE_AWAY as error:
        raise Unavailable(UNKNOWN) from error
    await wake_allocator(event)
    event.holders.tell(buyer, hold_frame(changed), socket)
    if isinstance(wish, Extend):
        event.holders.extended(buyer)
    return changed


async def leave(
    runtime: Runtime, event: EventRuntime, request_id: str, buyer: str, socket: Client | None = None
) -> None:
    """Take a request off the waiting list; see `store.waiting.leave` for what is refused.

    The buyer's other sockets than `socket` are told. Raises `Unavailable` when Postgres is away.
    """
    try:
        async with runtime.pool.connection() as connection:
            await waiting.leave(connection, event.row.id, buyer, request_id)
    except DATABASE_AWAY as error:
        raise Unavailable(UNKNOWN) from error
    await wake_allocator(event)
    event.holders.tell(buyer, left_frame(request_id), socket)
    event.waiters.poke(buyer)


def left_frame(request_id: str) -> bytes:
    """The answer to `leave`."""
    return msgspec.json.encode({"type": "left", "id": request_id})


async def wake_allocator(event: EventRuntime) -> None:
    """Poke the event's stream after a change, best effort."""
    try:
        await event.intake.stream.poke()
    except (RedisError, OSError):
        log.warning("the allocator could not be woken; it looks by itself within a second")


async def _write(
    connection: Conn, event: EventRuntime, wish: Change, hold_id: int, buyer: str
) -> ChangedHold:
    event_id, numbers = event.row.id, event.numbers
    if isinstance(wish, Confirm):
        return ChangedHold(wish.hold, await holds.confirm(connection, event_id, hold_id, buyer, numbers))
    if isinstance(wish, Extend):
        times = ACCESSIBLE_TIMES if wish.accessible else 1
        now = await holds.extend(connection, event_id, hold_id, buyer, wish.expires_at, times=times)
        return _told(event, wish.hold, now)
    parts = named(wish)
    if parts is None:
        return ChangedHold(wish.hold, await holds.release(connection, event_id, hold_id, buyer, numbers))
    of = None if wish.quantity is UNSET else wish.quantity
    seats = [numbers.get(guid, -1) for guid in parts[0]]
    areas = {event.area_numbers.get(guid, -1): places for guid, places in parts[1].items()}
    if -1 in seats or -1 in areas:  # the hold cannot have it; whether there is such a hold goes first
        await holds.look(connection, {"event": event_id, "hold": hold_id, "buyer": buyer})
        raise Conflicted("not_in_hold", "The plan has not all of what you name. Name what the hold has.")
    now = await hold_parts.release_some(connection, event_id, hold_id, buyer, numbers, seats, areas, of=of)
    return _told(event, wish.hold, now)


def _told(event: EventRuntime, hold: str, now: HoldNow) -> ChangedHold:
    """A hold that is over is only told to be."""
    if now.state is not HoldState.ACTIVE:
        return ChangedHold(hold, now.state)
    plan = event.plan
    seats = UNSET if now.seats is None else [plan.seats[seat].guid for seat in now.seats]
    areas = UNSET if now.areas is None else {plan.areas[area].guid: places for area, places in now.areas}
    return ChangedHold(hold, now.state, now.expires_at // 1000, now.extensions_left, seats, areas)


def hold_error_frame(error: OnsaleError, hold: str) -> bytes:
    """An `error` frame that names the hold."""
    frame: dict[str, object] = {"type": "error", "code": code_of(error), "message": str(error), "hold": hold}
    if (seconds := retry_after_of(error)) is not None:
        frame["retry_after"] = seconds
    return msgspec.json.encode(frame)
