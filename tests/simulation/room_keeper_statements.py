"""What an owner says of its event's waiting room, as the virtual Postgres runs it: draw and admission.

Payments never slow a virtual room: they are as if too few to tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

import msgspec

from allocator import keeper, pressure
from store import lost_time
from store.room import admitting, draw, rooms, telling
from store.room.draw import BLOCK_BYTES, SEED_BYTES, rank_of
from tests.simulation.postgres import ONE, Session
from tests.simulation.room_rows import (
    SECOND,
    PlaceRow,
    Rows,
    all_of,
    insert_line,
    locked_place,
    locked_room,
    put_place,
    room_of,
)

Values = Mapping[str, Any]
STEP_WAIT_SECONDS = 5.0
UNPAID = ("created", "failed")


def _read(session: Session, _values: Values) -> Rows:
    room = room_of(session)
    if room is None:
        return []
    database = session.database
    session.looked_us = database.server.gone_by_us
    database.on_room_read()
    begun = [at for at in (room.decided_at, room.drawn_at, room.ballot_ended_at) if at is not None]
    return [
        (
            room.version, session.get("event", ONE).state, room.admission, room.terms.pace,
            room.terms.shopping_max, room.terms.ballot, room.lobby_ended_at is not None,
            room.drawn_at is not None, room.ballot_ended_at is not None, room.serving, room.serving_priority,
            room.next_position, room.next_priority, room.admitted, room.credit, room.factor, room.rate,
            room.reason, room.told, session.get("cursor", ONE).arrival, database.clock(),
            max(begun, default=None), database.run_by(),
        )
    ]  # fmt: skip


def _admitted(session: Session) -> list[tuple[Any, PlaceRow]]:
    return [(place, row) for place, row in all_of(session, "place") if row.state == "admitted"]


def _inside(session: Session, values: Values) -> Rows:
    return [(min(len(_admitted(session)), values["most"]),)]


def _returners(session: Session, values: Values) -> Rows:
    waiting = [
        (row.admitted_at, session.get("line_place", place), place)
        for place, row in all_of(session, "place")
        if row.state == "waiting" and row.returned
    ]
    return [(place,) for *_, place in sorted(waiting)[: values["most"]]]


def _next(session: Session, values: Values) -> Rows:
    found: Rows = []
    for position in range(values["serving"] + 1, values["through"] + 1):
        place = session.get("line", (values["lane"], position))
        if place is not None and session.get("place", place).state == "waiting":
            found.append((place, position))
    return found[: values["most"]]


def _any_due(session: Session, values: Values) -> Rows:
    return [(any(row.due <= values["run_by"] for _, row in _admitted(session)),)]


def _due_now(session: Session, values: Values) -> Rows:
    busy = {row.buyer for _, row in all_of(session, "hold") if row.state == "active"}
    busy |= {row.buyer for _, row in all_of(session, "payment") if row.state in UNPAID}
    found = [
        (place, "expired" if row.bought_at is None else "finished", row.begun_at is None)
        for place, row in _admitted(session)
        if row.due <= values["run_by"] and row.buyer not in busy
    ]
    return found[: admitting.ENDS_MAX]


def _orders(session: Session, values: Values) -> Rows:
    told = sorted(
        ((number, row) for number, row in all_of(session, "outbox") if number > values["told"]),
        key=itemgetter(0),
    )[: admitting.ORDERS_MAX]
    if not told:
        return [(None, None, None)]
    paid = [
        (body["buyer"], row.at)
        for _, row in told
        if row.kind == "order.paid" and (body := msgspec.json.decode(row.body))["kind"] == "buyer"
    ]
    buyers, times = [buyer for buyer, _ in paid], [at for _, at in paid]
    return [(told[-1][0], buyers or None, times or None)]


def _change(session: Session, values: Values) -> Rows:
    room = locked_room(session, STEP_WAIT_SECONDS)
    assert room is not None, "a room is never taken away"
    if (room.version, room.admission) != (values["version"], values["admission"]):
        session.world.counters["room_changed_meanwhile"] += 1
        return []
    kept = ("serving", "serving_priority", "credit", "factor", "rate", "reason", "told", "step_ms")
    session.put(
        "room", ONE,
        room._replace(
            version=room.version + 1, admitted=room.admitted + values["called"], decided_at=values["now"],
            **{name: values[name] for name in kept},
        ),
    )  # fmt: skip
    return [(1,)]


def _giving_back(session: Session, _values: Values) -> Rows:
    return [(place,) for place, row in all_of(session, "place") if row.gives_back][: admitting.ENDS_MAX]


def _give_back(session: Session, values: Values) -> Rows:
    given: Rows = []
    for place in values["ids"]:
        if session.get("place", place).gives_back and (row := locked_place(session, place)).gives_back:
            put_place(session, place, row._replace(gives_back=False))
            given.append((1,))
    return given


def _end(session: Session, values: Values) -> Rows:
    def ends(row: PlaceRow, unbegun: bool) -> bool:
        return row.state == "admitted" and (row.begun_at is None) == unbegun and row.due <= values["run_by"]

    ended: Rows = []
    for place, state, unbegun in zip(values["ids"], values["states"], values["unbegun"], strict=True):
        if not ends(session.get("place", place), unbegun):
            continue
        if ends(row := locked_place(session, place), unbegun):
            row = row._replace(state=state, ended_at=session.database.clock(), version=values["version"] + 1)
            put_place(session, place, row)
            ended.append((1,))
    return ended


def _admit(session: Session, values: Values) -> Rows:
    now, room = session.database.clock(), room_of(session)
    assert room is not None, "its row was changed in this transaction"
    admitted: Rows = []
    for place in values["ids"]:
        if session.get("place", place).state != "waiting":
            continue
        row = locked_place(session, place)
        if row.state == "waiting":
            begin_by = now + room.terms.begin_seconds * SECOND
            row = row._replace(
                state="admitted", admitted_at=now, version=values["version"] + 1, begin_by=begin_by
            )
            put_place(session, place, row)
            admitted.append((1,))
    return admitted


def _write_mails(session: Session, values: Values) -> Rows:
    written: Rows = []
    for place in values["places"]:
        row = session.get("place", place)
        if row.email is not None:
            session.insert("mail", session.database.next_mail(), (row.email, place, row.begin_by))
            written.append((1,))
    return written


def _bought(session: Session, values: Values) -> Rows:
    def counts(row: PlaceRow, at: int) -> bool:
        return row.state == "admitted" and row.admitted_at is not None and row.admitted_at < at

    bought: Rows = []
    changed: set[Any] = set()
    for buyer, at in zip(values["buyers"], values["times"], strict=True):
        place = session.get("place_live", buyer)
        if place is None or place in changed or not counts(session.get("place", place), at):
            continue
        row = locked_place(session, place)
        if counts(row, at):
            changed.add(place)  # a statement changes a row once, by the first that fits
            put_place(session, place, row._replace(bought_at=at))
            bought.append((1,))
    return bought


# --- the draw ---


def _one_at_a_time(session: Session, _values: Values) -> Rows:
    return [(session.try_lock("advisory", "draw"),)]


def _to_draw(session: Session, _values: Values) -> Rows:
    room = room_of(session)
    if room is None or room.lobby_ended_at is None or room.drawn_at is not None:
        return []
    return [(room.seed,)]


def _line_up(session: Session, values: Values) -> Rows:
    seed = bytes(byte ^ 0x36 for byte in values["inner"][:BLOCK_BYTES])[:SEED_BYTES]
    drawn = [
        (rank_of(seed, place), place)
        for place, row in all_of(session, "place")
        if row.in_draw and row.lane == values["lane"]
    ]
    for position, (_, place) in enumerate(sorted(drawn), 1):
        insert_line(session, values["lane"], position, place)
    return [(1,) for _ in drawn]


def _drawn(session: Session, values: Values) -> Rows:
    room = locked_room(session)
    assert room is not None, "a room is never taken away"
    if room.lobby_ended_at is None or room.drawn_at is not None or room.drawn != values["drawn"]:
        return []
    session.put("room", ONE, room._replace(drawn_at=session.database.clock(), version=room.version + 1))
    return [(1,)]


# --- time that was lost ---


def _lock_room(session: Session, _values: Any) -> Rows:
    return [] if locked_room(session) is None else [(1,)]


def _change_room(session: Session, _values: Any) -> Rows:
    room = locked_room(session)
    if room is None:
        return []
    session.put("room", ONE, room._replace(version=room.version + 1))
    return [(room.version + 1,)]


def _extend_places(session: Session, values: Values) -> Rows:
    def ran(row: PlaceRow) -> bool:
        ends = row.begin_by if row.until is None else row.until
        return row.state == "admitted" and ends is not None and ends > values["since"]

    extended: Rows = []
    for place, seen in all_of(session, "place"):
        if ran(seen) and ran(row := locked_place(session, place)):
            lost = values["lost"]
            later = {
                name: at + lost for name in ("begin_by", "until") if (at := getattr(row, name)) is not None
            }
            put_place(session, place, row._replace(version=values["version"], **later))
            extended.append((1,))
    return extended


KEEPER = {
    keeper.READ_STATE: ("read the event's state", lambda session, _: [(session.get("event", ONE).state,)]),
    admitting.READ: ("look at the room", _read),
    admitting.INSIDE: ("look who is inside", _inside),
    admitting.GIVING_BACK: ("look who left before beginning", _giving_back),
    admitting.RETURNERS: ("look who came back", _returners),
    admitting.NEXT: ("look who is next", _next),
    admitting.ANY_DUE: ("look whether places end", _any_due),
    admitting.DUE_NOW: ("look which places end", _due_now),
    admitting.ORDERS: ("look what was bought", _orders),
    admitting.CHANGE: ("change the room", _change),
    admitting.END: ("end places", _end),
    admitting.GIVE_BACK: ("count who left before beginning", _give_back),
    admitting.ADMIT: ("admit", _admit),
    admitting.BOUGHT: ("write down who bought", _bought),
    telling.WRITE: ("write mails", _write_mails),
    pressure.FAILED: ("look at payments", lambda session, _: [(0, 0)]),
    draw.ONE_AT_A_TIME: ("draw alone", _one_at_a_time),
    draw.TO_DRAW: ("look what to draw", _to_draw),
    draw.LINE_UP: ("line up", _line_up),
    draw.DRAWN: ("the draw is done", _drawn),
    rooms.LOCK_ROOM: ("lock the waiting room", _lock_room),
    lost_time.CHANGE_ROOM: ("change the waiting room", _change_room),
    lost_time.EXTEND_PLACES: ("extend places", _extend_places),
}
