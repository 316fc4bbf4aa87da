"""What a buyer does in the waiting room: join, begin, take more time, leave, wish. The same for the socket
and for HTTP."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct

from gateway.addresses import Address
from gateway.buyers.decode import Begin, Join, JoinBody, LeaveLine, MoreTime, RoomFrame, Wish, check
from gateway.buyers.recall import DATABASE_AWAY
from gateway.events import EventRuntime
from gateway.problems import error_frame
from gateway.room import invitations
from gateway.room.guard import Asking, Guard
from gateway.room.joining import Then
from gateway.room.refusing import not_admitted
from gateway.room.waiting_room import WaitingRoom
from gateway.runtime import Runtime
from notifier.hub import Client
from store.errors import NotFound, OnsaleError, Unavailable
from store.holds import Conn
from store.lookups import Pool
from store.room import ballot, codes, entering, joining
from store.room.words import LIVE, Place, PlaceState
from store.wire import canonical_want

WRONG_CODES: Final = frozenset(
    {"code_not_valid", "unknown_code", "code_used", "code_revoked", "invitation_not_valid"}
)
"""Of refusals that say something about a code: whoever guesses codes meets them."""
UNKNOWN = "The database is away. Whether it was done is unknown: ask again."


class ShownWish(Struct, frozen=True):
    """What a place's buyer wishes for in the ballot, and since when (ms); null: nothing."""

    want: Raw | None = None
    filed_at: int | None = None


class WishFrame(ShownWish, frozen=True, tag_field="type", tag="wish"):
    """The same on the socket."""


def room_of(event: EventRuntime) -> WaitingRoom:
    """Raises `NotFound` (no_room)."""
    if event.room is None:
        raise NotFound("no_room", "This event has no waiting room. Ask for seats when it opens.")
    return event.room


class Asker(NamedTuple):
    """Who asks, and from where."""

    buyer: str
    address: Address
    waited: str | None = None
    """A ticket of patience, of who cannot prove."""


def asking_of(event: EventRuntime, asker: Asker, body: Join | JoinBody) -> Asking:
    """What is known of who wants a place; raises `NotFound` (no_room)."""
    room = room_of(event)
    known = room.places.get(asker.buyer)
    return Asking(
        room.event_id,
        event.row.slug,
        room.now.room.terms,
        asker.address,
        asker.buyer,
        has_code=body.code is not UNSET,
        has_place=known is not None and known.place is not None and known.place.state in LIVE,
        proof=None if body.proof is UNSET else body.proof,
        waited=asker.waited,
        human=None if body.human is UNSET else body.human,
    )


def ask_to_join(
    runtime: Runtime, event: EventRuntime, asker: Asker, body: Join | JoinBody, then: Then
) -> None:
    """A place, by `then`; raises what is refused at once. Each refusal is counted by its code."""
    room = room_of(event)

    def told(place: Place | None, error: OnsaleError | None) -> None:
        if error is not None:
            room.joins.was_refused(error)
        then(place, error)

    try:
        _ask(runtime, event, asker, body, told)
    except OnsaleError as error:
        room.joins.was_refused(error)
        raise


def _ask(runtime: Runtime, event: EventRuntime, asker: Asker, body: Join | JoinBody, then: Then) -> None:
    room, asking = room_of(event), asking_of(event, asker, body)
    runtime.guard.check(asking)
    if asking.has_code:
        then = _telling_right_codes(runtime.guard, asking, then)
    email = None if body.email is UNSET else body.email
    shown = None if body.code is UNSET else body.code
    if runtime.guard.human.on or (shown is not None and invitations.is_signed(shown)):
        room.join_later(_join_later(runtime, room, asking, shown, email, then))
    else:
        room.join(asker.buyer, None if shown is None else codes.typed(shown), then, email)


async def _join_later(
    runtime: Runtime, room: WaitingRoom, asking: Asking, shown: str | None, email: str | None, then: Then
) -> None:
    """Somebody may have to be asked first: about a human, or for the keys of an invitation."""
    try:
        await runtime.guard.check_human(asking)
        if shown is None:
            code = None
        elif invitations.is_signed(shown):
            code = await invitations.read(runtime.tokens, asking.slug, shown)
        else:
            code = codes.typed(shown)
        room.join(asking.buyer, code, then, email)
    except OnsaleError as error:
        then(None, error)


def _telling_right_codes(guard: Guard, asking: Asking, then: Then) -> Then:
    """What gives a place, or is refused for another reason than the code, was no guess."""

    def told(place: Place | None, error: OnsaleError | None) -> None:
        if place is not None or getattr(error, "code", "") not in WRONG_CODES:
            guard.code_was_right(asking)
        then(place, error)

    return told


def join(runtime: Runtime, event: EventRuntime, asker: Asker, frame: Join, client: Client) -> None:
    """Answered by a `place` frame once the place is durable, or by an `error`."""
    room = room_of(event)

    def then(place: Place | None, error: OnsaleError | None) -> None:
        if place is None:
            assert error is not None, "who has no place is told why"
            client.write(error_frame(error))
            return
        known = room.places.get(asker.buyer)
        if known is not None and known.place == place:  # of another one all sockets are told
            client.write(room.place_frame(place))

    ask_to_join(runtime, event, asker, frame, then)


async def act(event: EventRuntime, pool: Pool, buyer: str, frame: RoomFrame, client: Client) -> None:
    """Answered by a `place` or `wish` frame; raises what is refused, and `Unavailable`."""
    if isinstance(frame, Wish):
        told = await wish(event, pool, buyer, frame)
        client.write(msgspec.json.encode(WishFrame(told.want, told.filed_at)))
        return
    room = room_of(event)
    before = room.places.get(buyer)
    was = None if before is None else before.place
    match frame:
        case Begin():
            place = await begin(event, pool, buyer)
        case MoreTime():
            place = await more_time(event, pool, buyer, frame.end)
        case LeaveLine():
            place = await leave(event, pool, buyer)
    if place == was:  # of another one all sockets are told
        client.write(room.place_frame(place))


async def begin(event: EventRuntime, pool: Pool, buyer: str) -> Place:
    """The place of who was called, begun; the same however often. Raises `Forbidden` (not_admitted) and
    `NotFound` (no_place)."""
    room = room_of(event)
    place = await _changed(room, pool, buyer, entering.begin)
    if place.state is not PlaceState.ADMITTED or place.begun_at is None:
        raise not_admitted(place, room.told)
    return place


async def more_time(event: EventRuntime, pool: Pool, buyer: str, end_ms: int) -> Place:
    """The place of who is admitted, with more time if it ends at `end_ms`; else as it is. Raises `Forbidden`
    (not_admitted), `NotFound` (no_place) and `Conflicted` (no_more_time)."""
    room = room_of(event)

    async def change(connection: Conn, event_id: int, buyer: str) -> Place | None:
        return await entering.more_time(connection, event_id, buyer, end_ms)

    place = await _changed(room, pool, buyer, change)
    if place.state is not PlaceState.ADMITTED:
        raise not_admitted(place, room.told)
    return place


async def leave(event: EventRuntime, pool: Pool, buyer: str) -> Place:
    """The place that was given up; raises `NotFound` (no_place)."""
    return await _changed(room_of(event), pool, buyer, entering.leave)


async def wish(event: EventRuntime, pool: Pool, buyer: str, frame: Wish) -> ShownWish:
    """What is filed after this; raises what `store.room.ballot` refuses, and `Unavailable`."""
    event_id, want = room_of(event).event_id, frame.want
    try:
        async with pool.connection() as connection:
            if want is None:
                await ballot.withdraw(connection, event_id, buyer)
            elif want is not UNSET:
                await ballot.file(connection, event_id, buyer, check(want))
            now = await ballot.read(connection, event_id, buyer)
    except DATABASE_AWAY as error:
        raise Unavailable(UNKNOWN) from error
    return ShownWish() if now is None else ShownWish(Raw(canonical_want(now.want)), now.filed_at // 1000)


async def _changed(
    room: WaitingRoom, pool: Pool, buyer: str, change: Callable[[Conn, int, str], Awaitable[Place | None]]
) -> Place:
    began = time.monotonic()
    try:
        async with pool.connection() as connection:
            place = await change(connection, room.event_id, buyer)
            if place is None:
                place = (await joining.read(connection, room.event_id, [buyer])).get(buyer)
    except DATABASE_AWAY as error:
        raise Unavailable(UNKNOWN) from error
    if place is None:
        raise NotFound("no_place", "You have no place here. Join the waiting room.")
    room.places.take(place, began)
    room.changed([buyer])
    return place
