"""Memory between transactions, and the overlay that puts everything back."""

from __future__ import annotations

import pytest

from allocator.layout import Layout
from allocator.memory import BLOCKED, Hold, Memory, Overlay, expiry_now
from store.words import Blocks, EventState, HoldId, HoldKind, Micros, Policy, Returned, Sold
from tests.allocator.house import plan_of, snapshot

OPEN = Policy(EventState.OPEN)


def memory_with(*holds: tuple[int, Hold]) -> Memory:
    memory = Memory(Layout(plan_of()), OPEN)
    overlay = Overlay(memory)
    for hold_id, hold in holds:
        overlay.claim(HoldId(hold_id), hold)
    overlay.keep(1, 10)
    return memory


def test_a_discarded_batch_leaves_no_trace_of_any_kind_of_change():
    memory = memory_with(
        (1, Hold("ann", (0, 1), ((0, 2),), 100)),
        (2, Hold("bob", (5,), (), 200)),
        (3, Hold("eve", (), ((0, 1),), 300)),
    )
    Overlay(memory).set_policy(Policy(EventState.PAUSED, paused_at=Micros(50)))
    before = snapshot(memory)
    overlay = Overlay(memory)
    overlay.extend(HoldId(1), 40)
    overlay.free_some(HoldId(1), (1,), ((0, 1),))
    overlay.extend(HoldId(1), 500)
    overlay.extend(HoldId(3), 7)
    overlay.give_time(250, 30)
    overlay.free(HoldId(1))
    overlay.claim(HoldId(4), Hold("dan", (1, 2), ((0, 3),), 400))
    overlay.settle(HoldId(2))
    overlay.set_policy(Policy(EventState.OPEN, holds_extended_us=1000))
    overlay.free(HoldId(4))
    overlay.claim(HoldId(5), Hold("ann", (1,), (), 500))
    overlay.block(Blocks((2, 8), ((0, 4),)))
    overlay.unblock(Blocks((8,), ((0, 1),)))
    overlay.claim(HoldId(6), Hold("ann", (8,), (), 500))
    overlay.block(Blocks((20, 21), ((0, 2),)))
    overlay.sell(HoldId(7), Sold("eve", "sale", HoldKind.BOX_OFFICE, (20, 21), ((0, 2),)))
    overlay.take_back(HoldId(7), Returned("eve", False, True, (20,), ((0, 1),)))
    overlay.take_back(HoldId(2), Returned("bob", True, False, (5,)))
    overlay.claim(HoldId(8), Hold("eve", (5,), (), 500))
    assert memory.due(10_000) is not None
    overlay.discard()
    assert snapshot(memory) == before


def test_an_extended_hold_is_due_at_its_new_time_and_nothing_is_left_of_the_old():
    memory = memory_with((1, Hold("ann", (0,), (), 100)), (2, Hold("bob", (1,), (), 150)))
    Overlay(memory).extend(HoldId(1), 100)
    assert memory.due(149) is None
    assert memory.due(150) == 2
    Overlay(memory).free(HoldId(2))
    assert (memory.due(199), memory.due(200)) == (None, 1)


def test_a_part_given_back_is_free_and_no_longer_counts_and_the_rest_stays():
    memory = memory_with((1, Hold("ann", (0, 1), ((0, 2),), 100)))
    freed = Overlay(memory).free_some(HoldId(1), (1,), ((0, 2),))
    assert freed is not None
    assert (freed.seats, freed.areas, freed.quantity) == ((1,), ((0, 2),), 3)
    assert memory.hold_of[:2] == [1, 0]
    assert (memory.areas_free, memory.count_by_buyer) == ([20], {"ann": 1})
    assert (memory.holds[HoldId(1)].seats, memory.holds[HoldId(1)].areas) == ((0,), ())
    assert memory.due(100) == 1


def test_what_is_not_active_is_neither_extended_nor_given_back_in_part():
    memory = memory_with()
    overlay = Overlay(memory)
    assert overlay.extend(HoldId(1), 5) is None
    assert overlay.free_some(HoldId(1), (0,), ()) is None


def test_a_kept_batch_is_memory_with_its_number_and_time():
    memory = memory_with((1, Hold("ann", (0, 1), ((0, 2),), 100)))
    assert (memory.batch_no, memory.batch_time) == (1, 10)
    assert memory.hold_of[:3] == [1, 1, 0]
    assert memory.areas_free == [18]
    assert memory.count_by_buyer == {"ann": 4}


def test_holds_run_out_in_the_order_of_their_times_and_of_their_ids_at_equal_times():
    memory = memory_with(
        (7, Hold("ann", (0,), (), 200)), (9, Hold("bob", (1,), (), 100)), (8, Hold("eve", (2,), (), 100))
    )
    order = []
    while (hold_id := memory.due(1000)) is not None:
        Overlay(memory).free(hold_id)
        order.append(hold_id)
    assert order == [8, 9, 7]
    assert memory.next_expiry() is None


def test_a_hold_is_due_at_its_time_and_not_before():
    memory = memory_with((1, Hold("ann", (0,), (), 200)))
    assert memory.due(199) is None
    assert memory.due(200) == 1


def test_only_free_seats_are_claimed_and_only_places_within_capacity():
    memory = memory_with((1, Hold("ann", (0,), (), 200)))
    with pytest.raises(AssertionError):
        Overlay(memory).claim(HoldId(2), Hold("bob", (0,), (), 200))
    with pytest.raises(AssertionError):
        Overlay(memory).claim(HoldId(2), Hold("bob", (), ((0, 21),), 200))


def test_a_discarded_unblock_leaves_the_seats_and_places_blocked():
    memory = memory_with((1, Hold("ann", (0,), (), 200)))
    overlay = Overlay(memory)
    overlay.block(Blocks((3, 4), ((0, 5),)))
    overlay.keep(2, 20)
    assert (memory.hold_of[3:6], memory.seats_free, memory.areas_free) == ([BLOCKED, BLOCKED, 0], 37, [15])
    before = snapshot(memory)
    overlay = Overlay(memory)
    overlay.unblock(Blocks((3, 4), ((0, 5),)))
    overlay.claim(HoldId(2), Hold("bob", (3,), ((0, 16),), 300))
    overlay.free(HoldId(2))
    overlay.block(Blocks((4,), ()))
    overlay.discard()
    assert snapshot(memory) == before


def test_only_free_seats_are_blocked_and_only_blocked_ones_unblocked():
    memory = memory_with((1, Hold("ann", (0,), (), 200)))
    wrong = [(Overlay.block, Blocks((0,))), (Overlay.unblock, Blocks((0,))), (Overlay.unblock, Blocks((1,)))]
    wrong += [(Overlay.block, Blocks((), ((0, 21),))), (Overlay.unblock, Blocks((), ((0, 1),)))]
    for change, blocks in wrong:
        overlay = Overlay(memory)
        with pytest.raises(AssertionError):
            change(overlay, blocks)
        overlay.discard()


def test_a_hold_frees_only_seats_that_still_name_it():
    memory = memory_with((1, Hold("ann", (0,), (), 200)))
    memory.hold_of[0] = 2
    with pytest.raises(AssertionError):
        Overlay(memory).free(HoldId(1))


def test_freeing_or_settling_what_is_not_active_is_nothing():
    memory = memory_with((1, Hold("ann", (0,), (), 200)))
    overlay = Overlay(memory)
    assert overlay.settle(HoldId(1)) is not None
    before = snapshot(memory)
    assert overlay.free(HoldId(1)) is None
    assert overlay.settle(HoldId(1)) is None
    assert snapshot(memory) == before


def test_while_paused_the_time_for_expiries_stands_at_the_pause():
    memory = memory_with()
    assert expiry_now(memory, 500) == 500
    memory.policy = Policy(EventState.PAUSED, paused_at=Micros(300))
    assert expiry_now(memory, 500) == 300
    assert expiry_now(memory, 200) == 200


def blocked_memory() -> Memory:
    memory = memory_with((1, Hold("ann", (0, 1), ((0, 2),), 100)))
    Overlay(memory).block(Blocks((5, 6), ((0, 4),)))
    return memory


def test_what_operators_sell_was_off_sale_and_does_not_count_for_the_buyer():
    memory = blocked_memory()
    sold = Sold("bob", "sale", HoldKind.COMPLIMENTARY, (5,), ((0, 3),))
    overlay = Overlay(memory)
    before = snapshot(memory)
    overlay.sell(HoldId(9), sold)
    assert memory.hold_of[5:7] == [9, BLOCKED]
    assert (memory.areas_free, memory.count_by_buyer) == ([14], {"ann": 4})
    overlay.discard()
    assert snapshot(memory) == before
    for seats in ((0,), (7,)):
        with pytest.raises(AssertionError, match="not blocked"):
            Overlay(memory).sell(HoldId(9), Sold("bob", "sale", HoldKind.BOX_OFFICE, seats))


@pytest.mark.parametrize("blocked", [False, True])
def test_an_order_taken_back_counts_no_longer_and_is_free_or_off_sale(blocked):
    memory = blocked_memory()
    Overlay(memory).settle(HoldId(1))
    before = snapshot(memory)
    overlay = Overlay(memory)
    overlay.take_back(HoldId(1), Returned("ann", True, blocked, (0,), ((0, 2),)))
    assert memory.hold_of[:2] == [BLOCKED if blocked else 0, 1]
    assert (memory.areas_free, memory.count_by_buyer) == ([14 if blocked else 16], {"ann": 1})
    assert memory.seats_free == before["seats_free"] + (not blocked)
    overlay.discard()
    assert snapshot(memory) == before


def test_only_what_the_order_has_is_taken_back():
    memory = blocked_memory()
    Overlay(memory).settle(HoldId(1))
    with pytest.raises(AssertionError, match="seat 5 is blocked, not of hold 1"):
        Overlay(memory).take_back(HoldId(1), Returned("ann", True, False, (5,)))
    with pytest.raises(AssertionError, match="counts until it is taken back"):
        Overlay(memory).take_back(HoldId(1), Returned("ann", True, False, (), ((0, 5),)))
