"""The same notices in any order, any number of times, by any number of gateways: the same truth.

Two sales with the same holds and payments are told the same in two orders. Only two things may differ:
which of two payments for one hold bought it, where both were paid, and how often a card is said to have
been declined.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from store.payments import begin
from store.payments.settle import Notice, settle
from store.payments.states import NoticeKind
from tests.payments_model.house import PRICES, House
from tests.profiles import searching

HOLDS = 3
FATES = ("alive", "alive", "over", "swept", "released", "smaller")
TRUTH = """
SELECT payment.hold_id, payment.state, payment.order_id, payment.reason, payment.amount_minor,
       payment.refund_due_minor,
       (SELECT count(*) FROM refund WHERE payment_id = payment.id),
       (SELECT state FROM hold WHERE hold.event_id = payment.event_id AND hold.hold_id = payment.hold_id)
  FROM payment WHERE event_id = %s ORDER BY 1, 2, 3, 4, 5
"""
TOLD = """
SELECT kind, body ->> 'hold', body ->> 'reason', count(*) FROM outbox WHERE event_id = %s
 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""
FACTS = "SELECT kind, hold_id FROM fact WHERE event_id = %s AND hold_id IS NOT NULL ORDER BY 1, 2"

kinds = st.sampled_from(["succeeded", "succeeded", "failed", "canceled", "refunded"])
what = st.lists(st.tuples(st.integers(0, 2 * HOLDS - 1), kinds), min_size=1, max_size=8)


@given(data=st.data(), reacquire=st.booleans(), fates=st.tuples(*[st.sampled_from(FATES)] * HOLDS), what=what)
@searching(8)
def test_notices_in_any_order_end_the_same(house, data, reacquire, fates, what):
    first, second = [_sale(house, reacquire, fates) for _ in range(2)]
    repeated = data.draw(st.lists(st.sampled_from(range(len(what))), max_size=3))
    orders = [data.draw(st.permutations([*range(len(what)), *repeated])) for _ in range(2)]
    _tell(house, first, [what[place] for place in orders[0]], data.draw(st.integers(1, 4)))
    _tell(house, second, [what[place] for place in orders[1]], data.draw(st.integers(1, 4)), at_once=True)
    truths = [
        [house.conn.execute(query, [event]).fetchall() for query in (TRUTH, TOLD, FACTS)]
        for event, _ in (first, second)
    ]
    assert truths[0] == truths[1]


def _sale(house: House, reacquire: bool, fates: tuple[str, ...]) -> tuple[int, list[begin.Payment]]:
    """(event, two payments for each hold: the first was canceled before the second was begun)"""
    _, event, _, _ = house.sale(reacquire)
    payments = []
    for number, fate in enumerate(fates):
        hold = (number + 1) << 16
        house.give(event, hold, "ann", {2 * number, 2 * number + 1}, 1)
        first = _begun(house, event, hold)
        house.run(partial(settle, notices=[_notice(first, "canceled", "before")]))
        payments += [first, _begun(house, event, hold)]
        if fate in ("over", "swept"):
            house.runs_out(event, hold)
        elif fate == "released":
            house.release(event, hold, "ann")
        elif fate == "smaller":
            house.release_some(event, hold, "ann", [2 * number], 0, 3)
    if "swept" in fates:
        house.sweep(event)  # and those that are over
    return event, payments


def _begun(house: House, event: int, hold: int) -> begin.Payment:
    made: begin.Payment = house.run(lambda own: begin.begin(own, event, hold, "ann", "simulated", PRICES))
    return made


def _notice(payment: begin.Payment, kind: str, name: str) -> Notice:
    return Notice(
        "simulated", f"evt_{payment.id}_{kind}_{name}", NoticeKind(kind), payment.id, f"pi_{payment.id}",
        payment.amount_minor, payment.currency,
    )  # fmt: skip


def _tell(
    house: House, sale: Any, what: list[tuple[int, str]], at_a_time: int, *, at_once: bool = False
) -> None:
    """So many in one transaction; with `at_once` by two gateways that heard the same."""
    told = [_notice(sale[1][place], kind, "1") for place, kind in what]
    for start in range(0, len(told), at_a_time):
        some = told[start : start + at_a_time]
        if at_once:
            house.at_once(partial(settle, notices=some))
        else:
            house.run(partial(settle, notices=some))
