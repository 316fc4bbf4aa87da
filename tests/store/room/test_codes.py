"""Codes and invitations: so many places in the priority lane, and not one more or less."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from store import events
from store.errors import BadRequest, Conflicted, NotFound
from store.room import ballot, codes, draw, joining, operating
from store.room.joining import Joining
from store.room.words import Lane, Place, RoomPolicy
from store.words import EventState
from tests.store.room.rooming import (
    ADMITTED,
    DID_NOT_BEGIN,
    OLGA,
    begin_sale,
    join,
    line,
    make_room,
    set_place,
)
from tests.store.test_holds import url_of


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def new_code(conn, uses=1, slug="gig"):
    [code] = operating.issue_codes(conn, slug, OLGA, label="fans", count=1, uses=uses)
    return codes.typed(code)


def uses(conn):
    return [used for (used,) in conn.execute("SELECT uses FROM room_code ORDER BY created_at").fetchall()]


def shows(buyer, code):
    return Joining(buyer, code=code)


def test_codes_are_told_once_and_only_their_hashes_are_kept(conn):
    make_room(conn)
    told = operating.issue_codes(conn, "gig", OLGA, label="fans", count=50)
    assert len(set(told)) == 50
    rows = conn.execute("SELECT code_sha256, row_to_json(room_code)::text FROM room_code").fetchall()
    assert {bytes(hashed) for hashed, _ in rows} == {codes.typed(code).sha256 for code in told}
    everything = " ".join(text for _, text in rows)
    everything += str(conn.execute("SELECT array_agg(what::text) FROM audit").fetchall())
    assert not any(code in everything or code.replace("-", "") in everything for code in told)


def test_a_code_is_known_however_it_is_typed(conn):
    plain = codes.typed("01AB-CDEF-0123-4567")
    for typed in ("01abcdef01234567", " oiab cdef-o123 4567 ", "0LAB-CDEF-OL23-4567"):
        assert codes.typed(typed) == plain
    for typed in ("", "01AB", "01AB-CDEF-0123-456U", "é" * 16, "0" * 100_000):
        with pytest.raises(BadRequest) as refusal:
            codes.typed(typed)
        assert refusal.value.code == "code_not_valid"


@pytest.mark.parametrize(
    "wrong", [{"count": 0}, {"count": 10_001}, {"uses": 0}, {"uses": 1_000_001}, {"label": " "},
              {"label": "x" * 101}, {"label": "a\x00"}, {"label": "invitation"}],
)  # fmt: skip
def test_what_cannot_be_made_is_refused(conn, wrong):
    make_room(conn)
    with pytest.raises(BadRequest) as refusal:
        operating.issue_codes(conn, "gig", OLGA, **({"label": "fans", "count": 1} | wrong))
    assert refusal.value.code == "invalid_codes"
    assert uses(conn) == []


def test_a_code_lets_into_the_priority_lane_and_a_repeat_uses_no_more(conn):
    event = make_room(conn)
    code = new_code(conn, uses=2)
    for _ in range(3):
        assert join(conn, event, shows("ann", code))["ann"].lane is Lane.PRIORITY
    assert uses(conn) == [1]
    begin_sale(conn, event)
    assert join(conn, event, shows("bob", code), "cat")["bob"].position == 2
    assert (line(conn, event, "priority"), line(conn, event), uses(conn)) == (["ann", "bob"], ["cat"], [2])


def test_who_is_refused_by_their_code_has_no_place_and_the_others_have(conn):
    event = make_room(conn)
    code = new_code(conn, uses=2)
    buyers = [shows(name, code) for name in ("ann", "bob", "cat")]
    unknown = codes.typed("0000-0000-0000-0000")
    answers = join(conn, event, *buyers, shows("dan", unknown), "eve")
    assert [type(answers[name]) for name in ("ann", "bob", "cat", "dan", "eve")] == [
        Place, Place, Conflicted, NotFound, Place,
    ]  # fmt: skip
    assert (answers["cat"].code, answers["dan"].code) == ("code_used", "unknown_code")
    held = conn.execute("SELECT buyer, lane FROM place ORDER BY buyer").fetchall()
    assert held == [("ann", "priority"), ("bob", "priority"), ("eve", "ordinary")]


def test_a_code_is_of_one_event(conn):
    event = make_room(conn)
    make_room(conn, "other")
    refused = join(conn, event, shows("ann", new_code(conn, slug="other")))["ann"]
    assert refused.code == "unknown_code"
    assert uses(conn) == [0]


def test_who_joined_before_they_found_their_code_keeps_their_place_and_changes_lanes(conn):
    event = make_room(conn)
    before = join(conn, event, "ann", "bob")["ann"]
    after = join(conn, event, shows("ann", new_code(conn)))["ann"]
    assert (after.id, after.lane) == (before.id, Lane.PRIORITY)
    begin_sale(conn, event)
    assert (line(conn, event), line(conn, event, "priority")) == (["bob"], ["ann"])


@pytest.mark.parametrize("drawn", [True, False])
def test_who_stands_in_line_gives_that_up_for_the_priority_lane(conn, drawn):
    """Ordinary positions stay as they are: a row of the line is never changed."""
    event = make_room(conn)
    join(conn, event, "ann", "bob")
    if drawn:
        begin_sale(conn, event)
    else:
        events.set_state(conn, "gig", EventState.OPEN)
    assert join(conn, event, shows("ann", new_code(conn)))["ann"].position == 1
    states = conn.execute("SELECT lane, state FROM place WHERE buyer = 'ann' ORDER BY lane").fetchall()
    assert states == [("ordinary", "left"), ("priority", "waiting")]
    if not drawn:
        assert draw.draw(conn, event)
    assert set(line(conn, event)) == {"ann", "bob"}


def test_a_code_that_gives_nothing_is_not_used(conn):
    """Who is inside, or comes back to where they stood, has no better place to gain."""
    event = make_room(conn, policy=RoomPolicy.FIFO, state=EventState.OPEN)
    join(conn, event, "ann", "bob", "cat")
    set_place(conn, event, "ann", **ADMITTED)
    set_place(conn, event, "bob", **DID_NOT_BEGIN)
    for _ in range(2):
        answers = join(conn, event, *[shows(name, new_code(conn)) for name in ("ann", "bob")])
        assert {place.lane for place in answers.values()} == {Lane.ORDINARY}
        assert answers["bob"].position == 2
    assert uses(conn) == [0, 0, 0, 0]


@pytest.mark.parametrize("drawn", [False, True])
def test_while_a_ballot_is_decided_a_code_costs_nobody_their_wish(conn, drawn):
    event = make_room(conn, ballot=True)
    before = join(conn, event, "ann")["ann"]
    conn.execute("INSERT INTO ballot_wish VALUES (%s, %s, %s, '{}')", (before.id, event, before.buyer))
    code = new_code(conn, uses=9)
    events.set_state(conn, "gig", EventState.OPEN)
    if drawn:
        draw.draw(conn, event)
    answers = join(conn, event, shows("ann", code), shows("bob", code))
    assert (answers["ann"].id, answers["ann"].lane) == (before.id, Lane.ORDINARY)
    assert answers["bob"].lane is Lane.PRIORITY
    assert uses(conn) == [1]
    draw.draw(conn, event)
    assert [wish.buyer for wish in ballot.next_wishes(conn, event, ballot.FIRST, 9)] == ["ann"]
    assert ballot.end(conn, event)
    assert join(conn, event, shows("ann", code))["ann"].lane is Lane.PRIORITY


def test_a_join_that_fails_uses_no_code(conn):
    event = make_room(conn)
    code = new_code(conn)
    events.set_state(conn, "gig", EventState.OPEN)
    events.set_state(conn, "gig", EventState.CLOSED)
    with pytest.raises(Conflicted):
        join(conn, event, shows("ann", code))
    assert uses(conn) == [0]


def test_an_invitation_is_used_once_by_whoever_comes_first(conn):
    event = make_room(conn)
    signed = codes.invitation("jti-1")
    answers = join(
        conn, event, shows("ann", signed), shows("bob", signed), shows("eve", codes.invitation("2"))
    )
    assert (answers["ann"].lane, answers["bob"].code, answers["eve"].lane) == (
        Lane.PRIORITY, "code_used", Lane.PRIORITY,
    )  # fmt: skip
    assert join(conn, event, shows("ann", signed))["ann"].id == answers["ann"].id
    [row] = codes.issued(conn, event)
    assert (row.label, row.codes, row.uses, row.uses_max) == ("invitation", 2, 2, 2)
    assert conn.execute("SELECT count(*) FROM place WHERE code_sha256 = %s", (signed.sha256,)).fetchone() == (
        1,
    )


def test_the_last_use_of_a_code_is_one_buyers_however_many_want_it_at_once(conn):
    event = make_room(conn)
    code = new_code(conn, uses=5)

    async def one(number):
        async with await psycopg.AsyncConnection.connect(url_of(conn), autocommit=True) as own:
            mine = [shows(f"b{number}-{turn}", code) for turn in range(3)]
            return (await joining.join(own, event, mine)).values()

    async def run():
        return await asyncio.gather(*[one(number) for number in range(6)])

    answers = [answer for some in asyncio.run(run()) for answer in some]
    assert sum(isinstance(answer, Place) for answer in answers) == 5
    assert {answer.code for answer in answers if not isinstance(answer, Place)} == {"code_used"}
    assert uses(conn) == [5]
    assert conn.execute("SELECT count(*) FROM place WHERE lane = 'priority'").fetchone() == (5,)


def test_of_however_many_uses_the_sum_is_told(conn):
    event = make_room(conn)
    operating.issue_codes(conn, "gig", OLGA, label="all", count=3_000, uses=codes.USES_MAX)
    assert codes.issued(conn, event)[0].uses_max == 3_000_000_000
