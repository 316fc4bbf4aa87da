"""Faults in what chores take away, ask providers, and write down of it."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

TESTS = "tests/onsale/chores"
PAYMENTS = f"{TESTS}/test_payments.py"
REFUNDS = f"{TESTS}/test_refunds.py"
LATE = f"{TESTS}/test_late.py"
SWEEP = f"{TESTS}/test_sweep.py"
RECONCILE = f"{TESTS}/test_reconcile.py"
SHOWN = "tests/gateway/test_operator_chores.py"
sweeping = In("store/sweeping.py")
ending = In("store/payments/ending.py")
answered = In("store/payments/answered.py")
stuck = In("store/payments/stuck.py")
runs = In("store/chores/runs.py")
compared = In("gateway/compared.py")
doing = In("onsale/chores/doing.py")
payments = In("onsale/chores/payments.py")
refunds = In("onsale/chores/refunds.py")
late = In("onsale/chores/late.py")
mail = In("onsale/chores/mail.py")
reconcile = In("onsale/chores/reconcile.py")
run = In("onsale/chores/run.py")
planner = In("onsale/chores/planner.py")
worker = In("onsale/chores/worker.py")
trim = In("onsale/chores/trim.py")

SWEPT: list[Mutant] = [
    sweeping(
        Kind.EXPIRY,
        "a sweep takes nothing away that a takeover gives back",
        "SELECT least({LAST_SIGN}, event.paused_at) FROM",
        "SELECT least(clock_timestamp(), event.paused_at) FROM",
        f"{SWEEP}::test_what_a_takeover_gives_back_stays",
    ),
    sweeping(
        Kind.PAUSE,
        "a sweep takes nothing away that a resume gives back",
        "SELECT least({LAST_SIGN}, event.paused_at) FROM",
        "SELECT {LAST_SIGN} FROM",
        f"{SWEEP}::test_what_a_pause_gives_back_stays",
    ),
    sweeping(
        Kind.EXPIRY,
        "an event that is attended to is not swept",
        " WHERE lease.event_id = event.id AND {UNATTENDED})",
        " WHERE lease.event_id = event.id)",
        f"{SWEEP}::test_an_event_that_somebody_attends_to_is_left_to_its_allocator",
    ),
    sweeping(
        Kind.CONDITION,
        "a sweep ends active holds only",
        "WHERE event_id = %(event)s AND state = 'active' AND expires_at <= %(over)s\n",
        "WHERE event_id = %(event)s AND expires_at <= %(over)s\n",
        f"{SWEEP}::test_only_active_holds_are_ended",
        more=(
            ("WHERE event_id = event.id AND state = 'active' AND", "WHERE event_id = event.id AND"),
            ("ANY (%(holds)s::bigint[]) AND state = 'active'\n", "ANY (%(holds)s::bigint[])\n"),
        ),
    ),
    sweeping(
        Kind.LOCK_ORDER,
        "a sweep waits for nobody who has a hold locked",
        "LIMIT {HOLDS_MAX} FOR UPDATE SKIP LOCKED",
        "LIMIT {HOLDS_MAX} FOR UPDATE",
        f"{SWEEP}::test_a_hold_that_somebody_changes_in_this_moment_is_left_out",
    ),
    sweeping(
        Kind.BOUND,
        "a sweep ends some holds at a time",
        "ORDER BY hold_id LIMIT {HOLDS_MAX} FOR",
        "ORDER BY hold_id FOR",
        f"{SWEEP}::test_a_sweep_is_bounded_and_goes_on",
    ),
    sweeping(
        Kind.COUNT,
        "a sweep whose seats are not what holds count is undone",
        "assert found == counted, (",
        "assert found or counted, (",
        f"{SWEEP}::test_a_hold_whose_seats_are_not_what_it_counts_is_told_and_nothing_is_changed",
    ),
    sweeping(
        Kind.FACTS,
        "a sweep tells the allocator of each hold",
        "        await connection.execute(INSERT_FACTS, values)\n",
        "",
        f"{SWEEP}::test_what_was_over_before_the_last_sign_of_life_is_freed_and_told",
    ),
]

PAID: list[Mutant] = [
    ending(
        Kind.CONDITION,
        "a payment whose hold runs is not canceled",
        "AND (hold.state <> 'active' OR hold.quantity <> payment.quantity\n",
        "AND (hold.state <> 'none' OR hold.quantity <> payment.quantity\n",
        f"{PAYMENTS}::test_a_payment_whose_hold_runs_stays_open",
    ),
    ending(
        Kind.EXPIRY,
        "a payment whose hold may get time back is not canceled",
        " <= {RUN_BY} - interval '{OUTAGE_SECONDS} seconds')\n",
        " <= {RUN_BY})\n",
        f"{PAYMENTS}::test_a_hold_that_may_get_time_back_keeps_its_payment_open",
    ),
    ending(
        Kind.CONDITION,
        "a payment of a hold that has another quantity is canceled",
        "AND (hold.state <> 'active' OR hold.quantity <> payment.quantity\n",
        "AND (hold.state <> 'active'\n",
        f"{PAYMENTS}::test_a_hold_that_has_less_is_not_paid_for_as_it_was",
    ),
    ending(
        Kind.CONDITION,
        "an intent that is ended is not ended again",
        "WHERE state = 'canceled' AND NOT intent_ended AND intent IS NOT NULL AND id",
        "WHERE state = 'canceled' AND intent IS NOT NULL AND id",
        f"{PAYMENTS}::test_a_payment_whose_hold_is_over_can_be_paid_by_nobody",
    ),
    ending(
        Kind.CLOCK,
        "a payment is looked up only when nobody told of it for long",
        "coalesce(next_at, created_at + interval '{LOOK_AFTER_SECONDS} seconds') <= clock_timestamp()",
        "coalesce(next_at, created_at) <= clock_timestamp()",
        f"{PAYMENTS}::test_a_payment_whose_notice_was_lost_is_looked_up_and_buys_its_seats",
    ),
    payments(
        Kind.EXPIRY,
        "money that came in time is looked for before its hold ends",
        '    done = await _each(doing, ending.almost_over, partial(_look, "last"))\n',
        "    done = 0\n",
        f"{PAYMENTS}::test_money_that_came_in_time_gets_its_seats_before_the_hold_ends",
    ),
    ending(
        Kind.CLOCK,
        "only payments whose holds end in a moment are looked up for that",
        "   AND hold.expires_at <= clock_timestamp() + interval '{LAST_LOOK_SECONDS} seconds'\n",
        "",
        f"{PAYMENTS}::test_a_hold_that_ends_is_looked_up_once_for_that",
    ),
    ending(
        Kind.BOUND,
        "the provider is asked about a payment at growing pauses",
        " * 2 ^ least(payment_try.tries, 30), %(most)s))\n",
        ", %(most)s))\n",
        f"{PAYMENTS}::test_an_open_payment_is_looked_up_at_growing_pauses",
    ),
    ending(
        Kind.DEDUPE,
        "of those who would ask in one moment one may",
        " WHERE payment_try.next_at <= clock_timestamp()\n",
        "",
        f"{LATE}::test_it_is_asked_for_at_growing_pauses_until_it_is_decided",
    ),
    ending(
        Kind.CLOCK,
        "a payment without an intent is given time to get one",
        "   AND created_at < clock_timestamp() - interval '{UNMADE_SECONDS} seconds'\n",
        "",
        f"{PAYMENTS}::test_a_payment_that_no_provider_named_an_intent_for_is_forgotten_in_time",
    ),
    payments(
        Kind.COMMIT,
        "money that came before the end is settled before that is forgotten",
        "        if told is not None:\n            await _settle(doing, told)\n        await ending",
        "        await ending",
        f"{PAYMENTS}::test_money_that_came_before_the_end_is_settled",
    ),
    payments(
        Kind.COMMIT,
        "an intent is ended at the provider before that is written down",
        "    told = await provider.end(intent.intent)\n    async with writing:\n",
        "    await ending.ended(doing.connection, intent.payment)\n"
        "    told = await provider.end(intent.intent)\n    async with writing:\n",
        f"{PAYMENTS}::test_who_is_killed_after_the_provider_ended_it_ends_it_once_more",
    ),
    doing(
        Kind.CONDITION,
        "one thing that fails stops nobody behind it",
        "            self.failed(what, error)\n            return 0\n",
        "            self.failed(what, error)\n            raise\n",
        f"{PAYMENTS}::test_one_that_cannot_be_ended_stops_nobody_behind_it",
        f"{REFUNDS}::test_a_refund_that_never_will_be_given_is_shown_and_stops_nobody",
    ),
    refunds(
        Kind.COMMIT,
        "a refund is given before that is written down",
        "        taken = await rows.take(doing.connection, AT_ONCE)\n",
        "        taken = await rows.take(doing.connection, AT_ONCE)\n"
        "        [await rows.given(doing.connection, due, 'x') for due in taken]\n",
        f"{REFUNDS}::test_who_is_killed_after_the_provider_gave_it_has_it_given_once",
    ),
    refunds(
        Kind.BOUND,
        "a provider that is silent is not waited for",
        "        async with asyncio.timeout(GIVE_SECONDS_MAX):\n            return",
        "        async with asyncio.timeout(30):\n            return",
        f"{REFUNDS}::test_nobody_waits_longer_for_a_provider_than_a_refund_is_theirs",
    ),
    refunds(
        Kind.CONDITION,
        "a refund that never will be given is told from one that comes later",
        'answer.code == "refund_refused"',
        'answer.code == ""',
        f"{REFUNDS}::test_a_refund_that_never_will_be_given_is_shown_and_stops_nobody",
    ),
    stuck(
        Kind.CONDITION,
        "only refunds that were refused need a hand",
        " AND starts_with(last_error, '{REFUSED}')\n",
        "\n",
        f"{SHOWN}::test_refunds_that_need_a_hand_are_told_and_no_others",
    ),
    answered(
        Kind.CHECKER,
        "money whose order is gone is an alert",
        " WHERE (these.state = 'succeeded') <> (hold.state IS NOT DISTINCT FROM 'paid')\n        OR ",
        " WHERE ",
        f"{RECONCILE}::test_money_without_seats_or_refund_is_an_alert_with_its_row",
    ),
    answered(
        Kind.CHECKER,
        "a refund that its payment knows nothing of is an alert",
        "these.refund_due_minor <> coalesce(owed.due, 0) OR ",
        "",
        f"{RECONCILE}::test_money_without_seats_or_refund_is_an_alert_with_its_row",
    ),
    answered(
        Kind.BOUND,
        "the next look goes on after the last",
        'last if read == values["limit"] else 0',
        "0",
        f"{RECONCILE}::test_payments_are_looked_at_some_at_a_time_and_then_again",
    ),
]

MUTANTS: list[Mutant] = [*SWEPT, *PAID]
