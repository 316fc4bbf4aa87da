"""The projector: every row once, whoever counts and however often they are cut off; rebuilt is the same."""

from __future__ import annotations

import threading

import msgspec
import psycopg
import pytest

from store import audit, events, outbox, sales
from store.figures import project
from store.figures.fold import Figures, Holds, Orders
from store.figures.kept import decode
from store.figures.project import rebuild, run, step
from store.figures.read import read, read_public
from store.figures.rows import capacity_of
from store.words import HoldKind
from tests.store import test_holds
from tests.store.payments import test_settle
from tests.store.payments.paying import begun, notice, told
from tests.store.payments.paying import run as on_its_own
from tests.store.payments.test_refunds import give_all
from tests.store.test_holds import HOLD, PLAN, hold, url_of

conn, free_event, event = test_holds.conn, test_holds.event, test_settle.event

WHO = audit.said("olga", "a broken seat")
GUID = [seat.guid for seat in PLAN.seats]


def batches(conn, event, *numbers):
    """Heads of batches whose rows tests wrote, a minute ago."""
    for number in numbers:
        conn.execute(
            "INSERT INTO ledger_batch"
            " SELECT %(event)s, %(batch)s, 1, clock_timestamp() - interval '20 s', '1-1', 4,"
            " decode(repeat('00', 16 * count(*)::int), 'hex'), '' FROM ledger"
            " WHERE event_id = %(event)s AND batch_no = %(batch)s",
            {"event": event, "batch": number},
        )
        conn.execute("UPDATE event_cursor SET batch_no = %s WHERE event_id = %s", (number, event))


def all_of(conn, event):
    """Counts what there is."""
    while step(conn, event, PLAN):
        pass
    return counted(conn, event)


def counted(conn, event) -> Figures:
    return decode(
        conn.execute("SELECT figures::text FROM figures WHERE event_id = %s", (event,)).fetchone()[0]
    )


def sell_some(conn, event):
    """A paid order, of which a seat is taken back; one by hand, taken back; a hold that ran out."""
    hold(conn, event)
    payment = begun(conn, event)
    told(conn, notice(payment))
    sales.take_back(conn, event, PLAN, HOLD, WHO, seats=[GUID[3]])
    given = sales.sell(conn, event, PLAN, GUID[10:12], {}, "bob", HoldKind.COMPLIMENTARY, WHO)
    sales.take_back(conn, event, PLAN, int(given.hold), WHO)
    hold(conn, event, hold_id=2 << 16, buyer="eve", seats=(20,), places=0)
    conn.execute(
        "INSERT INTO ledger (event_id, batch_no, position, kind, input, outcome, result)"
        " VALUES (%s, 2, 1, 'expired', '{}', 'expired', '{}')", (event,),
    )  # fmt: skip
    batches(conn, event, 1, 2)
    return payment


def test_it_counts_orders_money_and_holds(conn, event):
    payment = sell_some(conn, event)
    give_all(conn)
    found = all_of(conn, event)
    costs = {line.seat: line.total_minor for line in payment.lines}
    assert (found.sold, found.orders) == (3, Orders(paid=1, by_hand=1, taken_back=1))
    assert sum(one.gross_minor for one in found.revenue.values()) == payment.amount_minor
    assert sum(one.refunded_minor for one in found.revenue.values()) == costs[3]
    assert (found.refunds.owed_minor, found.refunds.given_minor) == (costs[3], costs[3])
    assert found.holds == Holds(given=2, expired=1)
    assert found.to_order == {1: 1}
    assert [one.places for one in found.booked] == [2, 4]
    assert step(conn, event, PLAN) == 0


@pytest.mark.parametrize("rows_max", [1, 2, 1_000])
def test_in_steps_of_any_size_with_news_between_them_it_comes_to_what_a_rebuild_comes_to(
    conn,
    event,
    monkeypatch,
    rows_max,
):
    read_after = outbox.read_after
    monkeypatch.setattr(
        outbox, "read_after", lambda conn, event, after: read_after(conn, event, after, rows_max)
    )
    monkeypatch.setattr(
        project, "NEXT_BATCHES", project.NEXT_BATCHES.replace(str(project.LEDGER_ROWS_MAX), str(rows_max))
    )
    step(conn, event, PLAN)
    sell_some(conn, event)
    step(conn, event, PLAN)
    give_all(conn)
    incremental = all_of(conn, event)
    monkeypatch.undo()
    assert rebuild(conn, event, PLAN) == incremental == counted(conn, event)
    assert step(conn, event, PLAN) == 0
    assert incremental.holds == Holds(given=2, expired=1)


def test_an_order_taken_back_is_read_after_the_order(conn, event):
    """Also where who takes back began before who bought."""
    hold(conn, event)
    payment = begun(conn, event)
    with psycopg.connect(url_of(conn)) as early:
        early.execute("SELECT pg_current_xact_id()")
        told(conn, notice(payment))
        sales.take_back(early, event, PLAN, HOLD, WHO)
    kinds = [row.kind for row in outbox.read_after(conn, event, 0)]
    assert kinds == ["order.paid", "order.refunded"]
    found = all_of(conn, event)
    assert found.sold == 0
    assert {no for no, one in found.revenue.items() if one.gross_minor != one.refunded_minor} == set()


def test_who_counted_less_does_not_put_it_over_what_somebody_else_counted(conn, event, monkeypatch):
    sell_some(conn, event)
    step(conn, event, PLAN)  # makes the row
    next_step = project._next

    def meanwhile(own, *what):
        found = next_step(own, *what)
        monkeypatch.undo()
        sales.sell(conn, event, PLAN, GUID[30:31], {}, "bob", HoldKind.COMPLIMENTARY, WHO)
        all_of(conn, event)  # somebody else counts all of it first, and more
        return found

    monkeypatch.setattr(project, "_next", meanwhile)
    with psycopg.connect(url_of(conn), autocommit=True) as other:
        step(other, event, PLAN)
    assert counted(conn, event).orders.by_hand == 2
    assert all_of(conn, event) == rebuild(conn, event, PLAN)


def test_killed_before_it_is_written_nothing_is_counted_and_then_all(conn, event, monkeypatch):
    sell_some(conn, event)
    step(conn, event, PLAN)

    class Killed(Exception):
        pass

    def killed(*_):
        raise Killed

    monkeypatch.setattr(project, "_values", killed)
    with pytest.raises(Killed):
        step(conn, event, PLAN)
    monkeypatch.undo()
    assert counted(conn, event) == Figures()
    assert all_of(conn, event).orders.paid == 1


def test_operators_see_all_and_everybody_a_little_with_its_age(conn, event):
    sell_some(conn, event)
    before = read(conn, "gig")
    assert (before.sold, before.orders, before.capacity) == (0, Orders(), 150)
    assert before.age_ms > 10_000  # the batch of twenty seconds ago is not in it
    all_of(conn, event)
    shown = read(conn, "gig")
    assert (shown.sold, shown.percent_sold, shown.age_ms) == (3, 2.0, 0)
    assert shown.currency == PLAN.currency
    assert [one.category for one in shown.revenue] == [PLAN.categories[PLAN.seats[3].category].name]
    assert (shown.conversion.holds, shown.conversion.orders) == (2, 1)
    assert [one.orders for one in shown.orders_per_minute] in ([2], [1, 1])
    public = on_its_own(conn, lambda own: read_public(own, event))
    assert (public.percent_sold, public.just_booked, public.age_ms) == (2.0, shown.just_booked, 0)
    assert b"ann" not in msgspec.json.encode(public)


def test_it_runs_until_it_is_told_to_stop_and_counts_what_comes_meanwhile(conn, event):
    stop = threading.Event()
    runner = threading.Thread(target=run, args=(url_of(conn), stop))
    runner.start()
    try:
        other = events.create_event(conn, "gig-2", "Two", 1, PLAN)
        sell_some(conn, event)
        rows = "SELECT event_id FROM figures WHERE batch_no = 2 AND figures ->> 'sold' = '3' OR event_id = %s"
        waited = threading.Event()
        while len(conn.execute(rows, (other,)).fetchall()) < 2:
            assert runner.is_alive()
            waited.wait(0.01)
    finally:
        stop.set()
        runner.join(5)
    assert not runner.is_alive()


def test_a_row_that_cannot_be_counted_keeps_only_its_own_event(conn, event, caplog):
    events.create_event(conn, "gig-2", "Two", 1, PLAN)
    conn.execute(outbox.INSERT, {"events": [event], "kinds": ["order.paid"], "bodies": "[[]]"})
    sales.sell(conn, 2, PLAN, GUID[:1], {}, "bob", HoldKind.COMPLIMENTARY, WHO)
    stop = threading.Event()
    runner = threading.Thread(target=run, args=(url_of(conn), stop))
    runner.start()
    waited = threading.Event()
    while not conn.execute("SELECT 1 FROM figures WHERE event_id = 2 AND outbox_number > 0").fetchall():
        assert runner.is_alive()
        waited.wait(0.01)
    stop.set()
    runner.join()
    assert counted(conn, event) == Figures()
    assert read(conn, "gig").age_ms > 0
    assert caplog.text.count("ALERT") == 1


def test_it_goes_on_when_the_database_was_away(conn, event, monkeypatch):
    away = ["the database is away"]
    connect = project._connect

    def maybe(url):
        if away:
            raise psycopg.OperationalError(away.pop())
        return connect(url)

    def count(*_):
        stop.set()
        return 0

    stop = threading.Event()
    monkeypatch.setattr(project, "AWAY_SECONDS", 0.0)
    monkeypatch.setattr(project, "_connect", maybe)
    monkeypatch.setattr(project, "step", count)
    run(url_of(conn), stop)
    assert away == []


def test_capacities_are_the_plans(conn, event):
    assert capacity_of(PLAN) == 150
    all_of(conn, event)
    assert conn.execute("SELECT capacity FROM figures").fetchall() == [(150,)]
