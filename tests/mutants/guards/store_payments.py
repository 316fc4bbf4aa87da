"""Faults in how holds are paid for, money goes back, and the world is told."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

SETTLE = "tests/store/payments/test_settle.py"
REFUNDS = "tests/store/payments/test_refunds.py"
OUTBOX = "tests/store/test_outbox.py"
ANY_ORDER = f"{SETTLE}::test_any_order_of_notices_ends_with_the_seats_paid_once"
TOO_LATE = f"{SETTLE}::test_money_that_comes_too_late_is_accounted_for"
GIVEN_BACK = f"{SETTLE}::test_money_for_a_hold_that_was_given_back_or_made_smaller_goes_back"
NOT_OURS = f"{SETTLE}::test_what_is_not_ours_or_does_not_fit_changes_nothing"
AGAIN = f"{SETTLE}::test_the_same_notice_again_changes_nothing_and_the_moment_stays"
MANY = f"{SETTLE}::test_many_at_once_and_repeats_among_them_are_one_transaction_for_most"
TWICE = f"{SETTLE}::test_a_second_payment_for_the_same_hold_goes_back"
PARTS = f"{REFUNDS}::test_parts_that_are_taken_back_are_owed_and_the_last_of_them_is_all"
ALONE = f"{REFUNDS}::test_who_takes_a_refund_has_it_alone_and_one_that_failed_comes_again"

buying = In("store/payments/buying.py")
begin = In("store/payments/begin.py")
records = In("store/payments/records.py")
settle = In("store/payments/settle.py")
states = In("store/payments/states.py")
refunds = In("store/payments/refunds.py")
late = In("store/payments/late.py")
outbox = In("store/outbox.py")
migration = In("store/migrations/versions/0010_payments.py")

MUTANTS: list[Mutant] = [
    buying(
        Kind.BOUND,
        "holds that are paid are found by their numbers",
        "AND hold.state || '' = 'active'",
        "AND hold.state = 'active'",
        "tests/store/test_hold_plans.py::test_one_hold_is_found_by_its_number[bought-nothing known]",
    ),
    buying(
        Kind.EXPIRY,
        "money buys no hold that ran out",
        "if state == HoldState.ACTIVE and not runs:",
        "if state == HoldState.ACTIVE and runs is None:",
        TOO_LATE,
    ),
    buying(
        Kind.COUNT,
        "money buys no hold that has fewer seats than were paid for",
        "HoldFate.ALIVE if quantity == one.quantity else HoldFate.CHANGED",
        "HoldFate.ALIVE",
        GIVEN_BACK,
    ),
    buying(
        Kind.CONDITION,
        "places bought in one area together are summed",
        "sum(places)::int AS places",
        "max(places)::int AS places",
        MANY,
    ),
    states(
        Kind.CONDITION,
        "a failure after success undoes nothing",
        "    if state not in OPEN or kind not in",
        "    if kind not in",
        ANY_ORDER,
    ),
    states(
        Kind.CONDITION,
        "only a hold that is alive is bought",
        "    if fate is HoldFate.ALIVE:\n        return PaymentState.SUCCEEDED\n",
        "    if fate in (HoldFate.ALIVE, HoldFate.PAID):\n        return PaymentState.SUCCEEDED\n",
        TWICE,
    ),
    states(
        Kind.CONDITION,
        "only a hold that ran out is asked for again",
        "    if fate is HoldFate.OVER and policy",
        "    if policy",
        GIVEN_BACK,
    ),
    records(
        Kind.CONDITION,
        "a payment changes only from the state that was read",
        "    if changed.rowcount != len(changes):\n        raise Changed\n",
        "",
        f"{SETTLE}::test_who_read_a_payment_that_somebody_else_changed_writes_nothing",
        more=((" AND payment.state = new.was\n", "\n"),),
    ),
    records(
        Kind.CONDITION,
        "the moment the money came stays",
        "coalesce(succeeded_at, CASE WHEN new.money THEN clock_timestamp() END)",
        "clock_timestamp()",
        f"{REFUNDS}::test_a_late_payment_that_was_given_its_seats_again_buys_them",
    ),
    records(
        Kind.COUNT,
        "money that goes back is owed",
        "        await connection.execute(OWE, values)\n",
        "",
        TOO_LATE,
    ),
    settle(
        Kind.DEDUPE,
        "a notice counts once",
        "elif notice.kind is NoticeKind.OTHER or of is not None:",
        "elif notice.kind is NoticeKind.OTHER:",
        AGAIN,
    ),
    settle(
        Kind.DEDUPE,
        "two notices of one payment are decided in turn",
        "        if notice.payment in payments or hold in holds or name in names:\n            continue\n",
        "",
        MANY,
    ),
    settle(
        Kind.CONDITION,
        "a payment is settled by its own provider",
        "payment.provider != notice.provider or theirs",
        "theirs",
        NOT_OURS,
    ),
    settle(
        Kind.CONDITION,
        "a payment is settled for its own intent",
        "payment.provider != notice.provider or theirs",
        "payment.provider != notice.provider",
        NOT_OURS,
    ),
    settle(
        Kind.CONDITION,
        "a payment is settled for its own amount and currency",
        "if notice.kind is NoticeKind.SUCCEEDED and told != (payment.amount_minor, payment.currency):",
        "if told == ():",
        NOT_OURS,
    ),
    begin(
        Kind.EXPIRY,
        "only a hold that runs can be paid for",
        "   AND hold.state || '' = 'active' AND hold.expires_at > {RUN_BY}\n   FOR NO KEY",
        "   AND hold.state || '' = 'active'\n   FOR NO KEY",
        f"{SETTLE}::test_only_a_hold_that_runs_can_be_paid_for_and_only_by_its_holder",
    ),
    begin(
        Kind.CONDITION,
        "only its holder pays for a hold",
        "AND hold.hold_id = %(hold)s AND hold.buyer = %(buyer)s\n   AND hold.state",
        "AND hold.hold_id = %(hold)s\n   AND hold.state",
        f"{SETTLE}::test_only_a_hold_that_runs_can_be_paid_for_and_only_by_its_holder",
    ),
    begin(
        Kind.CONDITION,
        "a payment for more than the hold has is not paid on",
        "if there.quantity == row[0] and there.amount_minor == owed.amount_minor:",
        "if there.amount_minor:",
        f"{SETTLE}::test_a_hold_that_was_made_smaller_has_a_payment_of_its_own",
    ),
    refunds(
        Kind.DEDUPE,
        "a refund is given once",
        ' WHERE id = %(refund)s AND state = \'due\'\n"""\n\nPAYMENT_GIVEN',
        ' WHERE id = %(refund)s\n"""\n\nPAYMENT_GIVEN',
        PARTS,
    ),
    refunds(
        Kind.CONDITION,
        "a refund that somebody gives is left to them",
        "WHERE state = 'due' AND next_at <= clock_timestamp() ORDER BY",
        "WHERE state = 'due' ORDER BY",
        ALONE,
    ),
    refunds(
        Kind.COUNT,
        "all that is owed makes the payment due",
        "CASE WHEN refund_due_minor + refunded_minor + %(amount)s = amount_minor",
        "CASE WHEN false",
        PARTS,
    ),
    late(
        Kind.CONDITION,
        "a late payment buys only a new hold that is alive",
        "    if fate is not HoldFate.ALIVE:",
        "    if fate is None:",
        f"{REFUNDS}::test_a_late_payment_whose_new_hold_ran_out_too_goes_back",
    ),
    outbox(
        Kind.SNAPSHOT,
        "the rows of one statement are numbered as they were told",
        "OVER (PARTITION BY event_id ORDER BY place)",
        "OVER (PARTITION BY event_id ORDER BY place DESC)",
        f"{OUTBOX}::test_rows_of_one_statement_keep_their_order_and_each_event_has_its_own",
    ),
    outbox(
        Kind.SNAPSHOT,
        "who tells of an event waits for who tells of it",
        "DO UPDATE SET rows = counter.rows + excluded.rows",
        "DO UPDATE SET rows = (SELECT coalesce(max(number), 0) + 1 FROM outbox"
        " WHERE outbox.event_id = counter.event_id)",
        f"{OUTBOX}::test_rows_of_one_statement_keep_their_order_and_each_event_has_its_own",
    ),
    migration(
        Kind.CONSTRAINT,
        "one open payment for a hold (unique index)",
        '"payment_open", "payment", ["event_id", "hold_id"], unique=True',
        '"payment_open", "payment", ["event_id", "hold_id"], unique=False',
        "tests/store/payments/test_tables.py::test_postgres_refuses",
    ),
    migration(
        Kind.CONSTRAINT,
        "one payment for an order (unique index)",
        '        ["event_id", "order_id"],\n        unique=True,\n',
        '        ["event_id", "order_id"],\n',
        "tests/store/payments/test_tables.py::test_postgres_refuses",
    ),
    migration(
        Kind.CONSTRAINT,
        "no more goes back than came (CHECK)",
        " AND refund_due_minor + refunded_minor <= amount_minor",
        "",
        "tests/store/payments/test_tables.py::test_postgres_refuses",
    ),
    migration(
        Kind.CONSTRAINT,
        "money that succeeded has seats (CHECK)",
        "\"state <> 'succeeded' OR order_id IS NOT NULL\"",
        '"true"',
        "tests/store/payments/test_tables.py::test_postgres_refuses",
    ),
]
