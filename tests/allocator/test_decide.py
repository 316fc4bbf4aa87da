"""The decision: alone in sentences, and against a plain slow reference over random histories."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from allocator.decide import EXPIRIES_PER_BATCH_MAX, Fact
from allocator.memory import BLOCKED, Hold
from store.words import Blocks, Choice, EventState, HoldId, Micros, Want
from tests.allocator import histories
from tests.allocator.house import best, plan_of, seats, snapshot
from tests.allocator.pure_sale import START, TTL_SECONDS, Sale
from tests.allocator.twins import Twins, block_fact, policy_fact


def test_named_seats_are_held_in_the_order_named_until_the_ttl_is_over():
    sale = Sale()
    outcome, result = sale.answer("ann", '{"seats":["A-2","A-1"]}')
    assert (outcome, result["seats"]) == ("held", ["A-2", "A-1"])
    assert result["expires_at"] == START // 1000 + TTL_SECONDS * 1000


def test_of_two_who_want_the_same_seat_the_first_has_it_and_the_other_is_told_which_is_taken():
    sale = Sale()
    first, second = sale.batch(sale.ask("ann", seats("A-1")), sale.ask("bob", seats("A-2", "A-1"))).rows
    assert first.outcome == "held"
    assert (second.outcome, second.result) == ("taken", '{"taken":["A-1"],"instead":[["A-5","A-6"]]}')


def test_a_request_is_all_or_nothing_over_seats_best_and_areas():
    sale = Sale(plan_of(rows=1, seats_a_row=3, standing=2))
    too_many_places = Want(seats=("A-1",), areas={"floor": 3})
    assert sale.answer("ann", too_many_places) == ("sold_out", {"reason": "area_full", "free": 2})
    not_together = Want(seats=("A-2",), best=best(2).best)
    assert sale.answer("ann", not_together) == ("sold_out", {"reason": "none_together", "largest": 1})
    both = Want(seats=("A-1",), best=best(2).best, areas={"floor": 2})
    assert sale.answer("ann", both)[1]["seats"] == ["A-1", "A-2", "A-3"]
    assert sale.memory.areas_free == [0]
    assert sale.memory.seats_free == 0


def test_best_available_is_the_plans_best_run_and_never_crosses_an_aisle_or_a_row():
    sale = Sale(plan_of(rows=2, seats_a_row=3))
    answers = [sale.answer(buyer, best(2))[1].get("seats") for buyer in "abc"]
    assert answers == [["A-2", "A-3"], ["B-2", "B-3"], None]


def test_best_available_keeps_to_its_section_and_category():
    sale = Sale(plan_of(rows=2, seats_a_row=3))
    assert sale.answer("ann", best(1, category="Silver"))[1]["seats"] == ["B-3"]
    assert sale.answer("ann", best(1, section="Stalls", category="Gold"))[1]["seats"] == ["A-3"]


def test_a_buyer_gets_no_more_than_the_limit_over_all_holds_and_orders():
    sale = Sale(seats_per_buyer_max=3)
    sale.answer("ann", seats("A-1", "A-2"))
    sale.batch(facts=[Fact(1, "paid", sale.hold_of("ann"), "null")])
    assert sale.answer("ann", seats("A-3", "A-4")) == ("limit_reached", {"reason": "limit", "limit": 3})
    assert sale.answer("ann", Want(areas={"floor": 1}))[0] == "held"
    assert sale.answer("ann", seats("A-5"))[0] == "limit_reached"


@pytest.mark.parametrize("fallbacks", [(), (Choice(seats=("A-2",), up_to=True),)])
def test_one_seat_or_fewer_is_that_seat_also_for_who_is_at_the_limit(fallbacks):
    sale = Sale(seats_per_buyer_max=1)
    sale.answer("bob", seats("A-1"))
    sale.answer("ann", seats("A-2"))
    want = Want(seats=("A-1",), up_to=True, fallbacks=fallbacks)
    assert sale.answer("ann", want)[0] == "taken"  # without the limit there were no more to be had


def test_a_blocked_seat_is_taken_and_is_not_given_as_best():
    sale = Sale(plan_of(rows=1, seats_a_row=2))
    sale.memory.take(0, BLOCKED)
    assert sale.answer("ann", seats("A-1"))[0] == "taken"
    assert sale.answer("ann", best(1))[1]["seats"] == ["A-2"]


def test_what_an_operator_blocks_is_off_sale_from_that_batch_on_and_on_sale_again_when_unblocked():
    sale = Sale(plan_of(rows=1, seats_a_row=4, standing=5))
    blocks = Blocks((0, 1), ((0, 3),))
    decided = sale.batch(
        sale.ask("ann", seats("A-1")),
        sale.ask("bob", Want(areas={"floor": 3})),
        facts=[block_fact(1, "blocked", blocks)],
    )
    assert [(row.kind, row.outcome) for row in decided.rows] == [
        ("fact", "blocked"),
        ("request", "taken"),
        ("request", "sold_out"),
    ]
    assert decided.rows[0].input == '{"fact":1,"hold":null,"body":{"seats":[0,1],"areas":[[0,3]]}}'
    assert decided.blocks_by_fact == [blocks]
    assert sale.answer("eve", best(3))[0] == "sold_out"
    assert (sale.memory.seats_free, sale.memory.areas_free) == (2, [2])
    decided = sale.batch(
        sale.ask("ann", best(4)),
        sale.ask("bob", Want(areas={"floor": 4})),
        facts=[block_fact(2, "unblocked", Blocks((1,), ((0, 1),)))],
    )
    assert [row.outcome for row in decided.rows[1:]] == ["sold_out", "sold_out"]
    decided = sale.batch(
        sale.ask("ann", best(4)),
        sale.ask("bob", Want(areas={"floor": 4})),
        facts=[block_fact(3, "unblocked", Blocks((0,), ((0, 2),)))],
    )
    assert [row.outcome for row in decided.rows[1:]] == ["held", "held"]


@pytest.mark.parametrize("kind", ["blocked", "unblocked"])
def test_a_block_that_the_loaded_tables_show_already_changes_nothing_a_second_time(kind):
    sale = Sale(plan_of(rows=1, seats_a_row=2, standing=5))
    sale.memory.reflected = frozenset({7})
    before = snapshot(sale.memory)
    decided = sale.batch(facts=[block_fact(7, kind, Blocks((0,), ((0, 3),)))])
    assert [row.outcome for row in decided.rows] == [kind]
    assert snapshot(sale.memory) == before | {
        "batch_no": sale.memory.batch_no,
        "batch_time": sale.memory.batch_time,
    }


def test_a_freed_seat_goes_to_the_first_who_asks_in_the_same_batch():
    sale = Sale()
    sale.answer("ann", seats("A-1"))
    decided = sale.batch(
        sale.ask("bob", seats("A-1")), facts=[Fact(7, "released", sale.hold_of("ann"), "null")]
    )
    assert [row.kind for row in decided.rows] == ["fact", "request"]
    assert decided.rows[1].outcome == "held"


def test_a_hold_runs_out_exactly_when_its_time_is_over_and_the_batch_says_so_before_it_answers():
    sale = Sale()
    sale.answer("ann", seats("A-1"))
    assert (
        sale.batch(sale.ask("bob", seats("A-1")), seconds=TTL_SECONDS - 0.000001).rows[-1].outcome == "taken"
    )
    decided = sale.batch(sale.ask("bob", seats("A-1")), seconds=0.000001)
    assert [(row.kind, row.outcome) for row in decided.rows] == [("expired", "expired"), ("request", "held")]


def test_a_paid_hold_does_not_run_out_and_a_fact_about_an_unknown_hold_changes_nothing():
    sale = Sale()
    sale.answer("ann", seats("A-1"))
    sale.batch(facts=[Fact(1, "paid", sale.hold_of("ann"), "null")])
    before = snapshot(sale.memory)
    decided = sale.batch(
        facts=[Fact(2, "released", HoldId(77), "null"), Fact(3, "paid", HoldId(78), "null")], seconds=1000
    )
    assert [row.kind for row in decided.rows] == ["fact", "fact"]
    assert before | snapshot(sale.memory) == before | {
        "batch_no": sale.memory.batch_no,
        "batch_time": sale.memory.batch_time,
    }


def test_a_paid_hold_keeps_its_seats_and_what_it_counts():
    sale = Sale(seats_per_buyer_max=1)
    sale.answer("ann", seats("A-1"))
    sale.batch(facts=[Fact(1, "paid", sale.hold_of("ann"), "null")])
    assert sale.answer("bob", seats("A-1")) == ("taken", {"taken": ["A-1"], "instead": [["A-6"]]})
    assert sale.answer("ann", seats("A-2"))[0] == "limit_reached"


def test_a_mass_expiry_is_spread_over_batches_oldest_first():
    sale = Sale(plan_of(rows=1, seats_a_row=1, standing=5000), seats_per_buyer_max=1)
    asks = [sale.ask(f"b{n}", Want(areas={"floor": 1})) for n in range(EXPIRIES_PER_BATCH_MAX + 5)]
    sale.batch(*asks)
    ran_out = [len(sale.batch(seconds=TTL_SECONDS).expired) for _ in range(3)]
    assert ran_out == [EXPIRIES_PER_BATCH_MAX, 5, 0]


@pytest.mark.parametrize("state", [EventState.DRAFT, EventState.LOBBY, EventState.CLOSED])
def test_an_event_that_does_not_sell_answers_closed_and_why(state):
    sale = Sale()
    sale.batch(facts=[policy_fact(1, state=state)])
    assert sale.answer("ann", seats("A-1")) == ("closed", {"reason": f"event_{state}"})


def test_an_unreadable_or_conflicting_request_is_told_so_even_when_the_event_is_closed():
    sale = Sale()
    sale.batch(facts=[policy_fact(1, state=EventState.CLOSED)])
    assert sale.answer("ann", seats("Z-9")) == ("invalid", {"reason": "unknown_seat"})
    conflicting = sale.ask("ann", seats("A-1"))._replace(conflict=True)
    assert sale.batch(conflicting).rows[-1].outcome == "conflict"


def test_while_paused_no_request_may_be_decided_and_no_hold_runs_out_that_ran_at_the_pause():
    sale = Sale()
    sale.answer("ann", seats("A-1"))
    paused_at = Micros(START + 3_000_000)
    pause = policy_fact(1, state=EventState.PAUSED, hold_ttl_seconds=TTL_SECONDS, paused_at=paused_at)
    assert sale.batch(facts=[pause], seconds=1000).expired == []
    with pytest.raises(AssertionError):
        sale.batch(sale.ask("bob", seats("A-1")))


def test_resuming_gives_every_hold_that_ran_at_the_pause_the_lost_time_back():
    sale = Sale()
    sale.answer("ann", seats("A-1"))
    paused_at = Micros(START + 3_000_000)
    rules = {"hold_ttl_seconds": TTL_SECONDS}
    sale.batch(facts=[policy_fact(1, state=EventState.PAUSED, paused_at=paused_at, **rules)], seconds=3)
    sale.batch(
        facts=[policy_fact(2, state=EventState.OPEN, holds_extended_us=60_000_000, **rules)], seconds=60
    )
    assert sale.memory.next_expiry() == START + (TTL_SECONDS + 60) * 1_000_000
    assert sale.batch(seconds=4.9).expired == []
    assert len(sale.batch(seconds=0.1).expired) == 1


def test_a_fact_that_the_loaded_tables_show_already_gives_no_time_back_a_second_time():
    sale = Sale()
    sale.answer("ann", seats("A-1"))
    sale.memory.reflected = frozenset({2})
    before = sale.memory.next_expiry()
    sale.batch(facts=[policy_fact(1, state=EventState.PAUSED, paused_at=Micros(START + 1))])
    sale.batch(facts=[policy_fact(2, state=EventState.OPEN, holds_extended_us=5)])
    assert sale.memory.next_expiry() == before


def test_a_hold_id_says_in_which_batch_and_where_it_was_decided():
    sale = Sale()
    sale.memory.batch_no = 41
    decided = sale.batch(sale.ask("ann", seats("Z-9")), sale.ask("bob", seats("A-1")))
    assert decided.claims[0].hold_id == 42 << 16 | 1


@given(histories.plans(), histories.histories, histories.limits, histories.tours)
@settings(max_examples=150, deadline=None)
def test_any_history_is_decided_as_the_plain_reference_decides_it(plan, history, limits, tour):
    twins = Twins(plan, limits=limits, tour=tour)
    for step in history:
        twins.live(step)


def test_an_extended_hold_runs_out_later_and_a_hold_that_gave_some_back_has_the_rest():
    sale = Sale()
    sale.answer("ann", Want(seats=("A-1", "A-2"), areas={"floor": 3}))
    ann = sale.hold_of("ann")
    decided = sale.batch(
        sale.ask("bob", seats("A-1")),
        facts=[
            Fact(1, "released", ann, '{"seats":[0],"areas":[[0,1]]}'),
            Fact(2, "extended", ann, '{"by_us":60000000}'),
        ],
    )
    assert [row.outcome for row in decided.rows] == ["released", "extended", "held"]
    assert (sale.memory.areas_free, sale.memory.count_by_buyer) == ([18], {"ann": 3, "bob": 1})
    assert [hold.seats for hold in decided.freed_by_fact] == [(0,)]
    assert decided.extended == [ann]
    bob = sale.hold_of("bob")
    assert [hold_id for hold_id, _ in sale.batch(seconds=TTL_SECONDS).expired] == [bob]
    assert [hold_id for hold_id, _ in sale.batch(seconds=60).expired] == [ann]
    assert (sale.memory.areas_free, sale.memory.count_by_buyer) == ([20], {})


def test_what_the_loaded_tables_show_of_a_hold_is_not_done_to_it_a_second_time():
    sale = Sale()
    sale.answer("ann", Want(seats=("A-1", "A-2"), areas={"floor": 3}))
    ann, before = sale.hold_of("ann"), snapshot(sale.memory)
    sale.memory.reflected = frozenset({1, 2})
    part = Fact(1, "released", ann, '{"seats":[0],"areas":[[0,1]]}')
    decided = sale.batch(facts=[part, Fact(2, "extended", ann, '{"by_us":60000000}')])
    assert (decided.freed_by_fact, decided.extended) == ([], [])
    after = snapshot(sale.memory)
    assert {slot for slot in before if before[slot] != after[slot]} == {"batch_no", "reflected"}


def test_a_hold_has_more_than_is_given_back():
    memory_hold = Hold("ann", (1, 2), ((0, 3),), START)
    for part in (Hold("ann", (3,), (), 0), Hold("ann", (), ((0, 4),), 0), Hold("ann", (1, 2), ((0, 3),), 0)):
        with pytest.raises(AssertionError):
            memory_hold.without(part)


def test_a_hold_put_into_memory_by_loading_runs_out_like_one_that_was_decided():
    sale = Sale()
    sale.memory.take(3, 99)
    sale.memory.count_by_buyer["ann"] = 1
    sale.memory.put(HoldId(99), Hold("ann", (3,), (), START + 5))
    decided = sale.batch(seconds=1)
    assert [hold_id for hold_id, _ in decided.expired] == [99]
    assert sale.memory.count_by_buyer == {}
