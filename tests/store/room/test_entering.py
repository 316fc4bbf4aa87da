"""A buyer begins, or leaves: once, only in their own place, and by what the place is, not by a clock."""

from __future__ import annotations

import psycopg
import pytest

from store.room import entering
from tests.store.room.lines import Line


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def line(conn, database_url):
    return Line(conn, database_url, shopping_seconds=600)


def admit(line, *buyers):
    line.conn.execute(
        "UPDATE place SET state = 'admitted', admitted_at = clock_timestamp(), version = 7,"
        " begin_by = clock_timestamp() + interval '3 minutes' WHERE buyer = ANY (%s)", (list(buyers),)
    )  # fmt: skip


def begin(line, buyer):
    return line.alone(lambda own: entering.begin(own, line.event, buyer))


def leave(line, buyer):
    return line.alone(lambda own: entering.leave(own, line.event, buyer))


def test_who_is_admitted_begins_once_and_is_told_the_same_again(line):
    line.join("ann", "bob")
    admit(line, "ann", "bob")
    begun = begin(line, "ann")
    assert begun.until - begun.begun_at == 600_000_000
    assert begin(line, "ann") == begun
    assert line.place("bob").begun_at is None


def test_who_waits_or_has_no_place_cannot_begin(line):
    line.join("ann")
    waits = begin(line, "ann")
    assert (waits.state, waits.begun_at) == ("waiting", None)
    assert begin(line, "bob") is None


def test_a_place_of_another_event_is_none_here(line, conn, database_url):
    other = Line(conn, database_url)
    other.join("ann")
    admit(other, "ann")
    assert begin(line, "ann") is None
    assert not leave(line, "ann")
    assert other.place("ann").state == "admitted"


def test_nobody_is_late_before_the_place_has_ended(line):
    line.join("ann")
    admit(line, "ann")
    line.ago(1_000, "ann")
    assert begin(line, "ann").begun_at is not None


def test_whose_place_has_ended_does_not_begin(line):
    line.join("ann", "bob")
    admit(line, "ann", "bob")
    begin(line, "bob")
    line.conn.execute("UPDATE place SET state = 'expired', ended_at = clock_timestamp()")
    ended = begin(line, "ann")
    assert (ended.state, ended.begun_at) == ("expired", None)
    assert begin(line, "bob").state == "expired"


def test_leaving_is_final_for_that_place_and_for_no_other(line):
    line.join("ann", "bob", "eve")
    admit(line, "bob")
    assert leave(line, "ann").state == "left"
    assert leave(line, "bob").state == "left"
    assert leave(line, "ann") is None
    assert line.states() == {"ann": "left", "bob": "left", "eve": "waiting"}


def test_what_the_room_changed_is_read_by_version(line):
    line.join("ann", "bob")
    admit(line, "ann")

    def changed(after):
        return [one.buyer for one in line.alone(lambda own: entering.changed_since(own, line.event, after))]

    assert changed(6) == ["ann"]
    assert changed(0) == ["ann"]
    assert changed(7) == []
