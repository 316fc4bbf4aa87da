"""Waiting rooms as rows: made once for a draft, changed by operators who see each other, audited."""

from __future__ import annotations

import hashlib
import threading

import psycopg
import pytest

from store import audit, events
from store.errors import BadRequest, Conflicted, NotFound
from store.room import draw, operating, rooms, standing
from store.room.look import Look
from store.room.words import Admission, Lane, PlaceState, Proof, RoomPolicy, RoomTerms
from store.words import EventState
from tests.allocator.waiting import until_waiting
from tests.store.room.rooming import ADMITTED, BEGUN, OLGA, begin_sale, join, make_room, set_place
from tests.store.test_holds import url_of


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def test_a_room_is_made_with_its_terms_and_a_seed_only_its_hash_of_is_told(conn):
    event = make_room(conn, state=EventState.DRAFT, pace=30, proof=Proof.ALWAYS)
    room = rooms.read(conn, event)
    [(seed,)] = conn.execute("SELECT seed FROM room").fetchall()
    assert room.terms == RoomTerms(pace=30, proof=Proof.ALWAYS)
    assert (room.seed, room.seed_sha256) == (None, hashlib.sha256(seed).digest())
    assert (room.next_position, room.serving, room.joined, room.edition) == (1, 0, 0, 0)
    make_room(conn, "other")
    assert len(set(conn.execute("SELECT seed FROM room").fetchall())) == 2


def test_the_seed_is_told_once_it_is_drawn_and_not_before(conn):
    event = make_room(conn)
    join(conn, event, "ann")
    events.set_state(conn, "gig", EventState.OPEN)
    assert rooms.read(conn, event).seed is None
    assert rooms.read(conn, event).drawn == 1
    draw.draw(conn, event)
    assert hashlib.sha256(rooms.read(conn, event).seed or b"").digest() == rooms.read(conn, event).seed_sha256


def test_one_room_for_a_draft_and_none_for_what_has_begun(conn):
    make_room(conn, state=EventState.DRAFT)
    with pytest.raises(Conflicted) as refusal:
        operating.make(conn, "gig", RoomTerms(), OLGA)
    assert refusal.value.code == "room_exists"
    events.set_state(conn, "gig", EventState.LOBBY)
    with pytest.raises(Conflicted) as refusal:
        operating.make(conn, "gig", RoomTerms(), OLGA)
    assert refusal.value.code == "event_not_draft"
    for slug in ("none", "no\0ne"):
        with pytest.raises(NotFound):
            operating.make(conn, slug, RoomTerms(), OLGA)
    assert len(audit.read(conn, events.get_event(conn, "gig").id)) == 1


@pytest.mark.parametrize("term", rooms.BOUNDS)
def test_terms_have_bounds_which_the_table_knows_too(conn, term):
    least, most = rooms.BOUNDS[term]
    make_room(conn, state=EventState.DRAFT)
    for value in (least, most):
        assert getattr(operating.change(conn, "gig", OLGA, **{term: value}).terms, term) == value
    for value in (least - 1, most + 1):
        with pytest.raises(BadRequest) as refusal:
            operating.change(conn, "gig", OLGA, **{term: value})
        assert refusal.value.code == "invalid_room"
        if term != "proof_above_per_minute":
            with pytest.raises(psycopg.errors.CheckViolation):
                conn.execute(f"UPDATE room SET {term} = {value}")


def test_a_ballot_needs_a_draw(conn):
    make_room(conn, state=EventState.DRAFT)
    with pytest.raises(BadRequest):
        operating.change(conn, "gig", OLGA, ballot=True, policy=RoomPolicy.FIFO)


def test_what_buyers_joined_for_stays_and_the_rest_may_change(conn):
    event = make_room(conn)
    for settled in ({"policy": RoomPolicy.FIFO}, {"ballot": True}):
        with pytest.raises(Conflicted) as refusal:
            operating.change(conn, "gig", OLGA, **settled)
        assert refusal.value.code == "room_settled"
    assert rooms.read(conn, event).edition == 0
    assert operating.change(conn, "gig", OLGA, pace=7, shopping_max=None).terms == RoomTerms(pace=7)


def test_each_change_leaves_who_and_why_and_the_next_version(conn):
    event = make_room(conn)
    changes = [
        lambda: operating.change(conn, "gig", OLGA, pace=7),
        lambda: operating.admit(conn, "gig", Admission.PAUSED, OLGA),
        lambda: operating.say(conn, "gig", "The band\nis late", OLGA),
        lambda: operating.say(conn, "gig", None, OLGA),
    ]
    rooms_seen = [change() for change in changes]
    assert [room.version for room in rooms_seen] == [room.edition for room in rooms_seen] == [1, 2, 3, 4]
    assert (rooms_seen[2].message, rooms_seen[3].message) == ("The band\nis late", None)
    assert rooms_seen[2].message_at
    assert rooms_seen[3].message_at is None
    rows = audit.read(conn, event)
    assert {(row.who, row.why) for row in rows} == {("Olga", "the sale of the year")}
    assert [row.what["change"] for row in rows] == ["message", "message", "admission", "room", "make room"]
    assert rows[3].what["terms"] == {"pace": 7}


def test_admission_is_paused_resumed_and_stopped_and_who_comes_second_is_told(conn):
    make_room(conn)

    def admit(to):
        return operating.admit(conn, "gig", to, OLGA).admission

    def refused(to):
        with pytest.raises(Conflicted) as refusal:
            admit(to)
        return refusal.value.code == "admission_state"

    assert refused(Admission.RUNNING)
    assert admit(Admission.PAUSED) == "paused"
    assert refused(Admission.PAUSED)
    assert admit(Admission.RUNNING) == "running"
    assert admit(Admission.STOPPED) == "stopped"
    assert refused(Admission.STOPPED)
    assert refused(Admission.PAUSED)
    assert admit(Admission.RUNNING) == "running"


def test_who_changes_another_edition_than_they_looked_at_is_told(conn):
    make_room(conn)
    operating.change(conn, "gig", OLGA, edition=0, pace=7)
    for change in (
        lambda: operating.change(conn, "gig", OLGA, edition=0, pace=9),
        lambda: operating.say(conn, "gig", "Hello", OLGA, edition=0),
    ):
        with pytest.raises(Conflicted) as refusal:
            change()
        assert refusal.value.code == "room_changed"
    assert operating.change(conn, "gig", OLGA, edition=1, pace=9).terms.pace == 9


def test_two_operators_in_one_moment_lose_nothing_of_each_other(conn):
    """Each names one term; whoever comes second changes the room as the first one left it."""
    make_room(conn)

    def change(**terms):
        with psycopg.connect(url_of(conn), autocommit=True) as own:
            operating.change(own, "gig", OLGA, **terms)

    changes = ({"pace": 7}, {"shopping_max": 40})
    threads = [threading.Thread(target=change, kwargs=terms) for terms in changes]
    with psycopg.connect(url_of(conn)) as first:
        first.execute(rooms.LOCK_EVENT, {"slug": "gig"})
        for thread in threads:
            thread.start()
        until_waiting(conn, len(threads))
    for thread in threads:
        thread.join()
    room = standing.read(conn, "gig").room
    assert (room.terms.pace, room.terms.shopping_max, room.edition) == (7, 40, 2)


@pytest.mark.parametrize("text", ["", " ", "x" * 501, "a\x00b", "\x1b[31m"])
def test_a_message_is_text_of_some_length(conn, text):
    make_room(conn)
    with pytest.raises(BadRequest) as refusal:
        operating.say(conn, "gig", text, OLGA)
    assert refusal.value.code == "invalid_message"


def test_how_a_room_stands(conn):
    event = make_room(conn)
    join(conn, event, "ann", "bob", "cat", "dan")
    begin_sale(conn, event)
    set_place(conn, event, "ann", **ADMITTED)
    set_place(conn, event, "bob", **BEGUN)
    set_place(conn, event, "cat", state="'left'", ended_at="now()")
    operating.issue_codes(conn, "gig", OLGA, label="fans", count=2, uses=3)
    told = standing.read(conn, "gig")
    assert told.places[Lane.ORDINARY] == {
        PlaceState.WAITING: 1, PlaceState.ADMITTED: 2, PlaceState.LEFT: 1,
    }  # fmt: skip
    assert (told.shopping, told.room.state, told.room.drawn) == (1, EventState.OPEN, 4)
    assert [(one.label, one.codes, one.uses, one.uses_max) for one in told.codes] == [("fans", 2, 0, 6)]
    assert len(told.room.seed_sha256) == len(told.room.seed or "") == 64


def test_an_event_without_a_room_says_so(conn):
    make_room(conn)
    events.create_event(conn, "plain", "Plain", 1, events.find_venue(conn, "of-gig")[1])
    for ask in (
        lambda: standing.read(conn, "plain"),
        lambda: operating.say(conn, "plain", "Hello", OLGA),
        lambda: operating.issue_codes(conn, "plain", OLGA, label="fans", count=1),
    ):
        with pytest.raises(NotFound) as refusal:
            ask()
        assert refusal.value.code == "no_room"


def test_a_room_has_the_organisers_look(conn):
    event = make_room(conn)
    look = Look(name="The Hall", accent="#2f4fc4", lang="de", texts={"lobby.title": "Gleich geht es los"})
    assert operating.dress(conn, "gig", look, OLGA, edition=0).version == 1
    told = {"name": "The Hall", "accent": "#2f4fc4", "lang": "de", "texts": look.texts}
    assert conn.execute("SELECT look FROM room").fetchall() == [(told,)]
    assert audit.read(conn, event)[0].what == {"change": "look", "look": told}
    operating.dress(conn, "gig", Look(), OLGA)
    assert conn.execute("SELECT look FROM room").fetchall() == [({},)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "x" * 101},
        {"name": "a\x00"},
        {"accent": "red"},
        {"accent": "#2f4fc4; background: url(x)"},
        {"lang": "German"},
        {"texts": {"Lobby": "x"}},
        {"texts": {"lobby.title": ""}},
        {"texts": {"lobby.title": "x" * 501}},
        {"texts": {"lobby.title": "\x1b"}},
        {
            "texts": {f"a{'b' * number}": "x" for number in range(50)}
            | {"c" + "d" * n: "x" for n in range(51)}
        },
        {"texts": {f"a{'b' * number}": "x" * 400 for number in range(21)}},
    ],
)
def test_a_look_is_small_and_plain(conn, wrong):
    make_room(conn)
    with pytest.raises(BadRequest) as refusal:
        operating.dress(conn, "gig", Look(**wrong), OLGA)
    assert refusal.value.code == "invalid_look"
