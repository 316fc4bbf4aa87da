"""Faults in what operators do with a waiting room, in codes, and in what anybody checks of a draw."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

ROOMS = "tests/store/room/test_rooms.py"
JOINING = "tests/store/room/test_joining.py"
CODES = "tests/store/room/test_codes.py"
DRAW = "tests/store/room/test_draw.py"
PUBLISHED = "tests/store/room/test_published.py"
PUBLIC = "tests/gateway/room/test_draws.py"
INVITED = "tests/gateway/room/test_invitations.py"
FORGED = f"{INVITED}::test_what_is_forged_foreign_or_over_lets_nobody_in"
operating = In("store/room/operating.py")
rooms = In("store/room/rooms.py")
joining = In("store/room/joining.py")
codes = In("store/room/codes.py")
draw = In("store/room/draw.py")
published = In("store/room/published.py")
listing = In("store/room/listing.py")
draws = In("gateway/room/draws.py")
invitations = In("gateway/room/invitations.py")
keys = In("gateway/idempotency_key.py")

EVENT_FIRST = (
    '        conn.execute(rooms.LOCK_EVENT, {"slug": slug})  # before the room, as whoever opens the event\n'
)

OPERATORS: list[Mutant] = [
    operating(
        Kind.CONDITION,
        "who changes another edition of a room than they looked at is told",
        "    if edition is not None and edition != room.edition:\n",
        "    if edition is not None and edition > room.edition:\n",
        f"{ROOMS}::test_who_changes_another_edition_than_they_looked_at_is_told",
    ),
    operating(
        Kind.CONDITION,
        "of two operators who change a room at once the second changes what the first one left",
        '    conn.execute(rooms.LOCK_ROOM, {"event": event})\n    room = rooms.read(conn, event)\n',
        "    room = rooms.read(conn, event)\n",
        f"{ROOMS}::test_two_operators_in_one_moment_lose_nothing_of_each_other",
        more=((EVENT_FIRST, ""),),
    ),
    operating(
        Kind.CONDITION,
        "an operator who pauses what is paused is told",
        "        if was not in LEAVING[to]:\n",
        "        if was not in (*LEAVING[to], to):\n",
        f"{ROOMS}::test_admission_is_paused_resumed_and_stopped_and_who_comes_second_is_told",
    ),
    operating(
        Kind.FENCE,
        "what an operator decides makes the room's next version",
        "UPDATE room SET admission = %(to)s, version = version + 1, edition = edition + 1 WHERE",
        "UPDATE room SET admission = %(to)s, edition = edition + 1 WHERE",
        f"{ROOMS}::test_each_change_leaves_who_and_why_and_the_next_version",
    ),
    operating(
        Kind.LEDGER,
        "each change of a room is in the audit",
        "        audit.write(conn, event, said, what)\n",
        "        _ = audit.write\n",
        f"{ROOMS}::test_each_change_leaves_who_and_why_and_the_next_version",
    ),
    operating(
        Kind.BOUND,
        "a room's look is small and plain",
        "    check(look)\n",
        "    _ = check\n",
        f"{ROOMS}::test_a_look_is_small_and_plain",
    ),
    rooms(
        Kind.CONDITION,
        "what buyers joined for stays",
        '        if state != "draft" and getattr',
        '        if state == "closed" and getattr',
        f"{ROOMS}::test_what_buyers_joined_for_stays_and_the_rest_may_change",
    ),
    rooms(
        Kind.TOKEN,
        "a room's seed is told once it is drawn and not before",
        "CASE WHEN drawn_at IS NOT NULL THEN seed END",
        "seed",
        f"{ROOMS}::test_the_seed_is_told_once_it_is_drawn_and_not_before",
    ),
]

JOINS: list[Mutant] = [
    joining(
        Kind.OVERLAY,
        "a join waits for the room's row, so it stands in the draw or behind it",
        " WHERE event_id = %(event)s FOR NO KEY UPDATE OF room\n",
        " WHERE event_id = %(event)s\n",
        f"{JOINING}::test_joins_race_with_the_lobbys_end_and_each_stands_in_the_draw_or_behind_it",
    ),
    joining(
        Kind.CONDITION,
        "who began and was too slow does not come back to where they stood",
        ' AND state = \'expired\' AND begun_at IS NULL\n"""\n\nMAKE',
        ' AND state = \'expired\'\n"""\n\nMAKE',
        f"{JOINING}::test_who_had_their_time_stands_behind_the_others",
    ),
    joining(
        Kind.DEDUPE,
        "who has nothing to gain by their code does not use it",
        "if buyer not in stay]",
        "if buyer]",
        f"{CODES}::test_a_code_that_gives_nothing_is_not_used",
        f"{CODES}::test_a_code_lets_into_the_priority_lane_and_a_repeat_uses_no_more",
    ),
    joining(
        Kind.CONDITION,
        "who is refused by their code has no place by it",
        "for buyer, lane in lanes.items() if buyer not in refused}, refused",
        "for buyer, lane in lanes.items()}, refused",
        f"{CODES}::test_who_is_refused_by_their_code_has_no_place_and_the_others_have",
    ),
    codes(
        Kind.COUNT,
        "a code lets in as many as it may",
        "least(wanted, uses_max - uses) ELSE",
        "least(wanted, uses_max) ELSE",
        f"{CODES}::test_the_last_use_of_a_code_is_one_buyers_however_many_want_it_at_once",
        more=(("SET uses = uses + granted FROM", "SET uses = least(uses + granted, uses_max) FROM"),),
    ),
    codes(
        Kind.COUNT,
        "of a code's last uses each is one buyer's",
        "            left[code.sha256] = granted - 1\n",
        "            left[code.sha256] = granted\n",
        f"{CODES}::test_who_is_refused_by_their_code_has_no_place_and_the_others_have",
    ),
    codes(
        Kind.CONDITION,
        "a code is of one event",
        "    FROM room_code JOIN asked ON code_sha256 = code\n   WHERE event_id = %(event)s),\n",
        "    FROM room_code JOIN asked ON code_sha256 = code),\n",
        f"{CODES}::test_a_code_is_of_one_event",
    ),
    codes(
        Kind.DEDUPE,
        "an invitation lets one buyer in",
        "ON CONFLICT DO NOTHING\n",
        "ON CONFLICT (event_id, code_sha256) DO UPDATE SET uses = 0\n",
        f"{CODES}::test_an_invitation_is_used_once_by_whoever_comes_first",
    ),
    codes(
        Kind.TOKEN,
        "of a code only its hash is kept",
        "    return Code(hashlib.sha256(plain.encode()).digest())\n",
        "    return Code(plain.encode())\n",
        f"{CODES}::test_codes_are_told_once_and_only_their_hashes_are_kept",
        "tests/onsale/test_room_command.py::test_codes_are_printed_one_a_line_and_how_many_were_used_is_shown",
    ),
    keys(
        Kind.TOKEN,
        "what tells presale codes is kept under no key",
        '= ("/requests", "/room/codes", "/room/join")',
        '= ("/requests", "/room/join")',
        "tests/gateway/test_idempotency_key.py::"
        "test_every_call_that_changes_something_takes_a_key_or_has_one_of_its_own",
    ),
    invitations(
        Kind.TOKEN,
        "an invitation is for its event",
        '    if claims["event"] != event:\n',
        '    if not claims["event"]:\n',
        FORGED,
    ),
    invitations(
        Kind.TOKEN,
        "a buyer's token is no invitation and an invitation is nobody's token",
        ' or "sub" in claims:\n',
        ":\n",
        FORGED,
    ),
]

DRAWS: list[Mutant] = [
    draw(
        Kind.LOCK_ORDER,
        "who is drawn stands by HMAC, as anybody computes it",
        "bytes(byte ^ 0x5C for byte in key)",
        "bytes(byte ^ 0x36 for byte in key)",
        f"{DRAW}::test_each_lane_is_in_the_order_that_python_computes",
    ),
    draw(
        Kind.COUNT,
        "a draw that finds other places than were counted draws nobody",
        " AND drawn_at IS NULL AND drawn = %(drawn)s\n",
        " AND drawn_at IS NULL\n",
        f"{DRAW}::test_a_draw_that_finds_other_places_than_were_counted_alarms_and_draws_nobody",
    ),
    draw(
        Kind.CHECKER,
        "of a forged list the place that was moved is named and no other",
        "            if index not in stay\n",
        "            if index in stay\n",
        f"{DRAW}::test_the_one_place_that_was_moved_is_named_and_no_other",
    ),
    published(
        Kind.CHECKER,
        "a list whose places stand in another order is not taken for an honest one",
        "        if position_now != position + 1 or rank_now <= rank:\n",
        "        if position_now != position + 1:\n",
        f"{PUBLISHED}::test_the_place_that_was_moved_is_named",
    ),
    published(
        Kind.CHECKER,
        "a list that lacks places is not taken for an honest one",
        "    if count != head.drawn:\n",
        "    if count > head.drawn:\n",
        f"{PUBLISHED}::test_a_place_that_is_missing_is_noticed",
    ),
    published(
        Kind.CHECKER,
        "a list with another seed than was promised is not taken for an honest one",
        "    if commitment is not None and hashlib.sha256(head.seed).digest() != commitment:\n",
        "    if commitment is not None and head.seed_sha256 == commitment == b'':\n",
        f"{PUBLISHED}::test_another_seed_than_was_promised_is_noticed",
    ),
    listing(
        Kind.TOKEN,
        "the seed is public once it is drawn and not before",
        "CASE WHEN drawn_at IS NOT NULL THEN seed END",
        "seed",
        f"{PUBLIC}::test_first_the_promise_is_told_and_after_the_draw_the_seed",
    ),
    listing(
        Kind.CONDITION,
        "another event's place is none of this draw's",
        " WHERE line.place_id = %(place)s AND line.event_id = %(event)s AND",
        " WHERE line.place_id = %(place)s AND",
        f"{PUBLIC}::test_another_events_place_is_none_of_this_draws",
    ),
    draws(
        Kind.BOUND,
        "so many lists are on their way at one gateway",
        "        if self._downloads >= DOWNLOADS_MAX:\n",
        "        if self._downloads > DOWNLOADS_MAX:\n",
        f"{PUBLIC}::test_so_many_download_at_a_time_and_the_next_is_told_to_come_back",
    ),
    listing(
        Kind.BOUND,
        "a piece of a list costs no more than what it has",
        " AND position <= %(after)s::bigint + {PIECE_ROWS}\n",
        "\n",
        f"{PUBLIC}::test_a_piece_costs_what_it_has_also_of_a_line_that_statistics_do_not_know",
    ),
    draws(
        Kind.BOUND,
        "a reader of a list who does not read makes room for another",
        "    async with asyncio.timeout(SEND_SECONDS_MAX):\n",
        "    async with asyncio.timeout(None):\n",
        f"{PUBLIC}::test_who_does_not_read_gets_no_more_and_makes_room",
    ),
    draws(
        Kind.CHECKER,
        "a list that is broken off is not taken for whole",
        '            log.warning("a list of the draw of %s was broken off: %r", self._head.event, error)\n',
        '            await send({"type": "http.response.body", "body": b""})\n            _ = error, log\n',
        f"{PUBLIC}::test_a_list_that_is_broken_off_is_not_taken_for_whole",
    ),
    draws(
        Kind.BOUND,
        "for a reader who left no more of a list is read",
        "            while not gone.done() and (piece :=",
        "            while (piece :=",
        f"{PUBLIC}::test_who_leaves_in_the_middle_is_read_nothing_more_for",
    ),
]

MUTANTS: list[Mutant] = [*OPERATORS, *JOINS, *DRAWS]
