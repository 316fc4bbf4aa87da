"""Moving a hold to other seats in one step: the new one in its place and until its end, or nothing at all."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from allocator.decide import Fact
from store.words import Best, Choice, HoldId, Want
from tests.allocator.house import plan_of, seats, snapshot
from tests.allocator.pure_sale import TTL_SECONDS, Sale


def moving(hold_id: int, want: Want) -> Want:
    return replace(want, move=str(hold_id))


def held(sale: Sale, buyer: str, want: Want) -> HoldId:
    outcome, result = sale.answer(buyer, want)
    assert outcome == "held"
    return HoldId(int(result["hold"]))


def test_the_new_hold_ends_when_the_old_one_would_have_and_the_old_seats_are_free():
    sale = Sale()
    old = held(sale, "ann", seats("A-1", "A-2"))
    before = sale.memory.holds[old]
    ends = before.expires_at
    decided = sale.batch(sale.ask("ann", moving(old, seats("B-1"))), seconds=3)
    new = sale.hold_of("ann")
    assert decided.rows[-1].outcome == "held"
    assert f'"moved":"{old}"' in decided.rows[-1].result
    assert [(moved.hold_id, moved.hold, moved.to) for moved in decided.moved] == [(old, before, new)]
    assert list(sale.memory.holds) == [new]
    assert sale.memory.holds[new].expires_at == ends
    assert sale.memory.count_by_buyer == {"ann": 1}
    assert sale.answer("bob", seats("A-1", "A-2"))[0] == "held"
    assert [hold_id for hold_id, _ in sale.batch(seconds=TTL_SECONDS - 3).expired] == [new]


def test_what_the_old_hold_has_is_free_for_the_move_and_does_not_count_against_the_limit():
    sale = Sale(plan_of(standing=5), seats_per_buyer_max=4)
    old = held(sale, "ann", Want(seats=("A-1", "A-2"), areas={"floor": 2}))
    held(sale, "bob", Want(areas={"floor": 3}))
    new = held(sale, "ann", moving(old, Want(seats=("A-2", "A-3"), areas={"floor": 2})))
    assert sale.memory.holds[new].seats == (1, 2)
    assert sale.memory.hold_of[:3] == [0, new, new]
    assert sale.memory.areas_free == [0]
    assert sale.answer("ann", moving(new, Want(areas={"floor": 3})))[0] == "sold_out"


def test_a_move_to_what_cannot_be_had_leaves_everything_as_it_was_and_says_so():
    sale = Sale(seats_per_buyer_max=3)
    old = held(sale, "ann", seats("A-1", "A-2"))
    held(sale, "bob", seats("A-3"))
    before = snapshot(sale.memory)
    for want, outcome in (
        (seats("A-2", "A-3"), "taken"),
        (Want(best=Best(4)), "limit_reached"),
        (
            Want(best=Best(3, price_min=6_000), fallbacks=(Choice(seats=("A-3",)),), areas={"floor": 1}),
            "limit_reached",
        ),
    ):
        told = sale.answer("ann", moving(old, want))
        assert (told[0], told[1]["kept"]) == (outcome, str(old))
    after = snapshot(sale.memory)
    assert {slot for slot in before if before[slot] != after[slot]} == {"batch_no"}


def test_a_fallback_will_do_for_a_move_too():
    sale = Sale()
    old = held(sale, "ann", seats("A-1"))
    held(sale, "bob", seats("A-3"))
    want = Want(seats=("A-3",), fallbacks=(Choice(seats=("A-4",)),))
    outcome, result = sale.answer("ann", moving(old, want))
    assert (outcome, result["seats"], result["choice"]) == ("held", ["A-4"], 1)


@pytest.mark.parametrize("whose", ["another's", "unknown", "huge", "released", "paid", "ran out", "moved"])
def test_only_a_hold_of_ones_own_that_runs_can_be_moved_and_no_more_is_told(whose):
    sale = Sale()
    old = held(sale, "bob" if whose == "another's" else "ann", seats("A-1"))
    if whose in ("released", "paid"):
        sale.batch(facts=[Fact(1, whose, old, "null")])
    if whose == "ran out":
        sale.memory.batch_time = sale.memory.holds[old].expires_at
    if whose == "moved":
        held(sale, "ann", moving(old, seats("A-2")))
    before = snapshot(sale.memory)
    named = {"unknown": 4711, "huge": 9_999_999_999_999_999_999}.get(whose, old)
    asked = sale.ask("ann", moving(named, seats("A-5")))
    if whose == "ran out":
        sale.memory.expiries.clear()  # as one of so many that they run out in later batches
        before["expiries"] = []
    assert sale.batch(asked).rows[-1][-2:] == ("invalid", '{"reason":"no_such_hold"}')
    after = snapshot(sale.memory)
    assert {slot for slot in before if before[slot] != after[slot]} == {"batch_no"}


def test_a_hold_can_be_moved_once_in_a_batch_and_none_that_the_batch_itself_gave():
    sale = Sale()
    old = held(sale, "ann", seats("A-1"))
    wish = sale.ask("ann", moving(old, seats("A-2")))
    again = sale.ask("ann", moving(old, seats("A-3")))
    guessed = sale.ask("ann", moving((sale.memory.batch_no + 1) << 16, seats("A-4")))
    rows = sale.batch(wish, again, guessed).rows
    assert [row.outcome for row in rows] == ["held", "invalid", "invalid"]


def test_within_a_batch_what_a_move_freed_goes_to_who_asks_next():
    sale = Sale()
    old = held(sale, "ann", seats("A-1"))
    rows = sale.batch(
        sale.ask("bob", seats("A-1")),
        sale.ask("ann", moving(old, seats("A-2"))),
        sale.ask("cem", seats("A-1")),
    ).rows
    assert [row.outcome for row in rows] == ["taken", "held", "held"]
