"""Faults in the judge of the storm: money it would not miss."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

WRONG = "tests/bench/test_storm_judge.py::test_each_thing_that_is_wrong_is_found"
REAL = "tests/bench/test_storm.py::test_real_rows_are_judged_right_once_the_money_went_back"
READ = "tests/bench/test_storm.py::test_what_is_read_is_what_the_judge_needs"
OVERTAKEN = (
    "tests/bench/test_storm.py::test_only_a_notice_that_was_held_back_and_came_after_a_later_one_is_overtaken"
)
SHORT = "tests/bench/test_storm.py::test_a_storm_that_fell_short_of_what_it_promises_has_not_passed"
SINK = "tests/bench/test_storm.py::test_the_sink_counts_what_is_well_signed_and_takes_nothing_else"
judge = In("bench/payments/storming/judge.py")
sums = In("bench/payments/storming/sums.py")
journal = In("bench/payments/storming/journal.py")
results = In("bench/payments/storming/results.py")
rows = In("bench/payments/storming/rows.py")
sink = In("bench/payments/storming/sink.py")

MUTANTS: list[Mutant] = [
    judge(
        Kind.CHECKER,
        "the storm sees money that is still on its way",
        '            story = f"it came and is still {payment.state}"\n',
        '            story = ""\n',
        WRONG,
    ),
    judge(
        Kind.CHECKER,
        "the storm sees a refund that gave too little",
        "            short = back[payment.id] != payment.amount_minor\n",
        "            short = not back[payment.id]\n",
        WRONG,
    ),
    judge(
        Kind.CHECKER,
        "the storm sees an order that lacks a seat",
        "    if order.has != due or order.quantity != due:\n",
        "    if not order.has:\n",
        WRONG,
        REAL,
    ),
    judge(
        Kind.CHECKER,
        "the storm sees a payment whose order is somebody else's",
        "    if order.buyer != payment.buyer:\n",
        "    if not order.buyer:\n",
        WRONG,
    ),
    judge(
        Kind.CHECKER,
        "the storm sees a seat in two orders",
        '        if count > 1:\n            yield Finding("paid_twice", f"Seat',
        '        if count > 2:\n            yield Finding("paid_twice", f"Seat',
        WRONG,
    ),
    judge(
        Kind.CHECKER,
        "the storm sees money that only the provider knows of",
        "    if (intent.status == BOUGHT) != payment.money:\n",
        "    if payment.money and intent.status != BOUGHT:\n",
        WRONG,
    ),
    judge(
        Kind.CHECKER,
        "the storm sees intents that nobody here knows",
        "    if here != rows.book:\n",
        "    if here.paid > rows.book.paid:\n",
        WRONG,
    ),
    judge(
        Kind.CHECKER,
        "the storm sees a row of the outbox that reached nobody",
        "        if message not in rows.delivered:\n",
        "        if message in rows.delivered and not rows.delivered[message]:\n",
        WRONG,
    ),
    judge(
        Kind.CHECKER,
        "the storm sees an order that the outbox tells twice",
        "        if bought[payment.id] != wanted:\n",
        "        if bought[payment.id] < wanted:\n",
        WRONG,
    ),
    sums(
        Kind.CHECKER,
        "the storm sees cents that are missing",
        "        if money.kept != money.orders_worth:\n",
        "        if abs(money.kept - money.orders_worth) > 1:\n",
        WRONG,
    ),
    judge(
        Kind.CHECKER,
        "the storm sees a buyer who was told of an order that is none",
        "        right = {PAID_HOLD, TAKEN_HOLD} if is_taken else {PAID_HOLD}\n",
        "        right = {PAID_HOLD, TAKEN_HOLD}\n",
        WRONG,
    ),
    judge(
        Kind.CHECKER,
        "the storm sees money of a canceled event that was kept",
        "            if payment.event_id in rows.canceled:\n",
        "            if False:\n",
        WRONG,
    ),
    judge(
        Kind.CHECKER,
        "the storm sees an order that the organiser took and that stands",
        "        elif one.what is TakenBack.ALL and order.state != TAKEN_HOLD:\n",
        "        elif one.what is TakenBack.ALL and order.state != PAID_HOLD:\n",
        WRONG,
    ),
    judge(
        Kind.CHECKER,
        "the storm sees standing places that are sold beyond their area",
        "        if max(orders, one.sold) + one.held > one.capacity or orders > one.sold:\n",
        "        if orders > one.sold:\n",
        WRONG,
    ),
    judge(
        Kind.CHECKER,
        "the storm sees standing places that are sold and in no order",
        "        elif orders < one.sold:\n",
        "        elif orders < 0:\n",
        WRONG,
    ),
    judge(
        Kind.CHECKER,
        "the storm sees an order taken back that the outbox does not tell",
        "        wanted = (int(hold.state == TAKEN_HOLD), some[hold.event_id, hold.hold_id])\n",
        "        wanted = (gone, some[hold.event_id, hold.hold_id])\n",
        WRONG,
    ),
    sums(
        Kind.CHECKER,
        "the storm compares the settlement with its own sums",
        "        if theirs != ours:\n",
        "        if theirs > ours + 1:\n",
        WRONG,
    ),
    sums(
        Kind.CHECKER,
        "the storm believes no settlement that says it does not balance",
        "    if not told.balances or told.stories:\n",
        "    if told.stories:\n",
        WRONG,
    ),
    journal(
        Kind.CHECKER,
        "a notice that nothing overtook does not count as overtaken",
        "            overtaken += entry.taken in held and number < last_taken\n",
        "            overtaken += entry.taken in held\n",
        OVERTAKEN,
    ),
    results(
        Kind.CHECKER,
        "a storm that fell short of what it promises has not passed",
        "                if share < least\n",
        "                if share <= 0\n",
        SHORT,
    ),
    rows(
        Kind.CHECKER,
        "an order is worth the seats that are sold to it",
        " AND state = 'sold' ORDER BY seat_no\n",
        " AND hold_id IS NOT NULL ORDER BY seat_no\n",
        READ,
        REAL,
    ),
    sink(
        Kind.CHECKER,
        "the sink counts only what is well signed",
        "            self.not_genuine += 1\n            return web.Response(status=400)\n",
        "            self.not_genuine += 1\n",
        SINK,
    ),
]
