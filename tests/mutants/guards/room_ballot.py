"""Faults in the ballot: who may file until when, the order in which wishes are decided, who is let in."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

ROWS = "tests/store/test_ballot.py"
PURE = "tests/allocator/test_ballot.py"
REAL = "tests/allocator/test_ballot_for_real.py"
STREAM = "tests/store/test_stream_conformance.py"
rows = In("store/room/ballot.py")
sweep = In("allocator/ballot.py")
stream = In("store/stream/redis_stream.py")
WHATEVER = f"{PURE}::test_whatever_happens_wishes_are_decided_in_the_draws_order_each_once_and_all"
GONE = f"{STREAM}::test_behind_a_piece_that_is_gone_nothing_is_appended"
SETTLED = f"{ROWS}::test_when_the_sale_begins_wishes_are_settled"
FIRST = f"{ROWS}::test_the_first_undecided_is_the_first_whose_key_the_ledger_lacks"
LET_IN = f"{ROWS}::test_who_holds_something_from_the_ballot_is_inside_and_all_others_stay_where_they_are"
OLDER = f"{ROWS}::test_how_far_a_ballot_is_is_told_whichever_of_room_and_event_is_older"

MUTANTS: list[Mutant] = [
    rows(
        Kind.SNAPSHOT,
        "who files a wish is seen by the end of the lobby",
        "        await connection.execute(WAIT_FOR_LOBBY_END, values)\n        row = ",
        "        row = ",
        f"{ROWS}::test_the_end_of_the_lobby_waits_for_a_wish_that_is_being_filed",
    ),
    In("store/room/rooms.py")(
        Kind.SNAPSHOT,
        "the end of the lobby waits for wishes that are being filed",
        "        conn.execute(WAIT_FOR_WISHES, values)\n",
        "",
        f"{ROWS}::test_the_end_of_the_lobby_waits_for_a_wish_that_is_being_filed",
    ),
    rows(
        Kind.CONDITION,
        "no wish is filed once the lobby is over",
        "AND {_LIVE} AND in_draw AND {_LASTS}\n   FOR SHARE",
        "AND {_LIVE} AND in_draw\n   FOR SHARE",
        SETTLED,
    ),
    rows(
        Kind.CONDITION,
        "no wish is taken back once the lobby is over",
        "AND place.buyer = %(buyer)s AND {_LIVE} AND {_LASTS}\n",
        "AND place.buyer = %(buyer)s AND {_LIVE}\n",
        SETTLED,
    ),
    rows(
        Kind.CONDITION,
        "only who has a place files a wish",
        "AND place.buyer = %(buyer)s AND {_LIVE} AND in_draw AND {_LASTS}\n",
        "AND place.buyer = %(buyer)s AND in_draw AND {_LASTS}\n",
        f"{ROWS}::test_only_who_has_joined_files",
    ),
    In("store/room/entering.py")(
        Kind.CONDITION,
        "the wish of who leaves goes with them",
        "DELETE FROM ballot_wish USING gone WHERE place_id = gone.id",
        "SELECT FROM gone",
        f"{ROWS}::test_who_filed_nothing_or_left_or_came_later_is_passed_over",
    ),
    In("store/room/joining.py")(
        Kind.CONDITION,
        "the wish of who goes to the other lane after the draw goes with their place",
        "DELETE FROM ballot_wish USING gone WHERE place_id = gone.id",
        "SELECT FROM gone",
        f"{ROWS}::test_the_wish_of_who_goes_to_the_other_lane_after_the_draw_goes_with_the_place",
    ),
    In("store/room/entering.py")(
        Kind.SNAPSHOT,
        "who leaves waits for the wish they file",
        "        await connection.execute(LOCK_LIVE, values)\n",
        "",
        f"{ROWS}::test_who_leaves_while_their_wish_is_being_filed_takes_it_along",
    ),
    rows(
        Kind.SNAPSHOT,
        "who files a wish waits for their own leaving",
        "   FOR SHARE OF place\n",
        "",
        f"{ROWS}::test_who_files_while_they_leave_has_no_wish_left",
    ),
    rows(
        Kind.CONDITION,
        "wishes of the priority lane go first",
        "(Lane.PRIORITY, Lane.ORDINARY)",
        "(Lane.ORDINARY, Lane.PRIORITY)",
        f"{ROWS}::test_wishes_are_read_in_the_draws_order_the_priority_lane_first",
    ),
    rows(
        Kind.SNAPSHOT,
        "an offer from the waiting list is no decision about a wish",
        "AND kind = 'request' AND outcome <> 'conflict'\"",
        "AND outcome <> 'conflict'\"",
        FIRST,
    ),
    rows(
        Kind.SNAPSHOT,
        "wishes far behind what is decided are looked for too",
        "        if looked_at == NEAR_MAX:",
        "        if looked_at > NEAR_MAX:",
        FIRST,
    ),
    rows(
        Kind.CONDITION,
        "who is inside already is not let in again",
        "AND place.buyer = piece.buyer AND place.state = 'waiting'\n",
        "AND place.buyer = piece.buyer AND {_LIVE}\n",
        f"{ROWS}::test_who_is_let_in_twice_came_in_once",
        more=(
            (
                "place.id = holding.id AND place.state = 'waiting'\n",
                "place.id = holding.id AND {_LIVE}\n",
            ),
        ),
    ),
    rows(
        Kind.CONDITION,
        "who holds something from elsewhere is not let in",
        "AND request_id = '{REQUEST_ID}'\n     AND hold.state",
        "\n     AND hold.state",
        LET_IN,
    ),
    rows(
        Kind.EXPIRY,
        "who is let in stays at least until the hold ends",
        "greatest(expires_at, now() + room",
        "least(expires_at, now() + room",
        LET_IN,
    ),
    rows(
        Kind.CONDITION,
        "a ballot ends once",
        " AND ballot_ended_at IS NULL\n",
        "\n",
        f"{ROWS}::test_a_ballot_ends_once_and_not_before_the_draw",
    ),
    rows(
        Kind.CONDITION,
        "a ballot does not end before the draw",
        " AND ballot AND drawn_at IS NOT NULL AND",
        " AND ballot AND",
        f"{ROWS}::test_a_ballot_ends_once_and_not_before_the_draw",
    ),
    In("store/room/words.py")(
        Kind.GATE,
        "a ballot is decided as soon as either the room or the event says that the sale has begun",
        "return room.lobby_ended_at is not None or event_state in (EventState.OPEN, EventState.PAUSED)",
        "return room.lobby_ended_at is not None",
        OLDER,
    ),
    sweep(
        Kind.STREAM,
        "a piece of the ballot goes only behind the piece before it",
        "self._pieces.append if last is None else partial",
        "self._pieces.append if last is None or last else partial",
        WHATEVER,
        f"{REAL}::test_a_stream_that_came_back_with_an_older_file_is_noticed_by_who_appends_behind_it",
    ),
    sweep(
        Kind.STREAM,
        "what was appended last and is gone was decided, or the ledger says where to go on",
        "False, not decided, None",
        "False, False, None",
        WHATEVER,
        f"{REAL}::test_a_stream_that_is_wiped_in_the_middle_costs_nobody_the_place_in_the_order",
    ),
    sweep(
        Kind.STREAM,
        "that the last piece was lost is noticed without a new arrival",
        "if self._pieces.append_behind(last, ()) is None:",
        "if not last:",
        f"{PURE}::test_what_was_lost_at_the_end_is_noticed_without_a_new_arrival",
    ),
    sweep(
        Kind.BOUND,
        "only so many wishes are ahead of the cursor",
        "+ PIECE_MAX <= AHEAD_MAX",
        "+ PIECE_MAX >= 0",
        f"{PURE}::test_no_more_is_appended_than_may_be_ahead_of_the_cursor",
    ),
    sweep(
        Kind.CONDITION,
        "nothing is appended before the draw",
        "SELECT ballot AND drawn_at IS NOT NULL AND ballot_ended_at IS NULL, arrival",
        "SELECT ballot AND ballot_ended_at IS NULL, arrival",
        f"{REAL}::test_nothing_is_appended_before_the_draw_and_after_the_end",
    ),
    sweep(
        Kind.CONDITION,
        "winners are let in before the ballot ends",
        "        came_in = ballot.let_in(conn, self._event_id)\n",
        "        came_in = 0\n",
        f"{REAL}::test_wishes_are_decided_in_the_draws_order_and_winners_are_inside",
    ),
    stream(
        Kind.STREAM,
        "behind something else that has the same id nothing is appended",
        "if not last or last[2][1] ~= 'r' or last[2][2] ~= ARGV[2] then",
        "if not last then",
        GONE,
    ),
    stream(
        Kind.STREAM,
        "behind something that is gone nothing is appended",
        "if not last or last[2][1] ~= 'r'",
        "if last and last[2][1] ~= 'r'",
        GONE,
        more=((" or last[2][2] ~= ARGV[2] then return false end", " then return false end"),),
    ),
    In("allocator/keeper.py")(
        Kind.TAKEOVER,
        "a ballot goes on though the event is closed",
        "        if not standing.lobby_ended:\n",
        "        if not standing.lobby_ended or standing.state is EventState.CLOSED:\n",
        "tests/allocator/test_keeper.py::test_the_ballot_of_an_event_that_is_closed_goes_on",
    ),
    In("store/fleet/on_sale.py")(
        Kind.TAKEOVER,
        "an event that is closed is attended to until its ballot is over",
        "AND lobby_ended_at IS NOT NULL AND ballot_ended_at IS NULL",
        "AND lobby_ended_at IS NULL AND ballot_ended_at IS NULL",
        f"{REAL}::test_an_event_that_is_closed_is_attended_to_until_its_ballot_is_over",
    ),
]
