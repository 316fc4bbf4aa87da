"""A clean sale has no findings; each kind of wrong is found when it is there, and its story says who."""

from __future__ import annotations

import pytest

from bench.checker import judge
from bench.evidence import AreaRow, Ask, Batch, Change, HoldOp, HoldRow, LedgerRow, Seen, Truth
from tests.checker import sale
from tests.checker.judged import judged, of_buyer, of_kind, replaced
from tests.checker.sale import ANN, CEM, DAN, EVE, LEDGER, MS, asked, frame, held, request, seat_want


def retold(ask: Ask, row: LedgerRow) -> None:
    ask.decisions = [(when, frame(row)) for when, _ in ask.decisions]


def test_a_clean_sale_has_no_findings():
    assert judged() == []


def test_an_event_nobody_asked_for_has_no_findings():
    truth = Truth("empty", sale.plan(), seats=[(n, "available", None) for n in range(4)])
    truth.areas = [AreaRow(0, 3, 0, 0, 0)]
    assert judge([], truth) == []


def test_batches_go_on_further_up_only_where_a_restore_says_so():
    def restore(truth, seen):
        truth.batches.append(Batch(100, 2, 40, "400-0", 0))
        truth.cursor_batch_no = 100
        truth.restored = {4: 100}

    def leave_out(truth, seen):
        restore(truth, seen)
        truth.restored = {}

    assert judged(restore) == []
    [found] = judged(leave_out)
    assert found.story == "Batch 100 follows 4: batches are missing."


def test_facts_the_allocator_has_not_consumed_yet_explain_the_tables():
    def release_eve(truth, seen):
        truth.facts = [("released", EVE)]
        truth.holds[3] = truth.holds[3]._replace(state="released")
        truth.seats[0] = (0, "available", None)
        truth.hold_seats = [(1, CEM)]
        truth.history.append(Change(0, 7, "available", EVE, "buyer"))
        seen[4].hold_ops.append(HoldOp("release", str(EVE), 1, 2, "released"))

    assert judged(release_eve) == []


def test_a_seat_given_back_in_part_and_a_hold_that_was_moved_may_go_to_the_next():
    """cem gives s2 back, keeps the floor, and pays; fay gets s2; eve moves to s3, and gil gets s1."""

    def live_on(truth, seen):
        fay, moved, gil = (5 << 16 | 1, 5 << 16 | 2, 5 << 16 | 3)
        body = '{"seats":[1],"areas":[[0,1]]}'
        given_back = f'{{"fact":3,"hold":"{CEM}","body":{body}}}'
        truth.ledger[6] = LEDGER[6]._replace(input=given_back, outcome="released")
        paid = LEDGER[6]._replace(batch_no=5, input=f'{{"fact":4,"hold":"{CEM}","body":null}}')
        news = [
            request((5, 1), "500-0", "fay", seat_want("s2"), "held", held(fay, '"s2"')),
            request((5, 2), "500-1", "eve", f'{{"seats":["s3"],"move":"{EVE}"}}', "held",
                    held(moved, '"s3"')[:-1] + f',"moved":"{EVE}"}}')._replace(request_id="r2"),
            request((5, 3), "500-2", "gil", seat_want("s1"), "held", held(gil, '"s1"')),
        ]  # fmt: skip
        truth.ledger += [paid, *news]
        truth.batches.append(Batch(5, 1, 50, "500-2", 4))
        truth.cursor_batch_no, truth.cursor_arrival = 5, "500-2"
        truth.seats = [(0, "held", gil), (1, "held", fay), (2, "held", moved), (3, "available", None)]
        truth.areas = [AreaRow(0, 3, 0, 1, 0)]
        truth.holds[1] = truth.holds[1]._replace(quantity=1)
        truth.holds[3] = truth.holds[3]._replace(state="released")
        truth.holds += [HoldRow(fay, "fay", "r1", "active", 1), HoldRow(moved, "eve", "r2", "active", 1)]
        truth.holds.append(HoldRow(gil, "gil", "r1", "active", 1))
        truth.hold_seats = [(0, gil), (1, fay), (2, moved)]
        truth.hold_areas = [(CEM, 0, 1)]
        truth.history[4] = Change(1, 4, "available", CEM, "buyer")
        truth.history += [
            Change(1, 7, "held", fay, "allocator"), Change(0, 8, "available", EVE, "buyer"),
            Change(2, 8, "held", moved, "allocator"), Change(0, 8, "held", gil, "allocator"),
        ]  # fmt: skip
        seen += [Seen(row.buyer, [asked(row, 500)]) for row in news]
        seen[5].asks.clear()  # fay was not refused at the gate in this story

    assert judged(live_on) == []


@pytest.mark.parametrize("body", ['{"seats":[0]}', '{"areas":[[0,3]]}'])
def test_what_a_hold_had_not_cannot_have_been_given_back(body):
    def give_back(truth, seen):
        given_back = f'{{"fact":2,"hold":"{CEM}","body":{body}}}'
        truth.ledger[6] = LEDGER[6]._replace(input=given_back, outcome="released")

    assert "gave back" in of_kind(judged(give_back), "unexplained")


def test_somebody_elses_hold_cannot_have_been_moved():
    def move(truth, seen):
        row = LEDGER[8]._replace(result=held(EVE, '"s1"')[:-1] + f',"moved":"{CEM}"}}')
        truth.ledger[8] = row

    assert "not its buyer's" in of_kind(judged(move), "unexplained")


# --- oversold ---


def two_live_holds(truth, seen):
    truth.hold_seats.append((0, CEM))


def an_area_over_capacity(truth, seen):
    truth.areas = [AreaRow(0, 3, 2, 2, 0)]
    truth.hold_areas.append((EVE, 0, 2))


def a_seat_given_while_held(truth, seen):
    """dan's hold never expired, and eve gets the seat all the same."""
    del truth.ledger[7]
    truth.ledger[7] = LEDGER[8]._replace(position=0)


def a_history_without_a_release(truth, seen):
    del truth.history[2]


def two_clients_who_believe(truth, seen):
    """eve is told she has cem's seat as well."""
    both = LEDGER[8]._replace(result=held(EVE, '"s1","s2"'))
    retold(seen[4].asks[0], both)


@pytest.mark.parametrize(
    ("corrupt", "words"),
    [
        (two_live_holds, ["s1", "2 live holds", "eve", "cem"]),
        (an_area_over_capacity, ["floor", "takes 3", "4 places"]),
        (a_seat_given_while_held, ["eve", "s1", f"hold {DAN}", "dan"]),
        (a_history_without_a_release, ["s1", f"hold {DAN}", f"while hold {ANN}"]),
        (two_clients_who_believe, ["cem", "eve", "both told", "s2"]),
    ],
)
def test_oversold(corrupt, words):
    story = of_kind(judged(corrupt), "oversold")
    for word in words:
        assert word in story


def test_a_ledger_that_gives_more_places_than_there_are_is_oversold():
    def give_more(truth, seen):
        replaced(truth, 2, result=held(CEM, '"s2"', '"floor":4'))

    assert "1 over its capacity" in of_kind(judged(give_more), "oversold")


# --- lost ---


def accepted_and_forgotten(truth, seen):
    seen.append(Seen("gus", [Ask("r1", seat_want("s3"), [MS], [(2 * MS, "50-0")])]))


def decided_and_never_told(truth, seen):
    seen[3].asks[0].decisions.clear()


@pytest.mark.parametrize(
    ("corrupt", "words"),
    [
        (accepted_and_forgotten, ["gus", "50-0", "no row", "has passed it"]),
        (decided_and_never_told, ["dan", "batch 2", "never told"]),
    ],
)
def test_lost(corrupt, words):
    story = of_kind(judged(corrupt), "lost")
    for word in words:
        assert word in story


def test_a_client_that_left_is_not_owed_the_news():
    def leave(truth, seen):
        seen[3].asks[0].decisions.clear()
        seen[3].stayed = False

    assert judged(leave) == []


# --- doubled ---


def two_decisions_seen(truth, seen):
    seen[1].asks[0].decisions.append((500 * MS, frame(LEDGER[1]._replace(outcome="sold_out"))))


def two_ledger_rows_of_one_key(truth, seen):
    truth.ledger.append(LEDGER[1]._replace(batch_no=4, position=2, arrival="401-0"))


def two_holds_for_one_request(truth, seen):
    truth.holds.append(truth.holds[0]._replace(hold_id=9 << 16))


def one_arrival_decided_twice(truth, seen):
    replaced(truth, 8, arrival="200-0")


def a_conflict_with_itself(truth, seen):
    del seen[0].asks[1]
    seen[0].asks[0].decisions.append((500 * MS, frame(LEDGER[3])))


@pytest.mark.parametrize(
    ("corrupt", "words"),
    [
        (two_decisions_seen, ["bob", "two decisions", "taken", "sold_out"]),
        (two_ledger_rows_of_one_key, ["bob", "decided before, in batch 1 at position 1"]),
        (two_holds_for_one_request, ["ann", "two holds", str(ANN)]),
        (one_arrival_decided_twice, ["eve", "200-0", "dan"]),
        (a_conflict_with_itself, ["ann", "conflicts with itself"]),
    ],
)
def test_doubled(corrupt, words):
    story = of_kind(judged(corrupt), "doubled")
    for word in words:
        assert word in story


# --- reordered ---


def rows_out_of_order(truth, seen):
    replaced(truth, 0, arrival="100-1")
    replaced(truth, 1, arrival="100-0")


def refused_though_free(truth, seen):
    """bob is refused s4, which nobody had; cem, later, gets it."""
    replaced(truth, 1, input=seat_want("s4"), result='{"taken":["s4"]}')
    replaced(truth, 2, result=held(CEM, '"s2","s4"', '"floor":2'))


def overtaken_after_a_loss(truth, seen):
    """dan's arrival was the first of all; he was decided after ann had the seat."""
    late = request((1, 4), "90-0", "hal", seat_want("s1"), "taken", '{"taken":["s1"]}')
    truth.ledger.insert(4, late)
    truth.batches[0] = truth.batches[0]._replace(rows=5)
    seen.append(Seen("hal", [asked(late, 90)]))


def decided_with_a_later_arrival(truth, seen):
    seen[3].asks[0].accepted = [(201 * MS, "199-0")]


def acknowledged_before_the_other_was_sent(truth, seen):
    """eve was sent long after dan was answered, and has a smaller arrival."""
    for client, arrival in ((seen[3], "500-0"), (seen[4], "400-0")):
        client.asks[0].accepted = [(client.asks[0].accepted[0][0], arrival)]


@pytest.mark.parametrize(
    ("corrupt", "words"),
    [
        (rows_out_of_order, ["bob", "100-0", "decided after", "ann"]),
        (refused_though_free, ["bob", "though s4 were free", "cem", "got s4"]),
        (overtaken_after_a_loss, ["hal", "90-0", "refused s1", "ann"]),
        (decided_with_a_later_arrival, ["dan", "199-0", "200-0"]),
        (acknowledged_before_the_other_was_sent, ["dan", "500-0", "eve", "400-0"]),
    ],
)
def test_reordered(corrupt, words):
    story = of_kind(judged(corrupt), "reordered")
    for word in words:
        assert word in story


def test_one_who_asked_again_after_a_loss_and_lost_nothing_by_it_is_no_finding():
    def late_for_a_free_seat(truth, seen):
        late = request((4, 2), "150-0", "hal", seat_want("s3"), "held", held(4 << 16 | 2, '"s3"'))
        truth.ledger.append(late)
        truth.batches[3] = truth.batches[3]._replace(rows=3)
        truth.holds.append(truth.holds[3]._replace(hold_id=4 << 16 | 2, buyer="hal"))
        truth.hold_seats.append((2, 4 << 16 | 2))
        truth.seats[2] = (2, "held", 4 << 16 | 2)
        truth.history.append(Change(2, 8, "held", 4 << 16 | 2, "allocator"))
        again = asked(late, 150)
        again.sent_ns.append(399 * MS)
        seen.append(Seen("hal", [again]))

    assert judged(late_for_a_free_seat) == []


# --- foreign holds ---


def a_hold_of_somebody_else(truth, seen):
    truth.holds[3] = truth.holds[3]._replace(buyer="dan")


def shown_to_somebody_else(truth, seen):
    retold(seen[1].asks[0], LEDGER[8])


def told_what_was_never_asked(truth, seen):
    seen[5].strange.append(frame(LEDGER[8]))


def changed_by_somebody_else(truth, seen):
    seen[1].hold_ops.append(HoldOp("release", str(CEM), 1, 2, "released"))


@pytest.mark.parametrize(
    ("corrupt", "words"),
    [
        (a_hold_of_somebody_else, ["dan", "eve", str(EVE)]),
        (shown_to_somebody_else, ["bob", "eve's"]),
        (told_what_was_never_asked, ["fay", "never asked", "eve's"]),
        (changed_by_somebody_else, ["bob", "release", "cem", "released"]),
    ],
)
def test_foreign_hold(corrupt, words):
    story = of_kind(judged(corrupt), "foreign_hold")
    for word in words:
        assert word in story


def test_an_operation_that_was_refused_is_no_finding():
    def refused(truth, seen):
        of_buyer(seen, "bob").hold_ops.append(HoldOp("confirm", str(CEM), 1, 2, error="hold_not_found"))

    assert judged(refused) == []


# --- unexplained ---


def another_decision_than_the_ledger(truth, seen):
    retold(seen[1].asks[0], LEDGER[1]._replace(result='{"taken":["s2"]}'))


def a_hold_without_history(truth, seen):
    del truth.history[3]
    del truth.history[4]


def a_hold_without_ledger(truth, seen):
    del truth.ledger[8]
    del seen[4]


def a_hold_the_ledger_ended(truth, seen):
    truth.holds[2] = truth.holds[2]._replace(state="active")


def another_content(truth, seen):
    seen[1].asks[0].want = seat_want("s3")


def not_queued_for_a_free_seat(truth, seen):
    seen[5].asks[0].not_queued = [(1, b'{"type":"not_queued","id":"r1","taken":["s4"]}')]


def not_queued_where_some_were_left(truth, seen):
    seen[5].asks[0] = Ask("r1", '{"best":{"quantity":2}}', [400 * MS])
    seen[5].asks[0].not_queued = [(1, b'{"type":"not_queued","id":"r1","reason":"none_left","on_hold":1}')]


def told_paid_but_not_paid(truth, seen):
    seen[4].hold_ops.append(HoldOp("confirm", str(EVE), 1, 2, "paid"))


def a_hold_id_that_is_not_its_place(truth, seen):
    replaced(truth, 8, result=held(EVE + 7, '"s1"'))


@pytest.mark.parametrize(
    ("corrupt", "words"),
    [
        (another_decision_than_the_ledger, ["bob", "the ledger has", "batch 1 position 1"]),
        (a_hold_without_history, ["dan", "s1", "history"]),
        (a_hold_without_ledger, [str(EVE), "eve", "no ledger row"]),
        (a_hold_the_ledger_ended, [str(DAN), "active", "ended (expired)"]),
        (another_content, ["bob", "content"]),
        (not_queued_for_a_free_seat, ["fay", "at the gate", "s4"]),
        (not_queued_where_some_were_left, ["fay", "at the gate", "nobody ever had s3"]),
        (told_paid_but_not_paid, ["eve", "paid", "active"]),
        (a_hold_id_that_is_not_its_place, ["eve", str(EVE + 7), str(EVE)]),
    ],
)
def test_unexplained(corrupt, words):
    story = of_kind(judged(corrupt), "unexplained")
    for word in words:
        assert word in story


# --- tables against each other ---


def a_seat_row_without_its_hold(truth, seen):
    truth.hold_seats.remove((0, EVE))


def a_hold_seat_of_a_dead_hold(truth, seen):
    truth.hold_seats.append((2, ANN))


def a_seat_of_the_wrong_state(truth, seen):
    truth.seats[0] = (0, "sold", EVE)


def a_free_seat_that_is_kept(truth, seen):
    truth.seats[0] = (0, "available", None)


def a_missing_seat(truth, seen):
    del truth.seats[3]


def a_miscounted_area(truth, seen):
    truth.areas = [AreaRow(0, 3, 1, 2, 0)]


def a_missing_area(truth, seen):
    truth.areas = []


def a_miscounted_hold(truth, seen):
    truth.holds[1] = truth.holds[1]._replace(quantity=4)


def a_missing_batch(truth, seen):
    del truth.batches[2]


def a_missing_row(truth, seen):
    del truth.ledger[3]
    seen[0].asks.pop()


def an_older_batch(truth, seen):
    truth.batches[3] = truth.batches[3]._replace(batch_time=25)


def a_cursor_ahead(truth, seen):
    truth.cursor_batch_no = 5


@pytest.mark.parametrize(
    ("corrupt", "words"),
    [
        (a_seat_row_without_its_hold, ["s1", f"hold {EVE}", "does not keep it"]),
        (a_hold_seat_of_a_dead_hold, ["s3", f"hold {ANN}", "released"]),
        (a_seat_of_the_wrong_state, ["s1", "sold", "active"]),
        (a_free_seat_that_is_kept, ["s1", "available", f"hold {EVE}"]),
        (a_missing_seat, ["4 seats", "1 available + 1 held + 1 sold"]),
        (a_miscounted_area, ["floor", "counts 1 places active", "keep 0"]),
        (a_missing_area, ["1 areas", "the table 0"]),
        (a_miscounted_hold, [f"Hold {CEM}", "counts 4", "keeps 3"]),
        (a_missing_batch, ["Batch 4 follows 2", "rows of batch 3"]),
        (a_missing_row, ["Batch 1 wrote 4 rows", "has 3"]),
        (an_older_batch, ["Batch 4 is older"]),
        (a_cursor_ahead, ["cursor is at batch 5", "ledger at 4"]),
    ],
)
def test_inconsistent_tables(corrupt, words):
    story = of_kind(judged(corrupt), "inconsistent")
    for word in words:
        assert word in story


def test_the_worst_comes_first():
    def much(truth, seen):
        a_cursor_ahead(truth, seen)
        two_live_holds(truth, seen)

    findings = judged(much)
    assert findings[0].kind == "oversold"
    assert findings[-1].kind == "inconsistent"
