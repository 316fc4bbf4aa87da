"""Leaving the waiting list, and reading who waits for what at which place."""

from __future__ import annotations

import asyncio
import json

import psycopg
import pytest

from store import events, waiting
from store.errors import Conflicted, NotFound
from store.venues.rows import save_venue
from store.words import EventState, HoldState
from tests.allocator.waiting import WAITING
from tests.gateway.rig import until
from tests.store.test_holds import GIVE_HOLD, PLAN, change, url_of

PAIR = {"best": {"quantity": 2}, "waitlist": True}


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def make_event(conn, slug="gig"):
    number = events.create_event(conn, slug, "The gig", save_venue(conn, "arena", PLAN), PLAN)
    events.set_state(conn, slug, EventState.OPEN)
    conn.execute("DELETE FROM fact")
    return number


@pytest.fixture
def event(conn):
    return make_event(conn)


def wait(conn, event, position, buyer="ann", request_id="r1", *, want=PAIR, state="waiting", hold_id=None):
    """What an allocator writes when it puts a request on the list; its `WaitId`."""
    wait_id = 1 << 16 | position
    conn.execute(
        "INSERT INTO waiting (event_id, wait_id, buyer, request_id, state, hold_id)"
        " VALUES (%s, %s, %s, %s, %s, %s)", (event, wait_id, buyer, request_id, state, hold_id),
    )  # fmt: skip
    conn.execute(
        "INSERT INTO ledger (event_id, batch_no, position, kind, arrival, buyer, request_id, input, outcome,"
        " result) VALUES (%s, 1, %s, 'request', '1-1', %s, %s, %s, 'waitlisted', '{}')",
        (event, position, buyer, request_id, json.dumps(want)),
    )
    return wait_id


def offer(
    conn,
    event,
    position,
    hold_id=5 << 16,
    buyer="ann",
    request_id="r1",
    *,
    kind="offer",
    seconds=60,
    seats=(3,),
):
    """An entry that was offered a hold, and the hold."""
    values = {"event": event, "hold": hold_id, "buyer": buyer, "request": request_id, "seats": list(seats)}
    values |= {"quantity": len(seats), "seconds": seconds, "kind": kind, "result": f'{{"hold":"{hold_id}"}}'}
    for statement in GIVE_HOLD.split(";")[:-1]:
        conn.execute(statement, values)
    conn.execute(
        "INSERT INTO ledger (event_id, batch_no, position, kind, buyer, request_id, input, outcome, result)"
        " VALUES (%(event)s, %(hold)s::bigint >> 16, 0, %(kind)s, %(buyer)s, %(request)s, '{}', 'offered',"
        " %(result)s)",
        values,
    )
    return wait(conn, event, position, buyer, request_id, state="offered", hold_id=hold_id)


def leave(conn, event, buyer="ann", request_id="r1"):
    async def run(own, event_id, request_id, buyer, _):
        return await waiting.leave(own, event_id, buyer, request_id)

    return change(conn, run, event, buyer, request_id)


def line(conn, event, *buyers):
    async def run():
        async with await psycopg.AsyncConnection.connect(url_of(conn), autocommit=True) as own:
            return await waiting.line(own, event, buyers)

    return asyncio.run(run())


def states(conn):
    return dict(conn.execute("SELECT wait_id & 65535, state FROM waiting").fetchall())


def facts(conn):
    return conn.execute("SELECT event_id, kind, hold_id, body FROM fact ORDER BY id").fetchall()


def test_who_leaves_is_off_the_list_and_the_allocator_is_told_once(conn, event):
    wait_id = wait(conn, event, 0)
    wait(conn, event, 1, "bob")
    for _ in range(2):
        leave(conn, event)
    assert states(conn) == {0: "left", 1: "waiting"}
    assert facts(conn) == [(event, "left", None, {"wait": str(wait_id)})]
    assert line(conn, event, "ann") == waiting.Line(1, {"ann": []})


@pytest.mark.parametrize(("buyer", "request_id"), [("bob", "r1"), ("ann", "r9")])
def test_only_ones_own_request_is_taken_off(conn, event, buyer, request_id):
    wait(conn, event, 0)
    with pytest.raises(NotFound) as refusal:
        leave(conn, event, buyer, request_id)
    assert refusal.value.code == "not_waiting"
    assert (states(conn), facts(conn)) == ({0: "waiting"}, [])


def test_ones_other_requests_and_other_events_stay_on_the_list(conn, event):
    twin = make_event(conn, "gig-2")
    wait(conn, event, 0)
    wait(conn, event, 1, request_id="r2")
    wait(conn, twin, 2)
    leave(conn, event)
    assert states(conn) == {0: "left", 1: "waiting", 2: "waiting"}
    assert len(facts(conn)) == 1


def test_who_was_offered_something_cannot_leave_and_hears_which_hold(conn, event):
    offer(conn, event, 0)
    with pytest.raises(Conflicted, match=f"hold {5 << 16}") as refusal:
        leave(conn, event)
    assert refusal.value.code == "offered"
    assert (states(conn), facts(conn)) == ({0: "offered"}, [])


def test_the_statement_itself_takes_off_only_what_waits(conn, event):
    offer(conn, event, 0)
    values = {"event": event, "buyer": "ann", "request": "r1"}
    assert conn.execute(waiting.LEAVE, values).fetchall() == []
    assert conn.execute(waiting.READ_ENTRY, values | {"event": event + 1}).fetchall() == []


def test_an_offer_of_the_same_moment_goes_first(conn, event, database_url):
    """Leaving waits for the row's lock and then finds that it was offered something."""
    wait(conn, event, 0)

    async def run():
        async with (
            await psycopg.AsyncConnection.connect(database_url) as allocator,
            await psycopg.AsyncConnection.connect(database_url, autocommit=True) as own,
        ):
            await allocator.execute("UPDATE waiting SET state = 'offered', hold_id = 7")
            leaving = asyncio.create_task(waiting.leave(own, event, "ann", "r1"))
            await until(lambda: conn.execute(WAITING).fetchone() != (0,))
            await allocator.commit()
            with pytest.raises(Conflicted, match="hold 7"):
                await leaving

    asyncio.run(run())
    assert facts(conn) == []


def test_places_count_who_waits_before_and_one_look_serves_many(conn, event):
    wait(conn, event, 3, "bob")
    wait(conn, event, 9, "ann", "r9")
    wait(conn, event, 1, "eve", state="left")
    offer(conn, event, 0, buyer="cat")
    wait(conn, event, 5, "ann", "r5")
    wait(conn, make_event(conn, "gig-2"), 2, "dan")
    seen = line(conn, event, "ann", "bob", "nobody")
    assert seen.of == 3
    assert {
        buyer: [(entry.request_id, entry.place, entry.offer) for entry in entries]
        for buyer, entries in seen.entries.items()
    } == {"ann": [("r5", 2, None), ("r9", 3, None)], "bob": [("r1", 1, None)], "nobody": []}
    assert json.loads(seen.entries["bob"][0].want or "") == PAIR


def test_what_was_offered_is_told_with_its_hold_as_it_is_now(conn, event):
    offer(conn, event, 0)
    conn.execute("UPDATE hold SET extensions = 1")
    [entry] = line(conn, event, "ann").entries["ann"]
    ends = conn.execute("SELECT (extract(epoch FROM expires_at) * 1000000)::bigint FROM hold").fetchone()[0]
    assert (entry.place, entry.offer) == (
        None, waiting.Offer(5 << 16, entry.offer.result, HoldState.ACTIVE, ends, 0),
    )  # fmt: skip
    assert json.loads(entry.offer.result)["hold"] == str(5 << 16)


def test_of_another_event_nothing_is_seen(conn, event):
    twin = make_event(conn, "gig-2")
    wait(conn, event, 4, want={"seats": ["here"]})
    offer(conn, event, 3, hold_id=7 << 16, request_id="r3")
    conn.execute("UPDATE hold SET state = 'released'")
    offer(conn, twin, 3, hold_id=7 << 16, request_id="r3")
    wait(conn, twin, 4, request_id="r4", want={"seats": ["there"]})
    seen = line(conn, twin, "ann")
    assert (seen.of, [entry.wait_id & 65535 for entry in seen.entries["ann"]]) == (1, [3, 4])
    assert seen.entries["ann"][0].offer.state is HoldState.ACTIVE
    assert seen.entries["ann"][1].want == '{"seats": ["there"]}'


def test_only_an_offers_row_is_told_as_an_offer(conn, event):
    offer(conn, event, 7, kind="fact")
    [entry] = line(conn, event, "ann").entries["ann"]
    assert entry.offer.result is None


def test_a_very_long_wish_is_not_told_with_each_place(conn, event):
    wait(conn, event, 0, want={"seats": ["x" * 60] * 50})
    assert line(conn, event, "ann").entries["ann"][0].want is None


def test_of_many_entries_those_that_wait_are_told_and_the_newest_offers(conn, event):
    for number in range(4):
        wait(conn, event, number, request_id=f"w{number}")
    for number in range(4, 20):
        offer(conn, event, number, number << 16, request_id=f"o{number}", seats=(number,))
    told = [entry.request_id for entry in line(conn, event, "ann").entries["ann"]]
    assert told == [f"w{n}" for n in range(4)] + [f"o{n}" for n in range(12, 20)]


def test_who_is_asked_for_is_asked_for_in_bounded_pieces():
    buyers = [f"b{number}" for number in range(2 * waiting.BUYERS_MAX + 1)]
    pieces = list(waiting.chunks(buyers))
    assert [len(piece) for piece in pieces] == [waiting.BUYERS_MAX, waiting.BUYERS_MAX, 1]
    assert [buyer for piece in pieces for buyer in piece] == buyers
