"""The draw: HMAC order, the same in Postgres and in Python, once, whoever is killed meanwhile; its list is
told in pages, and a place that was moved in it is named.
"""

from __future__ import annotations

import hashlib
import hmac
import threading
import uuid

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store import events
from store.errors import Conflicted
from store.room import draw, entering, rooms
from store.room.draw import Drawn, Moved
from store.room.joining import Joining
from store.room.words import Lane
from store.words import EventState
from tests.store.room.rooming import begin_sale, join, line, make_room
from tests.store.test_holds import url_of

SEED = bytes(range(32))


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def places(conn, lane="ordinary"):
    rows = conn.execute("SELECT id FROM place WHERE lane = %s AND in_draw", (lane,)).fetchall()
    return [place for (place,) in rows]


def by_python(seed, ids):
    """The order as anybody computes it, with nothing of ours."""
    return sorted(ids, key=lambda place: hmac.new(seed, str(place).encode(), hashlib.sha256).digest())


def stood(conn, lane="ordinary"):
    rows = conn.execute("SELECT place_id FROM line WHERE lane = %s ORDER BY position", (lane,)).fetchall()
    return [place for (place,) in rows]


def test_each_lane_is_in_the_order_that_python_computes(conn):
    event = make_room(conn)
    join(conn, event, *[f"b{number}" for number in range(300)])
    join(conn, event, *[Joining(f"p{number}", Lane.PRIORITY) for number in range(80)])
    begin_sale(conn, event)
    [(seed, sha256)] = conn.execute("SELECT seed, seed_sha256 FROM room").fetchall()
    assert hashlib.sha256(seed).digest() == sha256
    for lane in ("ordinary", "priority"):
        assert stood(conn, lane) == by_python(seed, places(conn, lane))
        assert stood(conn, lane) != sorted(places(conn, lane))
    exported = list(draw.export(conn, event))
    assert [one.place for one in exported] == stood(conn) + stood(conn, "priority")
    assert [one.position for one in exported] == [*range(1, 301), *range(1, 81)]
    assert draw.moved(seed, exported) == []


@pytest.mark.parametrize("seed", [b"\0" * 32, b"\xff" * 32, SEED], ids=["zeros", "ones", "counting"])
def test_whatever_the_seed_postgres_and_python_agree(conn, seed):
    event = make_room(conn)
    conn.execute("UPDATE room SET seed = %s, seed_sha256 = sha256(%s)", (seed, seed))
    join(conn, event, *[f"b{number}" for number in range(100)])
    begin_sale(conn, event)
    assert stood(conn) == by_python(seed, places(conn))


def test_only_what_is_to_be_drawn_is_drawn_and_once(conn):
    event = make_room(conn)
    join(conn, event, "ann", "bob")
    assert not draw.draw(conn, event), "the lobby has not ended"
    begin_sale(conn, event)
    before = line(conn, event)
    assert not draw.draw(conn, event)
    assert line(conn, event) == before
    assert not draw.draw(conn, event + 1)


def test_of_many_who_draw_at_once_one_does(conn):
    event = make_room(conn)
    join(conn, event, *[f"b{number}" for number in range(50)])
    events.set_state(conn, "gig", EventState.OPEN)
    ready, answers = threading.Barrier(4), []

    def draws():
        with psycopg.connect(url_of(conn), autocommit=True) as own:
            ready.wait()
            answers.append(draw.draw(own, event))

    threads = [threading.Thread(target=draws) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers.count(True) == 1
    assert len(line(conn, event)) == 50


def test_while_somebody_draws_nobody_else_begins_to(conn):
    event = make_room(conn)
    join(conn, event, "ann")
    events.set_state(conn, "gig", EventState.OPEN)
    with psycopg.connect(url_of(conn)) as first:
        first.execute(draw.ONE_AT_A_TIME, {"event": event})
        assert not draw.draw(conn, event)
        first.rollback()
    assert draw.draw(conn, event)


def test_a_draw_that_ends_in_the_middle_leaves_nothing_and_the_next_gives_the_same(conn):
    event = make_room(conn)
    join(conn, event, *[f"b{number}" for number in range(50)])
    events.set_state(conn, "gig", EventState.OPEN)
    with psycopg.connect(url_of(conn), autocommit=True) as first:
        first.execute("BEGIN")
        assert draw.draw(first, event)
        interrupted = stood(first)
        assert len(interrupted) == 50
        conn.execute("SELECT pg_terminate_backend(%s, 5000)", (first.info.backend_pid,))
        with pytest.raises(psycopg.OperationalError):
            first.execute("COMMIT")
    assert stood(conn) == []
    assert draw.draw(conn, event)
    assert stood(conn) == interrupted


def test_the_seed_is_what_was_promised_and_told_only_when_it_is_drawn(conn):
    event = make_room(conn)
    promised = rooms.read(conn, event).seed_sha256
    events.set_state(conn, "gig", EventState.OPEN)
    assert rooms.read(conn, event).seed is None
    assert draw.draw(conn, event)
    told = rooms.read(conn, event)
    assert told.seed is not None
    assert hashlib.sha256(told.seed).digest() == promised == told.seed_sha256


def test_who_joins_while_it_is_drawn_stands_behind_all_who_are(conn):
    event = make_room(conn)
    drawn = [f"o{number}" for number in range(30)]
    join(conn, event, *drawn)
    join(conn, event, *[f"p{number}" for number in range(7)], lane=Lane.PRIORITY)
    events.set_state(conn, "gig", EventState.OPEN)
    for late in ("late", "later", "o3"):
        join(conn, event, late)
    join(conn, event, "late priority", lane=Lane.PRIORITY)
    assert draw.draw(conn, event)
    join(conn, event, "last")
    assert line(conn, event)[30:] == ["late", "later", "last"]
    assert line(conn, event, "priority")[7:] == ["late priority"]
    assert sorted(line(conn, event)[:30]) == sorted(drawn)


def test_a_draw_that_finds_other_places_than_were_counted_alarms_and_draws_nobody(conn):
    event = make_room(conn)
    join(conn, event, "ann", "bob")
    events.set_state(conn, "gig", EventState.OPEN)
    conn.execute("INSERT INTO place (event_id, buyer, in_draw) VALUES (%s, 'mallory', true)", (event,))
    with pytest.raises(Conflicted, match="ALERT") as alarm:
        draw.draw(conn, event)
    assert alarm.value.code == "draw_incomplete"
    assert stood(conn) == []


def test_who_left_the_lobby_is_not_drawn_and_nobody_stands_behind_them(conn):
    event = make_room(conn)
    join(conn, event, "ann", "bob", "eve", "joe")
    join(conn, event, Joining("pat", Lane.PRIORITY), Joining("pia", Lane.PRIORITY))
    leave(conn, event, "ann", "joe", "pat")
    join(conn, event, "joe")
    begin_sale(conn, event)
    assert set(line(conn, event)) == {"bob", "eve", "joe"}
    assert line(conn, event, "priority") == ["pia"]
    [row] = conn.execute("SELECT drawn, next_position, next_priority, joined FROM room").fetchall()
    assert row == (4, 4, 2, 7)
    assert len(list(draw.export(conn, event))) == 4


def test_who_leaves_when_the_lobby_has_ended_is_drawn_and_moves_nobody(conn):
    event = make_room(conn)
    join(conn, event, "ann", "bob")
    events.set_state(conn, "gig", EventState.OPEN)
    leave(conn, event, "ann")
    assert draw.draw(conn, event)
    assert set(line(conn, event)) == {"ann", "bob"}


def test_who_leaves_once_the_lobby_has_ended_stays_drawn_when_a_pause_is_over(conn):
    event = make_room(conn)
    join(conn, event, "ann", "bob", "eve")
    events.set_state(conn, "gig", EventState.OPEN)
    for gone in ("ann", "bob"):
        leave(conn, event, gone)
        events.set_state(conn, "gig", EventState.PAUSED)
        events.set_state(conn, "gig", EventState.OPEN)
        draw.draw(conn, event)
        assert set(line(conn, event)) == {"ann", "bob", "eve"}
    assert len(list(draw.export(conn, event))) == 3


def test_the_list_is_told_whole_in_pages_without_those_who_came_later(conn, monkeypatch):
    event = make_room(conn)
    assert list(draw.export(conn, event)) == []
    join(conn, event, *[f"o{number}" for number in range(30)])
    join(conn, event, *[f"p{number}" for number in range(7)], lane=Lane.PRIORITY)
    events.set_state(conn, "gig", EventState.OPEN)
    join(conn, event, "late")
    assert list(draw.export(conn, event)) == [], "before it is drawn there is nothing to tell"
    assert draw.draw(conn, event)
    [(seed,)] = conn.execute("SELECT seed FROM room").fetchall()
    expected = [(Lane.ORDINARY, n) for n in range(1, 31)] + [(Lane.PRIORITY, n) for n in range(1, 8)]
    for rows in (1, 3, 30, 37, 1_000):
        monkeypatch.setattr(draw, "EXPORT_ROWS", rows)
        told = list(draw.export(conn, event))
        assert [(one.lane, one.position) for one in told] == expected
        assert draw.moved(seed, told) == []


def test_between_two_pages_nothing_is_open(conn, monkeypatch):
    event = make_room(conn)
    join(conn, event, *[f"o{number}" for number in range(30)])
    begin_sale(conn, event)
    monkeypatch.setattr(draw, "EXPORT_ROWS", 10)
    with psycopg.connect(url_of(conn)) as reader:
        pages = draw.export(reader, event)
        for _ in range(15):
            next(pages)
        assert reader.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


@pytest.mark.parametrize("after", ["LEAVE_OUT", "END_LOBBY"])
def test_who_leaves_while_the_lobby_ends_is_drawn_and_the_count_is_right(conn, monkeypatch, after):
    """Their statement comes between two of those that end it, or came before and is committed then."""
    event = make_room(conn)
    join(conn, event, "ann", "bob", "eve")
    with psycopg.connect(url_of(conn)) as other, conn.transaction():
        leave(other, event, "ann")
        conn.execute(rooms.LOCK_ROOM, {"event": event})
        for name in ("LEAVE_OUT", "END_LOBBY"):
            conn.execute(getattr(rooms, name), {"event": event})
            if name == after:
                leave(other, event, "bob")
                other.commit()
    conn.execute("UPDATE event SET state = 'open'")
    assert draw.draw(conn, event)
    assert set(line(conn, event)) == {"ann", "bob", "eve"}


def leave(conn, event, *buyers):
    """They leave the lobby, as `store.room.entering` writes it."""
    for buyer in buyers:
        assert conn.execute(entering.LEAVE, {"event": event, "buyer": buyer}).rowcount == 1


def listed(count, lane=Lane.ORDINARY):
    ids = [uuid.UUID(bytes=hashlib.md5(f"{lane} {number}".encode()).digest()) for number in range(count)]
    ordered = sorted(ids, key=lambda place: draw.rank_of(SEED, place))
    return [Drawn(lane, position, place) for position, place in enumerate(ordered, 1)]


def renumbered(places):
    return [Drawn(one.lane, position, one.place) for position, one in enumerate(places, 1)]


@given(st.integers(2, 60), st.data())
def test_the_one_place_that_was_moved_is_named_and_no_other(count, data):
    honest = listed(count)
    origin = data.draw(st.integers(0, count - 1))
    target = data.draw(st.integers(0, count - 1))
    rest = honest[:origin] + honest[origin + 1 :]
    forged = renumbered([*rest[:target], honest[origin], *rest[target:]])
    found = draw.moved(SEED, forged)
    if origin == target:
        assert found == []
    elif abs(origin - target) == 1:
        assert len(found) == 1, "of two neighbours that changed places either was moved"
    else:
        [one] = found
        assert (one.place, one.position, one.should_be) == (honest[origin].place, target + 1, origin + 1)


@given(st.permutations(range(9)))
def test_what_stays_is_as_many_as_can(order):
    honest = listed(9)
    found = draw.moved(SEED, renumbered([honest[number] for number in order]))
    longest = max(
        sum(bits >> place & 1 for place in range(9))
        for bits in range(1 << 9)
        if (run := [order[place] for place in range(9) if bits >> place & 1]) == sorted(run)
    )
    assert len(found) == 9 - longest
    assert [one.position for one in found] == sorted(one.position for one in found)
    assert all(honest[(one.should_be or 0) - 1].place == one.place for one in found)


def test_two_who_changed_places_are_both_named():
    honest = listed(30)
    honest[4], honest[24] = honest[24], honest[4]
    assert {found.position for found in draw.moved(SEED, renumbered(honest))} == {5, 25}


def test_a_place_that_is_there_twice_is_named_each_time():
    honest = listed(6)
    forged = renumbered([honest[4], *honest])
    found = [Moved(honest[4].place, Lane.ORDINARY, position, None) for position in (1, 6)]
    assert draw.moved(SEED, forged) == found
    both = [*listed(3, Lane.PRIORITY), *forged]
    assert draw.moved(SEED, both) == found, "lanes are drawn each by itself"
