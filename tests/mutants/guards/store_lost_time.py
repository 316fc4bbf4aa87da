"""Faults in giving lost time back: after a pause, and after an outage."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

EVENTS_TEST = "tests/store/test_events.py"
LOST = "tests/store/test_lost_time.py"
OUTAGES = "tests/allocator/test_outages.py"
HOLD_GUARDS = "tests/store/test_hold_guards.py"
TWO = "tests/allocator/test_two_events.py"
CURSOR_FIRST = f"{HOLD_GUARDS}::test_resuming_locks_the_cursor_before_holds"
EXACTLY = f"{LOST}::test_holds_that_ran_at_the_last_sign_of_life_get_exactly_the_time_since_and_once"
HOLDS = "tests/store/test_holds.py"
SIGNS = f"{LOST}::test_any_sign_of_life_within_the_threshold_is_no_outage"
OTHERS = f"{LOST}::test_holds_of_another_event_keep_their_time"
BY_THE_LAST_SIGN = f"{LOST}::test_until_it_is_given_back_holders_can_pay_and_extend_what_ran_at_the_last_sign"
NOTHING_BACK = f"{LOST}::test_what_will_get_nothing_back_is_over"
WITHIN_A_PAUSE = f"{LOST}::test_an_outage_within_a_pause_is_given_back_as_the_pause_alone"
PAUSE_WITHIN = f"{LOST}::test_a_pause_that_begins_and_ends_in_an_outage_is_given_back_once"
SLEPT = f"{OUTAGES}::test_an_owner_that_slept_lets_nothing_run_out_before_the_time_is_given_back"
HIDDEN = f"{OUTAGES}::test_renewing_does_not_hide_an_outage"
TAKEN_OVER = f"{OUTAGES}::test_who_takes_over_after_an_outage_lets_no_hold_run_out_that_ran_before_it"
lost_time = In("store/lost_time.py")
lease = In("allocator/lease.py")

PAUSES = [
    lost_time(
        Kind.LOCK_ORDER,
        "resuming waits for the batch under way",
        "    conn.execute(LOCK_CURSOR, (event_id,))\n",
        "",
        CURSOR_FIRST,
    ),
    lost_time(
        Kind.LOCK_ORDER,
        "resuming locks the cursor before holds",
        "    conn.execute(LOCK_CURSOR, (event_id,))\n",
        '    _first(conn, LOCK_HOLDS, {"event": event_id, "since": 0})\n'
        "    conn.execute(LOCK_CURSOR, (event_id,))\n",
        CURSOR_FIRST,
    ),
    lost_time(
        Kind.LOCK_ORDER,
        "resuming locks holds by number",
        " ORDER BY hold_id FOR UPDATE",
        " ORDER BY hold_id DESC FOR UPDATE",
        f"{HOLD_GUARDS}::test_resuming_locks_holds_by_number",
    ),
    lost_time(
        Kind.PAUSE,
        "only active holds get lost time back",
        "interval '1 microsecond'\n WHERE event_id = %(event)s AND state = 'active' AND",
        "interval '1 microsecond'\n WHERE event_id = %(event)s AND",
        f"{EVENTS_TEST}::test_running_holds_get_exactly_the_lost_time_back",
        EXACTLY,
    ),
    lost_time(
        Kind.PAUSE,
        "only holds that ran when it began get lost time back",
        "interval '1 microsecond'\n WHERE event_id = %(event)s AND state = 'active'"
        " AND expires_at > to_timestamp(%(since)s / 1000000.0)",
        "interval '1 microsecond'\n WHERE event_id = %(event)s AND state = 'active'",
        f"{EVENTS_TEST}::test_running_holds_get_exactly_the_lost_time_back",
        EXACTLY,
    ),
    lost_time(
        Kind.PAUSE,
        "only holds of this event get lost time back",
        "interval '1 microsecond'\n WHERE event_id = %(event)s AND state",
        "interval '1 microsecond'\n WHERE (event_id = %(event)s OR true) AND state",
        f"{EVENTS_TEST}::test_holds_of_other_events_keep_their_time",
        f"{TWO}::test_what_happens_in_one_event_changes_no_row_of_another",
        OTHERS,
    ),
    lost_time(
        Kind.PAUSE,
        "what of an outage was before a pause is given back when it ends",
        "    give_outage_back(conn, event_id)\n    paused_at",
        "    paused_at",
        PAUSE_WITHIN,
    ),
    lost_time(
        Kind.PAUSE,
        "a pause that ends in an outage is not given back with it again",
        '    conn.execute(GIVEN_UNTIL, given | {"now": row[1]})\n',
        "",
        PAUSE_WITHIN,
    ),
    lost_time(
        Kind.PAUSE,
        "only the event whose pause ends has its time given back",
        "to_timestamp(%(now)s / 1000000.0) WHERE event_id = %(event)s\n",
        "to_timestamp(%(now)s / 1000000.0) WHERE event_id = %(event)s OR true\n",
        f"{LOST}::test_a_pause_of_one_event_says_nothing_of_another",
    ),
    lost_time(
        Kind.PAUSE,
        "an outage that goes on in a pause ends with its beginning",
        'OUT_US: Final = _LOST_US.format(until="coalesce(paused_at, clock.now)")',
        'OUT_US: Final = _LOST_US.format(until="clock.now")',
        f"{LOST}::test_of_an_outage_that_a_pause_began_in_the_time_before_the_pause_is_given_back"
        "_and_the_pause_later",
    ),
]

OUTS = [
    lost_time(
        Kind.CLOCK,
        "a lease that was renewed is a sign of life",
        '"greatest(lease.renewed_at, lease.given_until, event_cursor.batch_time)"',
        '"greatest(lease.given_until, event_cursor.batch_time)"',
        SIGNS,
    ),
    lost_time(
        Kind.CLOCK,
        "a batch is a sign of life",
        '"greatest(lease.renewed_at, lease.given_until, event_cursor.batch_time)"',
        '"greatest(lease.renewed_at, lease.given_until)"',
        SIGNS,
    ),
    lost_time(
        Kind.CLOCK,
        "what was given back by an operator is not given again",
        '"greatest(lease.renewed_at, lease.given_until, event_cursor.batch_time)"',
        '"greatest(lease.renewed_at, event_cursor.batch_time)"',
        SIGNS,
        PAUSE_WITHIN,
    ),
    lost_time(
        Kind.CLOCK,
        "an ordinary takeover is no outage",
        " WHERE since < at - interval '{OUTAGE_SECONDS} seconds'",
        " WHERE since < at",
        SIGNS,
        f"{OUTAGES}::test_an_ordinary_takeover_moves_no_end",
    ),
    lost_time(
        Kind.PAUSE,
        "an outage within a pause is given back as the pause alone",
        "AS since, coalesce(event.paused_at, clock_timestamp()) AS at",
        "AS since, clock_timestamp() AS at",
        WITHIN_A_PAUSE,
        f"{HOLDS}::test_while_paused_a_hold_runs_by_the_moment_of_the_pause",
    ),
    lost_time(
        Kind.EXPIRY,
        "in an outage holders' holds run by its beginning",
        "THEN since ELSE at END",
        "THEN at ELSE at END",
        BY_THE_LAST_SIGN,
    ),
    lost_time(
        Kind.EXPIRY,
        "before it is an outage holders' holds run by the clock",
        "CASE WHEN since < at - interval '{OUTAGE_SECONDS} seconds' THEN",
        "CASE WHEN since < at THEN",
        NOTHING_BACK,
    ),
    lost_time(
        Kind.FACTS,
        "what was given back after an outage is told to the allocator",
        "    conn.execute(INSERT_FACT, (event_id, FactKind.OUTAGE.value, body))\n",
        "",
        EXACTLY,
        TAKEN_OVER,
    ),
    lost_time(
        Kind.FACTS,
        "an outage in which nothing ran is not told",
        "    if not running:\n        return 0\n",
        "",
        f"{LOST}::test_where_nothing_ran_nothing_is_said",
    ),
    lost_time(
        Kind.LOCK_ORDER,
        "who takes over after an outage locks the event first",
        "        conn.execute(LOCK_EVENT, (event_id,))\n",
        "        pass\n",
        f"{OUTAGES}::test_the_event_and_its_cursor_are_locked_before_holds",
    ),
    lost_time(
        Kind.LOCK_ORDER,
        "an ordinary takeover does not wait for an operator",
        "    if outage:\n",
        "    if outage is not None:\n",
        f"{OUTAGES}::test_an_ordinary_takeover_does_not_wait_for_an_operator_who_changes_the_event",
    ),
    lease(
        Kind.TAKEOVER,
        "who takes over after an outage gives its time back",
        "    lost_us = give_outage_back(conn, event_id) if outage else 0\n",
        "    lost_us = 0\n",
        TAKEN_OVER,
        f"{OUTAGES}::test_a_stop_in_good_order_is_lost_time_too",
    ),
    lease(
        Kind.TAKEOVER,
        "the time of an outage is given back in the transaction of the takeover",
        " if outage else 0\n    statement, more",
        " if outage else 0\n    conn.commit()\n    statement, more",
        f"{OUTAGES}::test_who_is_killed_before_the_takeover_is_true_has_given_nothing_and_the_next_gives_it_once",
    ),
    lease(
        Kind.TAKEOVER,
        "who was stopped while taking over does not hide an outage",
        "\n   AND NOT {OUT}\n",
        "\n",
        f"{OUTAGES}::test_who_looked_before_it_was_an_outage_and_takes_over_after_hides_none",
    ),
    lease(
        Kind.TAKEOVER,
        "renewing does not hide an outage",
        "\n   AND NOT {UNATTENDED}",
        "",
        HIDDEN,
    ),
    In("allocator/sql.py")(
        Kind.FENCE,
        "after an outage no batch lets holds run out before they have the time back",
        "AND NOT EXISTS (SELECT FROM lease WHERE lease.event_id = event_cursor.event_id AND {UNATTENDED})",
        "",
        SLEPT,
    ),
    In("allocator/sql.py")(
        Kind.FENCE,
        "a batch asks whether its own event was attended to",
        "WHERE lease.event_id = event_cursor.event_id AND {UNATTENDED}",
        "WHERE {UNATTENDED}",
        f"{OUTAGES}::test_an_outage_of_another_event_stops_no_batch",
    ),
    In("allocator/worker.py")(
        Kind.TAKEOVER,
        "an owner that cannot renew takes its event again",
        "            work.lapse(right)\n",
        "            pass\n",
        f"{OUTAGES}::test_a_worker_that_cannot_renew_takes_its_event_again_and_tells_holders",
    ),
    In("allocator/decide.py")(
        Kind.FACTS,
        "memory that shows an outage's time does not give it twice",
        "        if fact.fact_id not in memory.reflected:\n            outage",
        "        if True:\n            outage",
        f"{OUTAGES}::test_memory_that_was_loaded_after_it_gives_it_no_second_time",
    ),
    In("allocator/announce.py")(
        Kind.EXPIRY,
        "of holds that got time back only those are told that did",
        " if hold.expires_at > out.since + out.lost_us])",
        "])",
        "tests/allocator/test_announce.py"
        "::test_after_an_outage_each_holder_is_told_the_new_end_and_why_and_who_was_given_something_since_is_not",
    ),
]

MUTANTS: list[Mutant] = [*PAUSES, *OUTS]
