"""The laws of a waiting room: of each COMMIT that touches it, and of what there is in the end.

No place is lost, no order changes, nobody is admitted twice for one turn or before those ahead, no more are
inside than may be or called than the pace allows; the ballot is decided in the draw's order before all else,
and what is shown and acknowledged is what there is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

from allocator.admission import BURST_SECONDS
from store.room.ballot import LANES, REQUEST_ID
from store.room.draw import rank_of
from tests.simulation.postgres import ONE, Database, Session
from tests.simulation.room_rows import PlaceRow, RoomRow
from tests.simulation.world import SECOND, World

if TYPE_CHECKING:
    from tests.simulation.on_sale import OnSale

BECOMES = {
    "waiting": {"waiting", "admitted", "left"},
    "admitted": {"admitted", "finished", "expired", "left"},
    "expired": {"expired", "waiting"},
    "finished": {"finished"},
    "left": {"left"},
}
GROWS = ("next_position", "next_priority", "serving", "serving_priority", "joined", "version", "edition",
         "admitted", "told")  # fmt: skip
ONCE = ("lobby_ended_at", "drawn", "drawn_at", "ballot_ended_at")


class RoomWatch:
    """Looks at each transaction before it becomes true."""

    def __init__(self, database: Database, world: World, on_phase: Callable[[], None]) -> None:
        self._database, self._world, self._on_phase = database, world, on_phase
        self._first_admitted: set[UUID] = set()
        self._called: list[tuple[int, int]] = []
        """(time that went by, how many were called) of each admission by pace."""
        self._no_shows = 0

    def __call__(self, session: Session) -> None:
        changes = session.pending
        if "room" not in changes and "place" not in changes and "line" not in changes:
            return
        for story in self._broken_by(session, changes):
            self._world.note("law", story)
            self._world.broken.append(story)
        was, room = self._database.rows["room"][ONE], session.get("room", ONE)
        if any(getattr(was, name) != getattr(room, name) for name in ONCE):
            self._on_phase()

    def _broken_by(self, session: Session, changes: dict[str, dict[Any, Any]]) -> Iterator[str]:
        rows = self._database.rows
        room, was = session.get("room", ONE), rows["room"][ONE]
        yield from _row_broken(was, room)
        for at, place in changes.get("line", {}).items():
            if at in rows["line"] or place is None:
                yield f"order: position {at} was {rows['line'].get(at)}, now {place}"
        places, counters = changes.get("place", {}), self._world.counters
        for place, row in places.items():
            before = rows["place"].get(place)
            if row is None:
                yield f"lost: place {place} is gone"
            elif before is not None:
                counters["gave_back"] += before.gives_back and not row.gives_back
                counters["left_out"] += before.in_draw and not row.in_draw
                yield from _place_broken(was, before, row)
            elif row.state != "waiting":
                yield f"order: a place of {row.buyer} begins {row.state}"
        self._no_shows += sum(
            row.state in ("expired", "left") and _called(rows["place"][place])
            for place, row in places.items()
            if row is not None and place in rows["place"]
        )
        called = [
            place
            for place, row in places.items()
            if row is not None and row.state == "admitted" and rows["place"][place].state == "waiting"
        ]
        if called:
            yield from self._admission_broken(session, was, room, called)

    def _admission_broken(
        self, session: Session, was: RoomRow, room: RoomRow, called: list[UUID]
    ) -> Iterator[str]:
        firsts = [place for place in called if not session.get("place", place).returned]
        for place in firsts:
            if place in self._first_admitted:
                yield f"admitted twice: {session.get('place', place).buyer}"
        self._first_admitted.update(firsts)
        if room.admitted != was.admitted + len(firsts):
            yield f"admitted: {len(firsts)} were called, {room.admitted - was.admitted} counted"
        if room.version == was.version:
            yield "admitted: nobody is told that the room changed"
        if not room.drawn_at and room.terms.policy == "draw":
            yield "admitted: before the draw"
        if session.get("place", called[0]).begun_at is not None:
            return  # by the ballot: who holds something is inside, however many there are
        self._world.counters["room_admissions"] += 1
        if room.terms.ballot and was.ballot_ended_at is None:
            yield "admitted: before the ballot's end"
        if was.admission != "running":
            yield f"admitted: while admission is {was.admission}"
        yield from _passed_over(session, was, room, firsts)
        inside = [one for one in self._live(session) if one.state == "admitted"]
        most = room.terms.shopping_max
        if most is not None and len(inside) > most:
            yield f"too many: {len(inside)} are inside, {most} may be"
        mailed = Counter(mail[1] for mail in session.pending.get("mail", {}).values())
        for place in called:
            if mailed[place] != (session.get("place", place).email is not None):
                yield f"mail: {mailed[place]} for the turn of {session.get('place', place).buyer}"
        if room.terms.pace is not None:
            yield from self._too_fast(room.terms.pace, session.looked_us, len(called))

    def _too_fast(self, pace: int, now_us: int, many: int) -> Iterator[str]:
        """Over any stretch no more than the pace makes of it, its burst and those who never began."""
        a_second = pace / 60
        self._called.append((now_us, many))
        total = 0
        for at, count in reversed(self._called):
            total += count
            some = a_second * BURST_SECONDS
            burst = max(min(2.0, 1.0 + some), some) + self._no_shows
            if total > burst + a_second * (now_us - at) / SECOND + 1e-6:
                yield f"too fast: {total} in {(now_us - at) / SECOND:.2f} s at a pace of {pace}"
                return

    def _live(self, session: Session) -> list[PlaceRow]:
        return [session.get("place", place) for place in self._database.rows["place_live"].values()]


def _row_broken(was: RoomRow, room: RoomRow) -> Iterator[str]:
    for name in GROWS:
        if getattr(room, name) < getattr(was, name):
            yield f"order: the room's {name} went from {getattr(was, name)} to {getattr(room, name)}"
    for name in ONCE:
        if getattr(was, name) is not None and getattr(room, name) != getattr(was, name):
            yield f"order: the room's {name} went from {getattr(was, name)} to {getattr(room, name)}"
    if room.seed != was.seed:
        yield "draw: another seed than was promised"


def _place_broken(was: RoomRow, before: PlaceRow, row: PlaceRow) -> Iterator[str]:
    if row.state not in BECOMES[before.state]:
        yield f"lost: the place of {row.buyer} was {before.state} and is {row.state}"
    if before.state == "expired" and row.state == "waiting" and row.begun_at is not None:
        yield f"admitted twice: {row.buyer} had begun, and is in line again"
    if row.buyer != before.buyer:
        yield f"lost: a place of {before.buyer} is {row.buyer}'s"
    if row.in_draw != before.in_draw and (row.in_draw or row.state != "left" or was.lobby_ended_at):
        yield f"draw: {row.buyer} was {'put in' if row.in_draw else 'left out'}"
    if row.gives_back and not (before.gives_back or _called(before)):
        yield f"pace: {row.buyer} gives back what they were not called with"
    if row.more > before.more and not _asked_for_more(was, before, row):
        yield f"more time: {row.buyer} was given too much: {before}, now {row}"
    if row.lane != before.lane and was.lobby_ended_at is not None:
        yield f"order: {row.buyer} changed lanes after the lobby"


def _called(row: PlaceRow) -> bool:
    """And has not begun."""
    return row.state == "admitted" and row.begun_at is None


def _asked_for_more(was: RoomRow, before: PlaceRow, row: PlaceRow) -> bool:
    """Once more, and no more often than may be; of the one time that ran."""
    begins = before.begun_at is None
    most = was.terms.more_begin_max if begins else was.terms.more_shopping_max
    same = before.until == row.until if begins else before.begin_by == row.begin_by
    return before.state == row.state == "admitted" and row.more == before.more + 1 <= most and same


def _passed_over(session: Session, was: RoomRow, room: RoomRow, firsts: list[UUID]) -> Iterator[str]:
    """Who is called stands next; nobody before them still waits for the first time."""
    served = {
        "ordinary": (was.serving, room.serving),
        "priority": (was.serving_priority, room.serving_priority),
    }
    for place in firsts:
        row, position = session.get("place", place), session.get("line_place", place)
        first, last = served[row.lane]
        if position is None or not first < position <= last:
            yield f"order: {row.buyer} at {position} was called when {first} to {last} were"
    for lane, (first, last) in served.items():
        for position in range(first + 1, last + 1):
            row = session.get("place", session.get("line", (lane, position)))
            if row.state == "waiting":
                yield f"order: {row.buyer} at {position} was passed over"


def demand(sale: OnSale) -> list[str]:
    """What does not hold in the end."""
    visitors = sale.people.visitors
    assert visitors is not None, "there is a waiting room"
    rows = sale.database.rows
    return [
        *_one_place(rows),
        *_draw(rows),
        *(
            f"lost: {buyer} was told of a place that is not there"
            for buyer, place in visitors.acknowledged
            if place.id not in rows["place"] or rows["place"][place.id].buyer != buyer
        ),
        *(
            f"order: {buyer} was told {place.position}, and stands at {rows['line_place'].get(place.id)}"
            for buyer, place in visitors.acknowledged
            if place.position is not None and rows["line_place"].get(place.id) != place.position
        ),
        *(
            f"position: {told['place']} was shown {told['position']}"
            for told in visitors.shown.values()
            if told["position"] is not None
            and rows["line_place"].get(UUID(told["place"])) != told["position"]
        ),
        *_ballot(rows),
        *_seats(rows),
    ]


def counted(sale: OnSale) -> Counter[str]:
    """What came of a room, if there is one."""
    rows, counters = sale.database.rows, Counter[str]()
    room: RoomRow | None = rows["room"].get(ONE)
    if room is None:
        return counters
    counters["rooms"] += 1
    counters["ballots"] += room.ballot_ended_at is not None
    counters["opened_by_schedule"] += rows["event"][ONE].opens_at is not None
    counters["ballot_decided"] += sum(row.request_id == REQUEST_ID for row in rows["ledger"].values())
    for row in rows["place"].values():
        counters[f"place_{row.state}"] += 1
        counters["returned"] += row.returned
        counters["by_code"] += row.code is not None
        counters["more_time"] += row.more > 0
    return counters


def _one_place(rows: dict[str, dict[Any, Any]]) -> Iterator[str]:
    live = Counter(row.buyer for row in rows["place"].values() if row.live)
    for buyer, count in live.items():
        if count > 1:
            yield f"two places: {buyer} has {count}"
    for lane in LANES:
        positions = sorted(position for of, position in rows["line"] if of == lane)
        if positions != list(range(1, len(positions) + 1)):
            yield f"order: positions of the {lane} lane have gaps: {positions}"
    if rows["room"][ONE].joined != len(rows["place"]):
        yield f"lost: {rows['room'][ONE].joined} joined, {len(rows['place'])} places are there"
    for place, row in rows["place"].items():
        left_lobby = row.state == "left" and not row.in_draw
        if rows["room"][ONE].drawn_at is not None and place not in rows["line_place"] and not left_lobby:
            yield f"lost: {row.buyer} stands nowhere"
    for code in rows["room_code"].values():
        if code.uses > code.uses_max:
            yield f"codes: one was used {code.uses} times"


def _draw(rows: dict[str, dict[Any, Any]]) -> Iterator[str]:
    room: RoomRow = rows["room"][ONE]
    if room.drawn_at is None or room.terms.policy != "draw":
        return
    for lane in LANES:
        drawn = [place for place, row in rows["place"].items() if row.in_draw and row.lane == lane]
        ranked = sorted(drawn, key=lambda place: rank_of(room.seed, place))
        stands = [rows["line"].get((lane, position + 1)) for position in range(len(ranked))]
        if stands != ranked:
            yield f"draw: the {lane} lane does not stand as its seed says"


def _ballot(rows: dict[str, dict[Any, Any]]) -> Iterator[str]:
    """Wishes in the draw's order, all of them, and before all else that is asked."""
    if not rows["room"][ONE].terms.ballot or rows["room"][ONE].ballot_ended_at is None:
        return
    rank = {
        rows["place"][place].buyer: (LANES.index(rows["place"][place].lane), rows["line_place"][place])
        for place in rows["ballot_wish"]
        if rows["place"][place].state != "left"
    }
    asked = [
        (row.buyer, row.request_id)
        for _, row in sorted(rows["ledger"].items())
        if row.kind == "request" and row.outcome != "conflict" and row.buyer
    ]
    decided = [buyer for buyer, request in asked if request == REQUEST_ID and buyer in rank]
    if missing := sorted(rank.keys() - set(decided)):
        yield f"ballot: the wish of {missing[0]} was never decided"
    if decided != sorted(decided, key=rank.__getitem__):
        yield f"ballot: decided in another order than drawn: {[(one, rank[one]) for one in decided]}"
    if decided:
        last = asked.index((decided[-1], REQUEST_ID))
        others = [key for key in asked[:last] if key[1] != REQUEST_ID]
        if others:
            yield f"ballot: {others[0]} was decided before the wish of {decided[-1]}"


def _seats(rows: dict[str, dict[Any, Any]]) -> Iterator[str]:
    """Who got seats by asking had been called, or held something of the ballot or the waiting list."""
    been = {row.buyer for row in rows["place"].values() if row.admitted_at is not None}
    been |= {row.buyer for row in rows["ledger"].values() if row.kind == "offer"}
    for at, row in sorted(rows["ledger"].items()):
        given = row.kind == "request" and row.outcome == "held"
        if given and row.request_id == REQUEST_ID:
            been.add(row.buyer)
        elif given and row.buyer not in been and not row.request_id.startswith("payment"):
            yield f"let in: {row.buyer} got seats by {row.request_id} at {at}, and was never called"
