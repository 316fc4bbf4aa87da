"""What buyers are told of the waiting list is judged by the ledger: offers, places, leaving, being told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.evidence import Batch, Change, HoldRow, Leaving, LedgerRow, Seen, Truth
from tests.checker.judged import judged, of_buyer, of_kind
from tests.checker.sale import EVE, MS, asked, held, request

HAL, IVY, JAN, OFFERED = 5 << 16 | 0, 5 << 16 | 1, 5 << 16 | 2, 6 << 16 | 2
WANT = '{"seats":["s1"],"waitlist":true}'
OFFER = held(OFFERED, '"s1"')[:-1] + ',"passed_over":0}'


def joined(position: int, buyer: str) -> LedgerRow:
    result = f'{{"wait":"{5 << 16 | position}","position":{position + 1},"why":"taken","detail":{{}}}}'
    return request((5, position), f"500-{position}", buyer, WANT, "waitlisted", result)


def offer_frame(result: str = OFFER, wait: int = HAL) -> bytes:
    return f'{{"type":"offer","id":"r1","wait":"{wait}","result":{result}}}'.encode()


def frame(*entries: str) -> bytes:
    return f'{{"type":"waiting","of":3,"waiting":[{",".join(entries)}]}}'.encode()


def waits(wait: int, position: int) -> str:
    return f'{{"id":"r1","wait":"{wait}","state":"waiting","position":{position}}}'


def offered(result: str = OFFER) -> str:
    return f'{{"id":"r1","wait":"{HAL}","state":"offered","offer":{result}}}'


def three_wait(truth: Truth, seen: list[Seen]) -> None:
    """Hal, ivy and jan wait for s1; ivy leaves; eve's hold runs out, and hal is offered s1."""
    rows = [joined(number, buyer) for number, buyer in enumerate(("hal", "ivy", "jan"))]
    left = f'{{"fact":9,"hold":null,"body":{{"wait":"{IVY}"}}}}'
    truth.ledger += [
        *rows,
        LedgerRow(6, 0, "fact", "", "", "", left, "left", "{}"),
        LedgerRow(6, 1, "expired", "", "", "", f'{{"hold":"{EVE}"}}', "expired", "{}"),
        LedgerRow(6, 2, "offer", "", "hal", "r1", f'{{"wait":"{HAL}"}}', "offered", OFFER),
    ]
    truth.batches += [Batch(5, 1, 50, "500-2", 3), Batch(6, 1, 60, "500-2", 3)]
    truth.cursor_batch_no, truth.cursor_arrival = 6, "500-2"
    truth.holds[3] = HoldRow(EVE, "eve", "r1", "expired", 1)
    truth.holds.append(HoldRow(OFFERED, "hal", "r1", "active", 1))
    truth.hold_seats[0] = (0, OFFERED)
    truth.seats[0] = (0, "held", OFFERED)
    truth.history += [Change(0, 7, "available", EVE, "expiry"), Change(0, 8, "held", OFFERED, "allocator")]
    truth.waiting = [
        (HAL, "hal", "r1", "offered"),
        (IVY, "ivy", "r1", "left"),
        (JAN, "jan", "r1", "waiting"),
    ]
    hal, ivy, jan = (Seen(row.buyer, [asked(row, 501)], looked_ns=900 * MS) for row in rows)
    hal.offers, hal.waiting = [offer_frame()], [frame(waits(HAL, 1)), frame(offered())]
    ivy.leaves, ivy.waiting = [Leaving("r1", 600 * MS, 601 * MS)], [frame(waits(IVY, 2)), frame()]
    jan.waiting = [frame(waits(JAN, 3)), frame(waits(JAN, 2)), frame(waits(JAN, 1))]
    seen += [hal, ivy, jan]


def test_a_waiting_list_that_went_as_everybody_was_told_is_judged_clean():
    assert judged(three_wait) == []


def told_another_offer(hal: Seen) -> None:
    hal.offers = [offer_frame(OFFER.replace("s1", "s2"))]


def told_an_offer_to_nobody(hal: Seen) -> None:
    hal.offers.append(offer_frame(wait=4 << 16 | 9))


def told_an_offer_of_who_left(hal: Seen) -> None:
    hal.buyer, hal.asks, hal.waiting = "ivy", [], []
    hal.offers = [offer_frame(wait=IVY)]


def told_another_offer_when_it_asked(hal: Seen) -> None:
    hal.waiting[-1] = frame(offered(OFFER.replace("s1", "s2")))


def told_a_place_too_good(hal: Seen) -> None:
    hal.waiting[0] = frame(waits(HAL, 0))


def told_a_place_too_bad(hal: Seen) -> None:
    hal.waiting[0] = frame(waits(HAL, 2))


def told_to_wait_with_what_it_never_asked(hal: Seen) -> None:
    hal.waiting[0] = frame(waits(7 << 16, 1))


def told_it_left(hal: Seen) -> None:
    hal.leaves = [Leaving("r1", 600 * MS, 601 * MS)]


def told_it_never_waited(hal: Seen) -> None:
    hal.leaves = [Leaving("r1", 600 * MS, 601 * MS, "not_waiting")]


def told_it_left_what_it_never_asked(hal: Seen) -> None:
    hal.leaves = [Leaving("r9", 600 * MS, 601 * MS)]


@pytest.mark.parametrize(
    "lie",
    [
        told_another_offer,
        told_an_offer_to_nobody,
        told_an_offer_of_who_left,
        told_another_offer_when_it_asked,
        told_a_place_too_good,
        told_a_place_too_bad,
        told_to_wait_with_what_it_never_asked,
        told_it_left,
        told_it_never_waited,
        told_it_left_what_it_never_asked,
    ],
)
def test_what_the_ledger_does_not_account_for_is_noticed(lie: Callable[[Seen], None]):
    found = judged(three_wait, lambda truth, seen: lie(of_buyer(seen, "hal")))
    assert of_kind(found, "unexplained"), found


def test_who_leaves_is_off_the_list_before_the_ledger_says_so():
    def jan_is_offered_and_then_the_ledger_says_that_ivy_left(truth: Truth, seen: list[Seen]) -> None:
        *before, left, expired, offer = truth.ledger
        given = offer._replace(position=0, buyer="jan", input=f'{{"wait":"{JAN}"}}')
        truth.ledger[:] = [*before, given, expired, left._replace(position=2)]
        of_buyer(seen, "jan").waiting = [frame(waits(JAN, 3)), frame(waits(JAN, 2))]

    found = judged(three_wait, jan_is_offered_and_then_the_ledger_says_that_ivy_left)
    assert "on the waiting list; by the ledger it went" not in of_kind(found, "unexplained")


def test_an_offer_denied_to_who_leaves_is_noticed():
    def denied(truth: Truth, seen: list[Seen]) -> None:
        of_buyer(seen, "jan").leaves = [Leaving("r1", 600 * MS, 601 * MS, "offered")]

    assert "it waits" in of_kind(judged(three_wait, denied), "unexplained")


def test_an_offer_that_somebody_else_was_told_of_is_noticed():
    def told_to_jan(truth: Truth, seen: list[Seen]) -> None:
        of_buyer(seen, "jan").offers.append(offer_frame())

    assert "jan was told of an offer" in of_kind(judged(three_wait, told_to_jan), "foreign_hold")


def never_told(truth: Truth, seen: list[Seen]) -> None:
    hal = of_buyer(seen, "hal")
    hal.offers, hal.waiting = [], [frame()]


def test_an_offer_whose_buyer_asked_for_the_list_and_was_not_told_is_lost():
    assert "hal asked for the waiting list" in of_kind(judged(three_wait, never_told), "lost")


@pytest.mark.parametrize(
    "excuse",
    [
        lambda hal: setattr(hal, "looked_ns", 0),
        lambda hal: setattr(hal, "looked_ns", 502 * MS),
        lambda hal: setattr(hal, "stayed", False),
        lambda hal: setattr(hal, "waiting", [frame(waits(HAL, 1))]),
        lambda hal: setattr(hal, "offers", [offer_frame()]),
    ],
    ids=["never asked", "asked before it waited", "gone", "not offered yet by then", "told by itself"],
)
def test_who_could_not_know_or_knows_is_not_lost(excuse: Callable[[Seen], None]):
    found = judged(three_wait, never_told, lambda truth, seen: excuse(of_buyer(seen, "hal")))
    assert found == []
