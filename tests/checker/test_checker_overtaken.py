"""Who was decided behind later arrivals, and would have had it but for them, was overtaken."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bench.checker import judge
from bench.evidence import Batch, LedgerRow, Loss
from tests.checker import sale
from tests.checker.judged import judged, of_kind
from tests.checker.sale import CEM, EVE, held, request, seat_want
from tests.checker.test_checker_blocks import fact_row
from tests.checker.test_checker_sales import sold

FLOOR = '{"areas":{"floor":2}}'
PLACE = '{"areas":{"floor":1}}'
FULL = '{"reason":"area_full","free":1}'
SPLIT = '{"reason":"none_together","largest":2}'


def waits(row: LedgerRow) -> LedgerRow:
    """The same, but waiting for it."""
    want = f'{row.input[:-1]},"waitlist":true}}'
    ahead = '"wait":"327680","position":1'
    result = f'{{{ahead},"why":"{row.outcome}","detail":{row.result}}}'
    return row._replace(input=want, outcome="waitlisted", result=result)


def hal(
    arrival: str, want: str, outcome: str = "sold_out", result: str = FULL, buyer: str = "hal"
) -> LedgerRow:
    return request((5, 0), arrival, buyer, want, outcome, result)


def got(
    position: int, arrival: str, buyer: str, *seats: str, places: int = 0, moved: int = 0, key: str = "r1"
) -> LedgerRow:
    """A hold given in batch 5, where it stands there."""
    areas = f'"floor":{places}' if places else ""
    result = held(5 << 16 | position, ",".join(f'"{seat}"' for seat in seats), areas)
    if moved:
        result = f'{result[:-1]},"moved":"{moved}"}}'
    return request((5, position), arrival, buyer, "{}", "held", result)._replace(request_id=key)


def then(*rows: LedgerRow) -> Any:
    """Batch 5, after everything else."""

    def change(truth: Any, _seen: Any) -> None:
        truth.ledger += [row._replace(batch_no=5, position=n) for n, row in enumerate(rows)]
        truth.batches.append(Batch(5, 1, 500_000, "400-0", len(rows)))
        truth.cursor_batch_no = 5

    return change


def overtaken(*rows: LedgerRow) -> str:
    """Stories of who was, with batch 5 like this (that its rows are out of order is told beside)."""
    stories = of_kind(judged(then(*rows)), "reordered").splitlines()
    return "\n".join(story for story in stories if story.endswith("who arrived later, had it."))


def policy(**rules: Any) -> LedgerRow:
    body = msgspec.json.encode({"state": "open", "seats_per_buyer_max": 9} | rules).decode()
    return LedgerRow(5, 0, "fact", "", "", "", f'{{"fact":8,"hold":null,"body":{body}}}', "policy", "{}")


NAMED = hal("99-0", seat_want("s1"), "taken", '{"taken":["s1"]}')
PLACES = hal("99-0", FLOOR)
DESCRIBED = hal("99-0", '{"best":{"quantity":4}}', "sold_out", SPLIT)
MIXED = hal("99-0", '{"seats":["s1","s3"],"areas":{"floor":3}}', "taken", '{"taken":["s1"]}')
FALLBACK = hal("99-0", '{"seats":["s9"],"fallbacks":[{"areas":{"floor":3}}]}', "taken", '{"taken":["s9"]}')
FEWER = hal("99-0", '{"seats":["s1","s2"],"up_to":true}', "taken", '{"taken":["s1","s2"]}')


@pytest.mark.parametrize("waiting", [False, True])
@pytest.mark.parametrize(
    ("row", "lost", "winner"),
    [
        (NAMED, "s1", "eve's request r1 (arrival 400-0"),
        (PLACES, "a place in floor", "cem's request r1 (arrival 100-2"),
        (DESCRIBED, "s1", "eve's request r1 (arrival 400-0"),
        (MIXED, "s1", "eve's request r1 (arrival 400-0"),
        (FALLBACK, "a place in floor", "cem's request r1 (arrival 100-2"),
        (FEWER, "s1", "eve's request r1 (arrival 400-0"),
    ],
)
def test_who_would_have_had_it_but_for_later_arrivals_was_overtaken(row, lost, winner, waiting):
    story = overtaken(waits(row) if waiting else row)
    assert story.startswith("hal's request r1 (arrival 99-0")
    assert f"was refused {lost}: {winner}" in story


@pytest.mark.parametrize("waiting", [False, True])
@pytest.mark.parametrize(
    "row",
    [
        PLACES._replace(arrival="101-0"),
        DESCRIBED._replace(arrival="101-0"),
        hal("399-0", '{"seats":["s1","s2"]}', "taken", '{"taken":["s1","s2"]}'),
        hal("399-0", '{"seats":["s1"],"areas":{"floor":2}}', "taken", '{"taken":["s1"]}'),
        hal("99-0", '{"areas":{"floor":4}}'),
        hal("99-0", '{"best":{"quantity":5}}', "sold_out", SPLIT),
    ],
)
def test_who_would_not_have_had_it_all_the_same_was_not(row, waiting):
    assert overtaken(waits(row) if waiting else row) == ""


@pytest.mark.parametrize(
    ("losses", "kind"), [([], "reordered"), ([Loss(99, 500)], "late"), ([Loss(98, 500)], "reordered")]
)
def test_a_loss_explains_who_was_overtaken_for_places_too(losses, kind):
    truth = sale.truth()
    then(PLACES)(truth, [])
    assert "a place in floor" in of_kind(judge(sale.seen(), truth, losses), kind)


@pytest.mark.parametrize(
    ("rules", "is_overtaken"),
    [
        ({}, True),
        ({"seats_per_buyer_max": 2}, True),
        ({"seats_per_buyer_max": 1}, False),
        ({"limits": {"A": 1}}, False),
        ({"limits": {"B": 0}}, True),
        ({"tour": {"seats_per_buyer_max": 1}}, False),
    ],
)
def test_who_may_not_have_as_much_lost_nothing(rules, is_overtaken):
    assert bool(overtaken(policy(**rules), PLACES)) is is_overtaken


def test_what_somebody_had_by_then_counts_for_the_limit_and_fewer_are_enough_for_who_takes_fewer():
    rule = policy(seats_per_buyer_max=2)
    has = got(1, "500-0", "hal", "s3", key="r0")
    assert overtaken(rule, has, PLACES) == ""
    assert "refused s1" in overtaken(rule, has, FEWER)


def test_who_arrived_later_is_judged_by_each_arrival_and_a_want_of_its_own():
    assert "(arrival 99-0" in overtaken(PLACES._replace(arrival="101-0", buyer="gil"), PLACES)
    again = PLACES._replace(arrival="350-0")
    free = LedgerRow(5, 1, "fact", "", "", "", f'{{"fact":9,"hold":"{CEM}","body":null}}', "released", "{}")
    ida = got(2, "500-0", "ida", places=2)
    assert "ida's" in overtaken(again._replace(buyer="gil"), free, ida, again)


def test_a_hold_that_was_moved_is_no_later_for_what_it_had_before():
    """Eve, of 400-0, has s1; with 500-0 she moves to it and s3."""
    moves = got(0, "500-0", "eve", "s1", "s3", moved=EVE, key="r2")

    def behind(seat: str) -> str:
        return overtaken(moves, hal("450-0", seat_want(seat), "taken", f'{{"taken":["{seat}"]}}'))

    assert behind("s1") == ""
    assert "refused s3: eve's request r2" in behind("s3")


def test_places_that_were_moved_are_no_later_than_they_were_had_first():
    has = got(0, "401-0", "kim", places=1)
    moves = got(1, "500-0", "kim", "s3", places=1, moved=5 << 16, key="r2")
    assert overtaken(has, moves, hal("450-0", PLACE)) == ""
    assert "kim's" in overtaken(has, moves, hal("350-0", PLACE))


def test_what_a_later_arrivals_move_set_free_was_not_to_be_had_in_order():
    moves = got(0, "500-0", "eve", "s3", moved=EVE, key="r2")
    assert overtaken(moves, got(1, "500-1", "gil", "s1"), hal("450-0", seat_want("s1"), "taken")) == ""
    has, off = got(0, "401-0", "kim", places=1), got(1, "500-0", "kim", "s3", moved=5 << 16, key="r2")
    assert overtaken(has, off, got(2, "500-1", "gil", places=1), hal("450-0", PLACE)) == ""


def test_what_is_over_or_given_back_is_nobodys_any_more():
    gil = got(0, "500-0", "gil", "s3", places=1)
    for body in ("null", '{"areas":[[0,1]]}'):
        text = f'{{"fact":9,"hold":"{5 << 16}","body":{body}}}'
        back = LedgerRow(5, 1, "fact", "", "", "", text, "released", "{}")
        assert overtaken(gil, back, got(2, "430-0", "ira", places=1), hal("450-0", PLACE)) == ""
    assert "gil's" in overtaken(gil, hal("450-0", PLACE))


def test_an_operators_block_and_sale_are_in_nobodys_way_by_arrival():
    block = fact_row((5, 0), "blocked", [2], [(0, 1)])
    assert overtaken(block, hal("99-0", '{"seats":["s1","s3"]}', "taken")) == ""
    assert overtaken(block, sold(), hal("99-0", '{"seats":["s1","s3"]}', "taken")) == ""
    assert overtaken(block, sold(), hal("99-0", '{"areas":{"floor":3}}')) == ""
