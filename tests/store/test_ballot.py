"""Wishes as rows: filed while the lobby lasts, read in the draw's order after it; winners are let in."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import psycopg
import pytest

from store import events
from store.errors import BadRequest, Conflicted, NotFound
from store.lookups import PLAN_BY_KEY
from store.room import ballot, entering, rooms
from store.room.ballot import FIRST, Filed, Rank
from store.room.draw import draw
from store.room.joining import GIVE_UP, Joining, join
from store.room.words import BallotState, Lane, RoomPolicy, RoomTerms, ballot_state
from store.venues.make import make
from store.venues.rows import save_venue
from store.wire import canonical_want
from store.words import Best, Choice, EventState, Want

T = TypeVar("T")
SLUG = "gala"
PAIR = Want(best=Best(2), fallbacks=(Choice(best=Best(1)),))
NAMED = Want(seats=("A-2", "A-1"))


class Lobby:
    """An event in its lobby, with a ballot; and everybody's hands."""

    def __init__(self, database_url: str, terms: RoomTerms) -> None:
        self.url = database_url
        self.conn: psycopg.Connection[Any] = psycopg.connect(database_url, autocommit=True)
        plan = make("theatre", 100)
        venue = save_venue(self.conn, "theatre", plan)
        self.event = events.create_event(self.conn, SLUG, "Gala", venue, plan)
        rooms.make(self.conn, SLUG, terms)
        events.set_state(self.conn, SLUG, EventState.LOBBY)

    def __enter__(self) -> Lobby:
        return self

    def __exit__(self, *_: object) -> None:
        self.conn.close()

    def run(self, use: Callable[[psycopg.AsyncConnection[Any]], Awaitable[T]]) -> T:
        async def run() -> T:
            async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as connection:
                return await use(connection)

        return asyncio.run(run())

    def join(self, *buyers: str, lane: Lane = Lane.ORDINARY) -> None:
        self.run(lambda connection: join(connection, self.event, [Joining(buyer, lane) for buyer in buyers]))

    def file(self, buyer: str, want: Want = PAIR) -> Filed:
        return self.run(lambda connection: ballot.file(connection, self.event, buyer, want))

    def withdraw(self, buyer: str) -> bool:
        return self.run(lambda connection: ballot.withdraw(connection, self.event, buyer))

    def read(self, buyer: str) -> Filed | None:
        return self.run(lambda connection: ballot.read(connection, self.event, buyer))

    def leave(self, buyer: str) -> None:
        self.conn.execute(entering.LEAVE, {"event": self.event, "buyer": buyer})

    def open(self) -> None:
        events.set_state(self.conn, SLUG, EventState.OPEN)
        draw(self.conn, self.event)

    def decide(self, buyer: str, outcome: str = "held", *, batch: int = 1, kind: str = "request") -> None:
        """As the allocator's batch would."""
        position = self.one("SELECT count(*) FROM ledger WHERE batch_no = %s", batch)
        self.conn.execute(
            "INSERT INTO ledger (event_id, batch_no, position, kind, arrival, buyer, request_id, input,"
            " outcome, result) VALUES (%s, %s, %s, %s, '1-1', %s, 'ballot', '{}', %s, '{}')",
            (self.event, batch, position, kind, buyer, outcome),
        )

    def hold(self, buyer: str, state: str = "active", *, minutes: int = 60, request: str = "ballot") -> None:
        self.conn.execute(
            "INSERT INTO hold (event_id, hold_id, buyer, request_id, quantity, expires_at, state, paid_at)"
            " SELECT %(event)s, count(*) + 1, %(buyer)s, %(request)s, 1,"
            " now() + %(minutes)s * interval '1 minute', %(state)s,"
            " CASE %(state)s WHEN 'paid' THEN now() END FROM hold",
            {"event": self.event, "buyer": buyer, "request": request, "minutes": minutes, "state": state},
        )

    def one(self, text: str, *values: object) -> Any:
        row = self.conn.execute(text, values).fetchone()
        assert row is not None
        return row[0]

    def line(self) -> list[str]:
        """Buyers in the ballot's order."""
        rows = self.conn.execute(
            "SELECT buyer FROM line JOIN place ON id = place_id ORDER BY line.lane DESC, position"
        )
        return [buyer for (buyer,) in rows]

    def in_order(self, after: Rank = FIRST, count_max: int = 100) -> list[str]:
        return [wish.buyer for wish in ballot.next_wishes(self.conn, self.event, after, count_max)]

    def states(self) -> dict[str, str]:
        return dict(self.conn.execute("SELECT buyer, state FROM place").fetchall())


@pytest.fixture
def lobby(database_url: str) -> Iterator[Lobby]:
    with Lobby(database_url, RoomTerms(ballot=True, shopping_seconds=600)) as made:
        yield made


def test_a_wish_is_filed_replaced_read_and_taken_back(lobby):
    lobby.join("ann")
    assert lobby.read("ann") is None
    first = lobby.file("ann")
    assert lobby.read("ann") == first
    second = lobby.file("ann", NAMED)
    found = lobby.read("ann")
    assert found == Filed(Want(seats=("A-1", "A-2")), second.filed_at)
    assert second.filed_at > first.filed_at
    assert lobby.one("SELECT count(*) FROM ballot_wish") == 1
    assert lobby.withdraw("ann")
    assert not lobby.withdraw("ann")
    assert lobby.read("ann") is None


def test_a_wish_is_kept_as_its_request_will_stand_in_the_stream(lobby):
    lobby.join("ann")
    lobby.file("ann", NAMED)
    assert lobby.one("SELECT want FROM ballot_wish").encode() == canonical_want(NAMED)


def test_only_who_has_joined_files(lobby):
    lobby.join("ann", "bob")
    lobby.leave("bob")
    for nobody in ("bob", "eve"):
        with pytest.raises(NotFound, match="Join the waiting room first") as refused:
            lobby.file(nobody)
        assert refused.value.code == "no_place"


@pytest.mark.parametrize(
    ("want", "story"),
    [
        (Want(best=Best(2), move="65536"), "no hold to move"),
        (Want(fallbacks=tuple([Choice(seats=tuple(f"{n}{'x' * 60}" for n in range(50)))] * 8)), "at most"),
    ],
    ids=["a move", "too long"],
)
def test_a_wish_that_cannot_be_decided_is_refused(lobby, want, story):
    lobby.join("ann")
    with pytest.raises(BadRequest, match=story) as refused:
        lobby.file("ann", want)
    assert refused.value.code == "invalid_wish"


def test_when_the_sale_begins_wishes_are_settled(lobby):
    lobby.join("ann", "bob")
    filed = lobby.file("ann")
    lobby.open()
    for late in (lambda: lobby.file("ann", NAMED), lambda: lobby.file("bob"), lambda: lobby.withdraw("ann")):
        with pytest.raises(Conflicted) as refused:
            late()
        assert refused.value.code == "ballot_closed"
    assert lobby.read("ann") == filed


def test_who_joins_after_the_lobby_files_nothing(lobby):
    lobby.open()
    lobby.join("late")
    with pytest.raises(Conflicted) as refused:
        lobby.file("late")
    assert refused.value.code == "ballot_closed"


@pytest.mark.parametrize("terms", [RoomTerms(), RoomTerms(policy=RoomPolicy.FIFO)], ids=["draw", "fifo"])
def test_without_a_ballot_nothing_is_filed(database_url, terms):
    with Lobby(database_url, terms) as lobby:
        lobby.join("ann")
        with pytest.raises(Conflicted) as refused:
            lobby.file("ann")
        assert refused.value.code == "no_ballot"
        lobby.open()
        assert not ballot.end(lobby.conn, lobby.event)


WAITING = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


def until_waiting(lobby: Lobby, who: threading.Thread) -> None:
    pause = threading.Event()
    while not lobby.one(WAITING):
        assert who.is_alive(), "it waited for nobody"
        pause.wait(0.005)


def test_the_end_of_the_lobby_waits_for_a_wish_that_is_being_filed(lobby):
    lobby.join("ann")

    def begin() -> None:
        with psycopg.connect(lobby.url, autocommit=True) as conn:
            events.set_state(conn, SLUG, EventState.OPEN)

    opened = threading.Thread(target=begin)

    async def file(connection: psycopg.AsyncConnection[Any]) -> None:
        async with connection.transaction():
            await ballot.file(connection, lobby.event, "ann", PAIR)
            opened.start()
            until_waiting(lobby, opened)

    lobby.run(file)
    opened.join()
    assert draw(lobby.conn, lobby.event)
    assert lobby.in_order() == ["ann"]


def test_a_wish_that_waits_for_the_end_of_the_lobby_is_refused(lobby):
    lobby.join("ann")
    refused: list[str] = []

    def file() -> None:
        try:
            lobby.file("ann")
        except Conflicted as error:
            refused.append(error.code)

    late = threading.Thread(target=file)
    with psycopg.connect(lobby.url) as opening, opening.transaction():
        events.set_state(opening, SLUG, EventState.OPEN)
        late.start()
        until_waiting(lobby, late)
    late.join()
    assert refused == ["ballot_closed"]
    assert lobby.one("SELECT count(*) FROM ballot_wish") == 0


def test_wishes_are_read_in_the_draws_order_the_priority_lane_first(lobby):
    ordinary, priority = [f"o{n}" for n in range(12)], [f"p{n}" for n in range(5)]
    lobby.join(*ordinary)
    lobby.join(*priority, lane=Lane.PRIORITY)
    for buyer in (*ordinary, *priority):
        lobby.file(buyer)
    lobby.open()
    line = lobby.line()
    assert set(line[:5]) == set(priority)
    assert lobby.in_order() == line
    read: list[str] = []
    after = FIRST
    while wishes := ballot.next_wishes(lobby.conn, lobby.event, after, 3):
        assert len(wishes) == 3 or len(read) + len(wishes) == len(line)
        read += [wish.buyer for wish in wishes]
        after = wishes[-1].rank
    assert read == line


def test_who_filed_nothing_or_left_or_came_later_is_passed_over(lobby):
    lobby.join("ann", "bob", "dora", "eve")
    for buyer in ("ann", "bob", "dora"):
        lobby.file(buyer)
    lobby.leave("bob")
    lobby.open()
    lobby.join("late")
    assert lobby.in_order() == [buyer for buyer in lobby.line() if buyer in ("ann", "dora")]


@pytest.mark.parametrize("near", [1, 1_000])
def test_the_first_undecided_is_the_first_whose_key_the_ledger_lacks(lobby, monkeypatch, near):
    few = ballot.UNDECIDED_NEAR.replace(f"LIMIT  {ballot.NEAR_MAX}", f"LIMIT {near}")
    monkeypatch.setattr(ballot, "UNDECIDED_NEAR", few)
    monkeypatch.setattr(ballot, "NEAR_MAX", near)
    lobby.join("p1", "p2", "p3", lane=Lane.PRIORITY)
    lobby.join("o1", "o2", "o3", "o4")
    for buyer in ("p1", "p2", "p3", "o1", "o2", "o3", "o4"):
        lobby.file(buyer)
    lobby.open()
    line = lobby.line()
    ranks = {wish.buyer: wish.rank for wish in ballot.next_wishes(lobby.conn, lobby.event, FIRST, 100)}
    for buyer in line:
        assert ballot.first_undecided(lobby.conn, lobby.event) == ranks[buyer]
        assert not ballot.is_decided(lobby.conn, lobby.event, buyer)
        lobby.decide(buyer, "conflict")
        lobby.decide(buyer, "offered", kind="offer")
        assert ballot.first_undecided(lobby.conn, lobby.event) == ranks[buyer]
        assert not ballot.is_decided(lobby.conn, lobby.event, buyer)
        lobby.decide(buyer)
        assert ballot.is_decided(lobby.conn, lobby.event, buyer)
    assert ballot.first_undecided(lobby.conn, lobby.event) is None


def test_who_files_while_they_leave_has_no_wish_left(lobby):
    """Whoever is first, no wish stays behind that nobody stands for."""
    lobby.join("ann")
    refused: list[str] = []

    def file() -> None:
        try:
            lobby.file("ann")
        except NotFound as error:
            refused.append(error.code)

    late = threading.Thread(target=file)
    with psycopg.connect(lobby.url) as leaving, leaving.transaction():
        leaving.execute(entering.LEAVE, {"event": lobby.event, "buyer": "ann"})
        late.start()
        until_waiting(lobby, late)
    late.join()
    assert refused == ["no_place"]
    assert lobby.one("SELECT count(*) FROM ballot_wish") == 0


def test_who_leaves_while_their_wish_is_being_filed_takes_it_along(lobby):
    lobby.join("ann")

    def leave() -> None:
        lobby.run(lambda connection: entering.leave(connection, lobby.event, "ann"))

    leaving = threading.Thread(target=leave)

    async def file(connection: psycopg.AsyncConnection[Any]) -> None:
        async with connection.transaction():
            await ballot.file(connection, lobby.event, "ann", PAIR)
            leaving.start()
            until_waiting(lobby, leaving)

    lobby.run(file)
    leaving.join()
    assert lobby.one("SELECT count(*) FROM ballot_wish") == 0


def test_the_wish_of_who_goes_to_the_other_lane_after_the_draw_goes_with_the_place(lobby):
    lobby.join("ann", "bob")
    lobby.file("ann")
    lobby.file("bob")
    lobby.open()
    lobby.conn.execute(GIVE_UP, {"event": lobby.event, "buyers": ["ann"]})
    assert lobby.in_order() == ["bob"]


def test_a_wish_whose_buyer_left_undecided_is_owed_nothing(lobby):
    lobby.join("ann", "bob")
    lobby.file("ann")
    lobby.file("bob")
    lobby.open()
    lobby.decide("ann")
    lobby.leave("bob")
    assert ballot.first_undecided(lobby.conn, lobby.event) is None


def test_who_holds_something_from_the_ballot_is_inside_and_all_others_stay_where_they_are(lobby, monkeypatch):
    monkeypatch.setattr(ballot, "LET_IN_MAX", 2)
    lobby.join("ann", "bob", "dora", "eve", "finn", "gina")
    lobby.open()
    lobby.hold("ann", minutes=60)
    lobby.hold("eve", "expired")
    lobby.hold("bob", minutes=5)
    lobby.hold("finn", request="r1")
    lobby.hold("gina", "paid", minutes=1)
    before = rooms.read(lobby.conn, lobby.event)
    line = lobby.line()
    assert ballot.let_in(lobby.conn, lobby.event) == 3
    inside = ("ann", "bob", "gina")
    assert lobby.states() == {name: "admitted" if name in inside else "waiting" for name in line}
    room = rooms.read(lobby.conn, lobby.event)
    assert (room.admitted, room.serving) == (3, 0)
    assert room.version > before.version, "gateways hear of it"
    rows = lobby.conn.execute(
        "SELECT buyer, until = expires_at, until = begun_at + interval '10 minutes', begun_at = admitted_at"
        "  FROM place JOIN hold USING (event_id, buyer) WHERE place.state = 'admitted' ORDER BY buyer"
    ).fetchall()
    assert rows == [("ann", True, False, True), ("bob", False, True, True), ("gina", False, True, True)]
    assert lobby.line() == line


def test_who_is_let_in_twice_came_in_once(lobby):
    lobby.join("ann")
    lobby.open()
    lobby.hold("ann")
    assert ballot.let_in(lobby.conn, lobby.event) == 1
    once = lobby.conn.execute("SELECT * FROM place").fetchall()
    room = rooms.read(lobby.conn, lobby.event)
    assert ballot.let_in(lobby.conn, lobby.event) == 0
    assert lobby.conn.execute("SELECT * FROM place").fetchall() == once
    assert rooms.read(lobby.conn, lobby.event) == room


def test_a_ballot_ends_once_and_not_before_the_draw(lobby):
    events.set_state(lobby.conn, SLUG, EventState.OPEN)
    assert not ballot.end(lobby.conn, lobby.event)
    draw(lobby.conn, lobby.event)
    assert ballot.end(lobby.conn, lobby.event)
    ended = rooms.read(lobby.conn, lobby.event)
    assert ended.ballot_ended_at is not None
    assert not ballot.end(lobby.conn, lobby.event)
    assert rooms.read(lobby.conn, lobby.event) == ended


def test_how_far_a_ballot_is_is_told_whichever_of_room_and_event_is_older(lobby):
    draft, during, opened, paused, closed = EventState
    filing = rooms.read(lobby.conn, lobby.event)
    lobby.open()
    deciding = rooms.read(lobby.conn, lobby.event)
    ballot.end(lobby.conn, lobby.event)
    done = rooms.read(lobby.conn, lobby.event)
    assert [ballot_state(filing, state) for state in (draft, during, closed)] == ["none", "filing", "none"]
    assert {ballot_state(filing, state) for state in (opened, paused)} == {BallotState.DECIDING}
    assert {ballot_state(deciding, state) for state in (during, opened, paused, closed)} == {
        BallotState.DECIDING
    }
    assert {ballot_state(done, state) for state in EventState} == {BallotState.DONE}


def test_a_room_without_a_ballot_never_has_one(database_url):
    with Lobby(database_url, RoomTerms()) as lobby:
        lobby.open()
        room = rooms.read(lobby.conn, lobby.event)
    assert {ballot_state(room, state) for state in EventState} == {BallotState.NONE}


def plan_of(lobby: Lobby, statement: str, *values: str) -> str:
    """As whoever keeps the room has it: made once, for any values."""
    for number, name in enumerate(("event", "lane", "after", *values), 1):
        statement = statement.replace(f"%({name})s", f"${number}")
    lobby.conn.execute(PLAN_BY_KEY)
    with lobby.conn.transaction():
        lobby.conn.execute(ballot.IN_ORDER)
        found = lobby.conn.execute(f"EXPLAIN (GENERIC_PLAN) {statement}").fetchall()
    return "\n".join(line for (line,) in found)


def test_wishes_and_who_holds_something_are_found_by_key(lobby):
    """With nothing known of the tables, as when 200,000 joined in an hour."""
    lobby.conn.execute(
        "INSERT INTO place (event_id, buyer, in_draw)"
        " SELECT %s, 'b' || n, true FROM generate_series(1, 5000) AS n",
        (lobby.event,),
    )
    text = "INSERT INTO ballot_wish SELECT id, event_id, buyer, '{}' FROM place"
    lobby.conn.execute("ANALYZE line")
    lobby.conn.execute(text)
    lobby.open()
    found = plan_of(lobby, ballot.NEXT + "1000")
    for index in ("line_pkey", "ballot_wish_pkey"):
        assert f"Index Scan using {index}" in found, found
    assert "Sort" not in found, found
    let_in = plan_of(lobby, ballot.LET_IN, "most")
    assert "Index Scan using place_live" in let_in, let_in
    assert "buyer = " in let_in.split("using place_live")[1].splitlines()[1], let_in
