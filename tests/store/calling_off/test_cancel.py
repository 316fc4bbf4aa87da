"""An event is canceled: every order goes back once with its money, whoever is killed and however often."""

from __future__ import annotations

import threading

import psycopg
import pytest

from store import events, sales
from store.calling_off import steps
from store.calling_off.begin import cancel
from store.calling_off.state import Left, read
from store.errors import Conflicted, NotFound
from store.payments.states import PaymentState
from store.venues.rows import save_venue
from store.words import OPERATORS_HOLDS, EventState, HoldKind
from tests.allocator.waiting import held_up
from tests.store import test_holds
from tests.store.calling_off.calling import GUID, RUNS, SAID, all_is_well, outbox_of, sold, to_the_end
from tests.store.payments import test_settle
from tests.store.payments.paying import begun, notice, told
from tests.store.payments.paying import read as payment_now
from tests.store.payments.test_refunds import give_all
from tests.store.test_holds import HOLD, PLAN, hold, url_of

conn, free_event, event = test_holds.conn, test_holds.event, test_settle.event
GIVEN = OPERATORS_HOLDS


def test_all_orders_go_back_with_what_was_paid_for_them_and_nothing_is_left(conn, event):
    payment = sold(conn, event)
    begun_now = cancel(conn, "gig", SAID)
    assert (begun_now.left, begun_now.done_at) == (Left(1, 1, 2), None)
    assert events.get_event(conn, "gig").state is EventState.CLOSED
    to_the_end(conn)
    done = read(conn, "gig")
    assert (done.holds, done.waiting, done.refunded, done.left) == (1, 1, 2, Left(0, 0, 0))
    assert done.done_at is not None
    assert payment_now(conn, payment).state is PaymentState.REFUND_DUE
    assert give_all(conn) == payment.amount_minor
    assert payment_now(conn, payment).state is PaymentState.REFUNDED
    assert all_is_well(conn, "gig")
    assert conn.execute("SELECT DISTINCT state FROM seat").fetchall() == [("available",)]
    assert conn.execute("SELECT held, sold, blocked FROM area").fetchall() == [(0, 0, 0)]


def test_everybody_is_told_first_of_the_event_and_then_of_each_order(conn, event):
    sold(conn, event)
    cancel(conn, "gig", SAID)
    heard = []
    while steps.step(conn, lambda slug, what: heard.append((slug, what.hold, what.state))):
        pass
    assert heard == [
        ("gig", str(RUNS), "released"), ("gig", str(HOLD), "refunded"), ("gig", str(GIVEN), "refunded"),
    ]  # fmt: skip
    rows = [(kind, body.get("order")) for kind, body in outbox_of(conn, event)]
    assert rows[-3:] == [
        ("event.canceled", None), ("order.refunded", str(HOLD)), ("order.refunded", str(GIVEN)),
    ]  # fmt: skip
    facts = [kind for (kind,) in conn.execute("SELECT kind FROM fact ORDER BY id").fetchall()]
    assert facts[-5:] == ["policy", "released", "left", "returned", "returned"]
    said = conn.execute("SELECT DISTINCT who, why FROM audit WHERE id > 1").fetchall()
    assert said == [(SAID.who, SAID.why)]
    assert conn.execute("SELECT DISTINCT reason FROM refund ORDER BY 1").fetchall() == [
        ("event_canceled",), ("taken_back",),
    ]  # fmt: skip


def test_what_is_canceled_again_is_answered_and_nothing_happens_twice(conn, event):
    sold(conn, event)
    cancel(conn, "gig", SAID)
    to_the_end(conn)
    rows = conn.execute("SELECT count(*) FROM outbox").fetchone()
    assert cancel(conn, "gig", SAID) == read(conn, "gig")
    assert steps.step(conn) == 0
    assert conn.execute("SELECT count(*) FROM outbox").fetchone() == rows


class Killed(Exception):
    pass


@pytest.mark.parametrize("after", range(1, 9))
def test_killed_before_any_commit_it_goes_on_and_ends_the_same(conn, event, monkeypatch, after):
    """Raised where each transaction counts what it did: the last thing before it commits."""
    payment = sold(conn, event)
    cancel(conn, "gig", SAID)
    count, calls = steps._count, []

    def killed(*what, **more):
        count(*what, **more)
        calls.append(more)
        if len(calls) == after:
            raise Killed

    monkeypatch.setattr(steps, "_count", killed)
    try:
        to_the_end(conn)
        assert len(calls) < after
    except Killed:
        to_the_end(conn)
    done = read(conn, "gig")
    assert (done.holds, done.waiting, done.refunded) == (1, 1, 2)
    assert give_all(conn) == payment.amount_minor
    assert all_is_well(conn, "gig")


def test_two_who_take_the_same_steps_do_each_once(conn, event):
    payment = sold(conn, event)
    for number in range(4, 14):
        hold(conn, event, hold_id=number << 16, buyer="zoe", seats=(30 + number,), places=0)
    cancel(conn, "gig", SAID)

    def work():
        with psycopg.connect(url_of(conn), autocommit=True) as own:
            while read(own, "gig").done_at is None:
                steps.step(own)

    both = [threading.Thread(target=work) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    done = read(conn, "gig")
    assert (done.holds, done.waiting, done.refunded) == (11, 1, 2)
    assert give_all(conn) == payment.amount_minor
    kinds = [kind for kind, _ in outbox_of(conn, event)]
    assert kinds.count("order.refunded") == 2
    assert all_is_well(conn, "gig")


def test_money_that_comes_while_it_is_canceled_buys_and_goes_back_or_just_goes_back(conn, event):
    hold(conn, event)
    early = begun(conn, event)
    hold(conn, event, hold_id=RUNS, buyer="eve", seats=(20,), places=0)
    late = begun(conn, event, RUNS, "eve")
    cancel(conn, "gig", SAID)
    assert told(conn, notice(early))[0].state is PaymentState.SUCCEEDED
    assert steps.step(conn) == 2
    assert told(conn, notice(late))[0].state is PaymentState.REFUND_DUE
    to_the_end(conn)
    assert give_all(conn) == early.amount_minor + late.amount_minor
    assert all_is_well(conn, "gig")


@pytest.mark.parametrize("state", ["draft", "lobby", "open", "paused", "closed"])
def test_an_event_is_canceled_in_whatever_state_it_is(conn, state):
    events.create_event(conn, "gig", "The gig", save_venue(conn, "arena", PLAN), PLAN)
    for to in {"draft": [], "lobby": ["lobby"], "open": ["open"]}.get(state, ["open", state]):
        events.set_state(conn, "gig", EventState(to))
    cancel(conn, "gig", SAID)
    to_the_end(conn)
    assert read(conn, "gig").done_at is not None
    found = events.get_event(conn, "gig")
    assert (found.state, found.paused_at) == (EventState.CLOSED, None)
    [(last,)] = conn.execute(
        "SELECT body ->> 'state' FROM fact WHERE kind = 'policy' ORDER BY id DESC LIMIT 1"
    )
    assert last == "closed"


def test_nothing_is_sold_by_hand_once_it_is_canceled(conn, event):
    cancel(conn, "gig", SAID)
    with pytest.raises(Conflicted, match="Nothing is sold any more") as refused:
        sales.sell(conn, event, PLAN, [GUID[1]], {}, "bob", HoldKind.BOX_OFFICE, SAID)
    assert refused.value.code == "event_called_off"


def test_a_batch_that_is_under_way_is_waited_for(conn, event):
    """So what it gives is on hold before the event is canceled, and the next knows that it is."""
    lock = f"SELECT 1 FROM event_cursor WHERE event_id = {event} FOR UPDATE"
    with held_up(url_of(conn), lock, lambda: _cancel(url_of(conn))):
        assert events.get_event(conn, "gig").state is EventState.OPEN
    assert events.get_event(conn, "gig").state is EventState.CLOSED


def _cancel(url):
    with psycopg.connect(url, autocommit=True) as own:
        cancel(own, "gig", SAID)


QUANTITY = "UPDATE hold SET quantity = {} WHERE hold_id = 65536"
PLACES = "UPDATE area SET sold = {}"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [(QUANTITY.format(9), QUANTITY.format(3)), (PLACES.format(2), PLACES.format(3))],
    ids=["it counts others", "a constraint refuses it"],
)
def test_an_order_whose_rows_contradict_each_other_is_left_and_the_others_go_back(
    conn, event, caplog, wrong, right
):
    sold(conn, event)
    cancel(conn, "gig", SAID)
    conn.execute(wrong)
    steps.step(conn)
    done = read(conn, "gig")
    assert (done.refunded, done.left.orders, done.done_at) == (1, 1, None)
    assert "ALERT" in caplog.text
    conn.execute(right)
    to_the_end(conn)
    assert read(conn, "gig").done_at is not None


def test_however_many_orders_contradict_themselves_those_behind_them_go_back(conn, event, monkeypatch):
    monkeypatch.setattr(steps, "ORDERS", steps.ORDERS.replace(f"LIMIT {steps.ORDERS_MAX}", "LIMIT 1"))
    sold(conn, event)
    cancel(conn, "gig", SAID)
    conn.execute("UPDATE hold SET quantity = 9 WHERE hold_id = %s", (HOLD,))
    steps.step(conn)
    assert (read(conn, "gig").refunded, read(conn, "gig").left.orders) == (1, 1)


@pytest.mark.parametrize("undone", ["_end_holds", "_end_waiting", "_end_orders"])
def test_it_is_done_when_nothing_is_left_and_no_sooner(conn, event, monkeypatch, undone):
    sold(conn, event)
    cancel(conn, "gig", SAID)
    monkeypatch.setattr(steps, undone, lambda *_: 0)
    to_the_end(conn)
    assert read(conn, "gig").done_at is None
    monkeypatch.undo()
    to_the_end(conn)
    assert read(conn, "gig").done_at is not None


def test_an_event_that_goes_on_is_not_called_off(conn, event):
    with pytest.raises(NotFound, match="neither canceled nor moved"):
        read(conn, "gig")
    with pytest.raises(NotFound):
        cancel(conn, "nothing", SAID)
    assert steps.step(conn) == 0
