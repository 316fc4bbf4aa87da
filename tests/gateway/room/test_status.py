"""The status document: encoded once, cached by clients, told to sockets as soon as it concerns them."""

from __future__ import annotations

import asyncio
from typing import Any, cast
from uuid import uuid4

import msgspec
import psycopg
import pytest

from gateway.ending import end
from gateway.room import document, status
from gateway.room.document import Encoded, Status
from gateway.room.known import Known
from gateway.room.status import STEP_SECONDS, ShownStatus
from store.room.news import encode, room_channel
from store.room.watching import RoomNow
from store.room.words import Admission, BallotState, Lane, Place, PlaceState, Room, RoomPolicy, RoomTerms
from store.words import EventState, Micros
from tests.gateway.rig import EVENT, SEATS, StandIn, gateway, scenario, until
from tests.gateway.room.lobby import ROOM, make_room, open_and_draw, room_at

AT = Micros(1_700_000_000_000_000)


def room(**other: Any) -> Room:
    given: dict[str, Any] = {
        "event_id": 1,
        "terms": RoomTerms(),
        "admission": Admission.RUNNING,
        "seed_sha256": b"\1" * 32,
        "seed": None,
        "lobby_ended_at": AT,
        "drawn": 0,
        "drawn_at": AT,
        "ballot_ended_at": None,
        "next_position": 100_001,
        "next_priority": 1,
        "serving": 0,
        "serving_priority": 0,
        "joined": 100_000,
        "version": 0,
        "admitted": 0,
        "rate": 600.0,
        "reason": None,
        "message": None,
        "message_at": None,
    }
    return Room(**(given | other))


def now(state: EventState = EventState.OPEN, **other: Any) -> RoomNow:
    return RoomNow(room(**other), {}, state, None, None, AT, AT)


def told(state: EventState = EventState.OPEN, *, left: int = 10, **other: Any) -> Status:
    return document.status(EVENT, now(state, **other), seats_left=left, sold_out=not left, proof=False)


def place(position: int | None, state: PlaceState = PlaceState.WAITING, lane: Lane = Lane.ORDINARY) -> Place:
    return Place(uuid4(), "ann", lane, state, position, AT, None, None, None, None)


PHASES = [
    ("draft", EventState.DRAFT, {}),
    ("lobby", EventState.LOBBY, {"drawn_at": None}),
    ("drawing", EventState.OPEN, {"drawn_at": None}),
    ("admitting", EventState.OPEN, {"drawn_at": None, "terms": RoomTerms(policy=RoomPolicy.FIFO)}),
    ("ballot", EventState.OPEN, {"terms": RoomTerms(ballot=True)}),
    ("admitting", EventState.OPEN, {"terms": RoomTerms(ballot=True), "ballot_ended_at": AT}),
    ("admitting", EventState.OPEN, {}),
    ("paused", EventState.PAUSED, {}),
    ("paused", EventState.OPEN, {"admission": Admission.PAUSED}),
    ("stopped", EventState.OPEN, {"admission": Admission.STOPPED}),
    ("closed", EventState.CLOSED, {"admission": Admission.STOPPED}),
]


@pytest.mark.parametrize(("phase", "state", "other"), PHASES)
def test_the_phase_follows_from_the_event_and_its_room(phase, state, other):
    assert document.phase(now(state, **other)) == phase


def test_the_seed_is_told_only_when_it_is_revealed():
    assert told().seed is None
    assert told(seed=b"\2" * 32).seed == "02" * 32


def test_what_concerns_all_is_told_from_what_can_wait():
    before = told()
    urgent: list[dict[str, Any]] = [
        {"admission": Admission.PAUSED},
        {"message": "Please wait.", "message_at": AT},
        {"reason": "payments_fail"},
        {"seed": b"\2" * 32},
    ]
    for other in urgent:
        assert document.concerns_all(before, told(**other))
    assert document.concerns_all(before, told(left=0))
    assert document.concerns_all(before, told(EventState.PAUSED))
    slow: list[dict[str, Any]] = [{"joined": 1}, {"rate": 1.0}, {"version": 9}, {"next_position": 100_002}]
    for other in slow:
        assert not document.concerns_all(before, told(**other))
        assert not document.moved(before, told(**other))
    assert not document.concerns_all(before, told(serving=5, left=9))
    assert document.moved(before, told(serving=5))
    assert document.moved(before, told(serving_priority=0, serving=1))


def test_the_farther_away_the_more_rarely_one_hears():
    doc = told(rate=60.0)
    assert document.minutes_away(doc, place(121)) == 2.0
    assert document.hears_every_step(doc, place(121))
    assert not document.hears_every_step(doc, place(200))
    assert not document.hears_every_step(doc, place(1, PlaceState.ADMITTED))
    assert document.hears_every_step(doc, None)
    assert document.hears_every_step(told(rate=None), place(90_000)), "nobody knows how far that is"
    pauses = [document.hears_every_seconds(doc, place(60 * minutes)) for minutes in (1, 5, 12, 15, 60, 999)]
    assert pauses == sorted(pauses)
    assert pauses[0] == document.SLOW_SECONDS
    assert pauses[-1] == document.FAR_SECONDS_MAX


def test_ahead_is_counted_in_the_places_own_lane():
    doc = told(serving=10, serving_priority=3)
    assert document.ahead(doc, place(15)) == 4
    assert document.ahead(doc, place(15, lane=Lane.PRIORITY)) == 11
    assert document.ahead(doc, place(2)) == 0
    assert document.ahead(doc, place(None)) is None


def test_the_same_document_has_the_same_etag_whenever_it_was_made():
    later = msgspec.structs.replace(told(), at=1)
    assert Encoded(told()).etag == Encoded(later).etag
    assert Encoded(told()).etag != Encoded(told(serving=1)).etag


# --- who hears when, by a clock of the test ---


class Listener:
    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def write(self, frame: bytes) -> bool:
        self.heard.append(frame)
        return True


class Line:
    """Some who wait, at positions, and a clock."""

    def __init__(self, positions: list[int]) -> None:
        self.at = 1_000.0
        self.shown = ShownStatus(lambda: self.at)
        self.shown.take(told())
        self.all: dict[int, Known] = {}
        for position in positions:
            known = self.all[position] = Known(str(position))
            known.place = place(position)
            known.clients.append(Listener())
            self.shown.greet(known, known.clients[0].write)
        self.forget()

    def forget(self) -> None:
        for known in self.all.values():
            cast("Listener", known.clients[0]).heard.clear()

    def tell(self, document: Status | None = None) -> list[int]:
        """Positions of those who hear of it, once each."""
        if document is not None:
            self.shown.take(document)
        asyncio.run(self.shown.tell(self.all.values()))
        heard = {position: len(cast("Listener", one.clients[0]).heard) for position, one in self.all.items()}
        assert max(heard.values()) <= 1
        self.forget()
        return [position for position, times in heard.items() if times]


NEAR, FAR, LAST = 100, 30_000, 100_000


def test_a_step_reaches_the_near_at_once_and_the_far_on_their_turn():
    line = Line([NEAR, FAR, LAST])
    assert line.tell(told(serving=1)) == [NEAR]
    assert line.tell() == []
    line.at += STEP_SECONDS
    assert line.tell(told(serving=2)) == [NEAR]
    line.at += document.FAR_SECONDS_MAX * status.JITTER[1]
    assert line.tell() == [FAR, LAST]


def test_steps_are_told_at_most_once_a_second_and_none_is_forgotten():
    line = Line([NEAR])
    assert line.tell(told(serving=1)) == [NEAR]
    assert line.tell(told(serving=2)) == []
    assert 0 < line.shown.step_due_in() <= STEP_SECONDS
    line.at += STEP_SECONDS
    assert line.shown.step_due_in() == 0
    assert line.tell() == [NEAR]
    assert line.shown.step_due_in() == float("inf")


@pytest.mark.parametrize(
    "other",
    [{"message": "Please wait.", "message_at": AT}, {"admission": Admission.PAUSED}, {"left": 0}],
    ids=["a message", "a pause", "sold out"],
)
def test_what_concerns_all_reaches_all_at_once(other):
    line = Line([NEAR, FAR, LAST])
    line.tell(told(serving=1))
    assert line.tell(told(serving=1, **other)) == [NEAR, FAR, LAST]


def test_who_was_passed_over_by_an_older_document_that_concerned_all_is_told_too():
    line = Line([FAR])
    line.shown.take(told(admission=Admission.PAUSED))
    assert line.tell(told(admission=Admission.PAUSED, joined=7)) == [FAR]


def test_what_can_wait_waits_and_is_told_to_each_at_a_moment_of_their_own():
    line = Line(list(range(1, 200)))
    assert line.tell(told(joined=7)) == []
    moments = 0
    told_of: set[int] = set()
    while len(told_of) < 199:
        line.at += 0.1
        some = line.tell()
        told_of.update(some)
        moments += bool(some)
        assert line.at < 1_020
    assert moments > 10


def test_nothing_new_is_told_to_nobody_and_encoded_once():
    line = Line([NEAR])
    encoded = line.shown.encoded
    later = msgspec.structs.replace(told(), at=5)
    line.at += 60
    assert line.tell(later) == []
    assert line.shown.encoded is encoded


# --- at a gateway ---


@pytest.fixture
def event(database_url):
    return make_room(database_url)


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


FIELDS = {
    "event": EVENT,
    "state": "lobby",
    "phase": "lobby",
    "policy": "draw",
    "admission": "running",
    "joined": 0,
    "serving": 0,
    "serving_priority": 0,
    "next_position": 1,
    "drawn": None,
    "pace": None,
    "rate": None,
    "reason": None,
    "message": None,
    "seats_left": 150,
    "sold_out": False,
    "ballot": "none",
    "proof": False,
    "seed": None,
    "opens_at": None,
    "lobby_opens_at": None,
    "begin_seconds": 180,
    "shopping_seconds": 900,
    "look": {},
    "version": 0,
}


@pytest.mark.parametrize("stays", [True, False])
@scenario
async def test_everybody_may_read_the_document_and_keeps_it_until_it_changes(engine_urls, event, conn, stays):
    async with gateway(engine_urls) as served:
        answer = await served.http("GET", ROOM, stays=stays)
        assert answer.status == 200
        body = answer.json()
        assert len(body.pop("seed_sha256")) == 64
        assert body.pop("at") > 0
        assert body == FIELDS
        assert answer.headers["cache-control"] == "public, max-age=1"
        assert answer.headers["access-control-allow-origin"] == "*"
        known = {"If-None-Match": answer.headers["etag"]}
        again = await served.http("GET", ROOM, headers=known, stays=stays)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", answer.headers["etag"])
        assert "content-length" not in again.headers
        conn.execute("UPDATE room SET message = 'Soon.', message_at = now(), version = 1")
        await room_at(served).look()
        changed = await served.http("GET", ROOM, headers=known, stays=stays)
        assert (changed.status, changed.json()["message"]["text"]) == (200, "Soon.")


@pytest.mark.parametrize("path", ["/v1/events/nowhere/room", "/v1/events/NO%20WHERE/room"])
@pytest.mark.parametrize("stays", [True, False])
@scenario
async def test_no_event_no_document(engine_urls, event, stays, path):
    async with gateway(engine_urls) as served:
        assert (await served.http("GET", path, stays=stays)).status == 404


@scenario
async def test_what_was_not_looked_at_for_a_while_is_looked_at_again_before_it_is_shown(
    engine_urls, event, conn, monkeypatch
):
    monkeypatch.setattr("gateway.room.waiting_room.STALE_SECONDS", 0.0)
    monkeypatch.setattr("gateway.room.waiting_room.SHOWN_SECONDS", 0.0)
    async with gateway(engine_urls) as served:
        await served.http("GET", ROOM)
        conn.execute("UPDATE room SET message = 'Soon.', message_at = now()")
        assert (await served.http("GET", ROOM)).json()["message"]["text"] == "Soon."


@scenario
async def test_without_postgres_the_document_is_shown_as_it_was(engine_urls, event, monkeypatch):
    async with gateway(engine_urls) as served:
        first = await served.http("GET", ROOM)

        async def away(*_):
            raise psycopg.OperationalError("away")

        monkeypatch.setattr("gateway.room.waiting_room.watching.now", away)
        monkeypatch.setattr("gateway.room.waiting_room.FRESH_SECONDS_MAX", 0.05)
        monkeypatch.setattr("gateway.room.waiting_room.STALE_SECONDS", 0.0)
        assert (await served.http("GET", ROOM)).body == first.body


@scenario
async def test_all_sockets_and_the_document_have_the_same_bytes_of_one_encoding(
    engine_urls, event, conn, monkeypatch
):
    made = []
    init = Encoded.__init__

    def counted(self, status):
        made.append(status)
        init(self, status)

    async with gateway(engine_urls) as served, served.socket() as ann, served.socket("bob") as bob:
        for one in (ann, bob):
            assert (await one.receive("room"))["phase"] == "lobby"
        monkeypatch.setattr(Encoded, "__init__", counted)
        conn.execute("UPDATE room SET message = 'Soon.', message_at = now()")
        room_at(served).poke()
        raw = [await one.connection.recv(decode=False) for one in (ann, bob)]
        body = (await served.http("GET", ROOM)).body
        assert raw[0] == raw[1] == b'{"type":"room",' + body[1:]
        assert len(made) == 1


@scenario
async def test_news_in_redis_makes_a_gateway_look_and_lost_news_costs_a_second(
    engine_urls, event, conn, monkeypatch
):
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as owner, served.socket() as ann:
        await ann.receive("room")
        conn.execute("UPDATE room SET message = 'Lost.', message_at = now()")
        assert (await ann.receive("room"))["message"]["text"] == "Lost."
        monkeypatch.setattr("gateway.room.waiting_room.LOOK_SECONDS", 3600.0)
        await room_at(served).look()
        room_at(served).poke()
        conn.execute("UPDATE room SET message = 'Heard.', message_at = now()")

        async def poke() -> None:
            while True:
                await owner.redis.publish(room_channel(EVENT), encode(1))
                await asyncio.sleep(0.05)

        poking = asyncio.create_task(poke())
        try:
            assert (await ann.receive("room"))["message"]["text"] == "Heard."
        finally:
            await end([poking])


@scenario
async def test_nobody_here_no_looks(engine_urls, event, monkeypatch):
    monkeypatch.setattr("gateway.room.waiting_room.LOOK_SECONDS", 0.01)
    looks = []
    async with gateway(engine_urls) as served:
        async with served.socket() as ann:
            await ann.receive("room")
        room = room_at(served)
        await until(lambda: not room.in_use)
        look = room.look

        def counted() -> Any:
            looks.append(1)
            return look()

        monkeypatch.setattr(room, "look", counted)
        await asyncio.sleep(0.2)
        assert len(looks) <= 1


@scenario
async def test_what_is_left_and_sold_out_come_from_the_seat_map(engine_urls, database_url, conn):
    event = make_room_open(database_url, conn)
    async with gateway(engine_urls) as served, StandIn(engine_urls, event) as owner, served.socket() as ann:
        assert (await ann.receive("room"))["seats_left"] == 150
        room = room_at(served)
        room.places.get("ann").inside_until = 1 << 62  # type: ignore[union-attr]
        await ann.ask("r1", seats=[SEATS[0]])
        await ann.receive("decision", but=("room", "accepted", "place"))
        await until(lambda: owner.batch_no and room._seats.stock.holds_anything)
        await room.look()
        assert (room.told.seats_left, room.told.sold_out) == (149, False)
        stock, areas = room._seats.stock, room._seats.areas_free
        areas[:] = [0] * len(areas)
        stock.turn(range(1, 100), ord("s"))
        await room.look()
        assert (room.told.seats_left, room.told.sold_out) == (0, False), "what is held may come back"
        stock.turn([0], ord("s"))
        await room.look()
        assert (room.told.seats_left, room.told.sold_out) == (0, True)


def make_room_open(database_url: str, conn: Any) -> int:
    event = make_room(database_url)
    open_and_draw(conn, event)
    return event


def test_a_ballot_is_told():
    filing = now(EventState.LOBBY, terms=RoomTerms(ballot=True), lobby_ended_at=None, drawn_at=None)
    shown = document.status(EVENT, filing, seats_left=1, sold_out=False, proof=False)
    assert shown.ballot is BallotState.FILING
