"""What is forgotten of the outbox stays in the figures, also in those that are counted anew."""

from __future__ import annotations

import random
import threading

import psycopg
import pytest

from store import events, holds, outbox, sales
from store.calling_off import begin, steps
from store.errors import Unavailable
from store.figures import kept, project
from store.figures.fold import Figures, Orders
from store.figures.project import Forgotten, rebuild, step
from store.figures.rows import Plans
from store.outbox import Told
from store.payments.settlement import settlement
from store.subscribers import trim
from store.words import HoldKind
from tests.store import test_holds
from tests.store.calling_off.calling import FLOOR, GUID, SAID
from tests.store.figures.test_project import all_of, batches, counted
from tests.store.payments import test_settle
from tests.store.payments.paying import begun, notice, told
from tests.store.payments.test_refunds import give_all
from tests.store.test_holds import PLAN, change, hold, url_of

conn, free_event, event = test_holds.conn, test_holds.event, test_settle.event
OTHER = "gig-2"


@pytest.fixture(autouse=True)
def nobody_else_reads(monkeypatch):
    monkeypatch.setattr(trim, "READERS", [project.YET_TO_COUNT])


def forget(conn, limit=trim.ROWS_MAX):
    return trim.trim_outbox(conn, older_than_days=0, limit=limit)


def rows_left(conn, event):
    found = conn.execute("SELECT number FROM outbox WHERE event_id = %s ORDER BY number", (event,))
    return [number for (number,) in found]


def give(conn, event, count=1):
    """So many orders by hand, an outbox row each."""
    for _ in range(count):
        [(seat,)] = conn.execute(
            "SELECT min(seat_no) FROM seat WHERE event_id = %s AND state = 'available'", (event,)
        )
        sales.sell(conn, event, PLAN, [GUID[seat]], {}, "bob", HoldKind.COMPLIMENTARY, SAID)


class Sale:
    """A sale with all that can become of orders, one random step after the other."""

    def __init__(self, conn, event, seed):
        self.conn, self.event, self.random = conn, event, random.Random(seed)
        self.orders, self.batch, self.seat = [], 0, 0

    def held(self, buyer):
        self.batch += 1
        number = self.batch << 16
        seats, places = range(self.seat, self.seat + self.random.randint(1, 3)), self.random.randint(0, 2)
        self.seat = seats.stop
        hold(self.conn, self.event, hold_id=number, buyer=buyer, seats=seats, places=places)
        batches(self.conn, self.event, self.batch)
        return number

    def bought(self):
        number = self.held("ann")
        told(self.conn, notice(begun(self.conn, self.event, number)))
        self.orders.append(number)

    def for_nothing(self):
        number = self.held("joe")
        self.conn.execute("UPDATE event SET payment = 'none' WHERE id = %s", (self.event,))
        change(self.conn, holds.confirm, self.event, "joe", number)
        self.conn.execute("UPDATE event SET payment = 'required' WHERE id = %s", (self.event,))
        self.orders.append(number)

    def too_late(self):
        number = self.held("eve")
        payment = begun(self.conn, self.event, number, "eve")
        self.conn.execute("UPDATE hold SET expires_at = clock_timestamp() WHERE hold_id = %s", (number,))
        told(self.conn, notice(payment))

    def by_hand(self):
        seats, self.seat = GUID[self.seat : self.seat + 2], self.seat + 2
        made = sales.sell(self.conn, self.event, PLAN, seats, {}, "bob", HoldKind.BOX_OFFICE, SAID)
        self.orders.append(int(made.hold))

    def part_back(self):
        rows = "SELECT hold_id, min(seat_no) FROM hold_seat JOIN hold USING (event_id, hold_id)"
        found = self.conn.execute(
            f"{rows} WHERE event_id = %s AND state = 'paid' GROUP BY 1 HAVING count(*) > 1", (self.event,)
        ).fetchall()
        for order, seat in found[:1]:
            sales.take_back(self.conn, self.event, PLAN, order, SAID, seats=[GUID[seat]])

    def place_back(self):
        rows = "SELECT hold_id, hold.quantity FROM hold_area JOIN hold USING (event_id, hold_id)"
        found = self.conn.execute(
            f"{rows} WHERE event_id = %s AND state = 'paid' ORDER BY 1 DESC LIMIT 1", (self.event,)
        ).fetchall()
        for order, has in found:
            sales.take_back(self.conn, self.event, PLAN, order, SAID, areas={FLOOR: 1}, quantity=has)

    def whole_back(self):
        if self.orders:
            order = self.orders.pop(self.random.randrange(len(self.orders)))
            sales.take_back(self.conn, self.event, PLAN, order, SAID)

    def given_back(self):
        give_all(self.conn)

    def goes_on(self):
        """Orders come and go; figures are counted, and rows forgotten, whenever it happens to be."""
        self.random.choice(
            [
                self.bought, self.bought, self.for_nothing, self.too_late, self.by_hand, self.part_back,
                self.place_back, self.whole_back, self.given_back,
            ]
        )()  # fmt: skip

    def looked_after(self, event):
        for _ in range(self.random.randint(0, 2)):
            step(self.conn, event, PLAN)
        if self.random.random() < 0.4:
            forget(self.conn, self.random.randint(1, 5))
        if self.random.random() < 0.1:
            rebuild(self.conn, event, PLAN)


def of_the_tables(conn, event, slug):
    """What the figures must be by the tables alone: (sold, orders, net revenue by category)."""
    [(seats, places)] = conn.execute(
        "SELECT (SELECT count(*) FROM hold_seat JOIN hold USING (event_id, hold_id)"
        "         WHERE event_id = %(event)s AND state = 'paid'),"
        "       (SELECT coalesce(sum(hold_area.quantity), 0)"
        "          FROM hold_area JOIN hold USING (event_id, hold_id)"
        "         WHERE event_id = %(event)s AND state = 'paid')", {"event": event},
    )  # fmt: skip
    [(paid, free, by_hand, moved_in, taken_back)] = conn.execute(
        "WITH orders AS ("
        "  SELECT state, kind, event_id, hold_id,"
        "         EXISTS (SELECT FROM payment"
        "          WHERE payment.event_id = hold.event_id AND order_id = hold.hold_id)"
        "         OR EXISTS (SELECT FROM rebooked WHERE rebooked.event_id = hold.event_id"
        "                     AND order_id = hold.hold_id AND payment_id IS NOT NULL) AS paid,"
        "         EXISTS (SELECT FROM rebooked"
        "          WHERE to_event_id = hold.event_id AND to_order_id = hold.hold_id)"
        "         AS moved_in FROM hold WHERE event_id = %(event)s AND state IN ('paid', 'refunded'))"
        " SELECT count(*) FILTER (WHERE paid AND NOT moved_in),"
        "        count(*) FILTER (WHERE NOT paid AND kind = 'buyer' AND NOT moved_in),"
        "        count(*) FILTER (WHERE NOT paid AND kind <> 'buyer' AND NOT moved_in),"
        "        count(*) FILTER (WHERE moved_in), count(*) FILTER (WHERE state = 'refunded') FROM orders",
        {"event": event},
    )  # fmt: skip
    net = {one.category: one.net_minor for one in settlement(conn, slug).categories if one.net_minor}
    return seats + places, Orders(paid, free, by_hand, moved_in, taken_back), net


def of_the_figures(figures: Figures):
    revenue = {
        PLAN.categories[number].name: one.gross_minor - one.refunded_minor - one.moved_minor
        for number, one in figures.revenue.items()
    }
    return figures.sold, figures.orders, {name: net for name, net in revenue.items() if net}


@pytest.mark.parametrize("end", ["goes on", "is canceled", "is moved"])
@pytest.mark.parametrize("seed", range(2))
def test_counted_on_counted_anew_and_read_from_the_tables_is_the_same_whenever_rows_were_forgotten(
    conn, event, seed, end
):
    other = events.create_event(conn, OTHER, "The other", 1, PLAN)
    sale = Sale(conn, event, f"{seed} {end}")
    for _ in range(20):
        sale.goes_on()
        sale.looked_after(event)
    if end == "is canceled":
        begin.cancel(conn, "gig", SAID)
    elif end == "is moved":
        sales.sell(conn, other, PLAN, GUID[:1], {}, "zoe", HoldKind.BOX_OFFICE, SAID)  # somebody has a seat
        begin.move(conn, "gig", OTHER, SAID)
    while end != "goes on" and steps.step(conn):
        sale.looked_after(event)
        sale.looked_after(other)
    sale.given_back()
    for number, slug in ((event, "gig"), (other, OTHER)):
        on = all_of(conn, number)
        forget(conn, 3)
        assert of_the_figures(on) == of_the_tables(conn, number, slug)
        assert rebuild(conn, number, PLAN) == on == counted(conn, number)
        conn.execute("DELETE FROM figures WHERE event_id = %s", (number,))
        assert all_of(conn, number) == on, "lost whole, they are counted on from what is kept"
    money = "SELECT sum(amount_minor)::bigint, sum(amount_minor) FILTER (WHERE state = 'refunded')::bigint"
    [(owed, gone)] = conn.execute(f"{money} FROM refund").fetchall()
    found = [counted(conn, number).refunds for number in (event, other)]
    assert sum(one.owed_minor for one in found) == (owed or 0)
    assert sum(one.given_minor for one in found) == (gone or 0)
    assert rows_left(conn, event)[:1] != [1], "something was forgotten"


def test_rows_go_from_the_first_on_once_they_are_counted_and_what_they_came_to_is_kept(conn, event):
    give(conn, event, 4)
    assert forget(conn) == 0, "nobody has counted them"
    before = all_of(conn, event)
    give(conn, event)
    assert [forget(conn, 3), forget(conn, 3)] == [3, 1]
    assert rows_left(conn, event) == [5]
    assert kept.read(conn, event) == kept.Kept(4, before)
    assert rebuild(conn, event, PLAN) == all_of(conn, event)


def test_rows_that_are_gone_and_were_not_kept_are_missed_and_the_figures_stay(conn, event):
    give(conn, event, 3)
    before = all_of(conn, event)
    conn.execute("DELETE FROM outbox WHERE number <= 2")
    with pytest.raises(Forgotten, match=r"Rows 1 to 2 .* settlement") as refused:
        rebuild(conn, event, PLAN)
    assert refused.value.code == "rows_forgotten"
    conn.execute("DELETE FROM outbox")
    with pytest.raises(Forgotten, match="Rows 1 to 3"):
        rebuild(conn, event, PLAN)
    assert counted(conn, event) == before
    give(conn, event)
    assert all_of(conn, event).orders.by_hand == 4, "who counted them counts on"
    forget(conn)
    assert kept.read(conn, event) == kept.Kept(), "a sum without the first rows is none"


def test_of_rows_that_are_missing_in_the_middle_none_behind_them_is_counted(conn, event):
    give(conn, event, 3)
    conn.execute("DELETE FROM outbox WHERE number = 2")
    with pytest.raises(Forgotten):
        all_of(conn, event)
    assert counted(conn, event) == Figures()


def test_who_counts_what_somebody_else_counted_and_forgot_goes_on_from_there(conn, event, monkeypatch):
    give(conn, event, 2)
    step(conn, event, PLAN)  # makes the row
    read_after = outbox.read_after

    def meanwhile(own, *what):
        monkeypatch.setattr(outbox, "read_after", read_after)
        all_of(conn, event)
        assert forget(conn) == 2
        return read_after(own, *what)

    monkeypatch.setattr(outbox, "read_after", meanwhile)
    with psycopg.connect(url_of(conn), autocommit=True) as other:
        assert step(other, event, PLAN) == 1
        assert step(other, event, PLAN) == 0
    assert counted(conn, event).orders.by_hand == 2


@pytest.mark.parametrize("when", ["before they are read", "after they were read"])
def test_rows_that_are_forgotten_while_it_is_counted_anew_are_in_it_once(conn, event, monkeypatch, when):
    give(conn, event, 3)
    before = all_of(conn, event)
    put = project._values
    read_after = outbox.read_after

    def forgotten(*_):
        monkeypatch.setattr(outbox, "read_after", read_after)
        monkeypatch.setattr(project, "_values", put)
        give(conn, event)
        all_of(conn, event)
        assert forget(conn) == 4

    if when == "before they are read":
        monkeypatch.setattr(outbox, "read_after", lambda *what: [forgotten(), *read_after(*what)][1:])
    else:
        monkeypatch.setattr(project, "_values", lambda *what: [forgotten(), put(*what)][1])
    with psycopg.connect(url_of(conn), autocommit=True) as other:
        assert rebuild(other, event, PLAN).orders.by_hand == before.orders.by_hand + 1
    assert counted(conn, event).orders.by_hand == 4
    assert step(conn, event, PLAN) == 0


def test_who_never_comes_to_an_end_because_rows_are_forgotten_says_so(conn, event, monkeypatch):
    give(conn, event, 3)
    before = all_of(conn, event)
    monkeypatch.setattr(project, "PUT", project.PUT.replace("WHERE event_id", "WHERE false AND event_id"))
    with pytest.raises(Unavailable, match="try again"):
        rebuild(conn, event, PLAN)
    assert counted(conn, event) == before


def test_figures_that_counted_fewer_do_not_come_while_rows_are_forgotten(conn, event):
    """Who puts them waits for who forgets, and finds what was forgotten in what is kept."""
    give(conn, event, 2)
    all_of(conn, event)
    with psycopg.connect(url_of(conn)) as forgetting, psycopg.connect(url_of(conn), autocommit=True) as other:
        forgetting.execute("SELECT 1")  # what it does is not committed yet
        assert kept.forget(forgetting, event, 2, Plans()) == 2
        found: list[Figures] = []
        anew = threading.Thread(target=lambda: found.append(rebuild(other, event, PLAN)))
        anew.start()
        waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND pid = %s"
        while not conn.execute(waits, (other.info.backend_pid,)).fetchall():
            assert anew.is_alive()
        forgetting.commit()
        anew.join()
    assert [one.orders.by_hand for one in found] == [2]
    assert step(conn, event, PLAN) == 0


def test_only_what_the_figures_have_counted_by_then_is_forgotten(conn, event):
    give(conn, event, 3)
    conn.execute(project.BEGIN, {"event": event, "capacity": 150})
    conn.execute("UPDATE figures SET outbox_number = 2")
    assert kept.forget(conn, event, 3, Plans()) == 2
    assert rows_left(conn, event) == [3]


def test_a_row_that_cannot_be_read_stays_and_stops_no_other_event(conn, event, caplog):
    other = events.create_event(conn, OTHER, "The other", 1, PLAN)
    outbox.write(conn, event, Told.ORDER_PAID, {"order": "x"})
    give(conn, other)
    all_of(conn, other)
    conn.execute(project.BEGIN, {"event": event, "capacity": 150})
    conn.execute("UPDATE figures SET outbox_number = 1")
    assert forget(conn) == 1
    assert (rows_left(conn, event), rows_left(conn, other)) == ([1], [])
    assert caplog.text.count("ALERT") == 1
