"""An event is moved: its orders go first in the other one, with their money; the rest goes back."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from store import blocks, events, sales
from store.calling_off import steps
from store.calling_off.begin import cancel, move
from store.calling_off.state import Left, read
from store.errors import BadRequest, Conflicted
from store.payments import begin as payments
from store.payments import refunds
from store.payments.settlement import settlement
from store.payments.states import PaymentState
from store.plan import Category, Plan
from store.tickets import reads
from store.tickets.items import SEAT, Item
from store.venues.rows import save_venue
from store.words import OPERATORS_HOLDS, EventState, HoldKind
from tests.store import test_holds
from tests.store.calling_off.calling import GUID, SAID, all_is_well, outbox_of, sold, to_the_end
from tests.store.calling_off.test_cancel import Killed
from tests.store.payments import test_settle
from tests.store.payments.paying import run
from tests.store.payments.test_refunds import give_all
from tests.store.test_holds import HOLD, PLAN
from tests.store.tickets.holding import SEAT_3, allow, claim, offer

conn, free_event, event = test_holds.conn, test_holds.event, test_settle.event
THERE = OPERATORS_HOLDS


def with_guids(plan: Plan, guids: Sequence[str]) -> Plan:
    """The same plan, whose seats have these names."""
    seats = [msgspec.structs.replace(seat, guid=guid) for seat, guid in zip(plan.seats, guids, strict=True)]
    return msgspec.structs.replace(plan, seats=tuple(seats))


BACKWARDS = with_guids(PLAN, GUID[::-1])
"""The same seats, each with another number."""


@pytest.fixture
def other(conn, event):
    return make(conn, PLAN)


def make(conn, plan: Plan) -> int:
    venue = save_venue(conn, f"venue-{id(plan)}", plan)
    return events.create_event(conn, "new", "The gig", venue, plan)


def seats_of(conn, event, state):
    """Numbers of the event's seats that are in this state."""
    rows = "SELECT seat_no FROM seat WHERE event_id = %s AND state = %s ORDER BY 1"
    return [seat for (seat,) in conn.execute(rows, (event, state)).fetchall()]


def payment_of(conn, payment):
    return run(conn, lambda own: payments.of_buyer(own, payment.id, payment.buyer))


def orders_of(conn, event):
    rows = "SELECT hold_id, buyer, kind, quantity FROM hold WHERE event_id = %s AND state = 'paid' ORDER BY 1"
    return conn.execute(rows, (event,)).fetchall()


@pytest.mark.parametrize("plan", [PLAN, BACKWARDS], ids=["the same plan", "other numbers"])
def test_orders_go_along_with_their_seats_places_and_money(conn, event, plan):
    payment = sold(conn, event)
    other = make(conn, plan)
    assert move(conn, "gig", "new", SAID).left == Left(1, 1, 2)
    to_the_end(conn)
    done = read(conn, "gig")
    assert (done.to, done.rebooked, done.refunded, done.left) == ("new", 2, 0, Left(0, 0, 0))
    assert orders_of(conn, event) == []
    ann, bob = orders_of(conn, other)
    assert ann == (THERE, "ann", "box_office", 3)
    assert bob == (THERE + 1, "bob", "complimentary", 4)
    guids = {plan.seats[seat].guid for seat in seats_of(conn, other, "sold")}
    assert guids == {GUID[3], GUID[10]}
    after = payment_of(conn, payment)
    assert (after.event_id, after.order_id, after.state) == (other, THERE, PaymentState.SUCCEEDED)
    costs = {line.seat: line.total_minor for line in payment.lines}
    assert conn.execute("SELECT DISTINCT event_id FROM refund").fetchall() == [(other,)]
    assert give_all(conn) == costs[4]  # owed before it was moved, given where its payment is
    assert [kind for kind, _ in outbox_of(conn, other)][-1] == "payment.refunded"
    assert all_is_well(conn, "gig")
    assert all_is_well(conn, "new")
    here, there = settlement(conn, "gig"), settlement(conn, "new")
    assert (here.money_in_minor, here.moved_out.count) == (0, 2)
    assert there.money_in_minor == payment.amount_minor
    assert there.standing_minor == payment.amount_minor - costs[4] == there.moved_in.amount_minor


def test_a_refund_that_was_asked_for_before_the_move_is_told_where_its_order_is_now(conn, event, other):
    payment = sold(conn, event)
    [due] = run(conn, refunds.take)
    move(conn, "gig", "new", SAID)
    to_the_end(conn)
    assert run(conn, lambda own: refunds.given(own, due, "re_1"))
    kind, body = outbox_of(conn, other)[-1]
    assert (kind, body["payment"], body["order"]) == ("payment.refunded", payment.id, str(THERE))
    assert "payment.refunded" not in [kind for kind, _ in outbox_of(conn, event)]


@pytest.mark.parametrize("plan", [PLAN, BACKWARDS], ids=["the same plan", "other numbers"])
def test_who_was_given_a_ticket_has_it_in_the_other_event(conn, event, plan):
    sold(conn, event)
    allow(conn)
    for item in (SEAT_3, Item(0, 2)):
        claim(conn, offer(conn, event, item))
    offer(conn, event, Item(0, 1))
    other = make(conn, plan)
    there = plan.areas[0].guid
    sales.take_back(conn, event, PLAN, HOLD, SAID, areas={there: 1}, quantity=3)  # the first place is gone
    move(conn, "gig", "new", SAID)
    to_the_end(conn)
    seat = next(no for no, one in enumerate(plan.seats) if one.guid == GUID[3])
    numbers = {one.guid: no for no, one in enumerate(plan.seats)}
    bobs, anns = [run(conn, lambda own, who=who: reads.order(own, other, THERE, who, numbers))
                  for who in ("bob", "ann")]  # fmt: skip
    assert [(item, row.serial) for item, row in bobs.items] == [(Item(SEAT, seat), 1), (Item(0, 1), 1)]
    assert [anns.has(item) for item, _ in anns.items] == [False, False]
    assert conn.execute("SELECT count(*) FROM ticket WHERE event_id = %s", (other,)).fetchone() == (2,)


def test_what_was_kept_for_it_and_not_needed_is_on_sale_again(conn, event, other):
    sold(conn, event)
    move(conn, "gig", "new", SAID)
    assert seats_of(conn, other, "blocked") == [3, 10]
    assert conn.execute("SELECT blocked FROM area WHERE event_id = %s", (other,)).fetchone() == (5,)
    sales.take_back(conn, event, PLAN, HOLD, SAID)  # an operator gives it back before its turn
    to_the_end(conn)
    assert (seats_of(conn, other, "blocked"), seats_of(conn, other, "sold")) == ([], [10])
    assert conn.execute("SELECT blocked, sold FROM area WHERE event_id = %s", (other,)).fetchone() == (0, 3)
    assert all_is_well(conn, "new")


def test_the_lane_is_kept_when_the_other_event_opens_before_it_is_done(conn, event, other):
    sold(conn, event)
    move(conn, "gig", "new", SAID)
    events.set_state(conn, "new", EventState.OPEN)
    with pytest.raises(Conflicted):
        blocks.block(conn, other, PLAN, [GUID[3]], {}, SAID)  # as little as anybody else can have it
    to_the_end(conn)
    assert read(conn, "gig").rebooked == 2
    facts = conn.execute("SELECT kind FROM fact WHERE event_id = %s ORDER BY id", (other,)).fetchall()
    assert [kind for (kind,) in facts] == ["policy", "blocked", "policy", "sold", "sold"]
    named = conn.execute("SELECT what ->> 'change', who FROM audit WHERE event_id = %s ORDER BY id", (other,))
    assert named.fetchall() == [("block", "Olga"), ("sell", "Olga"), ("sell", "Olga")]


def test_an_order_whose_seats_somebody_has_there_is_refunded_whole(conn, event, other):
    payment = sold(conn, event)
    sales.sell(conn, other, PLAN, [GUID[3]], {}, "zoe", HoldKind.BOX_OFFICE, SAID)
    move(conn, "gig", "new", SAID)
    to_the_end(conn)
    done = read(conn, "gig")
    assert (done.rebooked, done.refunded) == (1, 1)
    assert payment_of(conn, payment).state is PaymentState.REFUND_DUE
    assert give_all(conn) == payment.amount_minor
    assert [buyer for _, buyer, *_ in orders_of(conn, other)] == ["zoe", "bob"]
    assert conn.execute("SELECT DISTINCT reason FROM refund ORDER BY 1").fetchall()[0] == ("event_moved",)
    assert all_is_well(conn, "gig")
    assert all_is_well(conn, "new")


def without_seats(plan: Plan, *gone: int) -> Plan:
    names = [f"new-{number}" if number in gone else guid for number, guid in enumerate(GUID)]
    return with_guids(plan, names)


def renamed(plan: Plan) -> Plan:
    names = [Category(f"{one.name}!", one.price_minor, one.currency, one.colour) for one in plan.categories]
    return msgspec.structs.replace(plan, categories=tuple(names))


@pytest.mark.parametrize(
    ("plan", "rebooked"),
    [
        (without_seats(PLAN, 3), ["bob"]),
        (without_seats(PLAN, 4), ["ann", "bob"]),
        (msgspec.structs.replace(PLAN, areas=()), []),
        (renamed(PLAN), ["bob"]),
    ],
    ids=["a seat is not there", "a seat given back before is not", "no such area", "no such category"],
)
def test_what_the_other_plan_does_not_have_is_refunded(conn, event, plan, rebooked):
    payment = sold(conn, event)
    other = make(conn, plan)
    move(conn, "gig", "new", SAID)
    to_the_end(conn)
    assert [buyer for _, buyer, *_ in orders_of(conn, other)] == rebooked
    cost = next(line.total_minor for line in payment.lines if line.seat == 4)
    assert give_all(conn) == (cost if "ann" in rebooked else payment.amount_minor)
    assert all_is_well(conn, "gig")
    assert all_is_well(conn, "new")


def test_a_refund_there_comes_out_of_the_same_payment(conn, event, other):
    payment = sold(conn, event)
    move(conn, "gig", "new", SAID)
    to_the_end(conn)
    sales.take_back(conn, other, PLAN, THERE, SAID, seats=[GUID[3]])
    sales.take_back(conn, other, PLAN, THERE, SAID)
    assert give_all(conn) == payment.amount_minor
    assert payment_of(conn, payment).state is PaymentState.REFUNDED
    assert all_is_well(conn, "new")


def test_what_moved_is_canceled_there_like_everything_else(conn, event, other):
    payment = sold(conn, event)
    move(conn, "gig", "new", SAID)
    steps.step(conn)
    cancel(conn, "new", SAID)
    to_the_end(conn)
    assert (read(conn, "gig").left, read(conn, "new").left) == (Left(0, 0, 0), Left(0, 0, 0))
    assert give_all(conn) == payment.amount_minor
    assert all_is_well(conn, "gig")
    assert all_is_well(conn, "new")


def test_orders_that_are_still_to_be_moved_are_refunded_when_the_other_event_is_canceled(conn, event, other):
    payment = sold(conn, event)
    move(conn, "gig", "new", SAID)
    cancel(conn, "new", SAID)
    to_the_end(conn)
    assert (read(conn, "gig").rebooked, read(conn, "gig").refunded) == (0, 2)
    assert give_all(conn) == payment.amount_minor
    assert all_is_well(conn, "gig")
    assert all_is_well(conn, "new")


@pytest.mark.parametrize("after", range(1, 6))
def test_killed_before_any_commit_no_order_is_lost_or_moved_twice(conn, event, other, monkeypatch, after):
    payment = sold(conn, event)
    move(conn, "gig", "new", SAID)
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
    assert read(conn, "gig").rebooked == 2
    assert len(orders_of(conn, other)) == 2
    assert payment_of(conn, payment).event_id == other
    assert all_is_well(conn, "gig")
    assert all_is_well(conn, "new")


def test_both_outboxes_say_where_it_went_and_came_from(conn, event, other):
    payment = sold(conn, event)
    move(conn, "gig", "new", SAID)
    to_the_end(conn)
    kinds = [kind for kind, _ in outbox_of(conn, event)]
    assert kinds[-3:] == ["event.moved", "order.refunded", "order.refunded"]
    gone = outbox_of(conn, event)[-2][1]
    assert gone["moved_to"] == {"event": "new", "order": str(THERE)}
    left = payment.amount_minor - payment.lines[1].total_minor
    assert (gone["refund_minor"], gone["moved_minor"]) == (0, left)
    (kind, came), (_, given) = outbox_of(conn, other)
    assert (kind, came["moved_from"]) == ("order.paid", {"event": "gig", "order": str(HOLD)})
    assert (came["payment"], came["amount_minor"]) == (payment.id, gone["moved_minor"])
    assert sum(line[2] * line[7] for line in came["lines"]) == came["amount_minor"]
    assert "payment" not in given


def test_it_is_refused_with_a_reason_where_it_cannot_be(conn, event, other):
    def code(*what, change=move):
        with pytest.raises((Conflicted, BadRequest)) as refused:
            change(conn, *what, SAID)
        return refused.value.code

    assert code("gig", "gig") == "same_event"
    conn.execute("UPDATE event SET state = 'open' WHERE slug = 'new'")
    assert code("gig", "new") == "event_begun"
    conn.execute("UPDATE event SET state = 'lobby' WHERE slug = 'new'")
    make_third(conn)
    move(conn, "gig", "new", SAID)
    assert move(conn, "gig", "new", SAID).to == "new"
    assert code("gig", "third") == "event_called_off"
    assert code("gig", change=cancel) == "event_moved"
    assert code("new", "third") == "move_running"
    assert code("third", "gig") in ("event_begun", "event_called_off")
    cancel(conn, "new", SAID)
    assert code("third", "new") in ("event_begun", "event_called_off")


def make_third(conn):
    conn.execute("INSERT INTO venue (slug, name, plan, plan_sha256) SELECT 'third', name, plan, plan_sha256"
                 " FROM venue LIMIT 1")  # fmt: skip
    [(venue,)] = conn.execute("SELECT id FROM venue WHERE slug = 'third'").fetchall()
    events.create_event(conn, "third", "Third", venue, PLAN)


def test_prices_in_another_currency_are_no_place_to_move_to(conn, event):
    dollars = [Category(one.name, one.price_minor, "USD", one.colour) for one in PLAN.categories]
    make(conn, msgspec.structs.replace(PLAN, currency="USD", categories=tuple(dollars)))
    with pytest.raises(Conflicted, match="Cancel the event instead") as refused:
        move(conn, "gig", "new", SAID)
    assert refused.value.code == "currency_differs"
    assert events.get_event(conn, "gig").state is EventState.OPEN
