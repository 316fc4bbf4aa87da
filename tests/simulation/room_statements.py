"""What buyers, gateways and operators say of a waiting room, as the virtual Postgres runs it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from store import opening
from store.room import codes, entering, joining, operating, rooms, watching
from store.room.ballot import REQUEST_ID
from store.room.words import MORE_SHOPPING_PART, RoomTerms
from tests.simulation.postgres import ONE, EventRow, Session
from tests.simulation.room_ballot_statements import BALLOT
from tests.simulation.room_keeper_statements import KEEPER
from tests.simulation.room_rows import (
    LANES,
    SECOND,
    CodeRow,
    PlaceRow,
    Rows,
    all_of,
    columns_of,
    insert_line,
    insert_place,
    live_place,
    locked_place,
    locked_room,
    may_come_back,
    put_place,
    room_of,
    told_of,
    withdraw_wish,
)

Values = Mapping[str, Any]

# --- joining ---


def _lock(session: Session, _values: Values) -> Rows:
    state = session.get("event", ONE).state  # as it was when the statement began, however long it waits
    room = locked_room(session, 1.0)
    if room is None:
        return []
    return [(state, room.terms.policy == "draw" and room.lobby_ended_at is None)]


def _come_back(session: Session, values: Values) -> Rows:
    back: Rows = []
    for place, seen in all_of(session, "place"):
        if seen.buyer in values["buyers"] and may_come_back(seen):
            row = locked_place(session, place)
            if may_come_back(row):
                put_place(session, place, row._replace(state="waiting", returned=True, ended_at=None, more=0))
                back.append((1,))
    return back


def _make(session: Session, values: Values) -> Rows:
    room = room_of(session)
    assert room is not None, "whoever joins has locked it"
    standing = dict(zip(LANES, (room.next_position, room.next_priority), strict=True))
    made = 0
    for buyer, lane, code in zip(values["buyers"], values["lanes"], values["codes"], strict=True):
        now = session.database.clock()
        place = insert_place(session, PlaceRow(buyer, lane, values["drawn"], now, code=code))
        if place is None:
            continue
        made += 1
        if not values["drawn"]:
            insert_line(session, lane, standing[lane], place)
            standing[lane] += 1
    if not made:
        return []
    session.put(
        "room", ONE,
        room._replace(
            joined=room.joined + made, next_position=standing["ordinary"], next_priority=standing["priority"]
        ),
    )  # fmt: skip
    return [(1,)]


def _live(session: Session, buyers: Any) -> list[tuple[int, UUID, PlaceRow]]:
    """(where in the list, place, row) of those who have a live one."""
    found = [(at, live_place(session, buyer)) for at, buyer in enumerate(buyers)]
    return [(at, place, session.get("place", place)) for at, place in found if place is not None]


def _tell(session: Session, values: Values) -> Rows:
    told: Rows = []
    for at, place, _ in _live(session, values["buyers"]):
        row = locked_place(session, place)
        if row.live:
            session.put("place", place, row._replace(email=values["emails"][at]))
            told.append((1,))
    return told


def _stay(session: Session, values: Values) -> Rows:
    room = room_of(session)
    deciding = room is not None and room.lobby_ended_at is not None and room.ballot_ended_at is None
    live = [
        (row.buyer,)
        for _, place, row in _live(session, values["buyers"])
        if row.state == "admitted"
        or row.lane == "priority"
        or row.returned
        or (deciding and session.get("ballot_wish", place) is not None)
    ]
    back = [
        (row.buyer,)
        for _, row in all_of(session, "place")
        if row.buyer in values["buyers"] and may_come_back(row)
    ]
    return live + back


def _cross(session: Session, values: Values) -> Rows:
    crossed: Rows = []
    for at, place, seen in _live(session, values["buyers"]):
        if seen.in_draw and (row := locked_place(session, place)).live and row.in_draw:
            session.put("place", place, row._replace(lane="priority", code=values["codes"][at]))
            crossed.append((1,))
    return crossed


def _give_up(session: Session, values: Values) -> Rows:
    return [(1,) for _, place, _ in _live(session, values["buyers"]) if _goes(session, place)]


def _goes(session: Session, place: UUID, *, gives_back: bool = False) -> bool:
    """With the wish that was there when the statement began. `gives_back`: of who was called only."""
    wished = session.get("ballot_wish", place) is not None
    row = locked_place(session, place)
    if row.live:
        back = gives_back and row.state == "admitted" and row.begun_at is None
        left = row._replace(state="left", ended_at=session.database.clock(), gives_back=back)
        put_place(session, place, left)
        if wished:
            withdraw_wish(session, place)
    return row.live


def _read(session: Session, values: Values) -> Rows:
    found: Rows = []
    expired: dict[str, list[tuple[int, UUID]]] = {}
    for place, row in all_of(session, "place"):
        if row.state == "expired":
            expired.setdefault(row.buyer, []).append((row.joined_at, place))
    for buyer in values["buyers"]:
        counting = live_place(session, buyer)
        if counting is None and buyer in expired:
            counting = max(expired[buyer])[1]
        if counting is not None:
            found.append(columns_of(session, counting, session.get("place", counting)))
    return found


def _know(session: Session, values: Values) -> Rows:
    for code in values["codes"]:
        session.lock("room_code", code)
        if session.get("room_code", code) is None:
            session.put("room_code", code, CodeRow(values["label"]))
    return []


def _use(session: Session, values: Values) -> Rows:
    granted: Rows = []
    for code in dict.fromkeys(values["codes"]):
        row = session.get("room_code", code)
        if row is not None:
            revoked = row.revoked_at is not None
            many = 0 if revoked else min(values["codes"].count(code), row.uses_max - row.uses)
            if many:
                session.lock("room_code", code)
                session.put("room_code", code, row._replace(uses=row.uses + many))
            granted.append((code, many, revoked))
    return granted


def _has_label(session: Session, values: Values) -> Rows:
    return [()] if any(row.label == values["label"] for _, row in all_of(session, "room_code")) else []


def _revoke_label(session: Session, values: Values) -> Rows:
    unused: list[int] = []
    for code, row in all_of(session, "room_code"):
        if row.label == values["label"] and row.revoked_at is None:
            session.lock("room_code", code)
            session.put("room_code", code, row._replace(revoked_at=session.database.clock()))
            unused.append(row.uses_max - row.uses)
    return [(values["label"], len(unused), sum(unused))] if unused else []


# --- beginning, taking more time, leaving ---


def _begin(session: Session, values: Values) -> Rows:
    def called(row: PlaceRow) -> bool:
        return row.state == "admitted" and row.begun_at is None

    now, room, place = session.database.clock(), room_of(session), live_place(session, values["buyer"])
    if room is None or place is None or not called(session.get("place", place)):
        return []
    row = locked_place(session, place)
    if not called(row):
        return []
    until = now + room.terms.shopping_seconds * SECOND
    put_place(session, place, row._replace(begun_at=now, until=until, more=0))
    return [(1,)]


def _more(session: Session, values: Values) -> Rows:
    run_by, room, place = session.database.run_by(), room_of(session), live_place(session, values["buyer"])
    if room is None or place is None:
        return []
    terms = room.terms

    def may(row: PlaceRow) -> bool:
        if row.state != "admitted" or row.due <= run_by:
            return False
        most = terms.more_begin_max if row.begun_at is None else terms.more_shopping_max
        ends = row.begin_by if row.until is None else row.until
        return ends is not None and ends // 1000 == values["end"] and row.more < most

    if not may(session.get("place", place)) or not may(row := locked_place(session, place)):
        return []
    assert row.begin_by is not None, "who is admitted has a time to begin"
    if row.until is None:
        later = row._replace(begin_by=row.begin_by + terms.begin_seconds * SECOND)
    else:
        later = row._replace(until=row.until + terms.shopping_seconds // MORE_SHOPPING_PART * SECOND)
    put_place(session, place, later._replace(more=row.more + 1))
    return [(1,)]


def _lock_live(session: Session, values: Values) -> Rows:
    place = live_place(session, values["buyer"])
    if place is None:
        return []
    session.lock("place", place)
    return [(1,)] if live_place(session, values["buyer"]) == place else []


def _leave(session: Session, values: Values) -> Rows:
    place = live_place(session, values["buyer"])
    return [(place,)] if place is not None and _goes(session, place, gives_back=True) else []


# --- gateways ---


def _now(session: Session, _values: Values) -> Rows:
    room, event, database = room_of(session), session.get("event", ONE), session.database
    if room is None:
        return []
    return [(*told_of(room), {}, event.state, event.opens_at, event.lobby_opens_at,
             database.clock(), database.run_by())]  # fmt: skip


def _by_id(session: Session, values: Values) -> Rows:
    found = [(place, session.get("place", place)) for place in values["ids"]]
    return [columns_of(session, place, row) for place, row in found if row is not None]


def _holding(session: Session, values: Values) -> Rows:
    run_by, ends = session.database.run_by(), dict[str, int]()
    for hold_id, row in all_of(session, "hold"):
        if row.state != "active" or row.expires_at <= run_by or row.buyer not in values["buyers"]:
            continue
        decided = session.get("ledger", (hold_id >> 16, hold_id & 65535))
        by_ballot = decided.request_id == REQUEST_ID and _of_the_ballot(session, hold_id >> 16)
        if decided.kind == "offer" or by_ballot:
            ends[row.buyer] = max(row.expires_at, ends.get(row.buyer, 0))
    return list(ends.items())


def _of_the_ballot(session: Session, batch_no: int) -> bool:
    """Whether that batch was decided before the ballot was over."""
    room, batch = room_of(session), session.get("ledger_batch", batch_no)
    if room is None or room.ballot_ended_at is None:
        return False
    return batch is not None and batch.batch_time <= room.ballot_ended_at


# --- operators ---


def _read_room(session: Session, _values: Values) -> Rows:
    room = room_of(session)
    return [] if room is None else [told_of(room)]


def _lock_event(session: Session, _values: Values) -> Rows:
    session.lock("event", ONE, 5.0)
    return [(ONE, session.get("event", ONE).state)]


def _set(session: Session, values: Values) -> Rows:
    room = locked_room(session)
    assert room is not None, "it was read"
    terms = RoomTerms(**{name: values[name] for name in RoomTerms.__struct_fields__})
    session.put("room", ONE, room._replace(terms=terms, version=room.version + 1, edition=room.edition + 1))
    return [(1,)]


def _set_admission(session: Session, values: Values) -> Rows:
    room = locked_room(session)
    assert room is not None, "it was read"
    changed = room._replace(admission=values["to"], version=room.version + 1, edition=room.edition + 1)
    session.put("room", ONE, changed)
    return [(1,)]


def _leave_out(session: Session, _values: Values) -> Rows:
    def is_out(row: PlaceRow) -> bool:
        return row.in_draw and row.state == "left"

    room, out = room_of(session), Rows()
    if room is None or room.lobby_ended_at is not None:
        return out
    for place, seen in all_of(session, "place"):
        if is_out(seen) and is_out(row := locked_place(session, place)):
            put_place(session, place, row._replace(in_draw=False))
            out.append((1,))
    return out


def _end_lobby(session: Session, _values: Values) -> Rows:
    room = locked_room(session)
    if room is None or room.lobby_ended_at is not None:
        return []
    lanes = [row.lane for _, row in all_of(session, "place") if row.in_draw]
    ordinary, priority = (lanes.count(lane) for lane in LANES)
    session.put(
        "room", ONE,
        room._replace(
            lobby_ended_at=session.database.clock(), version=room.version + 1, drawn=len(lanes),
            next_position=room.next_position + ordinary, next_priority=room.next_priority + priority,
        ),
    )  # fmt: skip
    return [(1,)]


def _due_in(session: Session, _values: Any) -> Rows:
    row: EventRow = session.get("event", ONE)
    now = session.database.clock()
    lobby, sale = (None if at is None else at - now for at in (row.lobby_opens_at, row.opens_at))
    return [(row.state, lobby, sale)]


def _begin_when_due(session: Session, of: str, before: tuple[str, ...], to: str) -> Rows:
    """Conditions on the row as it is once it is locked; no wait for who has it."""

    def due() -> bool:
        row: EventRow = session.get("event", ONE)
        at = getattr(row, of)
        return row.state in before and at is not None and at <= session.database.clock()

    if not due() or not session.try_lock("event", ONE) or not due():
        return []
    row: EventRow = session.get("event", ONE)
    session.put("event", ONE, row._replace(state=to))
    return [(row.state,)]


def _lobby_when_due(session: Session, _values: Any) -> Rows:
    return _begin_when_due(session, "lobby_opens_at", ("draft",), "lobby")


def _open_when_due(session: Session, _values: Any) -> Rows:
    return _begin_when_due(session, "opens_at", ("draft", "lobby"), "open")


def moment(at: int | None) -> datetime | None:
    """As a driver gives it."""
    return None if at is None else datetime.fromtimestamp(at / 1e6, UTC)


ROOMS = {
    **KEEPER,
    **BALLOT,
    joining.LOCK: ("join: lock the room", _lock),
    joining.COME_BACK: ("join: come back", _come_back),
    joining.MAKE: ("join: make places", _make),
    joining.TELL: ("join: write addresses", _tell),
    joining.STAY: ("join: look who gains nothing", _stay),
    joining.CROSS: ("join: change lanes", _cross),
    joining.GIVE_UP: ("join: give places up", _give_up),
    joining.READ: ("look at places of buyers", _read),
    codes.KNOW: ("join: know invitations", _know),
    codes.USE: ("join: use codes", _use),
    codes.HAS_LABEL: ("look for codes of a label", _has_label),
    codes.REVOKE_LABEL: ("revoke codes of a label", _revoke_label),
    entering.BEGIN: ("begin", _begin),
    entering.MORE: ("ask for more time", _more),
    entering.LOCK_LIVE: ("lock the place to leave", _lock_live),
    entering.LEAVE: ("leave the line", _leave),
    watching.NOW: ("look at the waiting room", _now),
    watching.BY_ID: ("look at places", _by_id),
    watching.HOLDING: ("look who holds something", _holding),
    rooms.READ: ("read the room", _read_room),
    rooms.LOCK_EVENT: ("lock event for its room", _lock_event),
    rooms.SET: ("set the room's terms", _set),
    rooms.LEAVE_OUT: ("leave out of the draw who left", _leave_out),
    rooms.END_LOBBY: ("end the lobby", _end_lobby),
    operating.SET_ADMISSION: ("set admission", _set_admission),
    opening.DUE_IN_US: ("look what is due", _due_in),
    opening.LOBBY_WHEN_DUE: ("begin the lobby when due", _lobby_when_due),
    opening.OPEN_WHEN_DUE: ("open when due", _open_when_due),
}
