"""The judge of seating: it finds what is planted, and counts nothing that the documented order allows."""

from __future__ import annotations

import random
from typing import Any

import pytest

from bench.seating.house import House
from bench.seating.judge import Seated, Verdict, judge
from bench.seating.parties import draw, named_before
from store.plan import Category, Plan, Seat, Section, number
from store.words import Best, Choice, Want
from tests.allocator.pure_sale import Sale


def drawn(*rows: str, silver: str = "") -> Plan:
    """Row A is the first line: `.` a seat, `a` an accessible place, a space an aisle. Rows named in `silver`
    are of another section and price."""
    made = []
    for index, row in enumerate(rows):
        letter, count = chr(ord("A") + index), 0
        kind = int(letter in silver)
        for x, mark in enumerate(row):
            if mark != " ":
                count += 1
                where = (float(x), float(index + 1))
                made.append(Seat(f"{letter}-{count}", kind, letter, str(count), kind, *where, mark == "a"))
    levels = [Category("Gold", 9_000, "EUR", "#aa8800"), Category("Silver", 5_000, "EUR", "#888888")]
    names = [Section("Front"), Section("Rear")]
    focal = ((max(map(len, rows)) - 1) / 2, 0.0)
    return number("Drawn", "EUR", levels, names, made, focal=focal, size=(99.0, 99.0))


def judged(plan: Plan, *parties: tuple[Want, Any]) -> Verdict:
    """Parties in their order of arrival, each with what it got: `A-1 A-2`; `1: A-1 A-2 + B-1 B-2` is of its
    first fallback, and of two parties."""
    number_of = {seat.guid: index for index, seat in enumerate(plan.seats)}
    seatings: list[Seated | None] = []
    for _, told in parties:
        if told is None:
            seatings.append(None)
            continue
        choice, _, seats = told.rpartition(":")
        parts = tuple(tuple(number_of[guid] for guid in part.split()) for part in seats.split("+"))
        seatings.append(Seated(int(choice or 0), parts))
    return judge(House(plan), [want for want, _ in parties], seatings)


def best(quantity: int, *fallbacks: Choice, **described: Any) -> Want:
    return Want(best=Best(quantity, **described), fallbacks=fallbacks)


def test_a_party_beside_each_other_in_one_block_is_together_and_any_other_is_split():
    plan = drawn(".... ....", "....")
    assert judged(plan, (best(2), "A-2 A-3")).split == 0
    across_the_aisle = judged(plan, (best(2), "A-4 A-5"))
    assert (across_the_aisle.split, across_the_aisle.split_needlessly) == (1, 1)
    assert judged(plan, (best(3), "A-1 A-2 A-4")).split == 1
    assert judged(plan, (best(2), "A-1 B-1")).split_unasked == 1
    assert judged(plan, (best(2, apart=True), "A-1 B-1")).split_unasked == 0


def test_a_split_is_needless_only_where_what_was_asked_for_had_a_run_of_its_size_at_that_turn():
    plan = drawn("...", "....", silver="B")
    first = (best(1), "A-2")
    assert judged(plan, first, (best(2, section="Front"), "A-1 A-3")).split_needlessly == 0
    assert judged(plan, first, (best(2), "A-1 A-3")).split_needlessly == 1, "B had a run"
    parted = best(2, Choice(best=Best(2, section="Front", apart=True)), section="Rear")
    assert judged(plan, first, (parted, "1: A-1 A-3")).split_needlessly == 1, "its first choice had a run"
    rather = best(2, Choice(best=Best(2, section="Rear")), section="Front", apart=True)
    assert judged(plan, first, (rather, "A-1 A-3")).split_needlessly == 0, "it would rather be parted"
    later = (best(1), "A-2")
    assert judged(plan, (best(2, section="Front"), "A-1 A-3"), later).split_needlessly == 1


def test_who_is_refused_what_a_later_arrival_sits_on_is_overtaken():
    plan = drawn("....", "....", silver="B")
    wanted = best(4, section="Front")
    assert judged(plan, (wanted, None), (best(4), "A-1 A-2 A-3 A-4")).overtaken == 1
    assert judged(plan, (wanted, None), (best(2), "A-1 A-2"), (best(2), "A-3 A-4")).overtaken == 1
    assert judged(plan, (wanted, None), (best(3), "A-1 A-2 A-3")).overtaken == 0, "it would not have done"
    assert judged(plan, (wanted, None), (best(4), "B-1 B-2 B-3 B-4")).overtaken == 0, "it wanted another"
    assert judged(plan, (best(4), "A-1 A-2 A-3 A-4"), (wanted, None)).overtaken == 0, "it came later"


def test_who_is_sent_to_a_fallback_though_a_later_arrival_gets_its_first_choice_is_overtaken():
    plan = drawn("....", "....", silver="B")
    want = best(2, Choice(best=Best(2, section="Rear")), section="Front")
    assert judged(plan, (want, "1: B-2 B-3"), (best(2), "A-2 A-3")).overtaken == 1
    assert judged(plan, (want, "1: B-2 B-3"), (best(1), "A-2")).overtaken == 0
    either = best(2, Choice(best=Best(2)), category="Gold")
    assert judged(plan, (either, "1: A-2 A-3")).overtaken == 0, "nobody else has these"


def test_who_sits_in_a_worse_block_than_a_later_arrival_is_overtaken():
    plan = drawn("....", "....", silver="B")
    assert judged(plan, (best(2), "B-1 B-2"), (best(2), "A-1 A-2")).overtaken == 1
    assert judged(plan, (best(2), "B-1 B-2"), (best(4), "A-1 A-2 A-3 A-4")).overtaken == 1
    rear = best(2, section="Rear")
    assert judged(plan, (rear, "B-1 B-2"), (best(2), "A-1 A-2")).overtaken == 0, "they want different things"
    assert judged(plan, (best(3), "B-1 B-2 B-3"), (best(2), "A-1 A-2")).overtaken == 0, "two are not three"
    assert judged(plan, (best(2), "A-1 A-2"), (best(2), "B-1 B-2")).overtaken == 0
    assert judged(plan, (best(2), "A-1 A-2"), (best(2), "A-3 A-4")).overtaken == 0


def test_a_better_block_where_a_single_seat_would_have_been_left_is_rightly_passed_by():
    plan = drawn("...", "....")
    one_then_two = ((best(1), "A-1"), (best(2), "A-2 A-3"))
    assert judged(plan, (best(2), "B-1 B-2"), *one_then_two).overtaken == 0
    leaving_one = judged(drawn("...", "..."), (best(2), "B-1 B-2"), *one_then_two)
    assert leaving_one.overtaken == 1, "they left one in the worse block as well"


def test_a_split_party_is_overtaken_by_who_sits_together_in_a_better_block_than_all_of_its_seats():
    plan = drawn("..", "....", "....")
    assert judged(plan, (best(2), "B-1 C-1"), (best(2), "A-1 A-2")).overtaken == 1
    assert judged(plan, (best(2), "A-1 C-1"), (best(2), "B-1 B-2")).overtaken == 0


def test_a_party_that_may_be_parted_is_overtaken_where_so_many_seats_went_to_later_ones():
    plan = drawn(". . .", "....", silver="B")
    want = best(2, apart=True, section="Front")
    assert judged(plan, (want, None), (best(1), "A-1"), (best(1), "A-3")).overtaken == 1
    assert judged(plan, (want, None), (best(1), "A-1")).overtaken == 0
    together = best(2, section="Front")
    assert judged(plan, (together, None), (best(1), "A-1"), (best(1), "A-3")).overtaken == 0


def test_several_parties_are_overtaken_where_each_had_a_block_of_its_own():
    plan = drawn(".. ..", "....", silver="B")
    pairs = Want(best=(Best(2, section="Front"), Best(2, section="Front")))
    assert judged(plan, (pairs, None), (best(2), "A-1 A-2"), (best(2), "A-3 A-4")).overtaken == 1
    assert judged(plan, (pairs, None), (best(2), "A-1 A-2")).overtaken == 0
    seated = judged(plan, (pairs, "A-1 A-2 + A-3 A-4"))
    assert (seated.split, seated.wrong, seated.sold) == (0, 0, 4)


@pytest.mark.parametrize(
    ("want", "got"),
    [
        (best(2), "A-1"),
        (best(2), "A-1 A-1"),
        (best(1), "A-2 A-3"),
        (best(2, section="Rear"), "A-2 A-3"),
        (best(2, price_max=5_000), "A-2 A-3"),
        (best(2, category="Silver"), "A-2 A-3"),
        (best(1), "A-5"),
        (best(1), "A-4"),
    ],
)
def test_wrong_seats_are_found(want, got):
    """Too few, twice the same, too many, another section, price or category, accessible, given before."""
    plan = drawn("....a", "....", silver="B")
    assert judged(plan, (best(1), "A-4"), (want, got)).wrong == 1


def test_who_names_seats_gets_these_or_nothing_and_is_overtaken_by_a_later_one_who_has_them():
    plan = drawn("....")
    named = Want(seats=("A-1", "A-3"))
    served = judged(plan, (named, "A-1 A-3"), (best(1), "A-2"))
    assert (served.wrong, served.overtaken, served.split, served.sold) == (0, 0, 0, 3)
    assert judged(plan, (named, "A-1 A-2")).wrong == 1
    assert judged(plan, (named, "A-1 A-1")).wrong == 1
    assert judged(plan, (best(1), "A-1"), (named, "A-1 A-3")).wrong == 1
    assert judged(plan, (named, None), (best(3), "A-1 A-2 A-3")).overtaken == 1
    assert judged(plan, (named, None), (best(2), "A-1 A-2")).overtaken == 0
    assert judged(plan, (named, None)).overtaken == 0


def test_right_seats_are_not_called_wrong():
    plan = drawn("....", "....", silver="B")
    rear = best(2, section="Rear", category="Silver", price_max=5_000)
    dear = best(2, price_min=5_001)
    verdict = judged(plan, (rear, "B-1 B-2"), (dear, "A-1 A-2"), (best(2), None))
    assert (verdict.wrong, verdict.seated, verdict.parties) == (0, 2, 3)
    assert (verdict.sold, verdict.unsold) == (4, 4)
    assert verdict.stories == []


def test_orphans_are_counted_within_a_row_up_to_the_aisles_at_every_moment():
    plan = drawn("... ...", "a..")
    verdict = judged(plan, (best(2), "A-1 A-2"), (best(1), "A-5"), (best(1), "A-3"), (best(1), "B-2"))
    # A-3; with; without A-3; and B-3, whose company is an accessible place and then gone
    assert verdict.orphans_most == 3
    assert verdict.orphans_mean == pytest.approx((0 + 1 + 3 + 2 + 3) / 5, abs=0.05)
    assert verdict.orphans_at_end == 3
    assert verdict.curve[0] == (0.0, 0)
    assert verdict.curve[-1] == (0.625, 3)
    alone_from_the_start = judged(drawn("a. ."))
    assert alone_from_the_start.orphans_most == 2


def test_the_first_findings_are_told():
    plan = drawn("....", "....", silver="B")
    (story,) = judged(plan, (best(2), None), (best(2, section="Front"), "A-1 A-2")).stories
    assert story == "party 0 (2 in the house) was refused what later arrivals sit on"
    (story,) = judged(plan, (best(2, section="Rear"), "B-1 B-3")).stories
    assert story == "party 0 (2 in Rear) was split although a run of its size was free"


def random_plan(seed: int) -> Plan:
    """Rows with aisles, changes of price within a row and places that are kept."""
    chance = random.Random(seed)
    made = []
    for y in range(chance.randint(2, 6)):
        x, letter, kind = 0.0, chr(ord("A") + y), chance.randrange(2)
        for count in range(chance.randint(1, 14)):
            x += 3.0 if chance.random() < 0.1 else 1.0
            kind ^= chance.random() < 0.15
            kept = chance.random() < 0.08
            made.append(Seat(f"{letter}-{count}", y % 2, letter, str(count), kind, x, float(y + 1), kept))
    levels = [Category("Gold", 9_000, "EUR", "#aa8800"), Category("Silver", 5_000, "EUR", "#888888")]
    names = [Section("Front"), Section("Rear")]
    focal = (chance.uniform(0, 10), 0.0)
    return number(f"Random {seed}", "EUR", levels, names, made, focal=focal, size=(99.0, 99.0))


def by_the_allocator(plan: Plan, wants: list[Want]) -> list[Seated | None]:
    sale = Sale(plan, seats_per_buyer_max=50)
    number_of = {seat.guid: index for index, seat in enumerate(plan.seats)}
    seatings: list[Seated | None] = []
    for buyer, want in enumerate(wants):
        outcome, result = sale.answer(f"buyer-{buyer}", want)
        if outcome != "held":
            seatings.append(None)
            continue
        seats = [number_of[guid] for guid in result["seats"]]
        choice = want.choices[result.get("choice", 0)]
        parts = [tuple(seats)] if choice.seats else []
        for best in choice.parties:
            parts.append(tuple(seats[: best.quantity]))
            del seats[: best.quantity]
        seatings.append(Seated(result.get("choice", 0), tuple(parts)))
    return seatings


@pytest.mark.parametrize("seed", range(40))
def test_nothing_is_said_of_the_allocator_whatever_the_plan_and_who_sits_elsewhere_is_noticed(seed):
    """The allocator keeps the documented order; where two parties change seats, the judge must say so if one
    of them has it worse than it should, and is never wrong about who is where."""
    plan = random_plan(seed)
    wants = [*named_before(plan, 0.15 * (seed % 3), seed), *draw(plan, parties=30, seed=seed)]
    seatings = by_the_allocator(plan, wants)
    verdict = judge(House(plan), wants, seatings)
    found = (verdict.overtaken, verdict.split_needlessly, verdict.split_unasked, verdict.wrong)
    assert found == (0, 0, 0, 0), verdict.stories
    for first, want in enumerate(wants):
        later = [number for number in range(first + 1, len(wants)) if wants[number] == want]
        if later and seatings[first] is not None and seatings[later[0]] is None:
            changed = list(seatings)
            changed[first], changed[later[0]] = None, seatings[first]
            assert judge(House(plan), wants, changed).overtaken > 0, "the later one has what the first wanted"
