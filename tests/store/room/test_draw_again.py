"""The draw: the order anybody can check, made once whatever is killed, told in pages, a forgery named."""

from __future__ import annotations

import hashlib
import hmac

import psycopg
import pytest

from store.errors import Conflicted
from store.room import draw, rooms
from store.room.draw import Drawn
from store.room.words import Lane
from tests.store.room.lines import Line


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def line(conn, database_url):
    made = Line(conn, database_url, pace=60)
    made.join(*[f"o{n}" for n in range(30)])
    made.join(*[f"p{n}" for n in range(7)], lane=Lane.PRIORITY)
    return made


def in_order(line, lane):
    """As anybody reckons it who has the seed and the ids."""
    seed = bytes(line.room("seed"))
    text = "SELECT id::text, buyer FROM place WHERE event_id = %s AND lane = %s AND in_draw"
    places = line.conn.execute(text, (line.event, lane.value)).fetchall()
    ranked = sorted((hmac.new(seed, name.encode(), hashlib.sha256).digest(), buyer) for name, buyer in places)
    return [buyer for _, buyer in ranked]


def test_the_order_is_the_rank_of_each_place_by_the_seed_lane_by_lane(line):
    line.drawn()
    for lane in Lane:
        assert line.order(lane) == in_order(line, lane)


def test_the_seed_is_what_was_promised_and_told_only_when_it_is_drawn(line):
    promised = rooms.read(line.conn, line.event).seed_sha256
    line.open()
    assert rooms.read(line.conn, line.event).seed is None
    assert draw.draw(line.conn, line.event)
    told = rooms.read(line.conn, line.event)
    assert told.seed is not None
    assert hashlib.sha256(told.seed).digest() == promised == told.seed_sha256


def test_it_is_not_drawn_before_the_lobby_ends_and_not_twice(line):
    assert not draw.draw(line.conn, line.event)
    line.drawn()
    order = line.order()
    assert not draw.draw(line.conn, line.event)
    assert line.order() == order


def test_who_joins_while_it_is_drawn_stands_behind_all_who_are(line):
    line.open()
    line.join("late")
    line.join("later", "o3")
    line.join("late priority", lane=Lane.PRIORITY)
    assert draw.draw(line.conn, line.event)
    line.join("last")
    assert line.order()[30:] == ["late", "later", "last"]
    assert line.order(Lane.PRIORITY)[7:] == ["late priority"]
    assert sorted(line.order()[:30]) == sorted(f"o{n}" for n in range(30))


def test_of_two_who_draw_at_once_one_does(line, database_url):
    line.open()
    with psycopg.connect(database_url) as first:
        first.execute(draw.ONE_AT_A_TIME, {"event": line.event})
        assert not draw.draw(line.conn, line.event)
        first.rollback()
    assert draw.draw(line.conn, line.event)


def test_a_draw_that_was_interrupted_is_drawn_again_in_the_same_order(line, database_url):
    line.open()
    with psycopg.connect(database_url, autocommit=True) as first:
        order = in_order(line, Lane.ORDINARY)
        first.execute("BEGIN")
        assert draw.draw(first, line.event)
        line.conn.execute("SELECT pg_terminate_backend(%s, 5000)", (first.info.backend_pid,))
        with pytest.raises(psycopg.OperationalError):
            first.execute("COMMIT")
    assert line.order() == []
    assert draw.draw(line.conn, line.event)
    assert line.order() == order


def test_a_number_that_does_not_add_up_draws_nothing_and_is_an_alert(line):
    line.open()
    line.conn.execute("UPDATE room SET drawn = drawn + 1")
    with pytest.raises(Conflicted, match="ALERT: 37 places"):
        draw.draw(line.conn, line.event)
    assert line.order() == []


def test_the_list_is_told_whole_in_pages_without_those_who_came_later(line, monkeypatch):
    line.drawn()
    line.join("late")
    expected = [(Lane.ORDINARY, n) for n in range(1, 31)] + [(Lane.PRIORITY, n) for n in range(1, 8)]
    for rows in (1, 3, 30, 37, 1_000):
        monkeypatch.setattr(draw, "EXPORT_ROWS", rows)
        told = list(draw.export(line.conn, line.event))
        assert [(one.lane, one.position) for one in told] == expected
        assert draw.moved(bytes(line.room("seed")), told) == []


def test_before_it_is_drawn_there_is_nothing_to_tell(line):
    assert list(draw.export(line.conn, line.event)) == []
    line.open()
    line.join("late")
    assert list(draw.export(line.conn, line.event)) == []


def test_between_two_pages_nothing_is_open(line, monkeypatch, database_url):
    line.drawn()
    monkeypatch.setattr(draw, "EXPORT_ROWS", 10)
    with psycopg.connect(database_url) as reader:
        pages = draw.export(reader, line.event)
        for _ in range(15):
            next(pages)
        assert reader.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_an_honest_list_is_accepted_and_a_place_that_was_moved_is_named(line):
    line.drawn()
    seed = bytes(line.room("seed"))
    told = [one for one in draw.export(line.conn, line.event) if one.lane is Lane.ORDINARY]
    favoured = told[20]
    forged = [*told[:3], favoured, *told[3:20], *told[21:]]
    forged = [Drawn(one.lane, number, one.place) for number, one in enumerate(forged, 1)]
    [found] = draw.moved(seed, forged)
    assert (found.place, found.position, found.should_be) == (favoured.place, 4, 21)


def test_two_who_changed_places_are_both_named(line):
    line.drawn()
    seed = bytes(line.room("seed"))
    told = [one for one in draw.export(line.conn, line.event) if one.lane is Lane.ORDINARY]
    told[4], told[24] = Drawn(Lane.ORDINARY, 5, told[24].place), Drawn(Lane.ORDINARY, 25, told[4].place)
    assert {found.position for found in draw.moved(seed, told)} == {5, 25}
