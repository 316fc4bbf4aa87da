"""Histories that reach what random ones seldom do: between them, everything that can happen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from tests.payments_model.machine import Paying

Step = Callable[[], None]

EVERYTHING = {
    "swept", "canceled by chores", "killed amid calling off", "order moved", "order refunded", "move",
    "cancel",
    "begin hold_not_found", "begin hold_paid", "begin hold_expired", "begin hold_released",
    "begin hold_refunded", "notice unknown_payment", "notice amount_mismatch", "notice failed",
    "notice canceled", "notice succeeded again", "notice refunded again", "late succeeded", "late refund_due",
    "organiser paid", "organiser refunded", "buyer paid", "buyer refunded", "refund killed", "refund refused",
    "refund slow",
}  # fmt: skip


def of_paying(sale: Paying) -> Iterator[Step]:
    tell = sale.the_provider_tells
    give, begin = sale.somebody_is_given_a_hold, sale.somebody_begins_to_pay
    yield from (partial(give, "ann", {0, 1}, 1), partial(begin, 0, "eve", True, "once"))
    yield from (partial(begin, 0, "its", False, "at once"), partial(tell, [(0, "failed", 0, "")], "again"))
    yield partial(tell, [(0, "succeeded", 0, flaw) for flaw in ("amount", "currency", "unknown")], "again")
    yield partial(tell, [(0, "canceled", 0, ""), (0, "refunded", 0, "")], "once")
    yield from (
        partial(begin, 0, "its", True, "again"),
        partial(tell, [(1, "succeeded", 0, "intent")], "once"),
    )
    yield from (partial(tell, [(1, "succeeded", 0, ""), (0, "succeeded", 0, "")], "at once"),)
    yield from (partial(tell, [(1, "succeeded", 0, "")], "once"), partial(begin, 0, "its", True, "once"))
    yield from (partial(give, "bob", {2, 3}, 0), partial(begin, 1, "its", True, "once"))
    yield from (partial(sale.a_holder_gives_it_back, 0, True), partial(begin, 1, "its", True, "once"))
    yield from (partial(sale.a_holder_gives_it_back, 0, False), partial(begin, 1, "its", True, "once"))
    yield from (partial(sale.chores_cancel_what_nobody_may_finish, "again"),)
    yield partial(tell, [(3, "succeeded", 0, ""), (2, "succeeded", 0, "")], "again")
    yield from (partial(sale.a_ticket_is_given_away, 0, "again"), partial(sale.refunds_are_given, [], "once"))
    yield partial(sale.an_order_goes_back, 0, 0, "buyer", False, "once")  # it is somebody else's now
    yield partial(sale.an_order_goes_back, 0, 1, "buyer", False, "again")
    yield partial(sale.an_order_goes_back, 0, 1, "organiser", False, "again")
    yield from (
        partial(sale.refunds_are_given, ["slow", "killed"], "at once"),
        partial(sale.refunds_are_given, ["refused"], "once"),
    )
    yield from (
        partial(sale.an_order_goes_back, 0, 0, "organiser", True, "again"),
        partial(begin, 0, "its", True, "once"),
    )
    yield from (
        partial(sale.refunds_are_given, [], "once"),
        partial(sale.who_was_slow_writes_a_refund_down, 0),
    )
    yield from (
        partial(sale.somebody_buys, "bob", {5}, 0),
        partial(sale.an_order_goes_back, 0, 0, "buyer", True, "again"),
    )
    yield partial(tell, [(number, "succeeded", 1, "") for number in range(3)], "once")
    yield from _of_being_late(sale)


def _of_being_late(sale: Paying) -> Iterator[Step]:
    """Its seats are there again; somebody has them; they were there, and ran out again."""
    yield partial(sale.somebody_pays_too_late, "ann", {6, 7}, 1)
    yield from (
        sale.somebody_sweeps,
        partial(sale.somebody_begins_to_pay, len(sale.model.holds) - 1, "its", True, "once"),
    )
    if not sale.model.reacquire:
        return
    late = partial(sale.a_late_payment_looks_for_its_answer, 0)
    yield from (partial(late, "once"), partial(sale.the_stream_answers, 0, "given"), partial(late, "at once"))
    yield partial(sale.somebody_pays_too_late, "bob", {8}, 0)
    yield from (partial(sale.the_stream_answers, 0, "taken"), partial(late, "again"))
    yield partial(sale.somebody_pays_too_late, "bob", {9}, 0)
    yield from (
        partial(sale.the_stream_answers, 0, "given"),
        partial(sale.a_hold_runs_out, 0),
        partial(late, "again"),
    )


def of_moving(sale: Paying) -> Iterator[Step]:
    yield from (partial(sale.somebody_buys, "ann", {0, 1}, 1), partial(sale.somebody_buys, "bob", {2}, 0))
    yield from (partial(sale.somebody_buys, "ann", {3}, 2), partial(sale.the_organiser_gives_a_seat, 4, True))
    yield from (
        partial(sale.the_organiser_gives_a_seat, 2, False),
        partial(sale.a_ticket_is_given_away, 0, "once"),
    )
    yield partial(sale.an_order_goes_back, 0, 1, "organiser", False, "once")
    yield from (
        partial(sale.refunds_are_given, ["slow"], "once"),
        partial(sale.somebody_pays_too_late, "bob", {7}, 0),
    )
    yield from _of_being_late(sale)
    yield from (
        partial(sale.somebody_is_given_a_hold, "bob", {5}, 0),
        partial(sale.the_event_is_called_off, 0, "move"),
    )
    yield from [partial(sale.somebody_goes_on_with_that, 1)] * 3
    yield partial(sale.who_was_slow_writes_a_refund_down, 0)
    yield partial(sale.an_order_goes_back, len(sale.model.orders()) - 1, 0, "buyer", True, "again")
    yield partial(sale.the_event_is_called_off, 0, "cancel the other")
    yield from [partial(sale.somebody_goes_on_with_that, 3)] * 5


def of_canceling(sale: Paying) -> Iterator[Step]:
    yield from (partial(sale.somebody_buys, "ann", {0, 1}, 1), partial(sale.somebody_buys, "bob", {2}, 0))
    yield from _of_being_late(sale)
    yield from (
        partial(sale.somebody_is_given_a_hold, "bob", {5}, 0),
        partial(sale.the_event_is_called_off, 0, "cancel"),
    )
    yield partial(sale.somebody_begins_to_pay, len(sale.model.holds) - 1, "its", True, "once")
    yield partial(sale.the_provider_tells, [(len(sale.model.payments) - 1, "succeeded", 0, "")], "at once")
    yield from [partial(sale.somebody_goes_on_with_that, 1)] * 2
    yield from (
        partial(sale.refunds_are_given, ["killed"], "once"),
        partial(sale.somebody_goes_on_with_that, 3),
    )


REACHED: dict[Callable[[Paying], Iterator[Step]], set[str]] = {
    of_paying: EVERYTHING
    - {"killed amid calling off", "order moved", "order refunded", "move", "cancel"}
    - {"late succeeded", "late refund_due"},
    of_moving: {"move", "order moved", "order refunded", "killed amid calling off", "refund slow"},
    of_canceling: {"cancel", "order refunded", "killed amid calling off"},
}
"""Each history, and what it comes to, whatever becomes of late money."""
