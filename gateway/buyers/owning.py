"""What a holder does with a hold: release it, confirm it. The same for the socket and for HTTP."""

from __future__ import annotations

import logging

import msgspec
from redis.exceptions import RedisError

from gateway.buyers.decode import HOLD_ID_MAX
from gateway.buyers.recall import DATABASE_AWAY
from gateway.events import EventRuntime
from gateway.problems import code_of, retry_after_of
from gateway.runtime import Runtime
from store import holds
from store.errors import NotFound, OnsaleError, Unavailable
from store.words import HoldState

log = logging.getLogger("onsale.gateway")


async def release(runtime: Runtime, event: EventRuntime, hold_id: int, buyer: str) -> HoldState:
    """See `store.holds.release`; raises `Unavailable` when Postgres is away."""
    return await _change(runtime, event, hold_id, buyer, to=HoldState.RELEASED)


async def confirm(runtime: Runtime, event: EventRuntime, hold_id: int, buyer: str) -> HoldState:
    """See `store.holds.confirm`; raises `Unavailable` when Postgres is away."""
    return await _change(runtime, event, hold_id, buyer, to=HoldState.PAID)


async def _change(
    runtime: Runtime, event: EventRuntime, hold_id: int, buyer: str, *, to: HoldState
) -> HoldState:
    if hold_id > HOLD_ID_MAX:
        raise NotFound("hold_not_found", "You have no such hold.")
    write = holds.confirm if to is HoldState.PAID else holds.release
    try:
        async with runtime.pool.connection() as connection:
            state = await write(connection, event.row.id, hold_id, buyer, event.numbers)
    except DATABASE_AWAY as error:
        raise Unavailable("The database is away. Whether it was done is unknown: ask again.") from error
    try:
        await event.intake.stream.poke()
    except (RedisError, OSError):
        log.warning("the allocator could not be woken; it looks by itself within a second")
    return state


def hold_error_frame(error: OnsaleError, hold: str) -> bytes:
    """An `error` frame that names the hold."""
    frame: dict[str, object] = {"type": "error", "code": code_of(error), "message": str(error), "hold": hold}
    if (seconds := retry_after_of(error)) is not None:
        frame["retry_after"] = seconds
    return msgspec.json.encode(frame)
