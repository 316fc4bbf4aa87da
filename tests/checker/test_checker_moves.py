"""Seats in other categories while the event sells: what is described means others from that row on."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from bench.evidence import Batch, LedgerRow, Seen
from store.plan import Category
from tests.checker.judged import judged, of_kind
from tests.checker.sale import asked, held, request


def two_categories(truth: Any, _seen: Any) -> None:
    truth.plan = replace(
        truth.plan, categories=(*truth.plan.categories, Category("B", 500, "EUR", "#445566"))
    )


def moved(version: int, seats: list[int], areas: Any = ()) -> LedgerRow:
    body = f'{{"version":{version},"category":1,"seats":{seats},"areas":{list(areas)}}}'
    return LedgerRow(
        5, 0, "fact", "", "", "", f'{{"fact":9,"hold":null,"body":{body}}}', "recategorised", "{}"
    )


def add(*rows: LedgerRow) -> Any:
    """Batch 5, after everything else; s3 and s4 are free."""

    def change(truth: Any, seen: Any) -> None:
        truth.ledger += [row._replace(batch_no=5, position=n) for n, row in enumerate(rows)]
        truth.batches.append(Batch(5, 1, 50, "500-9", len(rows)))
        truth.cursor_batch_no, truth.cursor_arrival = 5, "500-9"
        seen += [Seen(row.buyer, [asked(row, 501)]) for row in rows if row.kind == "request"]

    return change


def refused(buyer: str, want: str) -> LedgerRow:
    return request((5, 1), f"500-{len(buyer)}", buyer, want, "sold_out", '{"reason":"none_together"}')


def test_who_is_refused_what_was_moved_away_is_refused_rightly_and_what_was_moved_there_wrongly():
    was, now = '{"best":{"category":"A","quantity":1}}', '{"best":{"category":"B","quantity":2}}'
    assert judged(two_categories, add(moved(1, [2, 3]), refused("hal", was))) == []
    found = of_kind(
        judged(two_categories, add(refused("ivy", now), moved(1, [2, 3]), refused("gina", now))),
        "unexplained",
    )
    assert "gina's" in found
    assert "s3, s4 were free" in found
    assert "ivy" not in found


def test_neighbours_of_two_categories_are_not_together():
    pair = '{"best":{"quantity":2}}'
    assert judged(two_categories, add(moved(1, [3]), refused("hal", pair))) == []


def test_moves_are_numbered_one_after_the_other():
    assert "made plan 2; it is move 1" in of_kind(judged(two_categories, add(moved(2, [2]))), "unexplained")


@pytest.mark.parametrize("places", [False, True])
def test_a_limit_by_category_goes_by_what_is_of_it_now(places):
    policy = '{"fact":8,"hold":null,"body":{"state":"open","seats_per_buyer_max":9,"limits":{"B":1}}}'
    rule = LedgerRow(5, 0, "fact", "", "", "", policy, "policy", "{}")
    move = moved(1, [], [0]) if places else moved(1, [1, 2])
    gets, given = ('{"areas":{"floor":1}}', ("", '"floor":1')) if places else ('{"seats":["s3"]}', ('"s3"',))
    got = request((5, 2), "500-1", "cem", gets, "held", held(5 << 16 | 2, *given))
    found = of_kind(judged(two_categories, add(rule, move, got)), "over_limit")
    assert f"made it {3 if places else 2} of B for cem" in found


def test_a_gate_that_said_nothing_is_left_of_a_category_is_not_judged_by_seats_that_were_moved():
    def at_the_gate(truth: Any, seen: Any) -> None:
        seen[5].asks[0].want = '{"best":{"category":"A","quantity":1}}'
        refusal = b'{"type":"not_queued","id":"r1","reason":"none_left","on_hold":1}'
        seen[5].asks[0].not_queued = [(1, refusal)]

    assert judged(two_categories, add(moved(1, [2, 3])), at_the_gate) == []
    assert "nobody ever had s4" in of_kind(
        judged(two_categories, add(moved(1, [2])), at_the_gate), "unexplained"
    )
