"""Whatever buyers and an operator do, one after the other, the answers are those of a plain model.

Hypothesis makes up histories of a small house over the public API (`tests.model.machine`), and
`tests.model.reference` says what must be answered. Run it for long with `HYPOTHESIS_PROFILE=long`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis.stateful import run_state_machine_as_test

from gateway import waiters
from tests.model import machine
from tests.model.house import VENUE, house
from tests.model.machine import UNDECIDED_MAX, OnSale, seen
from tests.model.stack import Stack, stack
from tests.profiles import LONG, searching

EXAMPLES = 8
STEPS = 70


@pytest.fixture
def running(engine_urls, monkeypatch) -> Iterator[Stack]:
    monkeypatch.setattr(waiters, "LOOK_SECONDS_MIN", 0.0)  # who asks for the list is answered at once
    with stack(engine_urls, bounds={"undecided_per_buyer_max": UNDECIDED_MAX}) as both:
        both.save_venue(VENUE, house())
        machine.running.append(both)
        yield both
        machine.running.remove(both)


def test_every_answer_is_the_models(running):
    seen.clear()
    run_state_machine_as_test(OnSale, settings=searching(EXAMPLES, stateful_step_count=STEPS))
    often = {
        "decision held", "decision taken", "decision invalid", "decision conflict", "undecided",
        "confirm error hold_not_found", "pause ok paused", "decision waitlisted",
    }  # fmt: skip
    seldom = {
        "decision sold_out", "decision limit_reached", "error key_reused", "confirm hold paid",
        "release hold released", "release hold expired", "resume ok open", "offer", "moved",
        "extend hold active", "leave left", "some release hold active", "some release error not_in_hold",
        "list waiting",
    }  # fmt: skip
    missing = (often | seldom if LONG else often) - seen.keys()  # the two histories below reach each for sure
    assert not missing, f"never happened: {sorted(missing)}; what did: {dict(seen)}"


def test_one_history_with_every_kind_of_answer(running):
    """What a random history seldom reaches is reached by this one, whatever the others do."""
    seen.clear()
    sale = OnSale()
    try:
        sale.made(limit=4, ttl=480, gate=False, is_open=False)
        for step in _one_history(sale):
            step()
            sale.the_seat_map_is_the_models()
    finally:
        sale.teardown()
    missing = {
        "decision held", "decision taken", "decision sold_out", "decision limit_reached", "decision invalid",
        "decision conflict", "decision closed", "undecided", "error key_reused", "error event_closed",
        "error event_not_open", "error too_many_undecided", "confirm hold paid", "release hold released",
        "confirm error hold_not_found", "confirm error hold_released", "confirm error hold_expired",
        "release hold expired", "release error hold_paid", "release error hold_not_found", "pause ok paused",
        "resume ok open", "close ok closed", "pause error event_state", "close error event_state",
    } - seen.keys()  # fmt: skip
    assert not missing, f"never happened: {sorted(missing)}; what did: {dict(seen)}"


def _one_history(sale: OnSale) -> Iterator[Callable[[], None]]:
    def ask(buyer: str, key: str, way: str = "phone", again: bool = False, **want: Any) -> Callable[[], None]:
        return lambda: sale._ask(buyer, key, want, way, again)

    def change(word: str, number: int, buyer: str = "", way: str = "http") -> None:
        hold_id = list(sale.model.holds)[number]
        sale._change(buyer or sale.model.holds[hold_id].buyer, word, hold_id, way)

    def move(word: str) -> Callable[[], None]:
        return partial(sale._move, word)

    yield from (ask("ann", "r1", seats=["A-0"]), move("pause"), move("open"))
    yield from (ask("ann", "r1", seats=["A-0", "A-1"]), ask("ann", "r1", seats=["A-1", "A-0"], way="http"))
    yield from (ask("bob", "r1", seats=["A-0"]), ask("bob", "r2", seats=["Z-9"]))
    yield from (ask("bob", "r3", best={"quantity": 4}), ask("bob", "r4", areas={"bar": 3}))
    yield from (ask("ann", "r1", seats=["C-0"], again=True), ask("ann", "r1", seats=["C-0"], way="http"))
    yield from (ask("ann", "r2", best={"quantity": 3}), ask("cem", "r1", areas={"floor": 2}))
    yield ask("bob", "r5", seats=["C-1"], way="laptop")
    yield from (partial(change, "confirm", 0, "cem"), partial(change, "release", 0, "cem", "laptop"))
    yield from (partial(change, "confirm", 0), partial(change, "confirm", 0), partial(change, "release", 0))
    yield from (partial(change, "release", 1), partial(change, "confirm", 1), sale.holds_run_out)
    yield from (
        partial(change, "confirm", 2),
        partial(change, "release", 2),
        sale.operator_looks,
        move("pause"),
    )
    yield from (ask("bob", "p1", seats=["B-0"]), ask("bob", "p2", seats=["B-0"], way="http"))
    yield from (ask("bob", "p1", seats=["B-0"], way="laptop"), ask("bob", "p1", seats=["B-1"]))
    yield from (ask("bob", "p3", seats=["B-3"]), ask("cem", "p1", best={"quantity": 2}), move("resume"))
    yield from (move("pause"), ask("cem", "p2", seats=["B-3"]), move("close"), move("close"))
    yield ask("cem", "r9", seats=["B-3"])


def test_one_history_of_waiting_moving_extending_and_giving_back(running):
    """Of what a buyer can do with a hold and with a place on the waiting list, each answer."""
    seen.clear()
    sale = OnSale()
    try:
        sale.made(limit=8, ttl=480, gate=False, is_open=True)
        for step in _history_of_holders(sale):
            step()
            sale.the_seat_map_is_the_models()
    finally:
        sale.teardown()
    missing = {
        "decision held", "decision waitlisted", "offer", "moved", "extend hold active",
        "extend error no_extensions_left", "extend error hold_released", "extend error hold_expired",
        "extend error hold_paid", "leave left", "leave error offered", "leave error not_waiting",
        "some release hold active", "some release hold released", "some release error not_in_hold",
        "some release error hold_paid", "list offered waiting", "decision limit_reached", "decision invalid",
    } - seen.keys()  # fmt: skip
    assert not missing, f"never happened: {sorted(missing)}; what did: {dict(seen)}"


def _history_of_holders(sale: OnSale) -> Iterator[Callable[[], None]]:
    def ask(buyer: str, key: str, way: str = "phone", **want: Any) -> Callable[[], None]:
        return lambda: sale._ask(buyer, key, want, way, again=False)

    def hold(number: int) -> str:
        return list(sale.model.holds)[number]

    def move(buyer: str, key: str, number: int, **want: Any) -> Callable[[], None]:
        return lambda: sale._ask(buyer, key, want | {"move": hold(number)}, "laptop", again=False)

    def change(word: str, number: int) -> Callable[[], None]:
        return lambda: sale._change(sale.model.holds[hold(number)].buyer, word, hold(number), "http")

    def extend(number: int, way: str = "phone") -> Callable[[], None]:
        return lambda: sale._extend(hold(number), sale.model.holds[hold(number)].ends_ms, False, way)

    def some(number: int, *seats: str, of: int | None = None, way: str = "http") -> Callable[[], None]:
        return lambda: sale._give_some(hold(number), list(seats), {}, of, way)

    def leave(buyer: str, key: str, way: str = "http") -> Callable[[], None]:
        return partial(sale._leave, buyer, key, way)

    yield from (ask("ann", "r1", seats=["A-0", "A-1"]), ask("bob", "w1", seats=["A-0"], waitlist=True))
    yield from (ask("cem", "w1", seats=["A-1"], waitlist=True), leave("ann", "r1"))
    yield from (ask("bob", "w2", seats=["A-0", "A-1"], waitlist=True), partial(sale.looks_at_the_list, "bob"))
    yield from (extend(0), extend(0, "http"), extend(0))
    yield from (some(0, "B-0"), some(0, "A-0", of=2, way="laptop"))  # bob is offered it: hold 1
    yield from (leave("bob", "w1", "phone"), leave("bob", "w2"), leave("bob", "w2", "laptop"))
    yield from (ask("bob", f"v{n}", seats=["A-1"], waitlist=True) for n in range(5))
    yield partial(sale.looks_at_the_list, "bob")
    yield from (move("ann", "m1", 0, seats=["A-2"]), extend(0))  # cem is offered what it leaves: hold 2, 3
    yield from (move("ann", "m2", 2, seats=["A-0"]), move("bob", "m3", 2, seats=["A-3"]))
    yield from (some(3, "A-1"), change("confirm", 1), extend(1), some(1, "A-0"))
    yield from (sale.holds_run_out, extend(2))
    yield partial(sale.looks_at_the_list, "cem")


def test_one_history_of_limits_by_category_and_of_what_an_operator_sells(running):
    """Gold is limited to one; what is sold by hand counts for no limit, and what comes back is offered."""
    seen.clear()
    sale = OnSale()
    try:
        sale.made(limit=4, ttl=480, gate=False, is_open=True, by_category={"Gold": 1, "Silver": 3})
        for step in _history_of_limits_and_sales(sale):
            step()
            sale.the_seat_map_is_the_models()
    finally:
        sale.teardown()
    missing = {
        "decision held", "decision limit_reached", "decision waitlisted", "offer", "sell order",
        "sell error seats_not_free", "sell error places_not_free", "take back order paid",
        "take back order refunded", "take back error not_an_order", "take back error order_changed",
        "take back error not_in_order", "take back error quantity_required", "take back error hold_not_found",
        "release error hold_refunded", "confirm error hold_refunded", "extend error hold_refunded",
    } - seen.keys()  # fmt: skip
    assert not missing, f"never happened: {sorted(missing)}; what did: {dict(seen)}"
    limited = [answer[2] for _, answer in sale.model.decided.values() if answer[1] == "limit_reached"]
    assert {"reason": "limit", "limit": 1, "category": "Gold"} in limited
    assert {"reason": "limit", "limit": 3, "category": "Silver"} in limited


def _history_of_limits_and_sales(sale: OnSale) -> Iterator[Callable[[], None]]:
    def ask(buyer: str, key: str, **want: Any) -> Callable[[], None]:
        return lambda: sale._ask(buyer, key, want, "phone", again=False)

    def hold(number: int) -> str:
        return list(sale.model.holds)[number]

    def sell(buyer: str, *seats: str, **areas: int) -> Callable[[], None]:
        return lambda: sale._sell(buyer, list(seats), areas, "box_office", "")

    def back(number: int, *seats: str, of: int | None = None, **areas: int) -> Callable[[], None]:
        return lambda: sale._take_back(hold(number), list(seats), areas, of)

    def change(word: str, number: int) -> Callable[[], None]:
        return lambda: sale._change(sale.model.holds[hold(number)].buyer, word, hold(number), "http")

    yield from (ask("ann", "r1", seats=["A-0"]), ask("ann", "r2", seats=["A-1"]))  # hold 0: her one of Gold
    yield from (ask("bob", "r1", seats=["A-1", "A-2"]), ask("ann", "r3", areas={"floor": 3}))  # hold 1
    yield ask("ann", "r4", areas={"bar": 1})
    yield ask("bob", "r2", best={"quantity": 4, "category": "Silver"})
    yield from (sell("ann", "A-1", "A-2", bar=1), sell("ann", "A-1", "A-2", bar=1))  # hold 2, and the same
    yield from (sell("bob", "A-0", "B-0"), sell("bob", "B-0", bar=2))
    yield from (change("confirm", 0), sell("bob", "A-0"))
    yield ask("bob", "w1", seats=["A-1"], waitlist=True)
    yield ask("cem", "w1", areas={"bar": 2}, waitlist=True)
    yield from (back(2, "A-3"), back(2, "A-1", of=2), back(2, bar=1), back(2, "A-1", of=3))  # bob: hold 3
    yield from (back(1), back(2, bar=1, of=2), back(2), back(2), back(0))  # cem: hold 4
    yield from (change("release", 0), change("confirm", 0))
    yield lambda: sale._extend(hold(0), sale.model.holds[hold(0)].ends_ms, False, "phone")
    yield from (ask("ann", "r5", seats=["A-0"]), sell("ann", "A-1"), sell("ann", "A-2"), sell("ann", "A-2"))
    yield lambda: sale._take_back("1", [], {}, None)
    yield partial(sale.operator_changes_policy, limit=2, ttl=480, gate=False)
    yield from (ask("ann", "r6", seats=["A-3"]), ask("cem", "r2", seats=["A-3"]), sale.operator_looks)
