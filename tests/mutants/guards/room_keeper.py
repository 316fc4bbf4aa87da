"""Faults in the draw, in who is admitted, and in whose place ends."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

KEEPER = "tests/allocator/test_keeper.py"
LEAVERS = "tests/allocator/test_keeper_leavers.py"
KEEPERS = "tests/allocator/test_keepers.py"
ADMISSION = "tests/allocator/test_admission.py"
DRAW = "tests/store/room/test_draw.py"
ENTERING = "tests/store/room/test_entering.py"
MORE = "tests/store/room/test_more_time.py"
PLANS = "tests/store/room/test_plans.py"
STALE = f"{KEEPERS}::test_of_two_who_decided_by_the_same_version_one_changes_something"
NOT_AS_READ = f"{KEEPERS}::test_where_one_place_is_not_as_it_was_read_nothing_is_changed"
PAUSED = f"{KEEPER}::test_while_the_sale_is_paused_no_time_runs_out_and_it_comes_back"
admitting = In("store/room/admitting.py")
admission = In("allocator/admission.py")
keeper = In("allocator/keeper.py")
draw = In("store/room/draw.py")
rooms = In("store/room/rooms.py")
entering = In("store/room/entering.py")
lost_time = In("store/lost_time.py")

WRITING = [
    admitting(
        Kind.CONDITION,
        "who was called in one moment is called again by position",
        " ORDER BY admitted_at, (SELECT position FROM line WHERE place_id = place.id), id LIMIT",
        " ORDER BY admitted_at, joined_at DESC LIMIT",
        f"{KEEPER}::test_of_those_who_were_called_in_one_moment_who_stands_before_is_called_again_before",
    ),
    admitting(
        Kind.FENCE,
        "who decided by an older version of the room changes nothing",
        " WHERE event_id = %(event)s AND version = %(version)s AND admission = %(admission)s",
        " WHERE event_id = %(event)s AND admission = %(admission)s",
        STALE,
    ),
    admitting(
        Kind.PAUSE,
        "a pause of admission counts from when it is said",
        " AND version = %(version)s AND admission = %(admission)s",
        " AND version = %(version)s",
        f"{KEEPER}::test_a_pause_that_comes_between_reading_and_writing_counts",
    ),
    admitting(
        Kind.COUNT,
        "fewer places than decided are a decision that is not made",
        "    if changed != count:\n",
        "    if False:\n",
        STALE,
        NOT_AS_READ,
    ),
    admitting(
        Kind.CONDITION,
        "who began in the moment their time to begin ran out has begun",
        "place.state || '' = 'admitted' AND (begun_at IS NULL) = unbegun",
        "place.state || '' = 'admitted'",
        NOT_AS_READ,
    ),
    admitting(
        Kind.CONDITION,
        "who was given more time in the moment it ran out has it",
        '   AND {DUE} <= to_timestamp(%(run_by)s / 1000000.0)\n"""\n\nGIVE_BACK',
        '"""\n\nGIVE_BACK',
        f"{MORE}::test_who_was_given_more_time_before_the_owner_ends_the_place_keeps_it",
    ),
    admitting(
        Kind.CONDITION,
        "who left is not admitted",
        "AND place.id = ANY (%(ids)s::uuid[]) AND state || '' = 'waiting'",
        "AND place.id = ANY (%(ids)s::uuid[])",
        NOT_AS_READ,
    ),
    admitting(
        Kind.EXPIRY,
        "who holds seats or may pay is inside until that is over",
        "   AND NOT EXISTS (SELECT FROM busy WHERE busy.buyer = place.buyer)\n",
        "",
        f"{KEEPER}::test_who_had_their_time_is_at_the_end_of_it_unless_they_hold_or_pay",
        f"{KEEPER}::test_who_bought_and_holds_more_is_inside_until_that_is_over",
    ),
    admitting(
        Kind.EXPIRY,
        "while the sale is paused no place ends",
        "       {_US.format(RUN_BY)}\n",
        "       {_US.format('clock.now')}\n",
        PAUSED,
    ),
    admitting(
        Kind.FACTS,
        "what was bought before they were admitted ends no place",
        " AND admitted_at < paid.at\n",
        "\n",
        f"{KEEPER}::test_what_was_bought_before_or_given_by_an_operator_ends_no_place",
    ),
    admitting(
        Kind.FACTS,
        "what an operator gives to somebody ends no place",
        "kind = 'order.paid' AND body->>'kind' = 'buyer' AS paid",
        "kind = 'order.paid' AS paid",
        f"{KEEPER}::test_what_was_bought_before_or_given_by_an_operator_ends_no_place",
    ),
    admitting(
        Kind.BOUND,
        "who has left is passed over, a bounded number at once",
        "    through = min(stands, was + most + GONE_MAX)\n",
        "    through = stands\n",
        f"{KEEPER}::test_of_a_stretch_of_people_who_left_a_bounded_part_is_passed_over_at_once",
    ),
    admitting(
        Kind.BOUND,
        "places that end are not looked for among all who are inside",
        "WHERE place.id = ended.id AND place.state || '' = 'admitted'",
        "WHERE place.id = ended.id AND place.state = 'admitted'",
        f"{PLANS}::test_every_statement_does_so_too_when_it_was_planned_before_there_were_rows",
    ),
    entering(
        Kind.DEDUPE,
        "who begins twice has the time of the first",
        " AND state || '' = 'admitted' AND begun_at IS NULL",
        " AND state || '' = 'admitted'",
        f"{ENTERING}::test_who_is_admitted_begins_once_and_is_told_the_same_again",
    ),
    lost_time(
        Kind.PAUSE,
        "who is inside the waiting room gets lost time back",
        '        conn.execute(EXTEND_PLACES, given | {"lost": row[0], "version": room[0]})\n',
        "        pass\n",
        PAUSED,
    ),
    lost_time(
        Kind.SNAPSHOT,
        "that places got time back is news of the room",
        "UPDATE room SET version = version + 1 WHERE",
        "UPDATE room SET version = version WHERE",
        PAUSED,
    ),
]

DECIDING = [
    admission(
        Kind.BOUND,
        "after a silence a room does not let in all it did not",
        "    return max(seen.credit, min(most, seen.credit + a_second * factor * elapsed)) + seen.no_shows",
        "    return seen.credit + a_second * factor * elapsed + seen.no_shows",
        f"{ADMISSION}::test_what_the_pace_allowed_and_nobody_used_is_kept_for_a_few_seconds_at_most",
    ),
    admission(
        Kind.EXPIRY,
        "who never began gives their admission back",
        "elapsed)) + seen.no_shows",
        "elapsed))",
        f"{ADMISSION}::test_an_admission_that_nobody_used_comes_back",
    ),
    admission(
        Kind.BOUND,
        "no more are inside than may be",
        "        return max(0, max(1, int(seen.shopping_max * factor)) - seen.inside)\n",
        "        return seen.shopping_max\n",
        f"{ADMISSION}::test_one_goes_and_one_comes",
    ),
    admission(
        Kind.OVERLAY,
        "however slowly it goes the lanes take turns",
        "    turns = (seen.admitted + many + 1) // 2 - (seen.admitted + 1) // 2\n",
        "    turns = (many + 1) // 2\n",
        f"{ADMISSION}::test_however_slowly_it_goes_the_priority_lane_has_half_and_no_more",
    ),
    admission(
        Kind.CLOCK,
        "after a long silence the room does not slow down at once",
        "    elapsed = min(MOVES_SECONDS_MAX, max(0, seen.now - seen.decided_at) / 1_000_000)\n",
        "    elapsed = max(0, seen.now - seen.decided_at) / 1_000_000\n",
        f"{ADMISSION}::test_after_a_long_silence_the_factor_moves_as_in_one_second",
    ),
    keeper(
        Kind.SNAPSHOT,
        "with a ballot nobody is admitted before it is over",
        "        if standing.ballot and not standing.ballot_ended:\n",
        "        if False:\n",
        f"{KEEPER}::test_a_ballot_comes_between_the_draw_and_the_first_who_is_admitted",
    ),
    keeper(
        Kind.EXPIRY,
        "only who never began gives their admission back",
        "len(left) + sum(one.unbegun and one.state is PlaceState.EXPIRED for one in ended)",
        "len(left)",
        f"{KEEPER}::test_who_does_not_begin_in_time_gives_the_admission_back_and_returns_before_all_others",
    ),
    keeper(
        Kind.EXPIRY,
        "who leaves before beginning gives their admission back too",
        "len(left) + sum(one.unbegun",
        "sum(one.unbegun",
        f"{LEAVERS}::test_who_leaves_before_beginning_gives_the_admission_back_once",
    ),
    keeper(
        Kind.DEDUPE,
        "who left is counted by one decision",
        "            left=left,\n",
        "",
        f"{LEAVERS}::test_who_leaves_before_beginning_gives_the_admission_back_once",
    ),
    entering(
        Kind.CONDITION,
        "only who leaves before beginning gives their admission back",
        "gives_back = (state = 'admitted' AND begun_at IS NULL)",
        "gives_back = (begun_at IS NULL)",
        f"{LEAVERS}::test_who_leaves_after_beginning_or_while_they_wait_gives_nothing_back",
    ),
    admitting(
        Kind.DEDUPE,
        "who left and is counted is not counted again",
        "id = ANY (%(ids)s::uuid[]) AND gives_back\n",
        "id = ANY (%(ids)s::uuid[])\n",
        f"{LEAVERS}::test_of_two_who_count_the_same_leaver_one_does",
    ),
    keeper(
        Kind.HALVING,
        "where somebody else was quicker the room is read again",
        "                standing = self._read()\n        return False",
        "                pass\n        return False",
        f"{KEEPERS}::test_who_was_overtaken_reads_again_and_goes_on",
    ),
]

DRAWING = [
    draw(
        Kind.TAKEOVER,
        "of two who draw at once one draws",
        "        if not _one(conn, ONE_AT_A_TIME, values):\n            return False\n",
        "",
        f"{DRAW}::test_while_somebody_draws_nobody_else_begins_to",
    ),
    draw(
        Kind.DEDUPE,
        "what is drawn is not drawn again",
        "FROM room WHERE event_id = %(event)s AND lobby_ended_at IS NOT NULL AND drawn_at IS NULL",
        "FROM room WHERE event_id = %(event)s AND lobby_ended_at IS NOT NULL",
        f"{DRAW}::test_only_what_is_to_be_drawn_is_drawn_and_once",
    ),
    draw(
        Kind.COUNT,
        "as many are drawn as joined before the sale began",
        "        if done != 1:\n",
        "        if False:\n",
        f"{DRAW}::test_a_draw_that_finds_other_places_than_were_counted_alarms_and_draws_nobody",
    ),
    draw(
        Kind.SNAPSHOT,
        "only who joined before the sale began is drawn",
        "AND lane = %(lane)s AND in_draw) AS ranked",
        "AND lane = %(lane)s) AS ranked",
        f"{DRAW}::test_who_joins_while_it_is_drawn_stands_behind_all_who_are",
    ),
    rooms(
        Kind.SNAPSHOT,
        "who left the lobby is not drawn",
        "AND in_draw AND state = 'left'\n",
        "AND false\n",
        f"{DRAW}::test_who_left_the_lobby_is_not_drawn_and_nobody_stands_behind_them",
    ),
    rooms(
        Kind.SNAPSHOT,
        "who left when the lobby had ended stays drawn when a pause is over",
        "lobby_ended_at IS NULL)\n",
        "true)\n",
        f"{DRAW}::test_who_leaves_once_the_lobby_has_ended_stays_drawn_when_a_pause_is_over",
    ),
    rooms(
        Kind.COUNT,
        "as many are drawn as are counted when the lobby has been left by those who left",
        "        conn.execute(LEAVE_OUT, values)\n        conn.execute(END_LOBBY, values)\n",
        "        conn.execute(END_LOBBY, values)\n        conn.execute(LEAVE_OUT, values)\n",
        f"{DRAW}::test_who_left_the_lobby_is_not_drawn_and_nobody_stands_behind_them",
    ),
    draw(
        Kind.BOUND,
        "who reads a draw slowly keeps no transaction open",
        "    with conn.transaction():\n        return conn.execute(statement, values).fetchall()",
        "    return conn.execute(statement, values).fetchall()",
        f"{DRAW}::test_between_two_pages_nothing_is_open",
    ),
]

MUTANTS: list[Mutant] = [*WRITING, *DECIDING, *DRAWING]
