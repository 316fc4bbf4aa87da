"""What operators blocked is judged by the ledger: rightly refused, wrongly given, not behind its back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from bench.evidence import AreaRow, Batch, Change, LedgerRow, Seen
from tests.checker.judged import judged, of_kind
from tests.checker.sale import EVE, asked, held, request, seat_want


def fact_row(at: tuple[int, int], kind: str, seats: list[int], areas: Any = ()) -> LedgerRow:
    areas = [list(area) for area in areas]
    body = msgspec.json.encode({"seats": list(seats), "areas": areas}).decode()
    return LedgerRow(*at, "fact", "", "", "", f'{{"fact":9,"hold":null,"body":{body}}}', kind, "{}")


def add_batch(truth, *rows):
    """Batch 5, after everything else."""
    truth.ledger += [row._replace(batch_no=5, position=n) for n, row in enumerate(rows)]
    truth.batches.append(Batch(5, 1, 50, "500-9", len(rows)))
    truth.cursor_batch_no, truth.cursor_arrival = 5, "500-9"


def block_s3_and_a_place(truth, seen):
    add_batch(truth, fact_row((5, 0), "blocked", [2], [(0, 1)]))
    truth.seats[2] = (2, "blocked", None)
    truth.areas = [AreaRow(0, 3, 0, 2, 1)]
    truth.history.append(Change(2, 8, "blocked", None, "Olga"))


def ask_for(want, outcome, result):
    def ask(truth, seen):
        row = request((5, 1), "500-1", "hal", want, outcome, result)
        truth.ledger.append(row)
        truth.batches[-1] = truth.batches[-1]._replace(rows=2)
        seen.append(Seen("hal", [asked(row, 501)]))

    return ask


@pytest.mark.parametrize("want", [seat_want("s3"), '{"areas":{"floor":1}}'])
def test_who_is_refused_what_an_operator_blocked_is_refused_rightly(want):
    refuse = ask_for(want, "taken" if "seats" in want else "sold_out", '{"reason":"gone"}')
    assert judged(block_s3_and_a_place, refuse) == []


@pytest.mark.parametrize("want", [seat_want("s3"), '{"areas":{"floor":1}}'])
def test_who_is_refused_what_was_unblocked_again_is_refused_though_it_was_free(want):
    def unblock(truth, seen):
        add_batch(
            truth,
            fact_row((5, 0), "blocked", [2], [(0, 1)]),
            request((5, 1), "500-0", "ivy", want, "sold_out", '{"reason":"gone"}'),
            fact_row((5, 2), "unblocked", [2], [(0, 1)]),
            request((5, 3), "500-1", "hal", want, "sold_out", '{"reason":"gone"}'),
        )
        truth.history += [Change(2, 8, "blocked", None, "Olga"), Change(2, 9, "available", None, "Olga")]
        seen += [Seen("ivy", [asked(truth.ledger[-3], 501)]), Seen("hal", [asked(truth.ledger[-1], 502)])]

    story = of_kind(judged(unblock), "unexplained")
    assert "hal" in story
    assert "ivy" not in story


def test_a_blocked_seat_that_is_given_is_oversold():
    def give(truth, seen):
        ask_for(seat_want("s3"), "held", held(5 << 16 | 1, '"s3"'))(truth, seen)

    assert "gave seat s3, which was blocked" in of_kind(judged(block_s3_and_a_place, give), "oversold")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (fact_row((5, 0), "blocked", [0]), f"seat s1 while hold {EVE} had it"),
        (fact_row((5, 0), "unblocked", [2]), "seat s3, which was unblocked already"),
        (fact_row((5, 0), "blocked", [], [(0, 2)]), "2 places in floor: more than there were"),
        (fact_row((5, 0), "unblocked", [], [(0, 1)]), "1 places in floor: more than there were"),
    ],
)
def test_a_block_that_cannot_have_been_is_unexplained(row, words):
    assert any(words in finding.story for finding in judged(lambda truth, seen: add_batch(truth, row)))


def blocked_by_hand(truth, seen):
    truth.seats[2] = (2, "blocked", None)
    truth.history.append(Change(2, 8, "blocked", None, "somebody"))


def places_blocked_by_hand(truth, seen):
    truth.areas = [AreaRow(0, 3, 0, 2, 1)]


@pytest.mark.parametrize(
    ("corrupt", "words"),
    [
        (blocked_by_hand, "seat s3 is blocked; by the ledger it is on sale"),
        (places_blocked_by_hand, "counts 1 places blocked; by the ledger 0 are"),
    ],
)
def test_what_is_blocked_behind_everybodys_back_is_unexplained(corrupt, words):
    assert words in of_kind(judged(corrupt), "unexplained")

    def not_consumed_yet(truth, seen):
        corrupt(truth, seen)
        truth.facts = [("blocked", None)]

    assert judged(not_consumed_yet) == []
