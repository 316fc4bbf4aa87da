"""Faults in the predicates, counts and locks of a holder's own writes."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

HOLDS_TEST = "tests/store/test_holds.py"
TWO = "tests/allocator/test_two_events.py"
OTHERS_ROWS = f"{TWO}::test_what_happens_in_one_event_changes_no_row_of_another"
HOLD_GUARDS = "tests/store/test_hold_guards.py"
FOREIGN = f"{HOLDS_TEST}::test_somebody_elses_hold_looks_like_none"
holds = In("store/holds.py")
PAYING = (
    "AND hold.event_id = %(event)s AND hold.hold_id = %(hold)s\n"
    "   AND hold.buyer = %(buyer)s AND hold.state || '' = 'active'\n"
    "   AND hold.expires_at > {RUN_BY} AND (event.payment = 'none' OR %(free)s)\nRETURNING hold.quantity"
)

MUTANTS: list[Mutant] = [
    holds(
        Kind.BOUND,
        "a hold is found by its number, not among all active ones",
        PAYING,
        PAYING.replace("hold.state || ''", "hold.state"),
        "tests/store/test_hold_plans.py::test_one_hold_is_found_by_its_number[paid-nothing known]",
    ),
    holds(
        Kind.CONDITION,
        "only the holder pays",
        PAYING,
        PAYING.replace(" AND hold.buyer = %(buyer)s", ""),
        FOREIGN,
    ),
    holds(
        Kind.CONDITION,
        "only an active hold is paid",
        PAYING,
        PAYING.replace(" AND hold.state || '' = 'active'", ""),
        f"{HOLDS_TEST}::test_an_order_is_not_released_and_a_released_hold_not_bought",
    ),
    holds(
        Kind.CONDITION,
        "what costs money is not bought without",
        PAYING,
        PAYING.replace(" AND (event.payment = 'none' OR %(free)s)", ""),
        f"{HOLDS_TEST}::test_what_is_paid_for_is_not_confirmed_unless_it_costs_nothing",
    ),
    holds(
        Kind.CONDITION,
        "only the hold that is named is paid",
        PAYING,
        PAYING.replace(" AND hold.hold_id = %(hold)s", ""),
        f"{HOLD_GUARDS}::test_one_of_a_buyers_holds_is_changed_and_the_others_are_not",
    ),
    holds(
        Kind.CONDITION,
        "only a hold of this event is paid",
        PAYING,
        PAYING.replace("AND hold.event_id = %(event)s ", ""),
        OTHERS_ROWS,
    ),
    holds(
        Kind.EXPIRY,
        "a hold that ran out by Postgres' clock is not paid",
        PAYING,
        PAYING.replace("hold.expires_at > {RUN_BY} AND ", ""),
        f"{HOLDS_TEST}::test_a_hold_that_ran_out_cannot_be_bought_and_can_still_be_given_back",
    ),
    holds(
        Kind.EXPIRY,
        "while paused a hold is paid by the moment of the pause",
        PAYING,
        PAYING.replace("{RUN_BY}", "clock_timestamp()"),
        f"{HOLDS_TEST}::test_while_paused_a_hold_runs_by_the_moment_of_the_pause",
    ),
    holds(
        Kind.CONDITION,
        "only the holder gives back",
        "AND hold_id = %(hold)s AND buyer = %(buyer)s AND state || '' = 'active'\nRETURNING",
        "AND hold_id = %(hold)s AND state || '' = 'active'\nRETURNING",
        FOREIGN,
    ),
    holds(
        Kind.CONDITION,
        "only an active hold is given back",
        "AND hold_id = %(hold)s AND buyer = %(buyer)s AND state || '' = 'active'\nRETURNING",
        "AND hold_id = %(hold)s AND buyer = %(buyer)s\nRETURNING",
        f"{HOLDS_TEST}::test_an_order_is_not_released_and_a_released_hold_not_bought",
    ),
    holds(
        Kind.CONDITION,
        "only the hold that is named is given back",
        " WHERE event_id = %(event)s AND hold_id = %(hold)s AND buyer = %(buyer)s AND state ||",
        " WHERE event_id = %(event)s AND buyer = %(buyer)s AND state ||",
        f"{HOLD_GUARDS}::test_one_of_a_buyers_holds_is_changed_and_the_others_are_not",
    ),
    holds(
        Kind.CONDITION,
        "only a hold of this event is given back",
        " WHERE event_id = %(event)s AND hold_id = %(hold)s AND buyer = %(buyer)s AND state ||",
        " WHERE hold_id = %(hold)s AND buyer = %(buyer)s AND state ||",
        OTHERS_ROWS,
    ),
    holds(
        Kind.CONDITION,
        "nobody sees into another's hold",
        "SELECT state FROM hold WHERE event_id = %(event)s AND hold_id = %(hold)s AND buyer = %(buyer)s",
        "SELECT state FROM hold WHERE event_id = %(event)s AND hold_id = %(hold)s",
        FOREIGN,
    ),
    holds(
        Kind.CONDITION,
        "nobody sees into a hold of another event",
        "SELECT state FROM hold WHERE event_id = %(event)s AND hold_id = %(hold)s AND buyer = %(buyer)s",
        "SELECT state FROM hold WHERE hold_id = %(hold)s AND buyer = %(buyer)s",
        f"{HOLD_GUARDS}::test_a_hold_of_another_event_looks_like_none",
    ),
    holds(
        Kind.COUNT,
        "a hold's seats and places are all that it counts",
        '    assert found == quantity, f"hold',
        '    assert found or not found, f"hold',
        f"{HOLDS_TEST}::test_a_hold_whose_seats_do_not_add_up_is_left_alone_and_alarms",
    ),
    holds(
        Kind.CONDITION,
        "only held seats count as a hold's",
        "   AND seat.state = 'held' AND seat.hold_id = %(hold)s {among}\n",
        "   AND seat.hold_id = %(hold)s {among}\n",
        f"{HOLD_GUARDS}::test_a_seat_that_is_not_held_by_the_hold_does_not_count",
    ),
    holds(
        Kind.CONDITION,
        "only seats that name the hold count as its own",
        "   AND seat.state = 'held' AND seat.hold_id = %(hold)s {among}\n",
        "   AND seat.state = 'held' {among}\n",
        f"{HOLD_GUARDS}::test_a_seat_that_is_not_held_by_the_hold_does_not_count",
    ),
    holds(
        Kind.CONDITION,
        "only seats that the hold keeps count as its own",
        " WHERE hold_seat.event_id = %(event)s AND hold_seat.hold_id = %(hold)s\n   AND seat.state",
        " WHERE hold_seat.event_id = %(event)s\n   AND seat.state",
        f"{HOLD_GUARDS}::test_a_seat_that_another_hold_keeps_does_not_count",
    ),
    holds(
        Kind.CONDITION,
        "paying sells only this event's seats",
        """UPDATE seat SET state = 'sold'
   WHERE event_id = %(event)s AND seat_no""",
        """UPDATE seat SET state = 'sold'
   WHERE seat_no""",
        OTHERS_ROWS,
    ),
    holds(
        Kind.CONDITION,
        "giving back frees only this event's seats",
        """UPDATE seat SET state = 'available', hold_id = NULL
   WHERE event_id = %(event)s AND seat_no""",
        """UPDATE seat SET state = 'available', hold_id = NULL
   WHERE seat_no""",
        OTHERS_ROWS,
    ),
    holds(
        Kind.CONDITION,
        "giving back deletes only this event's hold_seat rows",
        "DELETE FROM hold_seat\n WHERE event_id = %(event)s AND seat_no",
        "DELETE FROM hold_seat\n WHERE seat_no",
        OTHERS_ROWS,
    ),
    holds(
        Kind.CONDITION,
        "paying counts only this event's places as sold",
        " WHERE area.event_id = %(event)s AND hold_area.event_id = %(event)s AND hold_area.hold_id",
        " WHERE hold_area.event_id = %(event)s AND hold_area.hold_id",
        OTHERS_ROWS,
    ),
    holds(
        Kind.CONDITION,
        "paying counts the places of this hold and no other",
        "AND hold_area.event_id = %(event)s AND hold_area.hold_id = %(hold)s\n",
        "AND hold_area.event_id = %(event)s\n",
        f"{HOLD_GUARDS}::test_one_of_a_buyers_holds_is_changed_and_the_others_are_not",
    ),
    holds(
        Kind.CONDITION,
        "giving back frees the places of this hold and no other",
        "DELETE FROM hold_area WHERE event_id = %(event)s AND hold_id = %(hold)s RETURNING",
        "DELETE FROM hold_area WHERE event_id = %(event)s RETURNING",
        f"{HOLD_GUARDS}::test_one_of_a_buyers_holds_is_changed_and_the_others_are_not",
    ),
    holds(
        Kind.CONDITION,
        "giving back counts only this event's places as free",
        "  FROM given_back WHERE area.event_id = %(event)s AND area.area_no",
        "  FROM given_back WHERE area.area_no",
        OTHERS_ROWS,
    ),
    holds(
        Kind.FACTS,
        "a payment is told to the allocator",
        "        await connection.execute(SELL_PLACES, values)\n"
        "        await connection.execute(INSERT_FACT, values)\n",
        "        await connection.execute(SELL_PLACES, values)\n",
        f"{HOLDS_TEST}::test_a_confirmed_hold_is_an_order",
    ),
    holds(
        Kind.FACTS,
        "a release is told to the allocator",
        "    await connection.execute(FREE_PLACES, values)\n"
        "    await connection.execute(INSERT_FACT, values)\n",
        "    await connection.execute(FREE_PLACES, values)\n",
        f"{HOLDS_TEST}::test_a_released_hold_frees_all_it_had",
    ),
    holds(
        Kind.FACTS,
        "a hold is changed whole, with its fact, or not at all",
        "            async with connection.transaction():\n",
        "            if connection:\n",
        f"{HOLDS_TEST}::test_a_hold_whose_seats_do_not_add_up_is_left_alone_and_alarms",
    ),
    holds(
        Kind.LOCK_ORDER,
        "a buyer's change locks the hold before its seats",
        '        quantity = await _quantity(connection, PAY, values | {"free": free})\n',
        "        await connection.execute(LOCK_SEATS.format(among=''), values)\n"
        '        quantity = await _quantity(connection, PAY, values | {"free": free})\n',
        f"{HOLD_GUARDS}::test_the_hold_is_locked_before_its_seats_and_places",
    ),
    holds(
        Kind.LOCK_ORDER,
        "a buyer's change locks seats by number",
        " ORDER BY seat.seat_no FOR UPDATE OF seat\n",
        " ORDER BY seat.seat_no DESC FOR UPDATE OF seat\n",
        f"{HOLD_GUARDS}::test_a_holds_seats_are_locked_by_number_and_before_its_places",
    ),
    holds(
        Kind.LOCK_ORDER,
        "a buyer's change locks seats before places",
        "    rows = await (await connection.execute(statement, dict(values)",
        "    await connection.execute(LOCK_AREAS, values)\n"
        "    rows = await (await connection.execute(statement, dict(values)",
        f"{HOLD_GUARDS}::test_a_holds_seats_are_locked_by_number_and_before_its_places",
    ),
]
