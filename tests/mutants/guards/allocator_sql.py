"""Faults in the predicates of a batch's statements, one by one."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

LOOP = "tests/allocator/test_loop.py"
FAULTS = "tests/allocator/test_loop_faults.py"
RUNS_OUT = "tests/allocator/test_runs_out.py"
CONTRADICT = "tests/allocator/test_contradictions.py"
LOCKS = "tests/allocator/test_lock_order.py"
RELIEVED = "tests/allocator/test_relieved.py"
CROSSROADS = "tests/allocator/test_crossroads.py"
MOVING = "tests/allocator/test_moving_for_real.py"
TWO = "tests/allocator/test_two_events.py"
OTHERS_ROWS = f"{TWO}::test_what_happens_in_one_event_changes_no_row_of_another"
LOST = f"{LOOP}::test_an_owner_that_lost_the_event_writes_nothing_more"

sql = In("allocator/sql.py")

MUTANTS: list[Mutant] = [
    sql(
        Kind.FENCE,
        "the fence asks for the epoch",
        "AND epoch = %s AND owner = %s AND batch_no = %s",
        "AND epoch >= -%s AND owner = %s AND batch_no = %s",
        f"{LOST}[epoch]",
    ),
    sql(
        Kind.FENCE,
        "the fence asks for the owner",
        "AND epoch = %s AND owner = %s AND batch_no = %s",
        "AND epoch = %s AND (owner = %s OR true) AND batch_no = %s",
        f"{LOST}[owner]",
    ),
    sql(
        Kind.FENCE,
        "the fence asks for the last batch",
        "AND epoch = %s AND owner = %s AND batch_no = %s",
        "AND epoch = %s AND owner = %s AND batch_no >= %s",
        f"{LOST}[batch]",
    ),
    In("allocator/truth.py")(
        Kind.LOCK_ORDER,
        "what runs out is locked before facts are taken",
        '                self._conn.execute(sql.LOCK_DUE, self._due | {"batch": after_batch + 1})\n',
        "",
        f"{RUNS_OUT}::test_a_release_of_what_runs_out_in_this_batch_waits_for_it",
    ),
    *[
        sql(
            Kind.LOCK_ORDER,
            f"who lost the event locks no hold: {what}",
            "AND epoch = %(epoch)s AND owner = %(owner)s AND batch_no = %(batch)s)",
            changed,
            f"{RUNS_OUT}::test_who_lost_the_event_locks_no_hold",
        )
        for what, changed in (
            ("its epoch", "AND owner = %(owner)s AND batch_no = %(batch)s)"),
            ("its owner", "AND epoch = %(epoch)s AND batch_no = %(batch)s)"),
            ("its batch", "AND epoch = %(epoch)s AND owner = %(owner)s)"),
        )
    ],
    sql(
        Kind.CLOCK,
        "an event's time never goes back",
        "batch_time = greatest(batch_time, clock_timestamp())",
        "batch_time = clock_timestamp()",
        f"{CROSSROADS}::test_an_events_time_never_goes_back",
    ),
    sql(
        Kind.FACTS,
        "a batch consumes its own event's facts",
        "FROM fact WHERE event_id = %s ORDER BY id LIMIT 10000",
        "FROM fact WHERE (event_id = %s OR true) ORDER BY id LIMIT 10000",
        OTHERS_ROWS,
    ),
    sql(
        Kind.FACTS,
        "facts of other events make no batch",
        "SELECT 1 FROM fact WHERE event_id = %s LIMIT 1",
        "SELECT 1 FROM fact WHERE (event_id = %s OR true) LIMIT 1",
        f"{TWO}::test_facts_of_another_event_are_no_reason_for_a_batch",
    ),
    sql(
        Kind.EXPIRY,
        "only an active hold runs out",
        "     AND state = 'active' AND expires_at <= to_timestamp",
        "     AND expires_at <= to_timestamp",
        f"{RUNS_OUT}::test_a_payment_in_the_moment_a_hold_runs_out_is_a_payment_and_no_alert",
    ),
    sql(
        Kind.EXPIRY,
        "a hold runs out by its time in the table",
        "     AND state = 'active' AND expires_at <= to_timestamp(%(now)s / 1000000.0)\n",
        "     AND state = 'active'\n",
        f"{RUNS_OUT}::test_a_hold_that_the_table_gives_longer_does_not_run_out",
    ),
    sql(
        Kind.EXPIRY,
        "a hold of another event says nothing about one that runs out",
        "   WHERE event_id = %(event)s AND hold_id = ANY (%(holds)s::bigint[])\n     AND state = 'active'",
        "   WHERE hold_id = ANY (%(holds)s::bigint[])\n     AND state = 'active'",
        f"{TWO}::test_a_hold_that_the_table_gives_longer_does_not_run_out_with_its_namesake",
    ),
    sql(
        Kind.EXPIRY,
        "only the event's own hold becomes expired",
        "FROM due WHERE hold.event_id = %(event)s AND hold.hold_id = due.hold_id",
        "FROM due WHERE hold.hold_id = due.hold_id",
        OTHERS_ROWS,
    ),
    sql(
        Kind.LOCK_ORDER,
        "holds that run out are locked by number",
        " ORDER BY hold_id FOR UPDATE\n",
        " ORDER BY hold_id DESC FOR UPDATE\n",
        f"{LOCKS}::test_holds_that_run_out_are_locked_by_number",
    ),
    sql(
        Kind.CONDITION,
        "a hold that runs out frees only held seats",
        "     AND seat.state = 'held' AND seat.hold_id = was.hold_id\n",
        "     AND seat.hold_id = was.hold_id\n",
        f"{CONTRADICT}::test_a_seat_that_is_sold_is_not_freed_by_a_hold_that_ran_out",
    ),
    sql(
        Kind.CONDITION,
        "a hold that runs out frees only seats that still name it",
        "     AND seat.state = 'held' AND seat.hold_id = was.hold_id\n",
        "     AND seat.state = 'held'\n",
        f"{RUNS_OUT}::test_a_hold_that_ran_out_frees_no_seat_that_names_another",
    ),
    sql(
        Kind.CONDITION,
        "a hold that runs out frees only its event's seats",
        "   WHERE seat.event_id = %(event)s AND seat.seat_no = was.seat_no\n",
        "   WHERE seat.seat_no = was.seat_no\n",
        OTHERS_ROWS,
    ),
    sql(
        Kind.CONDITION,
        "a hold_seat row of another hold is not deleted",
        "AND hold_seat.seat_no = was.seat_no AND hold_seat.hold_id = was.hold_id",
        "AND hold_seat.seat_no = was.seat_no",
        f"{RUNS_OUT}::test_a_hold_seat_row_of_another_hold_is_not_deleted_by_an_expiry",
    ),
    sql(
        Kind.CONDITION,
        "hold_seat rows of other events are not deleted",
        " WHERE hold_seat.event_id = %(event)s AND hold_seat.seat_no",
        " WHERE hold_seat.seat_no",
        OTHERS_ROWS,
    ),
    sql(
        Kind.CONDITION,
        "hold_area rows of other events are not deleted",
        " WHERE hold_area.event_id = %(event)s AND hold_area.hold_id = was.hold_id",
        " WHERE hold_area.hold_id = was.hold_id",
        OTHERS_ROWS,
    ),
    sql(
        Kind.CONDITION,
        "a hold_area row is deleted only with as many places as were decided",
        "   AND hold_area.area_no = was.area_no AND hold_area.quantity = was.quantity\n",
        "   AND hold_area.area_no = was.area_no\n",
        "tests/allocator/test_hold_changes.py"
        "::test_places_given_back_in_the_moment_a_hold_runs_out_are_counted_once",
    ),
    sql(
        Kind.CONDITION,
        "area counters of other events do not move",
        " WHERE area.event_id = %(event)s AND area.area_no = moved.area_no\n",
        " WHERE area.area_no = moved.area_no\n",
        OTHERS_ROWS,
    ),
    sql(
        Kind.CONDITION,
        "an area counter does not go below nothing",
        "   AND held + moved.quantity >= 0 AND held",
        "   AND held",
        f"{CONTRADICT}::test_places_that_no_counter_counts_are_not_freed_and_no_constraint_fires",
    ),
    sql(
        Kind.CONDITION,
        "an area counter does not go above its capacity",
        " AND held + moved.quantity + sold + blocked <= capacity\n",
        "\n",
        f"{FAULTS}::test_places_blocked_behind_the_allocators_back_are_answered_from_the_truth_without_an_alert",
    ),
    sql(
        Kind.CONDITION,
        "only an available seat is claimed",
        "AND seat.seat_no = wanted.seat_no AND seat.state = 'available'",
        "AND seat.seat_no = wanted.seat_no",
        f"{FAULTS}::test_a_seat_blocked_behind_the_allocators_back_is_answered_from_the_truth",
    ),
    sql(
        Kind.CONDITION,
        "only the event's own seats are claimed",
        "   WHERE seat.event_id = %(event)s AND seat.seat_no = wanted.seat_no",
        "   WHERE seat.seat_no = wanted.seat_no",
        OTHERS_ROWS,
    ),
    sql(
        Kind.CONSTRAINT,
        "a seat in another hold is not passed over in silence",
        "hold_id FROM claimed)\n",
        "hold_id FROM claimed ON CONFLICT DO NOTHING)\n",
        f"{FAULTS}::test_law_1_fires_as_an_alert_and_only_the_request_it_is_about_is_invalid",
    ),
    sql(
        Kind.CONSTRAINT,
        "a seat that an operator was quicker to sell is no alert",
        "hold_id FROM claimed)\n",
        "hold_id FROM unnest(%(seats)s::int[], %(holds)s::bigint[]) AS new (seat_no, hold_id))\n",
        "tests/allocator/test_blocks.py::test_a_sale_between_the_decision_and_its_writing_wins_without_an_alert",
    ),
    sql(
        Kind.COMMIT,
        "the lease of a new owner is not moved by the old one",
        " WHERE event_id = %s AND owner = %s\n",
        " WHERE event_id = %s AND (owner = %s OR true)\n",
        f"{RELIEVED}::test_an_owner_that_was_relieved_and_asks_what_became_of_its_batch_disturbs_nobody",
    ),
    sql(
        Kind.CONDITION,
        "the table moves only the holder's own hold",
        "hold.event_id = %(event)s AND hold.buyer = was.buyer AND hold.state",
        "hold.event_id = %(event)s AND hold.state",
        f"{MOVING}::test_the_table_moves_no_hold_of_somebody_else",
    ),
    sql(
        Kind.CONDITION,
        "only an active hold is moved",
        "AND hold.buyer = was.buyer AND hold.state = 'active'\n",
        "AND hold.buyer = was.buyer\n",
        f"{MOVING}::test_a_hold_changed_in_the_moment_it_is_moved_is_moved_as_it_is_then_or_not_at_all",
    ),
    sql(
        Kind.EXPIRY,
        "a hold is moved only with the end that was decided",
        "     AND hold.expires_at = to_timestamp(was.expires_at / 1000000.0)\n",
        "",
        f"{MOVING}::test_a_hold_changed_in_the_moment_it_is_moved_is_moved_as_it_is_then_or_not_at_all",
        f"{MOVING}::test_a_hold_that_ran_out_in_the_table_alone_is_not_moved_on",
    ),
    sql(
        Kind.CONDITION,
        "only the event's own hold is moved",
        "FROM leaving WHERE hold.event_id = %(event)s AND hold.hold_id = leaving.hold_id",
        "FROM leaving WHERE hold.hold_id = leaving.hold_id",
        OTHERS_ROWS,
    ),
    sql(
        Kind.CONDITION,
        "a hold of another event says nothing about one that is moved",
        "   WHERE hold.event_id = %(event)s AND hold.buyer = was.buyer",
        "   WHERE hold.buyer = was.buyer",
        f"{TWO}::test_a_hold_is_moved_with_its_own_end_and_not_with_its_namesakes",
    ),
    sql(
        Kind.BOUND,
        "a hold that was moved has been extended as often as before",
        "UPDATE hold SET extensions = old.extensions\n",
        "UPDATE hold SET extensions = 0 * old.extensions\n",
        f"{MOVING}::test_a_hold_that_was_moved_is_extended_no_more_often_than_one_that_was_not",
    ),
    sql(
        Kind.CONDITION,
        "extensions are carried over within the event",
        " WHERE hold.event_id = %(event)s AND hold.hold_id = moved.new_id\n",
        " WHERE hold.hold_id = moved.new_id\n",
        f"{TWO}::test_extensions_are_carried_over_within_an_event",
    ),
    sql(
        Kind.LOCK_ORDER,
        "holds that are moved are locked by number",
        "ORDER BY hold.hold_id FOR UPDATE OF hold)",
        "ORDER BY hold.hold_id DESC FOR UPDATE OF hold)",
        f"{MOVING}::test_holds_that_are_moved_are_locked_by_number",
    ),
]
