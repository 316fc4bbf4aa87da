"""What holders are told of extensions, of what they gave back and of moves is judged by the ledger."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.evidence import Batch, Change, HoldAnswer, HoldOp, HoldRow, LedgerRow, Seen, Truth
from tests.checker.judged import judged, of_buyer, of_kind
from tests.checker.sale import EVE, MS, asked, held, request, seat_want

GUS = 5 << 16 | 0
WANT = '{"seats":["s3","s4"],"areas":{"floor":1}}'


def fact(at: tuple[int, int], kind: str, hold: int | None, body: str) -> LedgerRow:
    named = "null" if hold is None else f'"{hold}"'
    return LedgerRow(*at, "fact", "", "", "", f'{{"fact":9,"hold":{named},"body":{body}}}', kind, "{}")


def extended_and_parted(truth: Truth, seen: list[Seen]) -> None:
    """Gus gets s3, s4 and a place on the floor until 1,000 ms; extends by 5 s, gives s4 and the place back,
    and the sale pauses for 0.7 s."""
    row = request((5, 0), "500-0", "gus", WANT, "held", held(GUS, '"s3","s4"', '"floor":1'))
    truth.ledger += [
        row,
        fact((6, 0), "extended", GUS, '{"by_us":5000000}'),
        fact((6, 1), "released", GUS, '{"seats":[3],"areas":[[0,1]]}'),
        fact((6, 2), "policy", None, '{"state":"open","seats_per_buyer_max":8,"holds_extended_us":700000}'),
    ]
    truth.batches += [Batch(5, 1, 50, "500-0", 1), Batch(6, 1, 60, "500-0", 3)]
    truth.cursor_batch_no, truth.cursor_arrival = 6, "500-0"
    truth.holds.append(HoldRow(GUS, "gus", "r1", "active", 1))
    truth.hold_seats.append((2, GUS))
    truth.seats[2] = (2, "held", GUS)
    truth.history += [Change(seat, 7, "held", GUS, "allocator") for seat in (2, 3)]
    truth.history.append(Change(3, 8, "available", GUS, "buyer"))
    longer = HoldOp("extend", str(GUS), 600 * MS, 601 * MS, "active", ends_ms=1000, answer=HoldAnswer(6000))
    less = HoldOp("release", str(GUS), 602 * MS, 603 * MS, "active", seats=["s4"], areas={"floor": 1})
    less.quantity, less.answer = 3, HoldAnswer(6700, ["s3"], {})
    seen.append(Seen("gus", [asked(row, 501)], [longer, less]))


def test_a_hold_that_went_as_its_holder_was_told_is_judged_clean():
    assert judged(extended_and_parted) == []


def paused_before_it_was_given(truth: Truth, seen: list[Seen]) -> None:
    early = truth.ledger[-1].input.replace("700000", "300000")
    truth.ledger.insert(-4, truth.ledger[-1]._replace(batch_no=4, position=2, input=early))
    truth.batches[3] = truth.batches[3]._replace(rows=3)


def test_a_pause_from_before_a_hold_was_given_gives_it_no_time():
    assert judged(extended_and_parted, paused_before_it_was_given) == []

    def counts_it(truth: Truth, seen: list[Seen]) -> None:
        of_buyer(seen, "gus").hold_ops[0].answer = HoldAnswer(6300)

    assert "ends at 6300" in of_kind(
        judged(extended_and_parted, paused_before_it_was_given, counts_it), "unexplained"
    )


def ends_later(ops: list[HoldOp]) -> None:
    ops[0].answer = HoldAnswer(11_000)


def ends_neither_before_nor_after_the_extension(ops: list[HoldOp]) -> None:
    ops[0].answer = HoldAnswer(3_500)


def keeps_what_it_never_had(ops: list[HoldOp]) -> None:
    ops[1].answer = HoldAnswer(6700, ["s1"], {})


def keeps_a_place_it_gave_back(ops: list[HoldOp]) -> None:
    ops[1].answer = HoldAnswer(6700, ["s3"], {"floor": 1})


def keeps_all_it_gave_back(ops: list[HoldOp]) -> None:
    ops[1].answer = HoldAnswer(6700, ["s3", "s4"], {"floor": 1})


@pytest.mark.parametrize(
    "lie",
    [
        ends_later,
        ends_neither_before_nor_after_the_extension,
        keeps_what_it_never_had,
        keeps_a_place_it_gave_back,
        keeps_all_it_gave_back,
    ],
)
def test_what_the_ledger_does_not_account_for_is_noticed(lie: Callable[[list[HoldOp]], None]):
    found = judged(extended_and_parted, lambda truth, seen: lie(of_buyer(seen, "gus").hold_ops))
    assert "gus was told" in of_kind(found, "unexplained"), found


def test_a_hold_of_others_knew_more_of_is_answered_as_it_is():
    def knew_of_more(truth: Truth, seen: list[Seen]) -> None:
        less = of_buyer(seen, "gus").hold_ops[1]
        less.quantity, less.answer = 2, HoldAnswer(6700, ["s3", "s4"], {"floor": 1})

    assert judged(extended_and_parted, knew_of_more) == []


def test_a_move_that_the_ledger_has_not_is_noticed():
    def moved(truth: Truth, seen: list[Seen]) -> None:
        ask = of_buyer(seen, "eve").asks[0]
        when, frame = ask.decisions[0]
        ask.decisions = [(when, frame.replace(b'"expires_at":1000', b'"expires_at":1000,"moved":"65536"'))]

    assert "eve was told" in of_kind(judged(moved), "unexplained")


def test_a_hold_that_lives_on_in_the_table_after_it_was_moved_is_noticed():
    new = 5 << 16 | 0

    def moved(truth: Truth, seen: list[Seen]) -> None:
        result = held(new, '"s3"')[:-1] + f',"moved":"{EVE}"}}'
        truth.ledger.append(request((5, 0), "500-0", "eve", seat_want("s3"), "held", result))
        truth.ledger[-1] = truth.ledger[-1]._replace(request_id="r2")
        truth.batches.append(Batch(5, 1, 50, "500-0", 1))
        truth.cursor_batch_no, truth.cursor_arrival = 5, "500-0"

    assert f"Hold {EVE} of eve is active in the table; by the ledger it ended (moved)" in of_kind(
        judged(moved), "unexplained"
    )


def test_time_given_back_after_an_outage_explains_a_later_end():
    def outage_instead(truth: Truth, seen: list[Seen]) -> None:
        body = '{"since":900000,"lost_us":700000}'
        truth.ledger[-1] = fact((6, 2), "outage", None, body)

    assert judged(extended_and_parted, outage_instead) == []

    def nothing_lost(truth: Truth, seen: list[Seen]) -> None:
        truth.ledger[-1] = fact((6, 2), "outage", None, '{"since":900000,"lost_us":0}')

    assert "ends at 6700" in of_kind(judged(extended_and_parted, nothing_lost), "unexplained")
