"""Faults in how gateways let buyers join, tell them of the line, and let them in."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

JOINING = "tests/gateway/room/test_joining.py"
PLACES = "tests/gateway/room/test_places.py"
STATUS = "tests/gateway/room/test_status.py"
STREAMS = "tests/gateway/room/test_streams.py"
TOKENS = "tests/gateway/room/test_place_tokens.py"
joins = In("gateway/room/joining.py")
places = In("gateway/room/places.py")
lookups = In("gateway/room/lookups.py")
status = In("gateway/room/status.py")
room = In("gateway/room/waiting_room.py")
tokens = In("gateway/room/tokens.py")
streams = In("gateway/room/streams.py")
socket = In("gateway/buyers/socket.py")

BOUNDS = f"{JOINING}::test_at_the_bounds_who_joins_is_told_when_to_come_back"
NOT_INSIDE = f"{PLACES}::test_who_is_not_inside_is_told_what_to_do_on_both_ways"
BY_THE_CLOCK = f"{PLACES}::test_by_the_clock_who_had_time_enough_is_outside_before_anybody_writes_it_down"
BAD_TOKEN = f"{TOKENS}::test_a_token_that_is_not_good_is_refused"
STEP = f"{STATUS}::test_a_step_reaches_the_near_at_once_and_the_far_on_their_turn"

MUTANTS: list[Mutant] = [
    joins(
        Kind.COMMIT,
        "after a cut commit the same buyers join again",
        "                unknown = True\n",
        "                return self._give_up(group)\n",
        f"{JOINING}::test_a_cut_commit_is_found_out_and_answered_with_the_one_place",
    ),
    joins(
        Kind.COMMIT,
        "who joined before a cut is answered though the event closed meanwhile",
        "                        buyers = [one.buyer for one in group] if unknown else []\n",
        "                        buyers: list[str] = []\n",
        f"{JOINING}::test_a_join_that_was_committed_counts_though_the_event_closed_before_it_was_found_out",
    ),
    joins(
        Kind.BOUND,
        "buyers who wait for their join have a bound",
        "        if len(self._asking) >= self._waiting_max:\n",
        "        if len(self._asking) < 0:\n",
        BOUNDS,
    ),
    joins(
        Kind.BOUND,
        "one buyer's joins under way have a bound",
        "            if len(asking.thens) >= ASKED_TIMES_MAX:\n",
        "            if not asking.thens:\n",
        BOUNDS,
    ),
    joins(
        Kind.BOUND,
        "the joins of one transaction have a bound",
        "range(min(JOINS_MAX, len(self._queue)))",
        "range(len(self._queue))",
        f"{JOINING}::test_a_transaction_has_a_bounded_number_of_joins_and_one_is_under_way",
    ),
    joins(
        Kind.BOUND,
        "a join is waited for no longer than it may take",
        "        self._give_up([one for one in group if one.since < oldest])\n",
        "        oldest = 0.0\n",
        f"{JOINING}::test_who_waited_long_enough_is_told_that_nobody_knows",
    ),
    joins(
        Kind.COMMIT,
        "a fault while joining leaves nobody without an answer",
        "                self._give_up(group)\n",
        "                pass\n",
        f"{JOINING}::test_a_fault_of_ours_leaves_nobody_without_an_answer",
    ),
    room(
        Kind.GATE,
        "who is not known to be inside is not let in",
        "        return known is not None and known.inside_until > self.now_us() and not self._deciding\n",
        "        return not self._deciding\n",
        NOT_INSIDE,
    ),
    room(
        Kind.CLOCK,
        "who had time enough is outside by the clock",
        "        if known.inside_until > now:\n",
        "        if known.inside_until > 0:\n",
        BY_THE_CLOCK,
    ),
    room(
        Kind.CLOCK,
        "who did not begin in time does not begin by asking",
        " and place.begin_by is not None and place.begin_by > now:\n",
        ":\n",
        BY_THE_CLOCK,
    ),
    room(
        Kind.GATE,
        "while the ballot is decided nobody asks for seats",
        "        self._deciding = self._decides(now.state)\n",
        "        self._deciding = False\n",
        f"{PLACES}::test_while_the_ballot_is_decided_everybody_waits",
    ),
    room(
        Kind.FACTS,
        "a beginning by asking reaches Postgres",
        "            self.beginnings.add(known.buyer)\n",
        "",
        f"{PLACES}::test_who_was_called_asks_and_has_begun_by_that",
    ),
    room(
        Kind.BOUND,
        "attempts of who is not inside cost one look-up for a while",
        "        elif known is not None and time.monotonic() - known.read_at < FRESH_SECONDS:\n",
        "        elif known is not None and known.read_at < 0:\n",
        f"{PLACES}::test_many_attempts_of_who_is_not_inside_cost_one_look_up_for_a_while",
    ),
    socket(
        Kind.ASK_AGAIN,
        "saying that a request was asked before lets nobody in",
        "                    event.room.let_in(buyer, submit)\n",
        "                    submit(None)\n",
        f"{PLACES}::test_a_request_asked_again_is_answered_and_a_new_one_is_not_let_in_by_saying_so",
    ),
    lookups(
        Kind.BOUND,
        "look-ups that wait have a bound",
        "        if self._asking >= ASKING_MAX:\n",
        "        if self._asking < 0:\n",
        f"{PLACES}::test_lookups_of_one_moment_share_a_query_and_have_a_bound",
    ),
    places(
        Kind.BOUND,
        "buyers who are remembered have a bound",
        "        if self._kept > KEPT_MAX:\n",
        "        if self._kept < 0:\n",
        f"{PLACES}::test_who_is_remembered_without_being_connected_has_a_bound",
    ),
    places(
        Kind.FACTS,
        "who the line passed is read again",
        "            self._note(self._passed(lane, self._serving[lane], last))\n",
        "            self._note(())\n",
        f"{PLACES}::test_only_places_that_were_passed_are_read_again",
    ),
    places(
        Kind.EXPIRY,
        "places of those inside are read again, for they end by themselves",
        "        self._note(known for buyer in self._inside if ",
        "        self._note(known for buyer in () if ",
        f"{PLACES}::test_a_place_that_ends_is_told_without_the_line_going_on",
    ),
    places(
        Kind.FACTS,
        "the draw makes all places of the lobby be read again",
        "            self._note(known for known in self._connected.values() if _before",
        "            self._note(known for known in () if _before",
        f"{PLACES}::test_the_draw_tells_everybody_in_the_lobby_their_position",
    ),
    status(
        Kind.BOUND,
        "steps of the line are told at most once a second",
        "        step = self._moved_since and now - self._stepped_at >= STEP_SECONDS\n",
        "        step = self._moved_since\n",
        f"{STATUS}::test_steps_are_told_at_most_once_a_second_and_none_is_forgotten",
    ),
    status(
        Kind.BOUND,
        "who is far away does not hear of every step",
        "        return step and document.hears_every_step(told, known.place)\n",
        "        return step\n",
        STEP,
    ),
    status(
        Kind.FACTS,
        "what concerns all reaches who was told an older document",
        "        if known.serial < self._all_since or now >= known.due:\n",
        "        if now >= known.due:\n",
        f"{STATUS}::test_what_concerns_all_reaches_all_at_once",
    ),
    tokens(
        Kind.TOKEN,
        "a place's token has a key of its own",
        "hmac.digest(secret.encode(), _PURPOSE, hashlib.sha256)",
        "secret.encode()",
        f"{TOKENS}::test_a_places_token_is_no_buyers_token",
    ),
    tokens(
        Kind.TOKEN,
        "a place's token is good for its event only",
        'if claims["event"] != event or not subject_ok',
        "if not subject_ok",
        BAD_TOKEN,
    ),
    tokens(
        Kind.TOKEN,
        "a place's token runs out",
        '            if float(claims["exp"]) + LEEWAY_SECONDS <= self._clock():\n',
        "            if self._clock() < 0:\n",
        f"{TOKENS}::test_a_token_lasts_for_hours",
    ),
    In("gateway/room/routes.py")(
        Kind.TOKEN,
        "outside a demo a place is its signed-in buyer's",
        "        if buyer.id != token.buyer:\n",
        "        if not buyer.id:\n",
        f"{TOKENS}::test_outside_a_demo_only_the_organisers_sign_in_says_who_somebody_is",
    ),
    streams(
        Kind.BOUND,
        "streams have a bound",
        "        if self.open >= self._streams_max:\n",
        "        if self.open < 0:\n",
        f"{STREAMS}::test_without_a_good_token_there_is_no_stream_and_at_the_bound_there_is_none",
    ),
    streams(
        Kind.BOUND,
        "streams that begin in one moment are counted",
        "        self.open += 1\n",
        "        self.open += self.open\n",
        f"{STREAMS}::test_of_many_who_come_in_one_moment_no_more_are_let_in_than_the_bound",
    ),
    streams(
        Kind.BOUND,
        "who takes nothing keeps no stream",
        "            async with asyncio.timeout(SEND_SECONDS_MAX):\n",
        "            async with asyncio.timeout(None):\n",
        f"{STREAMS}::test_who_reads_nothing_keeps_no_stream",
    ),
    streams(
        Kind.BOUND,
        "what a stream's client has not read has a bound",
        "        if len(self._frames) >= UNREAD_MAX:\n",
        "        if len(self._frames) < 0:\n",
        f"{STREAMS}::test_what_nobody_reads_is_bounded_and_ends_the_stream",
    ),
    In("gateway/http_protocol.py")(
        Kind.BOUND,
        "a stream ends with its gateway",
        "        if cycle is not None and not cycle.response_complete and _STREAM in self.url:\n",
        "        if cycle is not None and not self.url:\n",
        f"{STREAMS}::test_a_stream_ends_when_its_gateway_stops",
    ),
]
