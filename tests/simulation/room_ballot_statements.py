"""The statements of a waiting room's ballot, as the virtual Postgres runs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any
from uuid import UUID

from allocator import ballot as sweep
from store.room import ballot
from store.room.ballot import REQUEST_ID
from tests.simulation.postgres import ONE, Session
from tests.simulation.room_rows import (
    SECOND,
    RoomRow,
    Rows,
    WishRow,
    all_of,
    live_place,
    locked_place,
    locked_room,
    put_place,
    room_of,
)

Values = Mapping[str, Any]
FILING = "filing"


def _wait_for_lobby_end(session: Session, _values: Values) -> Rows:
    """Shared: a lock of one's own, taken while nobody has the whole."""
    session.lock("wishes", ONE, 1.0)
    session.lock("wishes", (FILING, session.number), 1.0)
    session.unlock("wishes", ONE)
    return [(1,)]


def _wait_for_wishes(session: Session, _values: Values) -> Rows:
    """The whole, and each of those who file."""
    session.lock("wishes", ONE)
    mine = session.database.number
    filing = [key for event, table, key in session.database.locks if (event, table) == (mine, "wishes")]
    for key in filing:
        session.lock("wishes", key)
    return [(1,)]


def _lasts(session: Session, room: RoomRow) -> bool:
    return room.terms.ballot and session.get("event", ONE).state == "lobby" and room.lobby_ended_at is None


def _file(session: Session, values: Values) -> Rows:
    room, place = room_of(session), live_place(session, values["buyer"])
    if room is None or place is None or not _lasts(session, room):
        return []
    if not session.get("place", place).in_draw:
        return []
    here = locked_place(session, place)
    if not (here.live and here.in_draw):
        return []
    session.lock("ballot_wish", place)
    row = WishRow(values["buyer"], values["want"], session.database.clock())
    session.put("ballot_wish", place, row)
    return [(row.filed_at,)]


def _withdraw(session: Session, values: Values) -> Rows:
    room, place = room_of(session), live_place(session, values["buyer"])
    if room is None or place is None or not _lasts(session, room):
        return []
    if session.get("ballot_wish", place) is None:
        return []
    session.lock("ballot_wish", place)
    session.put("ballot_wish", place, None)
    return [(1,)]


def _still_lasts(session: Session, _values: Values) -> Rows:
    room = room_of(session)
    return [] if room is None else [(room.terms.ballot, _lasts(session, room))]


def _read(session: Session, values: Values) -> Rows:
    place = live_place(session, values["buyer"])
    if place is None:
        expired = [
            (row.joined_at, one)
            for one, row in all_of(session, "place")
            if row.buyer == values["buyer"] and row.state == "expired" and session.get("ballot_wish", one)
        ]
        place = max(expired)[1] if expired else None
    row = None if place is None else session.get("ballot_wish", place)
    return [] if row is None else [(row.want, row.filed_at)]


def _stands(session: Session, _values: Values) -> Rows:
    room = room_of(session)
    if room is None:
        return []
    goes_on = room.terms.ballot and room.drawn_at is not None and room.ballot_ended_at is None
    return [(goes_on, session.get("cursor", ONE).arrival)]


def _wishes(session: Session, values: Values) -> Iterator[tuple[int, WishRow]]:
    """(position, wish) of a lane behind a position, in order."""
    lane, position = values["lane"], values["after"]
    while (place := session.get("line", (lane, position := position + 1))) is not None:
        wish = session.get("ballot_wish", place)
        if wish is not None:
            yield position, wish


def _next(session: Session, values: Values) -> Rows:
    found = [(position, wish.buyer, wish.want) for position, wish in _wishes(session, values)]
    return found[: values["most"]]


def _is_decided(session: Session, values: Values) -> Rows:
    return [] if session.get("ledger_key", (values["buyer"], REQUEST_ID)) is None else [(1,)]


def _undecided(session: Session, wishes: Iterable[tuple[int, WishRow]]) -> int | None:
    """The first position."""
    return next(
        (
            position
            for position, wish in wishes
            if session.get("ledger_key", (wish.buyer, REQUEST_ID)) is None
        ),
        None,
    )


def _undecided_near(session: Session, values: Values) -> Rows:
    near = list(islice(_wishes(session, values), ballot.NEAR_MAX))
    return [(_undecided(session, near), len(near))]


def _undecided_far(session: Session, values: Values) -> Rows:
    return [(_undecided(session, _wishes(session, values)),)]


def _let_in(session: Session, values: Values) -> Rows:
    now, room = session.began_us, room_of(session)
    assert room is not None, "it is locked"
    piece = [
        (hold_id, row)
        for hold_id, row in sorted(all_of(session, "hold"))
        if hold_id > values["after"] and row.request_id == REQUEST_ID and row.state in ("active", "paid")
    ][: values["most"]]
    came_in: dict[UUID, None] = {}
    for _, hold in piece:
        place = live_place(session, hold.buyer)
        if place is None or place in came_in or session.get("place", place).state != "waiting":
            continue
        row = locked_place(session, place)
        if row.state == "waiting":
            until = max(hold.expires_at, now + room.terms.shopping_seconds * SECOND)
            row = row._replace(
                state="admitted", returned=False, admitted_at=now, begin_by=now, begun_at=now, until=until
            )
            put_place(session, place, row)
            came_in[place] = None
    if came_in:
        changed = room._replace(admitted=room.admitted + len(came_in), version=room.version + 1)
        session.put("room", ONE, changed)
    return [(max((hold_id for hold_id, _ in piece), default=None), len(came_in))]


def _end(session: Session, _values: Values) -> Rows:
    room = locked_room(session)
    if room is None or not room.terms.ballot or room.drawn_at is None or room.ballot_ended_at is not None:
        return []
    ended = room._replace(ballot_ended_at=session.database.clock(), version=room.version + 1)
    session.put("room", ONE, ended)
    return [(1,)]


BALLOT = {
    ballot.WAIT_FOR_LOBBY_END: ("wish: wait for the lobby's end", _wait_for_lobby_end),
    ballot.WAIT_FOR_WISHES: ("wait for who files", _wait_for_wishes),
    ballot.FILE: ("wish: file", _file),
    ballot.WITHDRAW: ("wish: take back", _withdraw),
    ballot.LASTS: ("wish: look whether it lasts", _still_lasts),
    ballot.READ: ("wish: read", _read),
    sweep.STANDS: ("ballot: look how it stands", _stands),
    ballot.NEXT: ("ballot: read wishes", _next),
    ballot.IS_DECIDED: ("ballot: look whether one is decided", _is_decided),
    ballot.UNDECIDED_NEAR: ("ballot: look for the first that is not", _undecided_near),
    ballot.UNDECIDED_FAR: ("ballot: look among all", _undecided_far),
    ballot.LET_IN: ("ballot: let in", _let_in),
    ballot.END: ("ballot: end it", _end),
}
