"""What buyers are told of a waiting room and of their places, and how soon. Pure.

The status document is for everybody, so it is encoded once for all of them; each client subtracts its own
position. Sockets get the same bytes with a `type` before them.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec
from msgspec import Struct

from store.room.watching import RoomNow
from store.room.words import (
    MORE_SHOPPING_PART,
    Admission,
    BallotState,
    Lane,
    Place,
    PlaceState,
    RoomPolicy,
    RoomTerms,
    ballot_state,
)
from store.words import EventState, Micros

NEAR_MINUTES: Final = 2.0
"""Whose turn is no farther away than this hears of every step of the line."""
SLOW_SECONDS: Final = 5.0
"""How often those who need not hear at once do: how many have joined, what is left, the rate."""
FAR_SECONDS_MAX: Final = 10.0
SECONDS_PER_MINUTE_AWAY: Final = 0.5
_STEPS: Final = ("serving", "serving_priority")
_SLOW: Final = ("joined", "next_position", "rate", "seats_left", "version", "at")


class Message(Struct, frozen=True):
    """The organiser's, to all; `at` in milliseconds."""

    text: str
    at: int | None


class Status(Struct, frozen=True, kw_only=True):
    """A waiting room as everybody may see it; times in milliseconds."""

    event: str
    state: EventState
    phase: str
    """draft, lobby, drawing, ballot, admitting, paused, stopped or closed."""
    policy: RoomPolicy
    admission: Admission
    joined: int
    serving: int
    """Ordinary positions up to here were called."""
    serving_priority: int
    next_position: int
    """Who joins now stands here."""
    drawn: int | None
    pace: int | None
    """Most buyers admitted a minute."""
    rate: float | None
    """Positions called a minute lately."""
    reason: str | None
    """Why that is less than the pace."""
    message: Message | None
    seats_left: int | None
    sold_out: bool
    """Nothing is free and nothing is held that could come back."""
    ballot: BallotState
    proof: bool
    """Whether whoever joins now must prove that a computer worked for it."""
    seed_sha256: str
    seed: str | None
    opens_at: int | None
    lobby_opens_at: int | None
    begin_seconds: int
    shopping_seconds: int
    look: dict[str, Any]
    version: int
    at: int


class ShownPlace(Struct, frozen=True):
    """A buyer's place; times in milliseconds."""

    place: str
    lane: Lane
    state: PlaceState
    position: int | None
    joined_at: int
    admitted_at: int | None
    begin_by: int | None
    begun_at: int | None
    until: int | None
    more_left: int
    """So often its buyer may still ask for more time, to begin or to shop; 0 for who is not admitted."""
    more_seconds: int
    """And is given so much."""
    token: str | None
    """Takes the place to another device, see docs/protocol.md."""


def status(slug: str, now: RoomNow, *, seats_left: int | None, sold_out: bool, proof: bool) -> Status:
    """What to tell of a room as it is now."""
    room, terms = now.room, now.room.terms
    return Status(
        event=slug,
        state=now.state,
        phase=phase(now),
        policy=terms.policy,
        admission=room.admission,
        joined=room.joined,
        serving=room.serving,
        serving_priority=room.serving_priority,
        next_position=room.next_position,
        drawn=room.drawn,
        pace=terms.pace,
        rate=room.rate,
        reason=room.reason,
        message=None if room.message is None else Message(room.message, _ms(room.message_at)),
        seats_left=seats_left,
        sold_out=sold_out,
        ballot=ballot_state(room, now.state),
        proof=proof,
        seed_sha256=room.seed_sha256.hex(),
        seed=None if room.seed is None else room.seed.hex(),
        opens_at=_ms(now.opens_at),
        lobby_opens_at=_ms(now.lobby_opens_at),
        begin_seconds=terms.begin_seconds,
        shopping_seconds=terms.shopping_seconds,
        look=now.look,
        version=room.version,
        at=now.now // 1000,
    )


def phase(now: RoomNow) -> str:
    """Where the event's waiting room is on its way."""
    room = now.room
    if now.state in (EventState.DRAFT, EventState.LOBBY, EventState.CLOSED):
        return now.state.value
    if room.terms.policy is RoomPolicy.DRAW and room.drawn_at is None:
        return "drawing"
    if ballot_state(room, now.state) is BallotState.DECIDING:
        return "ballot"
    if now.state is EventState.PAUSED or room.admission is Admission.PAUSED:
        return "paused"
    return "stopped" if room.admission is Admission.STOPPED else "admitting"


class Encoded:
    """A status document as it is sent."""

    __slots__ = ("body", "etag", "frame", "status")

    def __init__(self, told: Status) -> None:
        self.status = told
        self.body = msgspec.json.encode(told)
        self.frame = b'{"type":"room",' + self.body[1:]
        alike = msgspec.json.encode(msgspec.structs.replace(told, at=0))
        self.etag = b'W/"%s"' % hashlib.blake2b(alike, digest_size=9).hexdigest().encode()
        """The same at every gateway that knows the same."""


def same(one: Status, other: Status) -> bool:
    """Whether there is nothing to tell."""
    return msgspec.structs.replace(one, at=0) == msgspec.structs.replace(other, at=0)


def concerns_all(before: Status, after: Status) -> bool:
    """Whether everybody hears of this at once: a phase, a message, a pause, sold out, another seed."""
    names = Status.__struct_fields__
    return any(
        getattr(before, name) != getattr(after, name) for name in names if name not in (*_STEPS, *_SLOW)
    )


def moved(before: Status, after: Status) -> bool:
    """Whether the line went on."""
    return any(getattr(before, name) != getattr(after, name) for name in _STEPS)


def ahead(told: Status, place: Place) -> int | None:
    """How many stand before a place that waits; None before the draw, and for who does not wait."""
    if place.position is None or place.state is not PlaceState.WAITING:
        return None
    serving = told.serving if place.lane is Lane.ORDINARY else told.serving_priority
    return max(0, place.position - serving - 1)


def minutes_away(told: Status, place: Place) -> float | None:
    """How far away a place's turn is, as far as one can know."""
    before = ahead(told, place)
    return None if before is None or not told.rate else before / told.rate


def hears_every_step(told: Status, place: Place | None) -> bool:
    """Whether somebody hears of every step of the line, at most once a second."""
    if place is None:
        return True
    minutes = minutes_away(told, place)
    return minutes <= NEAR_MINUTES if minutes is not None else place.state is PlaceState.WAITING


def hears_every_seconds(told: Status, place: Place | None) -> float:
    """How often somebody hears of what can wait."""
    minutes = None if place is None else minutes_away(told, place)
    return SLOW_SECONDS if minutes is None else far_seconds(minutes)


def far_seconds(minutes: float) -> float:
    """The farther away, the more rarely."""
    return min(FAR_SECONDS_MAX, max(SLOW_SECONDS, minutes * SECONDS_PER_MINUTE_AWAY))


def shown(place: Place, terms: RoomTerms, token: str | None) -> ShownPlace:
    most, seconds = terms.more_begin_max, terms.begin_seconds
    if place.begun_at is not None:
        most, seconds = terms.more_shopping_max, terms.shopping_seconds // MORE_SHOPPING_PART
    left = max(0, most - place.more) if place.state is PlaceState.ADMITTED else 0
    return ShownPlace(
        str(place.id),
        place.lane,
        place.state,
        place.position,
        place.joined_at // 1000,
        _ms(place.admitted_at),
        _ms(place.begin_by),
        _ms(place.begun_at),
        _ms(place.until),
        left,
        seconds if left else 0,
        token,
    )


def place_frame(body: bytes) -> bytes:
    """The same on the socket."""
    return b'{"type":"place",' + body[1:]


def _ms(moment: Micros | None) -> int | None:
    return None if moment is None else moment // 1000
