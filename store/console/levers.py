"""What operators can move at one event, and how it stands now: its state, its room, its terms, its fleet."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import psycopg
from msgspec import Struct
from psycopg.rows import tuple_row

from store.errors import NotFound
from store.events import TRANSITIONS, Event, get_event
from store.fleet.words import WORKERS_DEFAULT, Mode
from store.room import rooms
from store.room.operating import LEAVING
from store.room.words import Admission, Room
from store.terms import TERMS
from store.words import EventState

Conn = psycopg.Connection[Any]

FLEET: Final = "SELECT mode, workers, hot, edition FROM fleet_event WHERE event_id = %(event)s"

_MOVES: Final = {
    EventState.LOBBY: "lobby",
    EventState.OPEN: "open",
    EventState.PAUSED: "pause",
    EventState.CLOSED: "close",
}
"""Into a state: how the call is named."""
_ADMISSION_MOVES: Final = {
    Admission.RUNNING: "resume",
    Admission.PAUSED: "pause",
    Admission.STOPPED: "stop",
}


class StateLever(Struct, frozen=True):
    """The event's state, and the moves that are possible from it."""

    value: EventState
    can: list[str]
    opens_at: int | None
    lobby_opens_at: int | None
    paused_at: int | None


class FleetLever(Struct, frozen=True):
    """What the event is to have of the fleet."""

    mode: Mode = Mode.AUTO
    workers: int = WORKERS_DEFAULT
    hot: bool = False
    edition: int = 0


class Levers(Struct, frozen=True):
    """All that can be moved. `room` is None without a waiting room; moments are milliseconds."""

    state: StateLever
    room: dict[str, Any] | None
    gate: bool
    policy: dict[str, Any]
    fleet: FleetLever


def read(conn: Conn, slug: str) -> Levers:
    """As they stand; raises `NotFound`."""
    event = get_event(conn, slug)
    row = conn.cursor(row_factory=tuple_row).execute(FLEET, {"event": event.id}).fetchone()
    fleet = FleetLever() if row is None else FleetLever(Mode(row[0]), *row[1:])
    try:
        room = _room(rooms.read(conn, event.id))
    except NotFound:
        room = None
    policy = {term: _plain(getattr(event, term)) for term in TERMS}
    return Levers(_state(event), room, event.fast_gate, policy, fleet)


def moves_from(state: EventState) -> list[str]:
    """The calls that change the state now."""
    moves = [_MOVES[to] for to in TRANSITIONS[state]]
    return ["resume" if move == "open" else move for move in moves] if state is EventState.PAUSED else moves


def _state(event: Event) -> StateLever:
    times = (_ms(event.opens_at), _ms(event.lobby_opens_at), _ms(event.paused_at))
    return StateLever(event.state, moves_from(event.state), *times)


def _room(room: Room) -> dict[str, Any]:
    can = [move for to, move in _ADMISSION_MOVES.items() if room.admission in LEAVING[to]]
    return {
        "edition": room.edition,
        "version": room.version,
        "admission": room.admission,
        "can": can,
        **{name: getattr(room.terms, name) for name in room.terms.__struct_fields__},
        "message": room.message,
        "message_at": _from_micros(room.message_at),
        "lobby_ended_at": _from_micros(room.lobby_ended_at),
        "drawn_at": _from_micros(room.drawn_at),
        "slowed_by": room.reason,
    }


def _plain(value: Any) -> Any:
    return _ms(value) if isinstance(value, datetime) else value


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1_000)


def _from_micros(moment: int | None) -> int | None:
    return None if moment is None else moment // 1_000
