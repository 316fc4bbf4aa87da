"""The waiting room's words, and what an organiser decides about one.

A place is a buyer's position in the line: `waiting → admitted → finished / expired / left`. Who expired
because they did not begin in time may come back and is waiting again, at the position they had.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final
from uuid import UUID

from msgspec import Struct

from store.words import EventState, Micros


class PlaceState(StrEnum):
    WAITING = "waiting"
    ADMITTED = "admitted"
    FINISHED = "finished"
    """Bought something, and has nothing open any more."""
    EXPIRED = "expired"
    """Did not begin in time, or had shopping time enough."""
    LEFT = "left"
    """Said so."""


LIVE: Final = (PlaceState.WAITING, PlaceState.ADMITTED)
"""A buyer has at most one of these at an event."""

DUE: Final = "COALESCE(bought_at, until, begin_by)"
"""In SQL: from when on a place that is admitted may be at its end; of who bought something, from then on."""


MORE_SHOPPING_PART: Final = 2
"""Who asks for more time to shop is given this part (a half) of it, who asks to begin as long again."""


class Lane(StrEnum):
    """Lines beside each other, each with positions of its own."""

    ORDINARY = "ordinary"
    PRIORITY = "priority"
    """Who has a presale code or an invitation."""


class RoomPolicy(StrEnum):
    DRAW = "draw"
    """Who joined before the sale began is drawn; who comes later stands behind them, as they come."""
    FIFO = "fifo"
    """As they come, from the first."""


class Admission(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    """Nobody is admitted for now; who is, goes on."""
    STOPPED = "stopped"
    """Nobody is admitted any more."""


class SlowedBy(StrEnum):
    """Why fewer are called than the organiser's pace says."""

    STOPPED = "stopped"
    PAUSED = "paused"
    """By the organiser: admission, or the whole sale."""
    LAG = "lag"
    """Requests wait too long for their decision."""
    PAYMENTS_FAILING = "payments_failing"
    FULL_INSIDE = "full_inside"
    """As many are inside as may be."""


class BallotState(StrEnum):
    """How far a ballot is."""

    NONE = "none"
    """There is none, or nobody can file yet."""
    FILING = "filing"
    """Who has joined says what they wish for."""
    DECIDING = "deciding"
    """Wishes are decided, and nothing else is asked: the sale has begun, for everybody at once."""
    DONE = "done"


class Proof(StrEnum):
    """Whether whoever joins proves that a computer worked for it."""

    OFF = "off"
    BUSY = "busy"
    """While more join than `Terms.proof_above_per_minute`."""
    ALWAYS = "always"


class Place(Struct, frozen=True):
    """A place as the table has it; times by Postgres' clock in microseconds."""

    id: UUID
    buyer: str
    lane: Lane
    state: PlaceState
    position: int | None
    """None until the draw."""
    joined_at: Micros
    admitted_at: Micros | None
    begin_by: Micros | None
    """Until then who is admitted has to begin."""
    begun_at: Micros | None
    until: Micros | None
    """Until then who began may ask for seats; a hold that runs then is kept to its end."""
    more: int = 0
    """So often more time was given: to begin, or since then to shop."""


class RoomTerms(Struct, frozen=True, kw_only=True):
    """What the organiser decides about an event's waiting room."""

    policy: RoomPolicy = RoomPolicy.DRAW
    """Settled when the lobby begins."""
    ballot: bool = False
    """Wishes are filed before the sale begins, and decided in the draw's order when it does. Settled then."""
    pace: int | None = None
    """Most buyers admitted a minute; None: as many as `shopping_max` lets in."""
    shopping_max: int | None = None
    """Most buyers admitted and not gone at a time; None: any number."""
    begin_seconds: int = 180
    """So long who is admitted has to begin."""
    shopping_seconds: int = 900
    """So long who began may ask for seats."""
    more_begin_max: int = 3
    """So often who is admitted is given as long again to begin, if they ask; 0: never."""
    more_shopping_max: int = 3
    """So often who began is given half as long again to ask for seats, if they ask; 0: never."""
    proof: Proof = Proof.BUSY
    proof_above_per_minute: int = 600
    """Joins a minute at one gateway, above which `busy` asks for proof of work."""


class Room(Struct, frozen=True):
    """A waiting room as it stands; times by Postgres' clock in microseconds."""

    event_id: int
    terms: RoomTerms
    admission: Admission
    seed_sha256: bytes
    """Published before anybody joins: what the draw's seed will be is settled."""
    seed: bytes | None
    """None until the draw is done."""
    lobby_ended_at: Micros | None
    drawn: int | None
    """Places in the draw, of all lanes; None until the lobby ends."""
    drawn_at: Micros | None
    ballot_ended_at: Micros | None
    next_position: int
    """The next who joins the ordinary line stands here."""
    next_priority: int
    serving: int
    """Ordinary positions up to here were called."""
    serving_priority: int
    joined: int
    """Places there ever were."""
    version: int
    """Of what everybody is told: each decision of admission makes the next, and is made from the last."""
    admitted: int
    """Ever, in both lanes; who was called again counts once."""
    rate: float | None
    """Ordinary positions called a minute lately, as the owner measures it."""
    reason: str | None
    """Why that is less than the organiser's pace; see `allocator.admission`."""
    message: str | None
    message_at: Micros | None
    edition: int = 0
    """Of what operators decided: each change makes the next."""


def has_begun(room: Room, event_state: EventState) -> bool:
    """Whether the sale has. Either may be older than the other: it has when one of them says so."""
    return room.lobby_ended_at is not None or event_state in (EventState.OPEN, EventState.PAUSED)


def ballot_state(room: Room, event_state: EventState) -> BallotState:
    """How far the ballot is.

    A pause keeps the ballot where it is, and closing answers those it had not reached that nothing is sold
    any more; both are `DECIDING` until all are answered.
    """
    if not room.terms.ballot:
        return BallotState.NONE
    if room.ballot_ended_at is not None:
        return BallotState.DONE
    if has_begun(room, event_state):
        return BallotState.DECIDING
    return BallotState.FILING if event_state is EventState.LOBBY else BallotState.NONE
