"""The waiting list is judged from outside: who was offered something, and who waited for it longer."""

from __future__ import annotations

import pytest

from bench.evidence import Batch, Change, HoldRow, LedgerRow, Seen
from tests.checker.judged import judged, of_kind, replaced
from tests.checker.sale import EVE, asked, held, request, seat_want

WANT = '{"seats":["s1"],"waitlist":true}'
IVY, JOE, KIM = 5 << 16 | 1, 5 << 16 | 2, 5 << 16 | 3
OFFER = 6 << 16 | 2


def waits(at: tuple[int, int], arrival: str, buyer: str, wait_id: int, position: int) -> LedgerRow:
    result = f'{{"wait":"{wait_id}","position":{position},"why":"taken","detail":{{"taken":["s1"]}}}}'
    return request(at, arrival, buyer, WANT, "waitlisted", result)


def fact(at: tuple[int, int], kind: str, hold: str, body: str) -> LedgerRow:
    return LedgerRow(*at, "fact", "", "", "", f'{{"fact":7,"hold":{hold},"body":{body}}}', kind, "{}")


def offer(at: tuple[int, int], buyer: str, wait_id: int, passed_over: int) -> LedgerRow:
    result = f'{held(at[0] << 16 | at[1], chr(34) + "s1" + chr(34))[:-1]},"passed_over":{passed_over}}}'
    return LedgerRow(*at, "offer", "", buyer, "r1", f'{{"wait":"{wait_id}"}}', "offered", result)


RULES = '{"state":"open","hold_ttl_seconds":480,"seats_per_buyer_max":2,"paused_at":null}'
ROWS = [
    fact((5, 0), "policy", "null", RULES),
    waits((5, 1), "500-0", "ivy", IVY, 1),
    waits((5, 2), "500-1", "joe", JOE, 2),
    waits((5, 3), "500-2", "kim", KIM, 3),
    fact((6, 0), "left", "null", f'{{"wait":"{JOE}"}}'),
    fact((6, 1), "released", f'"{EVE}"', "null"),
    offer((6, 2), "ivy", IVY, 0),
]
FIRST = 9
"""Where these rows begin in the ledger of the clean sale."""


def wait(truth, seen):
    """ivy, joe and kim wait for s1, which eve has. joe leaves, eve gives it back, and ivy is offered it."""
    truth.ledger += ROWS
    truth.batches += [Batch(5, 1, 50, "500-2", 4), Batch(6, 1, 60, "500-2", 3)]
    truth.cursor_batch_no, truth.cursor_arrival = 6, "500-2"
    truth.waiting = [(IVY, "ivy", "r1", "offered"), (JOE, "joe", "r1", "left"), (KIM, "kim", "r1", "waiting")]
    truth.holds[-1] = truth.holds[-1]._replace(state="released")
    truth.holds.append(HoldRow(OFFER, "ivy", "r1", "active", 1))
    truth.seats[0] = (0, "held", OFFER)
    truth.hold_seats[0] = (0, OFFER)
    truth.history += [Change(0, 7, "available", EVE, "buyer"), Change(0, 8, "held", OFFER, "allocator")]
    for at, row in enumerate(ROWS[1:4]):
        seen.append(Seen(row.buyer, [asked(row, 500 + at)]))


def to_kim(truth, seen):
    """The offer goes to kim, who waits behind ivy."""
    replaced(truth, FIRST + 6, buyer="kim", input=f'{{"wait":"{KIM}"}}')
    truth.holds[-1] = HoldRow(OFFER, "kim", "r1", "active", 1)
    truth.waiting[0], truth.waiting[2] = (IVY, "ivy", "r1", "waiting"), (KIM, "kim", "r1", "offered")


def says(passed_over):
    def change(truth, seen):
        row = truth.ledger[-1]
        replaced(truth, -1, result=row.result.replace('"passed_over":0', f'"passed_over":{passed_over}'))

    return change


def test_a_clean_list_has_no_findings():
    assert judged(wait) == []


def test_who_is_served_before_somebody_who_waited_for_the_same_longer_was_not_next():
    assert "kim's request" in of_kind(judged(wait, to_kim, says(1)), "reordered")
    assert "ivy's request" in of_kind(judged(wait, to_kim, says(1)), "reordered")


def test_who_has_all_one_may_have_is_passed_over_rightly():
    def nothing_for_anybody(truth, seen):
        """With a limit of nothing at all, too: it is another finding that kim has something then."""
        rules = RULES.replace('"seats_per_buyer_max":2', '"seats_per_buyer_max":0')
        replaced(truth, FIRST, input=ROWS[0].input.replace(RULES, rules))

    found = judged(wait, to_kim, says(1), nothing_for_anybody)
    assert [finding.kind for finding in found] == ["over_limit"]


@pytest.mark.parametrize("more", ['"limits":{"A":1}', '"tour":{"id":1,"seats_per_buyer_max":4}'])
def test_where_a_category_or_a_tour_has_a_limit_the_replay_judges_who_was_passed_over(more):
    def rules(truth, seen):
        replaced(truth, FIRST, input=ROWS[0].input.replace('"paused_at":null', f'"paused_at":null,{more}'))

    assert judged(wait, to_kim, says(1), rules) == []


@pytest.mark.parametrize("number", [1, 7])
def test_an_offer_says_how_many_waited_longer(number):
    assert f"passed {number} over" in of_kind(judged(wait, says(number)), "reordered")


def test_a_request_that_gets_what_somebody_waits_for_overtakes_them():
    def overtake(truth, seen):
        row = request((6, 2), "600-0", "lea", seat_want("s1"), "held", held(OFFER, '"s1"'))
        truth.ledger[-1] = row
        truth.holds[-1] = HoldRow(OFFER, "lea", "r1", "active", 1)
        truth.waiting[0] = (IVY, "ivy", "r1", "waiting")
        truth.cursor_arrival = "600-0"
        truth.batches[-1] = truth.batches[-1]._replace(arrival="600-0")
        seen.append(Seen("lea", [asked(row, 600)]))

    assert "lea's request" in of_kind(judged(wait, overtake), "reordered")


def test_who_left_was_not_to_be_offered_anything():
    def to_joe(truth, seen):
        replaced(truth, FIRST + 6, buyer="joe", input=f'{{"wait":"{JOE}"}}')

    assert f"an offer to {JOE}, which left" in of_kind(judged(wait, to_joe), "unexplained")


def test_nobody_is_offered_something_twice_or_without_having_waited():
    def again(truth, seen):
        truth.ledger.append(offer((6, 3), "ivy", IVY, 0))
        truth.ledger.append(offer((6, 4), "ivy", 4711, 0))

    stories = of_kind(judged(wait, again), "unexplained")
    assert f"an offer to {IVY}, which was offered something before" in stories
    assert "an offer to 4711, which was never on the list" in stories


def test_an_offer_is_to_who_waits():
    def to_mallory(truth, seen):
        replaced(truth, FIRST + 6, buyer="mallory")
        truth.holds[-1] = HoldRow(OFFER, "mallory", "r1", "active", 1)

    assert "is an offer for ivy's request" in of_kind(judged(wait, to_mallory), "foreign_hold")


def test_who_waits_is_told_the_right_place():
    def wrong(truth, seen):
        row = truth.ledger[FIRST + 2]
        replaced(truth, FIRST + 2, result=row.result.replace('"position":2', '"position":1'))

    assert f"waits as {JOE}, at 2 of the list" in of_kind(judged(wait, wrong), "unexplained")


def test_nobody_is_put_on_the_list_who_could_be_served():
    def free(truth, seen):
        replaced(truth, FIRST + 3, input=WANT.replace("s1", "s3"))

    stories = of_kind(judged(wait, free), "unexplained")
    assert "was refused though s3 were free" in stories
    assert "kim's request r1 (arrival 500-2, batch 5 position 3, waitlisted) waits though" in stories


def test_who_wants_more_than_anybody_may_have_could_not_be_served():
    def one_each(truth, seen):
        rules = RULES.replace('"seats_per_buyer_max":2', '"seats_per_buyer_max":1')
        replaced(truth, FIRST, input=ROWS[0].input.replace(RULES, rules))
        replaced(truth, FIRST + 3, input='{"seats":["s3","s4"],"waitlist":true}')

    stories = of_kind(judged(wait, one_each), "unexplained")
    assert "was refused though s3, s4 were free" in stories
    assert "waits though" not in stories


def test_while_the_event_does_not_sell_nobody_could_be_served():
    def close(truth, seen):
        row = ROWS[0]._replace(batch_no=6, position=3, input=ROWS[0].input.replace('"open"', '"closed"'))
        truth.ledger[-1] = row._replace(position=2)
        truth.waiting[0] = (IVY, "ivy", "r1", "waiting")
        truth.holds.pop()
        truth.hold_seats.pop(0)
        truth.seats[0] = (0, "available", None)
        truth.history.pop()

    assert judged(wait, close) == []


@pytest.mark.parametrize(
    ("at", "row", "words"),
    [
        (2, (KIM, "kim", "r1", "left"), f"{KIM} is left (kim's r1) in the table; by the ledger it waits"),
        (2, (KIM, "lea", "r1", "waiting"), f"{KIM} is waiting (lea's r1) in the table"),
        (1, (JOE, "joe", "r1", "waiting"), f"{JOE} (joe's r1) is waiting in the table"),
        (0, (IVY, "ivy", "r1", "left"), f"{IVY} (ivy's r1) is left in the table"),
        (0, (4711, "ivy", "r1", "offered"), "4711 (ivy's r1) is offered in the table"),
    ],
)
def test_the_table_of_who_waits_is_what_the_ledger_says(at, row, words):
    def change(truth, seen):
        truth.waiting[at] = row

    assert words in of_kind(judged(wait, change), "unexplained")


def test_a_leave_that_is_not_consumed_yet_is_in_the_table_alone():
    def leaving(truth, seen):
        truth.waiting[2] = (KIM, "kim", "r1", "left")
        truth.facts = [("left", None)]

    assert judged(wait, leaving) == []
