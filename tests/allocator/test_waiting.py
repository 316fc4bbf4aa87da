"""The waiting list: who is offered what comes back, in which order; alone in sentences, and at random."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allocator import decide, offering, waiting
from allocator.choosing import first_choice
from allocator.decide import Fact
from allocator.decided import Decided, Row
from allocator.memory import Hold, Memory, Overlay
from allocator.offering import OffersFirst
from allocator.ordered import Ordered
from allocator.wishes import Wish
from store.words import Best, Blocks, Choice, EventState, HoldId, Micros, WaitId, Want
from tests.allocator import histories
from tests.allocator.house import plan_of, snapshot
from tests.allocator.pure_sale import START, Sale
from tests.allocator.twins import Twins, block_fact, left_fact, policy_fact

OFFER_SECONDS = 20


def sale_of(rows: int = 1, seats_a_row: int = 6, standing: int = 3, **policy: Any) -> Sale:
    return Sale(plan_of(rows, seats_a_row, standing), offer_ttl_seconds=OFFER_SECONDS, **policy)


def waits(quantity: int = 0, *named: str, **more: Any) -> Want:
    return Want(seats=named, best=Best(quantity) if quantity else None, waitlist=True, **more)


def fill(sale: Sale, *sizes: int) -> list[HoldId]:
    """Holds of so many seats of row A from the left, each of a buyer `h0`, `h1` …"""
    at, held = 1, []
    for number, size in enumerate(sizes):
        named = tuple(f"A-{n}" for n in range(at, at + size))
        outcome, result = sale.answer(f"h{number}", Want(seats=named))
        assert outcome == "held"
        held.append(HoldId(int(result["hold"])))
        at += size
    return held


def offers(decided: Decided) -> list[tuple[str, list[str], int]]:
    """(buyer, seats, passed over) of each."""
    told = [(row, json.loads(row.result)) for row in decided.rows if row.kind == "offer"]
    return [(row.buyer, result["seats"], result["passed_over"]) for row, result in told]


def back(hold_id: HoldId, fact_id: int = 1, body: str = "null") -> Fact:
    return Fact(fact_id, "released", hold_id, body)


def waiting_of(sale: Sale) -> list[str]:
    return [entry.buyer for _, entry in sale.memory.waiting]


def test_who_would_wait_is_told_the_place_on_the_list_and_why():
    sale = sale_of()
    fill(sale, 6)
    outcome, result = sale.answer("ann", waits(2))
    wait_id = sale.memory.batch_no << 16
    assert (outcome, result["wait"], result["position"]) == ("waitlisted", str(wait_id), 1)
    assert (result["why"], result["detail"]) == ("sold_out", {"reason": "none_together", "largest": 0})
    outcome, result = sale.answer("bob", waits(0, "A-1"))
    assert (outcome, result["position"], result["why"]) == ("waitlisted", 2, "taken")
    assert result["detail"] == {"taken": ["A-1"], "instead": []}


def test_who_can_be_served_does_not_wait():
    sale = sale_of()
    assert sale.answer("ann", waits(2))[0] == "held"
    assert sale.answer("bob", waits(0, "A-1"))[0] == "held"
    assert waiting_of(sale) == []


def test_what_comes_back_is_offered_as_a_hold_that_runs_out_when_the_organiser_says():
    sale = sale_of()
    first, _ = fill(sale, 2, 4)
    sale.answer("ann", waits(2))
    wait_id = next(iter(sale.memory.waiting))[0]
    decided = sale.batch(facts=[back(first)])
    row = decided.rows[-1]
    hold_id = sale.memory.batch_no << 16 | 1
    assert row[:6] == ("offer", "", "ann", "r", f'{{"wait":"{wait_id}"}}', "offered")
    assert json.loads(row.result) == {
        "hold": str(hold_id),
        "seats": ["A-1", "A-2"],
        "areas": {},
        "expires_at": START // 1000 + OFFER_SECONDS * 1000,
        "step": "together",
        "passed_over": 0,
    }
    assert sale.memory.holds[HoldId(hold_id)].buyer == "ann"
    assert sale.memory.count_by_buyer["ann"] == 2
    assert waiting_of(sale) == []


def test_a_party_that_does_not_fit_is_passed_over_for_a_pair_and_keeps_its_rank():
    sale = sale_of()
    holds = fill(sale, 2, 2, 2)
    sale.answer("four", waits(4))
    sale.answer("pair", waits(2))
    assert offers(sale.batch(facts=[back(holds[0])])) == [("pair", ["A-1", "A-2"], 1)]
    sale.answer("late", waits(2))
    decided = sale.batch(facts=[back(holds[1], 2), back(holds[2], 3)])
    assert offers(decided) == [("four", ["A-3", "A-4", "A-5", "A-6"], 0)]
    assert waiting_of(sale) == ["late"]


def test_an_offer_that_is_not_taken_goes_to_the_next():
    sale = sale_of()
    first, _ = fill(sale, 2, 4)
    sale.answer("ann", waits(2))
    sale.answer("bob", waits(2))
    assert [buyer for buyer, *_ in offers(sale.batch(facts=[back(first)]))] == ["ann"]
    decided = sale.batch(seconds=OFFER_SECONDS)
    assert [(row.kind, row.buyer) for row in decided.rows][-1] == ("offer", "bob")
    assert waiting_of(sale) == []


def test_who_is_on_the_list_comes_before_a_request_of_the_same_batch():
    sale = sale_of()
    first, _ = fill(sale, 2, 4)
    sale.answer("ann", waits(2))
    late = [sale.ask("eve", Want(best=Best(2))), sale.ask("dan", Want(seats=("A-1",)))]
    decided = sale.batch(*late, facts=[back(first)])
    assert [(row.kind, row.outcome) for row in decided.rows] == [
        ("fact", "released"), ("offer", "offered"), ("request", "sold_out"), ("request", "taken"),
    ]  # fmt: skip
    assert [row.buyer for row in decided.answers()] == ["eve", "dan"]
    assert decided.first_ask == 2


def test_what_is_asked_for_instead_is_offered_too_and_of_what_is_enough_as_much_as_there_is():
    sale = sale_of()
    holds = fill(sale, 3, 2, 1)
    sale.answer("ann", waits(4, fallbacks=(Choice(areas={"floor": 4}), Choice(seats=("A-4",)))))
    sale.answer("bob", waits(5, up_to=True))
    told = sale.batch(facts=[back(holds[1])])
    results = [json.loads(row.result) for row in told.rows if row.kind == "offer"]
    assert [(result["seats"], result.get("choice")) for result in results] == [
        (["A-4"], 2),
        (["A-5"], None),
    ]


def test_places_to_stand_that_come_back_are_offered():
    sale = sale_of()
    sale.answer("h", Want(areas={"floor": 3}))
    sale.answer("ann", Want(areas={"floor": 2}, waitlist=True))
    sale.answer("bob", Want(areas={"floor": 1}, waitlist=True))
    some = back(sale.hold_of("h"), 1, '{"areas":[[0,1]]}')
    decided = sale.batch(facts=[some])
    assert offers(decided) == [("bob", [], 1)]
    assert json.loads(decided.rows[-1].result)["areas"] == {"floor": 1}
    assert offers(sale.batch(facts=[back(sale.hold_of("h"), 2)])) == [("ann", [], 0)]


def test_seats_given_back_of_a_hold_and_seats_put_on_sale_again_are_offered():
    sale = sale_of()
    (all_,) = fill(sale, 5)
    sale.batch(facts=[block_fact(1, "blocked", Blocks((5,)))])
    sale.answer("ann", waits(1))
    sale.answer("bob", waits(1))
    assert offers(sale.batch(facts=[block_fact(2, "unblocked", Blocks((5,)))])) == [("ann", ["A-6"], 0)]
    assert offers(sale.batch(facts=[back(all_, 3, '{"seats":[2]}')])) == [("bob", ["A-3"], 0)]


def test_what_a_hold_had_that_was_moved_is_offered_before_the_next_request():
    sale = sale_of(2)
    first, _ = fill(sale, 2, 4)
    sale.answer("ann", waits(0, "A-1", "A-2"))
    move = sale.ask("h0", Want(seats=("B-1",), move=str(first)))
    decided = sale.batch(move, sale.ask("eve", Want(seats=("A-1",))))
    assert [(row.kind, row.buyer, row.outcome) for row in decided.rows] == [
        ("request", "h0", "held"), ("offer", "ann", "offered"), ("request", "eve", "taken"),
    ]  # fmt: skip
    assert [row.buyer for row in decided.answers()] == ["h0", "eve"]


def test_who_has_as_much_as_one_may_have_is_passed_over_and_keeps_the_rank():
    sale = sale_of(seats_per_buyer_max=2)
    holds = fill(sale, 2, 2, 2)
    for buyer in ("ann", "ann", "bob"):
        sale.answer(buyer, waits(2))
    assert [buyer for buyer, *_ in offers(sale.batch(facts=[back(holds[0])]))] == ["ann"]
    assert offers(sale.batch(facts=[back(holds[1], 2)])) == [("bob", ["A-3", "A-4"], 1)]
    assert waiting_of(sale) == ["ann"]
    assert offers(sale.batch(facts=[back(sale.hold_of("ann"), 3)])) == [("ann", ["A-1", "A-2"], 0)]


def test_a_higher_limit_is_a_reason_to_look_again():
    sale = sale_of(seats_per_buyer_max=2)
    holds = fill(sale, 2, 2, 2)
    sale.answer("ann", waits(2))
    sale.answer("ann", waits(2))
    sale.batch(facts=[back(holds[0])])
    assert offers(sale.batch(facts=[back(holds[1], 2)])) == []
    raised = policy_fact(3, state=EventState.OPEN, seats_per_buyer_max=4)
    assert [buyer for buyer, *_ in offers(sale.batch(facts=[raised]))] == ["ann"]


def test_the_limit_is_no_reason_to_wait():
    sale = sale_of(seats_per_buyer_max=2)
    fill(sale, 2)
    assert sale.answer("h0", waits(1))[0] == "limit_reached"
    assert waiting_of(sale) == []


def test_a_buyer_waits_with_four_requests_at_most():
    sale = sale_of()
    fill(sale, 6)
    for quantity in (1, 2, 3, 4):
        assert sale.answer("ann", waits(quantity))[0] == "waitlisted"
    assert sale.answer("ann", waits(5)) == ("limit_reached", {"reason": "waiting", "limit": 4})
    assert sale.answer("bob", waits(5))[1]["position"] == 5


def test_a_full_list_refuses_and_says_so(monkeypatch):
    monkeypatch.setattr(decide, "WAITING_MAX", 1)
    sale = sale_of()
    fill(sale, 6)
    assert sale.answer("ann", waits(1))[0] == "waitlisted"
    outcome, result = sale.answer("bob", waits(1))
    assert (outcome, result) == (
        "sold_out", {"reason": "none_together", "largest": 0, "waiting_list": "full"}
    )  # fmt: skip


def test_a_hold_is_not_moved_later():
    sale = sale_of()
    outcome, result = sale.answer("ann", Want(seats=("A-1",), waitlist=True, move="65536"))
    assert (outcome, result) == ("invalid", {"reason": "waitlist_with_move"})


def test_who_left_is_offered_nothing_and_leaving_twice_or_after_an_offer_is_nothing():
    sale = sale_of()
    first, _ = fill(sale, 2, 4)
    sale.answer("ann", waits(2))
    sale.answer("bob", waits(2))
    ann, bob = [wait_id for wait_id, _ in sale.memory.waiting]
    decided = sale.batch(facts=[left_fact(1, ann), back(first, 2), left_fact(3, ann)])
    assert [row.outcome for row in decided.rows] == ["left", "released", "left", "offered"]
    assert offers(decided) == [("bob", ["A-1", "A-2"], 0)]
    assert offers(sale.batch(facts=[left_fact(4, bob)])) == []
    assert waiting_of(sale) == []


def test_while_paused_nothing_is_offered_and_then_all_of_it():
    sale = sale_of()
    first, second = fill(sale, 2, 4)
    sale.answer("ann", waits(2))
    sale.answer("bob", waits(2))
    paused = policy_fact(1, state=EventState.PAUSED, paused_at=Micros(START))
    assert offers(sale.batch(facts=[paused, back(first, 2)])) == []
    assert offers(sale.batch(facts=[back(second, 3)])) == []
    decided = sale.batch(facts=[policy_fact(4, state=EventState.OPEN)])
    assert [buyer for buyer, *_ in offers(decided)] == ["ann", "bob"]


def test_when_the_event_is_closed_nothing_is_offered():
    sale = sale_of()
    first, _ = fill(sale, 2, 4)
    sale.answer("ann", waits(2))
    assert offers(sale.batch(facts=[policy_fact(1, state=EventState.CLOSED), back(first, 2)])) == []


def test_without_a_change_nobody_is_looked_at():
    sale = sale_of()
    fill(sale, 6)
    sale.answer("ann", waits(0, "A-1"))
    sale.memory.hold_of[0] = 0  # as nothing in life does
    assert offers(sale.batch(sale.ask("bob", Want(best=Best(2))))) == []


def greedy_sale() -> Sale:
    """Four free seats in row A and two in row B; who waits for a pair and a party of three finds the pair in
    row A, and then no three.
    """
    sale = sale_of(2)
    for named in (("A-5", "A-6"), ("B-1", "B-2", "B-3", "B-4")):
        sale.answer("h", Want(seats=named))
    assert sale.answer("ann", PAIR_AND_THREE)[0] == "waitlisted"
    return sale


PAIR_AND_THREE = Want(best=(Best(2), Best(3)), waitlist=True)


@pytest.mark.parametrize("waitlist", [True, False])
def test_whoever_wants_what_somebody_waits_for_comes_after_them(waitlist):
    sale = greedy_sale()
    eve = Want(best=PAIR_AND_THREE.best, waitlist=waitlist)
    decided = sale.batch(sale.ask("dan", Want(seats=("A-4",))), sale.ask("eve", eve))
    assert [(row.kind, row.buyer) for row in decided.rows] == [
        ("request", "dan"), ("offer", "ann"), ("request", "eve"),
    ]  # fmt: skip
    assert decided.rows[-1].outcome == ("waitlisted" if waitlist else "sold_out")


def test_choices_that_a_seat_less_can_make_possible_are_tried_whatever_came_free():
    sale = greedy_sale()
    sale.batch(facts=[policy_fact(1, state=EventState.OPEN)])
    sale.batch(sale.ask("dan", Want(seats=("A-4",))))
    assert [b for b, *_ in offers(sale.batch(facts=[policy_fact(2, state=EventState.OPEN)]))] == ["ann"]


def test_one_freed_seat_is_no_reason_to_look_at_everybody_who_waits(monkeypatch):
    sale = sale_of(20, 50, 10, seats_per_buyer_max=50)
    for at in range(0, 1000, 50):
        named = tuple(seat.guid for seat in sale.layout.plan.seats[at : at + 50])
        assert sale.answer(f"h{at}", Want(seats=named))[0] == "held"
    seats = [seat.guid for seat in sale.layout.plan.seats]
    kinds = [waits(0, guid) for guid in seats] + [waits(n, areas={"floor": 11}) for n in range(1, 20)]
    kinds += [waits(n) for n in range(2, 30)]
    for number, want in enumerate(kinds):
        assert sale.answer(f"b{number}", want)[0] in ("waitlisted", "limit_reached")
    sale.batch(facts=[policy_fact(1, state=EventState.OPEN, seats_per_buyer_max=50)])
    tried: list[object] = []

    def first_choice_noted(memory: Memory, wish: Wish, left: int) -> Any:
        tried.append(wish)
        return first_choice(memory, wish, left)

    monkeypatch.setattr(offering, "first_choice", first_choice_noted)
    hold = next(iter(sale.memory.holds))
    decided = sale.batch(facts=[back(hold, 2, '{"seats":[7]}')])
    assert offers(decided) == [("b7", ["A-8"], 7)]
    assert len(tried) == 1


def test_a_batch_offers_so_many_at_most_and_the_next_goes_on(monkeypatch):
    monkeypatch.setattr(waiting, "OFFERS_PER_BATCH_MAX", 2)
    sale = sale_of()
    (all_,) = fill(sale, 6)
    for buyer in ("a", "b", "c", "d", "e"):
        sale.answer(buyer, waits(1))
    seen = [[buyer for buyer, *_ in offers(sale.batch(facts=[back(all_)]))]]
    while sale.memory.offers_owed:
        seen.append([buyer for buyer, *_ in offers(sale.batch())])
    assert seen == [["a", "b"], ["c", "d"], ["e"]]


def test_with_so_many_offers_requests_wait_for_another_batch(monkeypatch):
    monkeypatch.setattr(waiting, "OFFERS_PER_BATCH_MAX", 2)
    sale = sale_of()
    (all_,) = fill(sale, 6)
    for buyer in ("a", "b", "c"):
        sale.answer(buyer, waits(1))
    before = snapshot(sale.memory)
    overlay = Overlay(sale.memory)
    with pytest.raises(OffersFirst):
        decide.decide(sale.memory, overlay, 9, START, [back(all_)], [sale.ask("eve", Want(best=Best(1)))])
    overlay.discard()
    assert snapshot(sale.memory) == before


def test_a_batch_has_no_more_positions_than_a_hold_id_has_room_for(monkeypatch):
    sale = sale_of()
    facts = [left_fact(n, 1) for n in range((1 << 16) - waiting.OFFERS_PER_BATCH_MAX)]
    with pytest.raises(AssertionError, match="16 bits"):
        sale.batch(facts=facts)
    sale.batch(facts=facts[1:])


def test_the_most_of_everything_has_positions_enough():
    facts_max, asks_max = 10_000, 4096
    assert facts_max + decide.EXPIRIES_PER_BATCH_MAX + waiting.OFFERS_PER_BATCH_MAX + asks_max < 1 << 16


def test_a_discarded_batch_leaves_the_list_as_it_was():
    sale = sale_of()
    holds = fill(sale, 2, 2, 2)
    for buyer in ("ann", "bob", "eve", "dan"):
        sale.answer(buyer, waits(2))
    sale.answer("fay", waits(3))
    sale.batch(facts=[policy_fact(1, state=EventState.OPEN)])
    ann, bob, *_ = [wait_id for wait_id, _ in sale.memory.waiting]
    before = snapshot(sale.memory)
    overlay = Overlay(sale.memory)
    asks = [sale.ask("gil", waits(6)), sale.ask("hal", Want(best=Best(2)))]
    facts = [left_fact(2, bob), *[back(hold, 3 + n) for n, hold in enumerate(holds)]]
    decided = decide.decide(sale.memory, overlay, 9, START + 1, facts, asks)
    assert [buyer for buyer, *_ in offers(decided)] == ["ann", "eve", "dan"]
    assert waiting_of(sale) == ["fay", "gil"]
    overlay.discard()
    assert snapshot(sale.memory) == before
    assert sale.batch(*asks, facts=facts).rows == [_with_batch(row, sale) for row in decided.rows]
    assert ann not in sale.memory.waiting.entries


def _with_batch(row: Row, sale: Sale) -> Row:
    """Decided in batch 9 after the time of this one: ids and times are another's."""
    if row.kind == "offer" or row.outcome == "waitlisted":
        result = json.loads(row.result)
        for name in ("hold", "wait"):
            if name in result:
                result[name] = str(int(result[name]) - (9 - sale.memory.batch_no << 16))
        text = json.dumps(result, separators=(",", ":"))
        return row._replace(result=text)
    return row


def test_who_fell_asleep_in_a_discarded_batch_is_awake_again():
    sale = sale_of()
    fill(sale, 6)
    sale.answer("ann", waits(2))
    overlay = Overlay(sale.memory)
    overlay.claim(HoldId(9 << 16), Hold("eve", (), ((0, 3),), START + 1))
    floor = sale.wishes.read(b'{"areas":{"floor":1}}')
    sale.memory.waiting.add(WaitId(9 << 16 | 1), "bob", "r", floor)
    decide.decide(sale.memory, overlay, 9, START, [left_fact(1, 5)], [])
    assert not sale.memory.waiting.awake
    overlay.discard()
    assert offers(sale.batch(facts=[left_fact(2, 5)])) == [("bob", [], 1)]


@given(histories.crowds, st.sampled_from((8_000, 4)), st.sampled_from((9, 3)))
@settings(max_examples=100, deadline=None)
def test_any_crowd_is_offered_what_the_plain_reference_offers_it(history, offers_max, waits_max):
    twins = Twins(histories.crowded_plan(), offers_max=offers_max, waits_max=waits_max)
    for step in history:
        twins.live(step)


numbers = st.lists(st.integers(0, 60), max_size=150)


@given(numbers, numbers, st.integers(1, 8))
def test_numbers_in_order_are_a_sorted_list(added: Sequence[int], removed: Sequence[int], block: int):
    ordered, plain = Ordered(), set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("allocator.ordered.BLOCK_MAX", block)
        for number, gone in zip(added, [*removed, *[-1] * len(added)], strict=False):
            if number not in plain:
                plain.add(number)
                ordered.add(number)
            if gone in plain:
                plain.remove(gone)
                ordered.remove(gone)
            assert list(ordered) == sorted(plain)
            assert len(ordered) == len(plain)
            assert not plain or ordered.first == min(plain)
            for one in (number, gone, 30):
                assert ordered.below(one) == len([n for n in plain if n < one])
                assert ordered.after(one) == min((n for n in plain if n > one), default=None)


def test_only_a_number_that_is_there_is_taken_out():
    ordered = Ordered()
    ordered.add(3)
    with pytest.raises((AssertionError, IndexError)):
        ordered.remove(4)
