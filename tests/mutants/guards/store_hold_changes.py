"""Faults in extending a hold and in giving some of it back."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

EXTEND = "tests/store/test_hold_extend.py"
PARTS = "tests/store/test_hold_parts.py"
FOREIGN_EXTENDED = f"{EXTEND}::test_somebody_elses_hold_looks_like_none"
ONLY_THIS = f"{EXTEND}::test_a_hold_of_another_event_and_a_buyers_other_holds_stay_as_they_are"
OTHERS = f"{PARTS}::test_of_another_hold_and_another_event_nothing_is_freed"
NOT_IN_HOLD = f"{PARTS}::test_what_a_hold_has_not_cannot_be_given_back_nor_anything_with_it"
holds = In("store/holds.py")
parts = In("store/hold_parts.py")

EXTENDING = (
    "   AND hold.buyer = %(buyer)s AND hold.state || '' = 'active'\n"
    "   AND hold.expires_at > {RUN_BY}\n   AND hold.extensions"
)
NAMED = "AND hold.event_id = %(event)s AND hold.hold_id = %(hold)s\n" + EXTENDING
KEEPING = (
    " WHERE event_id = %(event)s AND hold_id = %(hold)s AND buyer = %(buyer)s AND state || '' = 'active'\n"
    "   AND quantity"
)

MUTANTS: list[Mutant] = [
    holds(
        Kind.CONDITION,
        "only the holder extends",
        EXTENDING,
        EXTENDING.replace("   AND hold.buyer = %(buyer)s AND hold.state", "   AND hold.state"),
        f"{EXTEND}::test_the_statement_itself_extends_only_for_the_holder",
    ),
    holds(
        Kind.CONDITION,
        "only an active hold is extended",
        EXTENDING,
        EXTENDING.replace(" AND hold.state || '' = 'active'", ""),
        f"{EXTEND}::test_a_hold_that_is_over_is_not_extended",
    ),
    holds(
        Kind.EXPIRY,
        "a hold that ran out is not extended",
        EXTENDING,
        EXTENDING.replace("   AND hold.expires_at > {RUN_BY}\n", ""),
        f"{EXTEND}::test_a_hold_that_ran_out_is_not_extended",
    ),
    holds(
        Kind.EXPIRY,
        "while paused a hold is extended by the moment of the pause",
        EXTENDING,
        EXTENDING.replace("{RUN_BY}", "clock_timestamp()"),
        f"{EXTEND}::test_while_paused_a_hold_that_ran_at_the_pause_is_extended",
    ),
    holds(
        Kind.BOUND,
        "a hold is extended only as often as the organiser allows",
        "   AND hold.extensions < event.extensions_max\n",
        "",
        f"{EXTEND}::test_a_hold_is_extended_as_often_as_the_organiser_allows",
    ),
    holds(
        Kind.DEDUPE,
        "a hold is extended only from the end that its holder knows",
        "   AND floor(extract(epoch FROM hold.expires_at) * 1000) = %(ends)s\n",
        "",
        f"{EXTEND}::test_a_repeated_call_extends_once_and_is_answered_with_the_hold_as_it_is",
    ),
    holds(
        Kind.CONDITION,
        "only the hold that is named is extended",
        NAMED,
        NAMED.replace(" AND hold.hold_id = %(hold)s", ""),
        ONLY_THIS,
    ),
    holds(
        Kind.CONDITION,
        "only a hold of this event is extended",
        NAMED,
        NAMED.replace("AND hold.event_id = %(event)s ", ""),
        ONLY_THIS,
    ),
    holds(
        Kind.FACTS,
        "an extension is told to the allocator",
        "            await connection.execute(INSERT_TELLING_FACT, fact)\n",
        "            assert fact\n",
        f"{EXTEND}::test_an_extended_hold_ends_later_and_the_allocator_is_told_by_how_much",
    ),
    holds(
        Kind.CONDITION,
        "nobody sees into another's hold by changing it",
        " WHERE hold.event_id = %(event)s AND hold.hold_id = %(hold)s AND hold.buyer = %(buyer)s\n",
        " WHERE hold.event_id = %(event)s AND hold.hold_id = %(hold)s\n",
        FOREIGN_EXTENDED,
        f"{PARTS}::test_somebody_elses_hold_looks_like_none",
    ),
    parts(
        Kind.SNAPSHOT,
        "what is told of a hold is of one moment",
        "        if kept is None:\n            await connection.execute(LOCK_HOLD, values)\n",
        "",
        f"{PARTS}::test_what_a_repeated_call_is_told_is_of_one_moment",
    ),
    parts(
        Kind.CONDITION,
        "only the holder gives some back",
        KEEPING,
        KEEPING.replace(" AND buyer = %(buyer)s", ""),
        f"{PARTS}::test_the_statement_itself_leaves_fewer_only_for_the_holder",
    ),
    parts(
        Kind.CONDITION,
        "some is given back only of an active hold",
        KEEPING,
        KEEPING.replace(" AND state || '' = 'active'", ""),
        f"{PARTS}::test_an_order_is_not_given_back_and_what_is_over_is_told",
    ),
    parts(
        Kind.CONDITION,
        "some is given back only of the hold that is named",
        KEEPING,
        KEEPING.replace(" AND hold_id = %(hold)s", ""),
        OTHERS,
    ),
    parts(
        Kind.CONDITION,
        "some is given back only of a hold of this event",
        KEEPING,
        KEEPING.replace("event_id = %(event)s AND ", ""),
        OTHERS,
    ),
    parts(
        Kind.CONDITION,
        "of what is given back in part something stays",
        "   AND quantity > %(count)s AND",
        "   AND quantity >= %(count)s AND",
        f"{PARTS}::test_naming_all_there_is_gives_the_hold_back_as_ever",
    ),
    parts(
        Kind.DEDUPE,
        "a hold of another size than its holder knows is left as it is",
        " AND quantity = coalesce(%(of)s::int, quantity)\n",
        "\n",
        f"{PARTS}::test_a_repeated_call_that_says_of_how_many_gives_back_once",
    ),
    parts(
        Kind.DEDUPE,
        "a hold of another size than its holder knows is not given back whole",
        "and (of is None or now.quantity == of):",
        "and (of is None or of):",
        f"{PARTS}::test_a_repeated_call_that_says_of_how_many_gives_back_once",
    ),
    parts(
        Kind.COUNT,
        "all seats that are given back are the hold's",
        "    if len(locked) < len(named.seats):\n",
        "    if len(locked) < 0:\n",
        NOT_IN_HOLD,
    ),
    parts(
        Kind.COUNT,
        "all places that are given back are the hold's",
        "        if kept.get(area, 0) < quantity:\n",
        "        if quantity < 0:\n",
        NOT_IN_HOLD,
    ),
    parts(
        Kind.CONDITION,
        "places given back leave only this hold's row",
        "WHERE event_id = %(event)s AND hold_id = %(hold)s AND hold_area.area_no = given.area_no\n"
        "     AND hold_area.quantity > given.quantity",
        "WHERE event_id = %(event)s AND hold_area.area_no = given.area_no\n"
        "     AND hold_area.quantity > given.quantity",
        OTHERS,
    ),
    parts(
        Kind.CONDITION,
        "places given back count free in this event's area only",
        " WHERE area.event_id = %(event)s AND area.area_no = freed.area_no\n",
        " WHERE area.area_no = freed.area_no\n",
        OTHERS,
    ),
    parts(
        Kind.FACTS,
        "what is given back in part is told to the allocator",
        "    await connection.execute(holds.INSERT_TELLING_FACT, fact)\n",
        "    assert fact\n",
        f"{PARTS}::test_what_is_named_is_freed_and_the_rest_stays_held_until_the_same_end",
    ),
]
