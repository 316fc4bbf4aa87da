"""Who sits where: the ladder's steps one by one, on rows drawn as text.

In a drawing a row is a line: `.` a free seat, `x` a taken one, a space an aisle, `a` an accessible
place and `c` its companion's seat, both free. Rows are named A, B …, seats from 1. The stage is above
the middle of the first row. What seats.io says of its own best available
(docs.seats.io/docs/api/best-available) and of single seats
(docs.seats.io/docs/renderer/config-selectionvalidators) is among them, on plans of our own.
"""

from __future__ import annotations

import math
from itertools import product
from random import Random
from typing import Any

import pytest

from allocator.layout import Layout
from allocator.memory import BLOCKED
from allocator.seating import Seating
from store.plan import Category, Plan, Seat, Section, number, stretches
from store.words import Best, Choice, Want
from tests.allocator.house import best, seats
from tests.allocator.pure_sale import Sale

GOLD, SILVER = 0, 1


def drawn(*rows: str, categories: str = "", sections: str = "", stage: float | None = None) -> Plan:
    """`categories` and `sections` name a row's by a digit; unless given all are 0."""
    made = []
    for index, row in enumerate(rows):
        letter = chr(ord("A") + index)
        count = 0
        for x, mark in enumerate(row):
            if mark == " ":
                continue
            count += 1
            section = int(sections[index]) if sections else 0
            category = int(categories[index]) if categories else GOLD
            where = (float(x), float(index + 1))
            kept = (mark == "a", mark == "c")
            made.append(Seat(f"{letter}-{count}", section, letter, str(count), category, *where, *kept))
    width = max(map(len, rows))
    focal = ((width - 1) / 2 if stage is None else stage, 0.0)
    levels = [Category("Gold", 9_000, "EUR", "#aa8800"), Category("Silver", 5_000, "EUR", "#888888")]
    size = (float(width), float(len(rows) + 2))
    return number("Drawn", "EUR", levels, [Section("Left"), Section("Right")], made, focal=focal, size=size)


def house(*rows: str, limit: int = 50, **described: Any) -> Sale:
    sale = Sale(drawn(*rows, **described), seats_per_buyer_max=limit)
    marks = [(chr(ord("A") + index), row.replace(" ", "")) for index, row in enumerate(rows)]
    for letter, row in marks:
        for place, mark in enumerate(row):
            if mark == "x":
                sale.memory.take(sale.layout.seat_by_guid[f"{letter}-{place + 1}"], BLOCKED)
    return sale


def seated(sale: Sale, want: Want, buyer: str = "ann") -> tuple[str, str]:
    """(seats, step), or (outcome, reason)."""
    outcome, result = sale.answer(buyer, want)
    if outcome != "held":
        return outcome, result.get("reason", "")
    return " ".join(result["seats"]), result.get("step", "")


def test_a_row_that_was_given_away_is_not_offered_to_the_next_party():
    sale = house("..", "..")
    assert [seated(sale, best(2), buyer)[0] for buyer in ("ann", "bob", "eve")] == [
        "A-1 A-2",
        "B-1 B-2",
        "sold_out",
    ]


def test_neighbours_leaving_no_single_seat_go_before_a_better_row():
    sale = house("xx...xx", "....xxx")
    assert seated(sale, best(2)) == ("B-3 B-4", "together")
    assert seated(sale, best(2), "bob") == ("B-1 B-2", "together")


def test_where_every_way_leaves_a_single_seat_the_party_sits_together_all_the_same():
    """Two rows of three seats left, and two people: somebody has to leave one."""
    sale = house("xx...xx", "xx...xx")
    where, step = seated(sale, best(2))
    assert (where, step) == ("A-3 A-4", "together_leaving_one")


def test_of_equal_ways_the_one_nearest_to_the_stage_wins_and_then_the_first():
    assert seated(house(".......", "......."), best(3)) == ("A-3 A-4 A-5", "together")
    assert seated(house("......", "......"), best(2, section="Left")) == ("A-3 A-4", "together")
    assert seated(house("......"), best(2))[0] == "A-3 A-4"
    assert seated(house(".....", stage=0.0), best(2))[0] == "A-1 A-2"
    assert seated(house("....", stage=1.0), best(2))[0] == "A-1 A-2", (
        "1 and 2 are as near as 2 and 3, which leave one each"
    )


def test_a_party_is_parted_only_if_it_says_so_and_then_nobody_sits_alone_who_need_not():
    rows = ("..x..x.", "x.x.x.x")
    assert seated(house(*rows), best(4)) == ("sold_out", "none_together")
    assert seated(house(*rows), best(4, apart=True)) == ("A-1 A-2 A-4 A-5", "apart")
    assert seated(house("..x.x..x.."), best(5, apart=True))[1] == "apart"


def test_parts_are_as_few_as_can_be_and_near_each_other():
    far = house("..xxxxxxxxxx..", "..xxxxxxxxxxxx", stage=0.0)
    assert seated(far, best(4, apart=True))[0] == "A-1 A-2 B-1 B-2", "not the other end of the row"
    three = house("...xx..", "..xxxxx")
    assert seated(three, best(5, apart=True))[0] == "A-1 A-2 A-3 B-1 B-2"


def test_who_is_left_alone_is_so_only_when_there_is_no_other_way():
    assert seated(house(".x.x.", "..xxx"), best(3, apart=True)) == ("A-1 B-1 B-2", "apart")
    assert seated(house(".x.x.x."), best(3, apart=True))[1] == "apart"
    assert seated(house(".x.x.x."), best(5, apart=True)) == ("sold_out", "none_together")


def test_parts_that_were_only_tried_leave_no_trace():
    """Neither two parts of three fit nor three of two, and some of each are tried before the last way."""
    sale = house("...", "x.x", "..x")
    assert seated(sale, best(6, apart=True)) == ("A-1 A-2 A-3 B-2 C-1 C-2", "apart")


def test_a_party_too_large_for_it_is_not_parted():
    sale = house("." * 7 + "x" + "." * 7)
    assert seated(sale, best(13, apart=True))[0] == "sold_out"
    assert seated(sale, best(12, apart=True))[1] == "apart"


def test_single_seats_are_counted_up_to_the_aisle_and_not_beyond():
    sale = house("... ...")
    assert seated(sale, best(2))[1] == "together_leaving_one", "the aisle is no company"


def test_single_seats_are_counted_across_a_change_of_category():
    """Seats of two categories side by side: who is left beside the change still has a neighbour."""
    made = [Seat(f"A-{n + 1}", 0, "A", str(n + 1), int(n > 2), float(n), 1.0) for n in range(6)]
    levels = [Category("Gold", 9_000, "EUR", "#aa8800"), Category("Silver", 5_000, "EUR", "#888888")]
    plan = number("Two", "EUR", levels, [Section("Left")], made, focal=(0.0, 0.0), size=(9.0, 9.0))
    assert len(plan.blocks) == 2
    assert len(stretches(plan)) == 1
    assert seated(Sale(plan, seats_per_buyer_max=9), best(2, category="Gold")) == ("A-1 A-2", "together")
    assert seated(Sale(plan, seats_per_buyer_max=9), best(4)) == ("sold_out", "none_together")


def test_the_block_of_a_row_that_is_nearest_to_the_stage_goes_first():
    assert seated(house(".... .... ...."), best(2))[0] == "A-5 A-6"
    assert seated(house(".... .... ....", stage=13.0), best(2))[0] == "A-11 A-12"


def test_prices_sections_and_categories_narrow_what_is_looked_at():
    rows = ("....", "....", "....", "....")
    made: dict[str, Any] = {"categories": "0011", "sections": "0101"}
    assert seated(house(*rows, **made), best(2, price_max=5_000))[0].startswith("C-")
    assert seated(house(*rows, **made), best(2, price_min=5_001, section="Right"))[0].startswith("B-")
    assert seated(house(*rows, **made), best(2, section="Right", category="Silver"))[0].startswith("D-")
    assert seated(house(*rows, **made), best(2, price_min=6_000, price_max=8_000)) == (
        "invalid",
        "no_such_seats",
    )


def test_fallbacks_are_decided_in_one_go_and_the_answer_says_which_it_was():
    """Four together in Left, else in Right, else two and two."""
    want = Want(
        best=Best(4, section="Left"),
        fallbacks=(Choice(best=Best(4, section="Right")), Choice(best=(Best(2), Best(2)))),
    )
    choices = []
    for rows in (("....", "...."), ("..xx", "...."), ("..xx", "..x.")):
        outcome, result = house(*rows, sections="01").answer("ann", want)
        choices.append((outcome, result.get("choice", 0), len(result["seats"])))
    assert choices == [("held", 0, 4), ("held", 1, 4), ("held", 2, 4)]
    assert seated(house("..xx", "xxx.", sections="01"), want) == ("sold_out", "none_together")
    two_threes = Want(best=(Best(3), Best(3)), fallbacks=(Choice(best=Best(4)),))
    assert seated(house("...."), two_threes)[0] == "A-1 A-2 A-3 A-4", (
        "the three that were tried are free again"
    )


def test_the_first_choice_is_the_one_whose_refusal_is_told_unless_the_limit_stood_in_the_way():
    want = Want(seats=("A-1",), fallbacks=(Choice(best=Best(3)), Choice(seats=("A-2",))))
    assert seated(house("xxx.", limit=3), want) == ("taken", "")
    assert seated(house("xxx.", limit=2), want) == ("limit_reached", "limit")


def test_of_two_parties_the_second_sees_what_the_first_got():
    assert seated(house("...x"), Want(best=(Best(2), Best(2)))) == ("sold_out", "none_together")
    where, _ = seated(house("....", "...."), Want(seats=("A-2",), best=(Best(2), Best(2))))
    assert where == "A-2 A-3 A-4 B-1 B-2"


def test_up_to_takes_what_there_is():
    assert seated(house("xx...xx"), Want(best=Best(5), up_to=True))[0] == "A-3 A-4 A-5"
    assert seated(house("x..x"), Want(seats=("A-1", "A-2"), up_to=True))[0] == "A-2"
    assert seated(house("...."), Want(seats=("A-1",), best=Best(3), up_to=True))[0] == "A-1 A-2 A-3 A-4"
    assert seated(house("....", limit=2), Want(best=Best(4), up_to=True))[0] == "A-1 A-2"
    assert seated(house("xx"), Want(best=Best(2), up_to=True)) == ("sold_out", "none_together")
    assert seated(house("xx"), Want(seats=("A-1",), up_to=True))[0] == "taken"
    full = house("....", limit=2)
    seated(full, best(2))
    assert seated(full, Want(best=Best(1), up_to=True)) == ("limit_reached", "limit")
    assert seated(full, Want(best=Best(2), up_to=True)) == ("limit_reached", "limit")


def test_accessible_places_are_for_who_needs_them():
    sale = house("acxx", "..xx")
    assert seated(sale, best(2))[0] == "B-1 B-2"
    assert seated(sale, best(2), "bob") == ("sold_out", "none_together")
    assert seated(sale, best(2, accessible=1), "eve") == ("A-1 A-2", "together")
    assert seated(sale, best(1, accessible=1), "dan") == ("sold_out", "none_together")
    assert seated(house("acxx"), seats("A-1"))[0] == "A-1", "on the map everybody may choose it"


def test_who_needs_one_accessible_place_does_not_take_two():
    assert seated(house("aa.."), best(2, accessible=1))[0] == "A-2 A-3"
    assert seated(house("aa.."), best(2, accessible=2))[0] == "A-1 A-2"


def test_those_who_need_accessible_places_sit_apart_each_with_company_where_that_is_allowed():
    sale = house("acxx", "xxca")
    want = best(4, accessible=2)
    assert seated(sale, want) == ("sold_out", "none_together")
    assert seated(sale, best(4, accessible=2, apart=True)) == ("A-1 A-2 B-3 B-4", "apart")


def test_who_cannot_have_a_seat_hears_of_others_of_the_same_size_near_it():
    def instead(sale: Sale, *named: str) -> list[list[str]]:
        outcome, result = sale.answer("ann", seats(*named))
        assert outcome == "taken"
        found: list[list[str]] = result["instead"]
        return found

    assert instead(house("x...", "....", "....", "...."), "A-1") == [["A-2"], ["B-2"], ["C-2"]]
    assert instead(house("x...", "...."), "A-1", "A-2") == [["A-2", "A-3"], ["B-2", "B-3"]]
    assert instead(house("x...", "....", sections="01"), "A-1") == [["A-2"]], "its own section first"
    assert instead(house("xxxx", "....", sections="01"), "A-1") == [["B-2"]]
    assert instead(house("xxxx", "....", categories="01"), "A-1") == [], (
        "another category costs something else"
    )
    sold = house("xx", "..")
    assert instead(sold, "A-1") == [["B-1"]]
    seated(sold, seats("B-1"), "bob")
    assert instead(sold, "A-1") == [["B-2"]], "free at this decision"
    seated(sold, seats("B-2"), "bob")
    assert instead(sold, "A-1") == []


def test_who_finds_none_together_hears_how_many_would_be():
    _, result = house("..x.", "x...").answer("ann", best(4))
    assert result == {"reason": "none_together", "largest": 3}
    _, result = house("xx").answer("ann", best(2))
    assert result["largest"] == 0


@pytest.mark.parametrize("quantity", [1, 2, 49, 50])
def test_large_parties_and_long_rows(quantity):
    sale = house("." * 60)
    where, step = seated(sale, best(quantity))
    assert len(where.split()) == quantity
    assert step == "together"


def test_ranks_follow_rows_and_the_stage():
    layout = Layout(drawn(".. ..", ".. .."))
    assert [layout.plan.seats[layout.seat_at[first]].guid for first, _ in layout.block_slots] == [
        "A-1",
        "A-3",
        "B-1",
        "B-3",
    ]


def uneven(random: Random) -> Plan:
    """A row of seats in a line, or each a little further forward or back than the next."""
    count, steps = random.randint(3, 14), random.choice(((0.0,), (0.0, 0.5, 1.0)))
    made = [Seat(f"A-{n}", 0, "A", str(n), GOLD, float(n), 3.0 + random.choice(steps)) for n in range(count)]
    focal = (random.choice((count / 2 - 0.5, random.uniform(0.0, count))), 0.0)
    level = Category("Gold", 9_000, "EUR", "#aa8800")
    return number("Uneven", "EUR", [level], [Section("Left")], made, focal=focal, size=(20.0, 20.0))


def test_the_best_run_is_the_nearest_to_the_stage_and_of_equal_ones_the_first():
    random, both = Random(7), set()
    for _ in range(600):
        layout = Layout(uneven(random))
        seating, (first, end) = Seating(layout), layout.block_slots[0]
        count, quantity = end - first, random.randint(1, 4)
        taken = random.sample(range(count), random.randint(0, count - 1))
        seating.hide([layout.seat_at[first + at] for at in taken])
        free = [at not in taken for at in range(count)]

        def cost(at: int, quantity: int = quantity, first: int = first, layout: Layout = layout) -> int:
            return layout.costs[first + at + quantity] - layout.costs[first + at]

        starts = [at for at in range(count - quantity + 1) if all(free[at : at + quantity])]
        nearest = min(((cost(at), at) for at in starts), default=(math.inf, -1))[1]
        expected = [] if nearest < 0 else list(layout.seat_at[first + nearest : first + nearest + quantity])
        assert seating.in_block(0, quantity) == expected
        if quantity <= count:
            both.add(layout.turn(0, quantity) < 0)
    assert both == {True, False}, "rows with one nearest point, and others"


@pytest.mark.parametrize("remembered_max", [20_000, 3])
def test_what_is_named_instead_follows_every_change(remembered_max, monkeypatch):
    """Answers are remembered while their runs are the best; a seat that comes free may make a better one, and
    a block that had none may be nearer again."""
    monkeypatch.setattr("allocator.seating.REMEMBERED_MAX", remembered_max)
    random = Random(3)
    sale = house(*["... ...."] * 5)
    layout, seating = sale.layout, sale.memory.seating
    every_seat = range(len(layout.plan.seats))
    taken: set[int] = set()
    for _ in range(400):
        seat = random.choice(every_seat)
        (seating.show if seat in taken else seating.hide)((seat,))
        taken ^= {seat}
        fresh = Seating(layout)
        fresh.hide(sorted(taken))
        for quantity, wanted in product((1, 2), random.sample(every_seat, 3)):
            assert seating.instead(wanted, quantity) == fresh.instead(wanted, quantity)
