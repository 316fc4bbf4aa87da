"""The keeper of a waiting room on the real engines: it draws, admits at the pace, and ends places."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from allocator.admission import Called
from allocator.keeper import Steps
from store import events
from store.database import connect
from store.errors import ShortWrite
from store.room import admitting, draw, entering
from store.room.words import Lane
from store.stream.port import REQUEST
from store.wire import stream_key
from store.words import EventState
from tests.allocator.kept import change, keeping


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def kept(conn, engine_urls):
    with keeping(conn, engine_urls) as make:
        yield make


# --- drawing ---


def test_before_the_sale_begins_nothing_is_done(kept):
    line = kept(pace=60)
    line.join("ann", "bob")
    line.step()
    assert line.room("drawn_at", "version") == (None, 0)


def test_when_it_begins_it_is_drawn_once_and_then_admits_by_rank(kept):
    line = kept(pace=6_000)
    line.join(*[f"b{n}" for n in range(20)])
    line.open()
    assert line.step() == 0
    seed = line.room("seed")
    ids = {line.place(buyer).id: buyer for buyer in line.states()}
    order = [ids[place] for place in sorted(ids, key=lambda place: draw.rank_of(bytes(seed), place))]
    assert line.order() == order
    line.step(0.1)
    assert sorted(line.called()) == sorted(order[:11])
    assert line.room("serving", "admitted") == (11, 11)
    assert line.order() == order


def test_two_who_draw_at_once_draw_once(kept):
    line = kept(pace=60)
    line.join("ann", "bob", "eve")
    line.open()
    other = line.steps()
    with connect(line.url, "holds the draw") as first, first.transaction():
        first.execute(draw.ONE_AT_A_TIME, {"event": line.event})
        assert other.step() > 0
        assert line.room("drawn_at") is None
    line.step()
    order = line.order()
    other.step()
    line.step()
    assert line.order() == order


def test_a_line_without_a_draw_is_admitted_as_they_came(kept):
    line = kept(policy="fifo", shopping_max=2)
    line.join("ann", "bob", "eve")
    line.open()
    line.step()
    line.step()
    assert line.called() == ["ann", "bob"]


def test_a_ballot_comes_between_the_draw_and_the_first_who_is_admitted(kept, conn):
    asked = []

    def ballot(own):
        asked.append(line.room("drawn_at"))
        if len(asked) < 3:
            return 0.02
        own.execute("UPDATE room SET ballot_ended_at = clock_timestamp()")
        return None

    line = kept(shopping_max=5, ballot=True)
    line.keeper = line.steps(ballot)
    line.join("ann")
    line.open()
    line.step()
    assert line.step() == 0.02
    line.step()
    assert line.called() == []
    line.step()
    assert asked[0] is not None
    line.step()
    assert line.called() == ["ann"]


def test_the_ballot_of_an_event_that_is_closed_goes_on(kept):
    """Whom it had not reached is told that it is closed. Nobody is admitted then."""
    asked = []

    def ballot(own):
        asked.append(own)
        return 0.02

    line = kept(shopping_max=5, ballot=True)
    line.keeper = line.steps(ballot)
    line.join("ann")
    line.open()
    events.set_state(line.conn, line.slug, EventState.CLOSED)
    line.step()
    assert line.step() == 0.02
    line.conn.execute("UPDATE room SET ballot_ended_at = clock_timestamp()")
    line.step()
    assert len(asked) == 1
    assert line.called() == []


# --- admitting ---


def test_the_pace_is_kept_to_and_who_is_called_is_told_by_when_to_begin(kept):
    line = kept(pace=60, begin_seconds=120)
    line.join(*[f"b{n}" for n in range(9)])
    line.drawn()
    line.step()
    assert len(line.called()) == 1
    line.step()
    assert len(line.called()) == 1
    line.step(2.0)
    assert len(line.called()) == 3
    line.step(600.0)
    assert len(line.called()) == 6
    place = line.place(line.order()[0])
    assert place.begin_by - place.admitted_at == 120_000_000
    assert line.order()[:6] == sorted(line.called(), key=line.order().index)


def test_one_goes_and_one_comes(kept):
    line = kept(policy="fifo", shopping_max=2)
    line.join("ann", "bob", "eve", "joe")
    line.drawn()
    line.step()
    assert line.called() == ["ann", "bob"]
    line.begin("ann", "bob")
    line.hold("ann", 1, "paid")
    line.buys("ann")
    line.step()
    line.step()
    assert line.states() == {"ann": "finished", "bob": "admitted", "eve": "admitted", "joe": "waiting"}
    assert line.room("reason") == "full_inside"
    line.leave("bob")
    line.step()
    assert line.called() == ["eve", "joe"]


def test_who_bought_and_holds_more_is_inside_until_that_is_over(kept):
    line = kept(policy="fifo", shopping_max=1)
    line.join("ann", "bob")
    line.drawn()
    line.step()
    line.begin("ann")
    line.hold("ann")
    line.buys("ann")
    for _ in range(3):
        line.step()
    assert line.called() == ["ann"]
    line.holds_end()
    line.step()
    assert line.states() == {"ann": "finished", "bob": "admitted"}


def test_what_was_bought_before_or_given_by_an_operator_ends_no_place(kept):
    line = kept(policy="fifo", shopping_max=2)
    line.join("ann", "bob")
    line.drawn()
    line.buys("ann")
    line.step()
    line.buys("bob", kind="complimentary")
    for _ in range(3):
        line.step()
    assert line.called() == ["ann", "bob"]
    assert line.room("told") == 2


def test_who_does_not_begin_in_time_gives_the_admission_back_and_returns_before_all_others(kept):
    line = kept(policy="fifo", pace=1, begin_seconds=60)
    line.join("ann", "bob", "eve", "joe")
    line.drawn()
    line.step()
    assert line.called() == ["ann"]
    line.conn.execute("UPDATE place SET begin_by = clock_timestamp() WHERE buyer = 'ann'")
    line.step()
    assert line.states() == {"ann": "expired", "bob": "admitted", "eve": "waiting", "joe": "waiting"}
    line.join("ann")
    assert line.place("ann").position == 1
    line.begin("bob")
    line.step(60.0)
    assert sorted(line.called()) == ["ann", "bob"]
    assert line.room("serving", "admitted") == (2, 2)


def test_of_those_who_were_called_in_one_moment_who_stands_before_is_called_again_before(kept):
    line = kept(policy="fifo", shopping_max=3, begin_seconds=60)
    line.join("ann", "bob", "eve")
    line.drawn()
    line.step()
    line.conn.execute("UPDATE place SET begin_by = clock_timestamp()")
    line.conn.execute("UPDATE room SET shopping_max = 1")
    line.step()
    for buyer in ("eve", "bob", "ann"):
        line.join(buyer)
    line.step()
    assert line.called() == ["ann"]


def test_who_had_their_time_is_at_the_end_of_it_unless_they_hold_or_pay(kept):
    line = kept(policy="fifo", shopping_max=3, shopping_seconds=60)
    line.join("ann", "bob", "eve")
    line.drawn()
    line.step()
    line.begin("ann", "bob", "eve")
    line.hold("bob")
    line.conn.execute(
        "INSERT INTO payment (event_id, hold_id, buyer, provider, state, currency, amount_minor, fee_minor,"
        " tax_minor, charged, quantity, seats)"
        " VALUES (%s, 7, 'eve', 'p', 'created', 'EUR', 1, 0, 0, '{}', 1, '{}')", (line.event,)
    )  # fmt: skip
    line.step(61.0, "ann", "bob", "eve")
    assert line.states() == {"ann": "expired", "bob": "admitted", "eve": "admitted"}
    line.holds_end()
    line.conn.execute("UPDATE payment SET state = 'canceled'")
    line.step()
    assert line.states() == {"ann": "expired", "bob": "expired", "eve": "expired"}


def test_the_lanes_take_turns(kept):
    line = kept(policy="fifo", shopping_max=4)
    line.join("o1", "o2", "o3", "o4")
    line.join("p1", "p2", "p3", lane=Lane.PRIORITY)
    line.drawn()
    line.step()
    assert sorted(line.called()) == ["o1", "o2", "p1", "p2"]
    assert line.room("serving", "serving_priority") == (2, 2)


def test_who_left_is_passed_over_and_takes_nobodys_turn(kept):
    line = kept(policy="fifo", shopping_max=2)
    line.join("ann", "bob", "eve", "joe", "kim")
    line.drawn()
    for buyer in ("ann", "eve"):
        line.leave(buyer)
    line.step()
    assert line.called() == ["bob", "joe"]
    assert line.room("serving") == 4
    line.leave("kim")
    line.leave("bob")
    line.step()
    assert line.called() == ["joe"]
    assert line.room("serving") == 5


def test_of_a_stretch_of_people_who_left_a_bounded_part_is_passed_over_at_once(kept, monkeypatch):
    monkeypatch.setattr(admitting, "GONE_MAX", 3)
    line = kept(policy="fifo", shopping_max=1)
    line.join(*[f"b{n}" for n in range(12)])
    line.drawn()
    line.conn.execute("UPDATE place SET state = 'left', ended_at = clock_timestamp() WHERE buyer <> 'b11'")
    reached = []
    while not line.called():
        line.step()
        reached.append(line.room("serving"))
    assert reached == [4, 8, 12]


def test_paused_nobody_is_called_and_who_is_inside_goes_on(kept):
    line = kept(policy="fifo", pace=6_000)
    line.join("ann", "bob", "eve")
    line.drawn()
    line.conn.execute("UPDATE room SET admission = 'paused'")
    line.step(30.0)
    assert line.called() == []
    assert line.room("reason") == "paused"
    line.conn.execute("UPDATE room SET admission = 'running'")
    line.step(1.0)
    assert line.called() == ["ann", "bob", "eve"]
    assert line.room("reason") is None
    line.begin("ann")
    line.buys("ann")
    line.conn.execute("UPDATE room SET admission = 'stopped'")
    line.step()
    line.step()
    assert line.states()["ann"] == "finished"
    assert line.room("reason") == "stopped"


def test_a_pause_that_comes_between_reading_and_writing_counts(kept):
    line = kept(policy="fifo", shopping_max=2)
    line.join("ann")
    line.drawn()
    standing = line.standing()
    line.conn.execute("UPDATE room SET admission = 'paused'")
    with pytest.raises(ShortWrite):
        admitting.write(line.own, line.event, standing, change(standing, called=[line.place("ann").id]))
    assert line.states() == {"ann": "waiting"}


def test_while_the_sale_is_paused_no_time_runs_out_and_it_comes_back(kept):
    line = kept(policy="fifo", shopping_max=2, begin_seconds=60)
    line.join("ann", "bob", "eve")
    line.drawn()
    line.step()
    line.begin("bob")
    events.set_state(line.conn, line.slug, EventState.PAUSED)
    line.conn.execute("UPDATE event SET paused_at = paused_at - interval '2 hours'")
    line.ago(7_200.0, "ann", "bob")
    before = {buyer: line.place(buyer) for buyer in ("ann", "bob")}
    line.step()
    assert line.states() == {"ann": "admitted", "bob": "admitted", "eve": "waiting"}
    assert line.room("reason") == "paused"
    version = line.room("version")
    events.set_state(line.conn, line.slug, EventState.OPEN)
    line.step()
    assert line.states() == {"ann": "admitted", "bob": "admitted", "eve": "waiting"}
    assert line.place("ann").begin_by - before["ann"].begin_by >= 7_200_000_000
    assert line.place("bob").until - before["bob"].until >= 7_200_000_000
    changed = line.alone(lambda own: entering.changed_since(own, line.event, version))
    assert sorted(place.buyer for place in changed) == ["ann", "bob"]


def test_when_requests_wait_for_their_decision_it_slows_down_and_says_so(kept):
    line = kept(policy="fifo", pace=6_000)
    line.join(*[f"b{n}" for n in range(400)])
    line.drawn()
    line.client.xadd(stream_key(line.slug), {REQUEST: b"{}"}, id="1-1")
    line.step(1.0)
    reason, factor = line.room("reason", "factor")
    assert (reason, factor < 1) == ("lag", True)
    line.client.delete(stream_key(line.slug))
    for _ in range(40):
        line.step(1.0)
    assert line.room("reason", "factor") == (None, 1.0)


def test_when_payments_fail_it_slows_down_and_says_so(kept):
    line = kept(policy="fifo", pace=6_000)
    line.join("ann", "bob")
    line.drawn()
    line.conn.execute(
        "INSERT INTO payment (event_id, hold_id, buyer, provider, state, currency, amount_minor, fee_minor,"
        " tax_minor, charged, quantity, seats, order_id, succeeded_at)"
        " SELECT %s, n, 'b', 'p', CASE WHEN n <= 5 THEN 'succeeded' ELSE 'failed' END, 'EUR', 1, 0, 0, '{}',"
        " 1, '{}', CASE WHEN n <= 5 THEN n END, CASE WHEN n <= 5 THEN clock_timestamp() END"
        " FROM generate_series(1, 30) n", (line.event,)
    )  # fmt: skip
    line.step(1.0)
    assert line.room("reason") == "payments_failing"


def test_how_long_a_step_took_is_told_with_the_next_decision(kept):
    line = kept(policy="fifo", pace=6_000)
    line.join("ann")
    line.drawn()
    line.step(1.0)
    assert line.room("step_ms") is None
    line.join("bob")
    line.step(1.0)
    assert line.room("step_ms") >= 0


def test_the_rate_that_is_measured_is_shown_and_a_pause_begins_a_new_measure(kept, monkeypatch):
    told: list[Any] = []

    def rate(_called: Called, _now: int, serving: int) -> float:
        told.append(serving)
        return 100.0 + len(told)

    monkeypatch.setattr(Called, "rate", rate)
    monkeypatch.setattr(Called, "interrupted", lambda _: told.append("interrupted"))
    clock = iter(range(0, 1_000, 10))
    line = kept(policy="fifo", pace=60)
    line.join("ann", "bob", "eve", "joe")
    line.drawn()
    line.keeper = Steps(line.own, line.client, line.event, line.slug, monotonic=lambda: next(clock))
    line.step()
    assert line.room("rate") == 101.0
    line.step()
    assert line.room("rate") == 101.0, "a change of less than a twentieth is not worth telling"
    line.conn.execute("UPDATE room SET admission = 'paused', rate = 50")
    line.step()
    assert (line.room("rate"), told) == (50.0, [1, 1, "interrupted"])
    line.conn.execute("UPDATE room SET admission = 'running'")
    line.step()
    assert line.room("rate") == 103.0 + 1
