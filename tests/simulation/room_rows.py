"""A waiting room in the virtual Postgres: its rows, and how a place becomes live and is live no more."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

from store.room.rooms import TERMS
from store.room.words import LIVE, Lane, PlaceState, RoomTerms
from tests.simulation.postgres import ONE, Session

Rows = list[tuple[Any, ...]]
SECOND = 1_000_000


class RoomRow(NamedTuple):
    terms: RoomTerms
    seed: bytes
    admission: str = "running"
    lobby_ended_at: int | None = None
    drawn: int | None = None
    drawn_at: int | None = None
    ballot_ended_at: int | None = None
    next_position: int = 1
    next_priority: int = 1
    serving: int = 0
    serving_priority: int = 0
    joined: int = 0
    version: int = 0
    edition: int = 0
    admitted: int = 0
    decided_at: int | None = None
    credit: float = 1.0
    factor: float = 1.0
    told: int = 0
    rate: float | None = None
    reason: str | None = None
    step_ms: float | None = None


class PlaceRow(NamedTuple):
    buyer: str
    lane: str
    in_draw: bool
    joined_at: int
    state: str = "waiting"
    returned: bool = False
    email: str | None = None
    code: bytes | None = None
    admitted_at: int | None = None
    begin_by: int | None = None
    begun_at: int | None = None
    until: int | None = None
    ended_at: int | None = None
    bought_at: int | None = None
    more: int = 0
    gives_back: bool = False
    version: int = 0

    @property
    def live(self) -> bool:
        return self.state in LIVE

    @property
    def due(self) -> int:
        """DUE, of who is admitted."""
        at = self.until if self.bought_at is None else self.bought_at
        at = self.begin_by if at is None else at
        assert at is not None, "who is admitted has a time to begin"
        return at


class CodeRow(NamedTuple):
    label: str
    uses_max: int = 1
    uses: int = 0
    revoked_at: int | None = None


class WishRow(NamedTuple):
    buyer: str
    want: str
    filed_at: int


def all_of(session: Session, table: str) -> Iterator[tuple[Any, Any]]:
    """A table's rows as this transaction sees them."""
    mine = session.pending.get(table)
    rows = session.database.rows[table]
    if not mine:
        yield from list(rows.items())
        return
    for key in [*rows, *(key for key in mine if key not in rows)]:
        if (row := session.get(table, key)) is not None:
            yield key, row


def room_of(session: Session) -> RoomRow | None:
    row: RoomRow | None = session.get("room", ONE)
    return row


def locked_room(session: Session, wait_seconds: float = 2.0) -> RoomRow | None:
    """The room, and nobody else's until this transaction ends; None without one."""
    if room_of(session) is None:
        return None
    session.lock("room", ONE, wait_seconds)
    return room_of(session)


def live_place(session: Session, buyer: str) -> UUID | None:
    """`place_live`."""
    found: UUID | None = session.get("place_live", buyer)
    return found


def locked_place(session: Session, place: UUID) -> PlaceRow:
    session.lock("place", place)
    row: PlaceRow = session.get("place", place)
    return row


def insert_place(session: Session, row: PlaceRow) -> UUID | None:
    """ON CONFLICT DO NOTHING by `place_live`: waits for who ends or makes the buyer's live one just now."""
    session.lock("place_live", row.buyer)
    if session.get("place_live", row.buyer) is not None:
        return None
    place = session.database.place_of(row.buyer)
    session.insert("place", place, row)
    session.put("place_live", row.buyer, place)
    return place


def put_place(session: Session, place: UUID, row: PlaceRow) -> None:
    """Write a place that is locked, and whether it is its buyer's live one."""
    was: PlaceRow = session.get("place", place)
    if row.gives_back:
        assert (row.state, row.begun_at) == ("left", None), "place_gives_back"
    assert row.more == 0 or row.state != "waiting", "place_more_each_time"
    session.put("place", place, row)
    if was.live and not row.live:
        session.lock("place_live", row.buyer)
        session.put("place_live", row.buyer, None)
    elif row.live and not was.live:
        session.insert("place_live", row.buyer, place)


def withdraw_wish(session: Session, place: UUID) -> None:
    """Of who leaves."""
    session.lock("ballot_wish", place)
    if session.get("ballot_wish", place) is not None:
        session.put("ballot_wish", place, None)


def insert_line(session: Session, lane: str, position: int, place: UUID) -> None:
    session.insert("line", (lane, position), place)
    session.insert("line_place", place, position)


def terms_of(row: RoomRow) -> tuple[Any, ...]:
    return tuple(getattr(row.terms, name) for name in TERMS)


def told_of(row: RoomRow) -> tuple[Any, ...]:
    """`rooms.READ`."""
    seed = None if row.drawn_at is None else row.seed
    return (
        ONE, *terms_of(row), row.admission, hashlib.sha256(row.seed).digest(), seed, row.lobby_ended_at,
        row.drawn, row.drawn_at, row.ballot_ended_at, row.next_position, row.next_priority, row.serving,
        row.serving_priority, row.joined, row.version, row.admitted, row.rate, row.reason, None, None,
        row.edition,
    )  # fmt: skip


def columns_of(session: Session, place: UUID, row: PlaceRow) -> tuple[Any, ...]:
    """`joining.COLUMNS`."""
    return (
        place, row.buyer, row.lane, row.state, session.get("line_place", place), row.joined_at,
        row.admitted_at, row.begin_by, row.begun_at, row.until, row.more,
    )  # fmt: skip


def may_come_back(row: PlaceRow) -> bool:
    """Was called, and did not begin."""
    return row.state == PlaceState.EXPIRED and row.begun_at is None


LANES = tuple(lane.value for lane in Lane)
