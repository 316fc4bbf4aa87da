"""Codes that are revoked: nobody comes in by them any more, and who did stays where they stand."""

from __future__ import annotations

import threading

import psycopg
import pytest

from store import audit
from store.errors import BadRequest, Refused
from store.room import codes, joining, operating
from store.room.words import Lane
from tests.allocator.waiting import until_waiting
from tests.store.room.rooming import OLGA, begin_sale, join, line, make_room
from tests.store.room.test_codes import new_code, shows
from tests.store.test_holds import url_of


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def refusal(call, *words, **options):
    with pytest.raises(Refused) as told:
        call(*words, **options)
    return told.value.code, str(told.value)


def revoke(conn, **which):
    return operating.revoke_codes(conn, "gig", OLGA, **which)


def test_a_revoked_label_lets_nobody_in_and_who_is_in_by_it_keeps_place_and_lane(conn):
    event = make_room(conn)
    fans = [
        codes.typed(one) for one in operating.issue_codes(conn, "gig", OLGA, label="fans", count=3, uses=2)
    ]
    [press] = operating.issue_codes(conn, "gig", OLGA, label="press", count=1)
    before = join(conn, event, shows("ann", fans[0]), shows("bob", fans[1]))
    assert revoke(conn, label=" fans ") == [codes.RevokedCodes("fans", 3, 4)]
    answers = join(conn, event, shows("ann", fans[0]), shows("cat", fans[0]), shows("dan", fans[2]))
    assert (answers["ann"], answers["cat"].code, answers["dan"].code) == (
        before["ann"], "code_revoked", "code_revoked",
    )  # fmt: skip
    assert "join without it" in str(answers["cat"])
    assert join(conn, event, shows("eve", codes.typed(press)), "cat")["eve"].lane is Lane.PRIORITY
    begin_sale(conn, event)
    assert sorted(line(conn, event, "priority")) == ["ann", "bob", "eve"]
    assert line(conn, event) == ["cat"]
    by_label = {row.label: row for row in codes.issued(conn, event)}
    assert by_label["fans"] == codes.Issued("fans", 3, 2, 6, 3, 4)
    assert by_label["press"] == codes.Issued("press", 1, 1, 1, 0, 0)


def test_a_code_is_revoked_once_who_joins_by_it_is_done(conn):
    """What they use of it is used; a revocation in the middle would tell one that was left."""
    event = make_room(conn)
    new_code(conn, uses=2)
    done = []

    def change():
        with psycopg.connect(url_of(conn), autocommit=True) as own:
            done.extend(revoke(own, label="fans"))

    thread = threading.Thread(target=change)
    with psycopg.connect(url_of(conn)) as first:
        first.execute(joining.LOCK, {"event": event})
        thread.start()
        until_waiting(conn, 1)
        first.execute("UPDATE room_code SET uses = 1")
    thread.join()
    assert done == [codes.RevokedCodes("fans", 1, 1)]


def test_single_codes_are_revoked_all_or_none(conn):
    event = make_room(conn)
    told = operating.issue_codes(conn, "gig", OLGA, label="fans", count=3)
    told += operating.issue_codes(conn, "gig", OLGA, label="press", count=1)
    code, story = refusal(revoke, conn, shown=[told[0], "0000-0000-0000-0000", told[1]])
    assert code == "unknown_code"
    assert "the first is number 2" in story
    code, story = refusal(revoke, conn, shown=[told[0], "my code"])
    assert (code, "Number 2" in story, "my code" in story) == ("code_not_valid", True, False)
    assert sum(row.revoked for row in codes.issued(conn, event)) == 0
    done = revoke(conn, shown=[told[0].lower(), told[3], told[3]])
    assert done == [codes.RevokedCodes("fans", 1, 1), codes.RevokedCodes("press", 1, 1)]
    answers = join(conn, event, shows("ann", codes.typed(told[0])), shows("bob", codes.typed(told[1])))
    assert (answers["ann"].code, answers["bob"].lane) == ("code_revoked", Lane.PRIORITY)
    assert revoke(conn, shown=[told[0], told[2]]) == [codes.RevokedCodes("fans", 1, 1)]


def test_another_events_codes_are_not_revoked(conn):
    make_room(conn)
    other = make_room(conn, "other")
    theirs = operating.issue_codes(conn, "other", OLGA, label="fans", count=1)
    assert refusal(revoke, conn, label="fans")[0] == "unknown_label"
    assert refusal(revoke, conn, shown=theirs)[0] == "unknown_code"
    new_code(conn)
    revoke(conn, label="fans")
    assert join(conn, other, shows("ann", codes.typed(theirs[0])))["ann"].lane is Lane.PRIORITY


def test_what_cannot_be_revoked_is_refused_and_leaves_no_row(conn):
    event = make_room(conn)
    code = new_code(conn)
    join(conn, event, shows("ann", codes.invitation("1")))
    before = audit.read(conn, event)
    assert refusal(revoke, conn)[0] == "invalid_codes"
    assert refusal(revoke, conn, label="fans", shown=["7K2M-Q9RT-X4WD-0HJN"])[0] == "invalid_codes"
    assert refusal(revoke, conn, label="nobody")[0] == "unknown_label"
    assert "until when they are good" in refusal(revoke, conn, label="invitation")[1]
    with pytest.raises(BadRequest):
        codes.revoke(conn, event, [code] * (codes.COUNT_MAX + 1))
    assert audit.read(conn, event) == before
    revoke(conn, label="fans")
    assert refusal(revoke, conn, label="fans")[0] == "codes_revoked"
    [row] = audit.read(conn, event)[: -len(before)]
    assert (row.who, row.why) == (OLGA.who, OLGA.why)
    assert row.what == {"change": "revoke codes", "revoked": [{"label": "fans", "codes": 1, "uses": 1}]}


def test_of_however_many_uses_the_sum_is_told(conn):
    make_room(conn)
    operating.issue_codes(conn, "gig", OLGA, label="all", count=3_000, uses=codes.USES_MAX)
    assert revoke(conn, label="all") == [codes.RevokedCodes("all", 3_000, 3_000_000_000)]
