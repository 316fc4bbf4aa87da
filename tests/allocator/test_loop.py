"""The batch loop on real engines: what a batch costs, what it writes, and in which order it decides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from store.database import connect
from store.errors import Fenced
from store.events import set_policy
from store.stream.port import REQUEST
from store.wire import (
    decision_frame,
    decisions_channel,
    decode_delta,
    decode_published,
    seats_channel,
    stream_key,
)
from store.words import EventState, Want
from tests.allocator.house import (
    SLUG,
    Owner,
    best,
    change_event,
    check_laws,
    entry,
    open_event,
    owner_of,
    plan_of,
    seats,
    snapshot,
    wire_of,
)


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    with owner_of(database_url, redis_url) as made:
        yield made
        check_laws(database_url, made.event_id)


def batches(owner: Owner) -> int:
    [(count,)] = owner.query("SELECT count(*) FROM ledger_batch WHERE event_id = %s", owner.event_id)
    return int(count)


def test_a_batch_of_any_size_is_one_transaction_of_few_round_trips(owner):
    costs = []
    for size in (1, 8, 32):
        owner.append([entry(f"b{size}-{n}", "r1", best(1)) for n in range(size)])
        before = batches(owner)
        with wire_of(owner.conn) as seen:
            owner.loop.turn()
        costs.append((seen["ReadyForQuery"], seen["CopyDone"], batches(owner) - before))
    # BEGIN with the fence, the COPY, the conditional writes, the COMMIT
    assert costs == [(4, 1, 1)] * 3


def test_what_arrived_together_is_decided_together_in_order_of_arrival(owner):
    before = batches(owner)
    asked = [entry(f"b{n}", "r1", seats("A-1")) for n in range(5)]
    assert owner.outcomes(*asked) == ["held", "taken", "taken", "taken", "taken"]
    assert batches(owner) == before + 1
    assert [row[3] for row in owner.ledger() if row[1] == "request"] == ["b0", "b1", "b2", "b3", "b4"]


def test_a_backlog_is_decided_in_full_batches_in_order_and_each_request_once(database_url, redis_url):
    event = open_event(database_url, plan_of())
    owner = Owner(database_url, redis_url, event, batch_size_max=4)
    owner.settle_down()
    before = batches(owner)
    arrivals = owner.append([entry(f"b{n}", "r1", best(1)) for n in range(10)])
    for _ in range(3):
        owner.loop.turn()
    requests = [row for row in owner.ledger() if row[1] == "request"]
    assert [row[2] for row in requests] == arrivals
    assert batches(owner) == before + 3
    owner.close()
    check_laws(database_url, event)


def test_a_decision_is_rows_for_hold_seats_places_history_and_ledger(owner):
    want = Want(seats=("A-1", "A-2"), areas={"floor": 3})
    [(outcome, _)] = owner.ask(entry("ann", "r1", want))
    assert outcome == "held"
    hold_id = owner.hold_of("ann")
    event = owner.event_id
    assert owner.query("SELECT seat_no, state, hold_id FROM seat WHERE state <> 'available' ORDER BY 1") == [
        (0, "held", hold_id),
        (1, "held", hold_id),
    ]
    assert owner.query("SELECT event_id, seat_no, hold_id FROM hold_seat ORDER BY 2") == [
        (event, 0, hold_id),
        (event, 1, hold_id),
    ]
    assert owner.query("SELECT hold_id, area_no, quantity FROM hold_area") == [(hold_id, 0, 3)]
    assert owner.query("SELECT held, sold, blocked FROM area") == [(3, 0, 0)]
    assert owner.query("SELECT buyer, request_id, state, quantity FROM hold") == [("ann", "r1", "active", 5)]
    history = owner.query("SELECT seat_no, state, hold_id, by FROM seat_history ORDER BY 1")
    assert history == [(0, "held", hold_id, "allocator"), (1, "held", hold_id, "allocator")]
    [(batch_time, expires)] = owner.query(
        "SELECT (extract(epoch FROM batch_time) * 1000000)::bigint,"
        "       (extract(epoch FROM expires_at) * 1000000)::bigint"
        " FROM ledger_batch JOIN hold USING (event_id) WHERE batch_no = hold_id >> 16"
    )
    assert expires - batch_time == 480_000_000
    assert expires == owner.memory.holds[hold_id].expires_at


def test_the_cursor_stands_at_the_last_arrival_and_the_stream_is_trimmed_to_it(owner):
    arrivals = owner.append([entry("ann", "r1", seats("A-1")), entry("bob", "r1", seats("A-2"))])
    owner.loop.turn()
    [(arrival, batch_no)] = owner.query("SELECT arrival, batch_no FROM event_cursor")
    assert arrival == arrivals[-1] == owner.loop.cursor.arrival
    assert batch_no == owner.loop.cursor.batch_no == owner.memory.batch_no
    owner.loop.attend()
    assert owner.redis.xlen(stream_key(SLUG)) == 0


def test_a_repeat_gets_the_same_answer_from_the_ledger_and_no_second_row(owner):
    asked = entry("ann", "r1", seats("A-1"))
    [first] = owner.ask(asked)
    owner.ask(entry("bob", "r1", seats("A-2")))
    rows = owner.ledger()
    with owner.redis.pubsub(ignore_subscribe_messages=True) as listening:
        listening.subscribe(decisions_channel(SLUG, "g1"))
        listening.get_message(timeout=30)
        assert owner.ask(asked) == [first]
        heard = listening.get_message(timeout=30)
    arrival = next(row[2] for row in rows if row[3] == "ann")
    assert heard is not None
    assert decode_published(heard["data"]) == [("ann", "r1", decision_frame("r1", arrival, *first))]
    assert owner.ledger() == rows


def test_other_content_under_the_same_key_is_a_conflict_and_the_first_decision_stands(owner):
    [first] = owner.ask(entry("ann", "r1", seats("A-1")))
    assert owner.outcomes(entry("ann", "r1", seats("A-2"))) == ["conflict"]
    assert owner.outcomes(entry("ann", "r1", seats("A-3"))) == ["conflict"]
    rows = owner.ledger()
    owner.ask(entry("ann", "r1", seats("A-1")))
    assert owner.ledger() == rows
    assert [row[4] for row in rows if row[3] == "ann"] == ["held", "conflict", "conflict"]
    assert first[0] == "held"


def test_twice_the_same_in_one_batch_is_decided_once_and_answered_twice(owner):
    asked = entry("ann", "r1", seats("A-1"))
    with owner.redis.pubsub(ignore_subscribe_messages=True) as listening:
        listening.subscribe(decisions_channel(SLUG, "g1"))
        listening.get_message(timeout=30)
        owner.ask(asked, asked)
        heard = listening.get_message(timeout=30)
    assert heard is not None
    assert len(decode_published(heard["data"])) == 2
    assert [row[4] for row in owner.ledger() if row[3] == "ann"] == ["held"]


def test_what_nobody_can_read_is_invalid_in_the_ledger_and_holds_up_nobody(owner):
    bad = [b"not json", b'["ann","\\u0000",{"seats":["A-1"]},"g1"]', b'["ann","r0",{"seats":\t["A-1"]},"g1"]']
    arrivals = owner.append([*bad, entry("bob", "r1", seats("A-1"))])
    owner.loop.turn()
    rows = [row for row in owner.ledger() if row[1] == "request"]
    assert [row[4] for row in rows] == ["invalid", "invalid", "invalid", "held"]
    assert [row[2] for row in rows] == arrivals


def test_what_nobody_can_read_is_decided_once_even_when_it_is_read_again(owner, monkeypatch):
    owner.append([b"not json"])
    before = owner.loop.cursor
    monkeypatch.setattr(owner.arrivals, "publish", lambda messages, **trim: True)
    owner.loop.turn()
    owner.loop.cursor = owner.loop.cursor._replace(arrival=before.arrival)
    owner.ask(entry("bob", "r1", seats("A-1")))
    assert [row[4] for row in owner.ledger() if row[1] == "request"] == ["invalid", "held"]


def test_facts_are_consumed_before_requests_and_free_their_seats_for_them(owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.release("ann")
    assert owner.outcomes(entry("bob", "r1", seats("A-1"))) == ["held"]
    assert [row[1:2] + row[4:] for row in owner.ledger()][-2:] == [("fact", "released"), ("request", "held")]
    assert owner.query("SELECT * FROM fact") == []


def test_a_paid_hold_is_an_order_that_does_not_run_out(owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.confirm("ann")
    owner.settle_down()
    assert owner.memory.next_expiry() is None
    assert owner.outcomes(entry("bob", "r1", seats("A-1"))) == ["taken"]


def test_a_hold_that_ran_out_is_freed_in_every_table_and_goes_to_the_next(owner):
    owner.ask(entry("ann", "r1", Want(seats=("A-1", "A-2"), areas={"floor": 6})))
    hold_id = owner.hold_of("ann")
    owner.make_holds_old()
    assert owner.outcomes(entry("bob", "r1", Want(seats=("A-1",), areas={"floor": 6}))) == ["held"]
    assert owner.query("SELECT state FROM hold WHERE hold_id = %s", hold_id) == [("expired",)]
    assert owner.query("SELECT seat_no FROM hold_seat ORDER BY 1") == [(0,)]
    assert owner.query("SELECT seat_no, hold_id FROM seat_history WHERE by = 'expiry' ORDER BY 1") == [
        (0, hold_id),
        (1, hold_id),
    ]
    assert [row[1] for row in owner.ledger()][-2:] == ["expired", "request"]


def test_a_hold_runs_out_without_any_arrival(owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    owner.make_holds_old()
    owner.loop.turn()
    assert owner.memory.holds == {}
    assert owner.query("SELECT count(*) FROM seat WHERE state <> 'available'") == [(0,)]


def test_an_idle_turn_without_anything_to_do_writes_no_batch(owner):
    before = batches(owner)
    owner.loop.tick()
    assert batches(owner) == before


def test_a_new_policy_counts_from_the_next_batch_on(owner):
    with connect(owner.database_url, "operator") as conn:
        set_policy(conn, SLUG, seats_per_buyer_max=1, hold_ttl_seconds=60)
    assert owner.outcomes(
        entry("ann", "r1", seats("A-1", "A-2")),
        entry("ann", "r2", seats("A-1")),
        entry("ann", "r3", seats("A-2")),
    ) == ["limit_reached", "held", "limit_reached"]
    [(seconds,)] = owner.query(
        "SELECT extract(epoch FROM expires_at - batch_time)::int FROM hold JOIN ledger_batch USING (event_id)"
        " WHERE batch_no = hold_id >> 16"
    )
    assert seconds == 60


def test_a_closed_event_answers_closed_and_its_holds_still_run_out(owner):
    owner.ask(entry("ann", "r1", seats("A-1")))
    change_event(owner.database_url, EventState.CLOSED)
    assert owner.outcomes(entry("bob", "r1", seats("A-2"))) == ["closed"]
    owner.make_holds_old()
    owner.loop.turn()
    assert owner.memory.holds == {}


def test_the_map_hears_of_each_batch_that_is_true(owner):
    with owner.redis.pubsub(ignore_subscribe_messages=True) as listening:
        listening.subscribe(seats_channel(SLUG))
        listening.get_message(timeout=30)
        owner.ask(entry("ann", "r1", Want(seats=("A-1",), areas={"floor": 3})))
        heard = listening.get_message(timeout=30)
    assert heard is not None
    delta = decode_delta(heard["data"])
    assert (delta.batch_no, delta.batch_time) == (owner.memory.batch_no, owner.memory.batch_time)
    assert delta.held == [(0, owner.memory.holds[owner.hold_of("ann")].expires_at)]
    assert delta.areas == [(0, 17)]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE event_cursor SET epoch = epoch + 1",
        "UPDATE event_cursor SET owner = gen_random_uuid()",
        "UPDATE event_cursor SET batch_no = batch_no + 1",
    ],
    ids=["epoch", "owner", "batch"],
)
def test_an_owner_that_lost_the_event_writes_nothing_more(database_url, redis_url, change):
    with owner_of(database_url, redis_url) as owner:
        owner.query_nothing(change)
        before, rows = snapshot(owner.memory), owner.ledger()
        owner.append([entry("ann", "r1", seats("A-1"))])
        with pytest.raises(Fenced):
            owner.loop.turn()
        assert owner.ledger() == rows
        assert owner.query("SELECT * FROM hold") == []
        assert snapshot(owner.memory) == before


def test_an_entry_is_readable_by_an_operator_with_xrange(owner):
    owner.append([entry("ann", "r1", seats("A-1"))])
    last = owner.redis.xrevrange(stream_key(SLUG), count=1)
    assert last[0][1] == {REQUEST: b'["ann","r1",{"seats":["A-1"]},"g1",""]'}
    owner.loop.turn()
