"""What operators sold and took back is judged by the ledger."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bench.checks.walk import Walker
from bench.evidence import AreaRow, Change, HoldOp, HoldRow, LedgerRow, Seen
from store.words import OPERATORS_HOLDS
from tests.checker import sale
from tests.checker.judged import judged, of_kind
from tests.checker.sale import CEM, asked, request, seat_want
from tests.checker.test_checker_blocks import add_batch, fact_row

GUS = OPERATORS_HOLDS


def hand_row(kind: str, hold_id: int, body: dict[str, Any]) -> LedgerRow:
    text = f'{{"fact":9,"hold":"{hold_id}","body":{msgspec.json.encode(body).decode()}}}'
    return LedgerRow(5, 0, "fact", "", "", "", text, kind, "{}")


def sold(seats: Any = (2,), areas: Any = ((0, 1),), hold_id: int = GUS) -> LedgerRow:
    body = {"buyer": "gus", "request_id": "sale", "kind": "box_office", "seats": seats, "areas": areas}
    return hand_row("sold", hold_id, body)


def returned(hold_id: int, seats: Any, areas: Any = (), *, blocked: bool = False) -> LedgerRow:
    body = {"buyer": "gus", "counted": False, "blocked": blocked, "seats": seats, "areas": areas}
    return hand_row("returned", hold_id, body)


BLOCKED = fact_row((5, 0), "blocked", [2], [(0, 1)])


def sell_s3_and_a_place(truth, seen):
    add_batch(truth, BLOCKED, sold())
    truth.seats[2] = (2, "sold", GUS)
    truth.areas = [AreaRow(0, 3, 0, 3, 0)]
    truth.holds.append(HoldRow(GUS, "gus", "sale", "paid", 2))
    truth.hold_seats.append((2, GUS))
    truth.hold_areas.append((GUS, 0, 1))
    truth.history += [Change(2, 8, "blocked", None, "Olga"), Change(2, 9, "sold", GUS, "Olga")]


def take_back(blocked: bool):
    def change(truth, seen):
        sell_s3_and_a_place(truth, seen)
        truth.ledger.append(returned(GUS, [2], [(0, 1)], blocked=blocked)._replace(position=2))
        truth.batches[-1] = truth.batches[-1]._replace(rows=3)
        truth.seats[2] = (2, "blocked" if blocked else "available", None)
        truth.areas = [AreaRow(0, 3, 0, 2, int(blocked))]
        truth.holds[-1] = HoldRow(GUS, "gus", "sale", "refunded", 2)
        truth.hold_seats.pop()
        truth.hold_areas.pop()
        truth.history.append(Change(2, 10, truth.seats[2][1], GUS, "Olga"))

    return change


@pytest.mark.parametrize("change", [sell_s3_and_a_place, take_back(False), take_back(True)])
def test_what_an_operator_did_in_order_is_explained(change):
    assert judged(change) == []


def test_what_an_operator_sold_and_took_back_was_never_its_buyers_for_the_limit():
    truth = sale.truth()
    take_back(False)(truth, [])
    walker = Walker(truth)
    walker.run()
    assert walker.owned["gus"] == 0


@pytest.mark.parametrize("want", [seat_want("s3"), '{"areas":{"floor":1}}'])
def test_who_is_refused_what_was_sold_is_refused_rightly_and_what_came_back_is_not(want):
    def refused(change):
        def corrupt(truth, seen):
            change(truth, seen)
            at = len([row for row in truth.ledger if row.batch_no == 5])
            outcome = "taken" if "seats" in want else "sold_out"
            row = request((5, at), "500-1", "hal", want, outcome, '{"reason":"gone"}')
            truth.ledger.append(row)
            truth.batches[-1] = truth.batches[-1]._replace(rows=at + 1)
            seen.append(Seen("hal", [asked(row, 501)]))

        return judged(corrupt)

    assert refused(sell_s3_and_a_place) == []
    assert refused(take_back(True)) == []
    assert "hal" in of_kind(refused(take_back(False)), "unexplained")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([sold(areas=())], "sold seat s3, which was not off sale"),
        ([BLOCKED, sold(areas=((0, 2),))], "sold 2 places in floor: more than were off sale"),
        ([BLOCKED, sold(), sold(seats=(), areas=())], "a second time"),
        ([returned(GUS, [2])], f"took back hold {GUS}, no order"),
        ([returned(CEM, [2])], f"Hold {CEM} gave back seat s3, which it had not"),
        ([BLOCKED, sold(), returned(GUS, [2], [(0, 1)]), returned(GUS, [2])], "no order"),
    ],
)
def test_a_sale_or_return_that_cannot_have_been_is_unexplained(rows, words):
    assert any(words in finding.story for finding in judged(lambda truth, seen: add_batch(truth, *rows)))


def test_an_order_of_no_ledger_row_is_unexplained_unless_its_fact_waits():
    def sold_behind_the_ledger(truth, seen):
        sell_s3_and_a_place(truth, seen)
        truth.ledger = truth.ledger[:-2]
        truth.batches[-1] = truth.batches[-1]._replace(rows=0)

    assert "no ledger row gave it" in of_kind(judged(sold_behind_the_ledger), "unexplained")

    def not_consumed_yet(truth, seen):
        sold_behind_the_ledger(truth, seen)
        truth.facts = [("blocked", None), ("sold", GUS)]

    assert judged(not_consumed_yet) == []


def test_who_was_told_that_they_paid_is_not_lied_to_when_it_is_taken_back_later():
    def cem_paid(truth, seen):
        seen[2].hold_ops.append(HoldOp("confirm", str(CEM), 1, 2, "paid"))
        add_batch(truth, returned(CEM, [1], [(0, 2)]))
        truth.seats[1] = (1, "available", None)
        truth.areas = [AreaRow(0, 3, 0, 0, 0)]
        truth.holds[1] = HoldRow(CEM, "cem", "r1", "refunded", 3)
        truth.hold_seats.remove((1, CEM))
        truth.hold_areas.clear()
        truth.history.append(Change(1, 10, "available", CEM, "Olga"))

    assert judged(cem_paid) == []
