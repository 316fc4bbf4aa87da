"""Faults in refusing who describes what is gone, and in telling who waits."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

TEST = "tests/gateway/test_none_left.py"
WAITERS = "tests/gateway/test_waiters.py"
FREE = f"{TEST}::test_who_describes_what_is_free_is_queued_however_many_they_are"
SOON = f"{TEST}::test_a_hold_that_ends_soon_may_come_back_in_time"
UNKNOWN = f"{TEST}::test_what_the_plan_has_not_is_left_to_the_decision"
PLACES = f"{TEST}::test_places_are_gone_when_none_is_free_and_none_held_there_ends_soon"
COUNTS = f"{TEST}::test_counts_and_ends_are_those_of_the_map_after_any_changes"
BOUNDS = f"{TEST}::test_what_is_remembered_has_bounds"
KEPT = f"{TEST}::test_accessible_places_are_counted_for_who_asks_for_them_only"
FORGOTTEN = f"{TEST}::test_a_hold_of_places_is_forgotten_once_a_batch_after_its_end_was_decided"
BEYOND = "\n                if end is None or end > now_us + HELD_BEYOND_NOW_US:"
SEATS_END = "end = left.soonest" + BEYOND
PLACES_END = "end = self.stock.soonest_place(area)" + BEYOND
gate = In("gateway/gate.py")
stock = In("gateway/stock.py")
runtime = In("gateway/events.py")
waiters = In("gateway/waiters.py")
socket = In("gateway/buyers/socket.py")
decode = In("gateway/buyers/decode.py")
announce = In("allocator/announce.py")

NONE_LEFT: list[Mutant] = [
    gate(
        Kind.GATE,
        "who describes what is free is queued",
        "            if left is not None and not left.free:\n",
        "            if left is not None:\n",
        FREE,
    ),
    gate(
        Kind.GATE,
        "who describes what comes back soon is queued",
        SEATS_END,
        SEATS_END.replace("HELD_BEYOND_NOW_US", "1"),
        SOON,
    ),
    gate(
        Kind.GATE,
        "who describes what the plan has not is queued",
        "        if None in parties or -1 in areas:\n            return None\n",
        "        areas = [area for area in areas if area >= 0]\n",
        UNKNOWN,
    ),
    gate(
        Kind.GATE,
        "who wants places that are free is queued",
        "            if not self.areas_free[area]:\n",
        "            if area >= 0:\n",
        PLACES,
    ),
    gate(
        Kind.GATE,
        "who wants places that come back soon is queued",
        PLACES_END,
        PLACES_END.replace("HELD_BEYOND_NOW_US", "1"),
        PLACES,
        FORGOTTEN,
    ),
    runtime(
        Kind.GATE,
        "while paused nobody is refused for what is held",
        "        if self.row.state is EventState.PAUSED:",
        "        if self.row.state is EventState.CLOSED:",
        f"{TEST}::test_while_paused_nobody_is_refused_for_what_is_held",
    ),
    stock(
        Kind.GATE,
        "seats kept for accessible places are not counted for others",
        "            and (not kept or party.accessible > 0)\n",
        "",
        KEPT,
    ),
    *[
        stock(
            Kind.GATE,
            f"of what a party describes the {what} counts",
            f"({condition} or ",
            "(True or ",
            f"{TEST}::test_only_what_a_party_describes_counts",
        )
        for what, condition in (
            ("section", "party.section is None"),
            ("category", "party.category is None"),
            ("lowest price", "party.price_min is None"),
            ("highest price", "party.price_max is None"),
        )
    ],
    stock(
        Kind.GATE,
        "an end counts for a seat that is held",
        "            if self.letters[no] == HELD and self.held_until[no]",
        "            if self.held_until[no]",
        COUNTS,
    ),
    stock(
        Kind.GATE,
        "an end counts until another one is known",
        " and self.held_until[no] == ends[0] >> SEAT_BITS",
        "",
        COUNTS,
    ),
    stock(
        Kind.GATE,
        "what is left is looked at again after a change",
        "        if known is None or known[0] != self._changes:\n",
        "        if known is None:\n",
        f"{TEST}::test_what_a_batch_frees_holds_extends_or_sells_is_counted_at_once",
    ),
    *[
        stock(Kind.GATE, f"{what} are counted as they turn", old, new, COUNTS)
        for what, old, new in (
            ("seats that come free", " - (old == AVAILABLE)\n            held", "\n            held"),
            ("held seats that end", "            held[kind] -= old == HELD\n", ""),
            ("free seats that are held", "            free[kind] -= old == AVAILABLE\n", ""),
            (
                "seats that are held",
                "            held[kind] += old != HELD\n",
                "            held[kind] += 1\n",
            ),
        )
    ],
    stock(
        Kind.GATE,
        "a hold of places is known until a batch came after its end",
        "if end < batch_time_us // _SECOND_US]",
        "if end <= batch_time_us // _SECOND_US]",
        FORGOTTEN,
    ),
    stock(
        Kind.BOUND,
        "ends that are no longer true are swept out",
        "                if len(ends) > 2 * held[kind] + STALE_MAX:\n",
        "                if len(ends) > 1 << 40:\n",
        BOUNDS,
    ),
    stock(
        Kind.BOUND,
        "descriptions that are remembered have a bound",
        "            if len(self._known) >= WISHES_MAX:\n                self._known.clear()\n",
        "",
        BOUNDS,
    ),
    announce(
        Kind.GATE,
        "gateways hear how long places are held",
        "        sorted({(area, hold.expires_at) for hold in given for area, _ in hold.areas}),\n",
        "",
        "tests/allocator/test_announce.py::test_gateways_hear_until_when_places_are_held",
    ),
    decode(
        Kind.BOUND,
        "a hold is not moved by a request that would wait",
        "    if want.waitlist and want.move is not UNSET:\n",
        "    if False:\n",
        "tests/gateway/test_decode.py::test_a_request_that_would_wait_moves_no_hold",
    ),
]

WAITING: list[Mutant] = [
    waiters(
        Kind.BOUND,
        "nobody is asked about while nobody looks",
        "        if buyer in self._looks:\n            self._poked.add(buyer)\n",
        "        if buyer:\n            self._poked.add(buyer)\n",
        f"{WAITERS}::test_nobody_is_asked_about_while_nobody_looks",
    ),
    waiters(
        Kind.BOUND,
        "who ask for the list at once have a bound",
        "        if len(self._finding) >= ASKING_MAX:\n",
        "        if False:\n",
        f"{WAITERS}::test_too_many_who_ask_at_once_are_told_to_come_back",
    ),
    waiters(
        Kind.BOUND,
        "with more who look places are told less often",
        "max(EVERY_SECONDS, len(self._looks) / TOLD_PER_SECOND_MAX)",
        "EVERY_SECONDS",
        f"{WAITERS}::test_with_more_who_look_places_are_told_less_often",
    ),
    waiters(
        Kind.BOUND,
        "looks at a long waiting list leave Postgres time for others",
        "max(LOOK_SECONDS_MIN, REST_TIMES * look_seconds)",
        "LOOK_SECONDS_MIN",
        f"{WAITERS}::test_long_looks_are_followed_by_long_rests",
    ),
    waiters(
        Kind.DEDUPE,
        "who has the same place as before is not told again",
        "        if looks.told != seen or longer:\n",
        "        if looks.told is not None or seen:\n",
        f"{WAITERS}::test_a_place_that_moved_up_is_told_by_the_poll_and_one_that_did_not_is_not",
    ),
    waiters(
        Kind.ASK_AGAIN,
        "what was lost of the waiting list is found by looking",
        "for buyer, _ in finding} | self._due()\n",
        "for buyer, _ in finding}\n",
        f"{WAITERS}::test_a_place_that_moved_up_is_told_by_the_poll_and_one_that_did_not_is_not",
    ),
    waiters(
        Kind.ASK_AGAIN,
        "what a buyer did at another gateway is found by and by",
        "if looks.waits or everybody}",
        "if looks.waits}",
        f"{WAITERS}::test_what_a_buyer_does_elsewhere_is_found_by_and_by",
    ),
    waiters(
        Kind.ASK_AGAIN,
        "who asked for the list while the database was away is told when it is back",
        "                if self._new or self._poked:  #",
        "                self._new.clear()\n                if self._poked:  #",
        f"{WAITERS}::test_without_the_database_http_says_so_and_sockets_are_told_when_it_is_back",
    ),
    runtime(
        Kind.ASK_AGAIN,
        "an offer is looked at when it is heard of",
        "        for buyer, _ in news.each():\n            self.waiters.poke(buyer)\n",
        "",
        f"{WAITERS}::test_an_offer_is_told_at_once_with_its_hold_and_a_lost_one_by_the_poll",
    ),
    runtime(
        Kind.ASK_AGAIN,
        "who begins to wait is looked at",
        "            if WAITLISTED in frame:\n                self.waiters.poke(buyer)\n",
        "",
        f"{WAITERS}::test_who_waits_by_a_decision_here_is_told_the_place_at_once",
    ),
    socket(
        Kind.TOKEN,
        "the list is shown only with a token that still runs",
        "                self._check_token()\n                self._event.waiters",
        "                self._event.waiters",
        f"{WAITERS}::test_the_list_is_shown_only_with_a_token_that_still_runs",
    ),
]

MUTANTS: list[Mutant] = [*NONE_LEFT, *WAITING]
