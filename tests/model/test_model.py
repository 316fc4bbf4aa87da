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

from tests.model import machine
from tests.model.house import VENUE, house
from tests.model.machine import UNDECIDED_MAX, OnSale, seen
from tests.model.stack import Stack, stack
from tests.profiles import searching

EXAMPLES = 14
STEPS = 70


@pytest.fixture
def running(engine_urls) -> Iterator[Stack]:
    with stack(engine_urls, bounds={"undecided_per_buyer_max": UNDECIDED_MAX}) as both:
        both.save_venue(VENUE, house())
        machine.running.append(both)
        yield both
        machine.running.remove(both)


def test_every_answer_is_the_models(running):
    seen.clear()
    run_state_machine_as_test(OnSale, settings=searching(EXAMPLES, stateful_step_count=STEPS))
    missing = {
        "decision held", "decision taken", "decision sold_out", "decision limit_reached", "decision invalid",
        "decision conflict", "undecided", "error key_reused", "confirm hold paid",
        "confirm error hold_not_found", "release hold released", "release hold expired", "pause ok paused",
        "resume ok open",
    } - seen.keys()  # fmt: skip
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
