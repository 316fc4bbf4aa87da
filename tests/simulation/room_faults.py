"""Guards of waiting rooms taken out on purpose, as `faults` does with all others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from msgspec import structs

from allocator import keeper
from allocator.ballot import Sweep
from gateway.room.waiting_room import WaitingRoom
from store.room import admitting, ballot, draw, rooms
from store.room.ballot import Rank
from tests.simulation import statements
from tests.simulation.faults import Break, Fault, _replace
from tests.simulation.postgres import ONE, Session
from tests.simulation.room_statements import ROOMS


def _instead(statement: str, run: Callable[[Session, Any], Any]) -> Break:
    """Another answer to one statement."""
    return lambda: patch.dict(statements.STATEMENTS, {statement: (ROOMS[statement][0], run)})


def _whatever_was_read(session: Session, values: Any) -> Any:
    room = session.get("room", ONE)
    now = {"version": room.version, "admission": room.admission}
    return ROOMS[admitting.CHANGE][1](session, {**values, **now})


def _as_it_comes(session: Session, values: Any) -> Any:
    rows = session.database.rows["place"].items()
    places = [place for place, row in rows if row.in_draw and row.lane == values["lane"]]
    for position, place in enumerate(places, 1):
        session.insert("line", (values["lane"], position), place)
        session.insert("line_place", place, position)
    return [(1,) for _ in places]


def _one_too_far(sweep: Sweep, rank: Rank) -> None:
    _GO_ON(sweep, Rank(rank.lane, rank.position + 1))


def _everybody(room: WaitingRoom, buyer: str, then: Any) -> None:
    then(None)


def _counted_alone(conn: Any, statement: str, values: Any, count: int, what: str) -> None:
    conn.execute(statement, values)


_GO_ON = Sweep.go_on_at
_SEEN = keeper.Steps._seen


def _nobody_inside(steps: keeper.Steps, was: Any, ending: int, no_shows: int, returners: int) -> Any:
    return structs.replace(_SEEN(steps, was, ending, no_shows, returners), inside=0)


ROOM_FAULTS: dict[str, Fault] = {
    "version": Fault(
        "an owner decides who is admitted by whatever it read", _instead(admitting.CHANGE, _whatever_was_read)
    ),
    "counts of places": Fault(
        "nobody counts how many places are as they were read", _replace(admitting, "_counted", _counted_alone)
    ),
    "draw": Fault("the draw lines up who joined first", _instead(draw.LINE_UP, _as_it_comes)),
    "resumed": Fault(
        "a ballot goes on one rank behind the first that the ledger lacks",
        _replace(Sweep, "go_on_at", _one_too_far),
    ),
    "left out": Fault(
        "a ballot ends when all was appended, whatever was lost meanwhile",
        _replace(ballot, "first_undecided", lambda conn, event_id: None),
    ),
    "inside": Fault("nobody is counted who is inside", _replace(keeper.Steps, "_seen", _nobody_inside)),
    "door": Fault("a gateway lets everybody in", _replace(WaitingRoom, "let_in", _everybody)),
    "opened": Fault("the sale begins and the lobby does not end", _instead(rooms.END_LOBBY, lambda *_: [])),
}
