"""Faults in the batch loop and in what it reads."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

INTAKE = "tests/allocator/test_intake.py"
LOOP = "tests/allocator/test_loop.py"
FAULTS = "tests/allocator/test_loop_faults.py"
RUNS_OUT = "tests/allocator/test_runs_out.py"
LOSS = "tests/allocator/test_stream_loss.py"
TRIMMING = "tests/allocator/test_trimming.py"
SCHEDULE = "tests/allocator/test_schedule.py"
PAUSE = "tests/allocator/test_pause.py"
CROSSROADS = "tests/allocator/test_crossroads.py"
CONFLICTS_OF = "tests/allocator/test_pieces.py::test_a_conflict_is_known_by_its_arrival_in_its_own_event"
DIES_UNSEEN = f"{FAULTS}::test_a_commit_that_never_arrived_is_decided_again_when_its_backend_is_gone"
truth = In("allocator/truth.py")
loop = In("allocator/loop.py")
intake = In("allocator/intake.py")
memory = In("allocator/memory.py")

LOOPS = [
    loop(
        Kind.OVERLAY,
        "a batch that failed is taken back from memory",
        "            overlay.discard()\n            truth.rollback()",
        "            truth.rollback()",
        f"{FAULTS}::test_memory_is_as_before_while_a_batch_is_decided_again",
    ),
    loop(
        Kind.OVERLAY,
        "a batch that failed is rolled back",
        "            overlay.discard()\n            truth.rollback()",
        "            overlay.discard()",
        f"{FAULTS}::test_law_1_fires_as_an_alert_and_only_the_request_it_is_about_is_invalid",
    ),
    loop(
        Kind.FENCE,
        "memory loaded after a COMMIT that came late is not decided on with the keys of before",
        "        if cursor.batch_no != self.cursor.batch_no:\n            raise Fenced\n",
        "",
        f"{FAULTS}::test_a_commit_given_up_for_lost_that_comes_late_is_not_decided_again",
    ),
    loop(
        Kind.OVERLAY,
        "a batch becomes memory only when its COMMIT is known",
        "        self._commit(batch_no, overlay)\n        overlay.keep(batch_no, begun.batch_time)\n",
        "        overlay.keep(batch_no, begun.batch_time)\n        self._commit(batch_no, overlay)\n",
        DIES_UNSEEN,
    ),
    loop(
        Kind.COMMIT,
        "after a lost reply the truth is asked",
        "became_true = self._truth.committed(batch_no)",
        "became_true = self._truth.committed(batch_no) or True",
        DIES_UNSEEN,
    ),
    loop(
        Kind.COMMIT,
        "a batch that was lost with its COMMIT is taken back from memory",
        "            if not became_true:\n                overlay.discard()\n",
        "            if not became_true:\n",
        DIES_UNSEEN,
    ),
    loop(
        Kind.COUNT,
        "after a short write memory is loaded anew",
        "                if tried:\n",
        "                if tried > TRIES_MAX:\n",
        f"{FAULTS}::test_a_seat_blocked_behind_the_allocators_back_is_answered_from_the_truth",
    ),
    loop(
        Kind.HALVING,
        "one request that cannot be decided does not spoil the others'",
        "if len(asks) > 1 else",
        "if len(asks) > 1_000_000 else",
        f"{FAULTS}::test_law_1_fires_as_an_alert_and_only_the_request_it_is_about_is_invalid",
    ),
    loop(
        Kind.HALVING,
        "expiries that lose say nothing against a request",
        "            rows = self._attempt((), self.cursor.arrival if asks else arrival)\n",
        "            rows = []\n",
        f"{RUNS_OUT}::test_expiries_that_lose_again_and_again_say_nothing_against_a_request",
    ),
    loop(
        Kind.HALVING,
        "an answer of invalid for what cannot be decided is an alert",
        "log.error(said, self._event, about",
        "log.debug(said, self._event, about",
        f"{FAULTS}::test_law_1_fires_as_an_alert_and_only_the_request_it_is_about_is_invalid",
    ),
    loop(
        Kind.HALVING,
        "the cursor moves with the last half, not with the first",
        "self._make_true(asks[:middle], self.cursor.arrival)",
        "self._make_true(asks[:middle], arrival)",
        f"{FAULTS}::test_a_cursor_moves_only_when_all_of_what_was_read_is_decided",
    ),
    loop(
        Kind.HALVING,
        "the cursor moves with the last part of what was gathered",
        "arrival = through if last else self.cursor.arrival",
        "arrival = through",
        f"{CROSSROADS}::test_the_cursor_stays_until_the_last_part_of_what_was_gathered_is_decided",
    ),
    loop(
        Kind.PAUSE,
        "a pause that comes with requests leaves them undecided",
        "            if asks and _paused_after(memory, begun.facts):\n",
        "            if False:\n",
        f"{PAUSE}::test_requests_of_a_pause_wait_and_are_decided_in_their_order_when_it_ends",
    ),
    loop(
        Kind.PAUSE,
        "of several policies the last says whether it is a pause",
        "(policies[-1] if policies",
        "(policies[0] if policies",
        f"{CROSSROADS}::test_new_rules_and_a_pause_that_come_with_requests_are_a_pause",
    ),
    loop(
        Kind.PAUSE,
        "while paused nothing is read to be decided",
        "        if self.memory.policy.state is EventState.PAUSED:\n            self._wait_paused()\n"
        "            return\n",
        "",
        f"{PAUSE}::test_who_waits_out_a_pause_is_read_once_and_not_turn_after_turn",
    ),
    loop(
        Kind.STREAM,
        "an owner sees that ids are above the cursor",
        "if self._arrivals.ensure_above(cursor):",
        "if False:",
        f"{LOSS}::test_a_server_whose_clock_is_behind_the_cursor_gives_ids_that_are_read",
    ),
    loop(
        Kind.STREAM,
        "what is undecided below the cursor is appended again",
        "            if again:\n",
        "            if False:\n",
        f"{LOSS}::test_entries_behind_the_cursor_are_appended_again_and_decided_once_under_their_arrival",
    ),
    loop(
        Kind.STREAM,
        "only what was looked at below the cursor is trimmed",
        "self._arrivals.trim_through(through, seen=seen)",
        "self._arrivals.trim_through(cursor, seen=seen)",
        f"{CROSSROADS}::test_more_than_one_look_at_what_is_below_the_cursor_forgets_none_of_it",
    ),
    loop(
        Kind.STREAM,
        "a batch trims only when it moved the cursor",
        "trim_through=through if moved else None",
        "trim_through=through",
        f"{TRIMMING}::test_after_a_batch_that_was_trimmed_nobody_looks_below_it",
    ),
    loop(
        Kind.STREAM,
        "what was appended again is trimmed only while that is in the stream",
        "self._arrivals.trim_through(through, seen=seen)",
        "self._arrivals.trim_through(through)",
        f"{TRIMMING}::test_what_was_appended_again_is_trimmed_only_while_that_is_in_the_stream",
    ),
    loop(
        Kind.STREAM,
        "what was gathered in several reads is trimmed only while the last of each is in the stream",
        "self._decide(batch, [_newest(read) for read in reads])",
        "self._decide(batch, [_newest(reads[-1])])",
        f"{TRIMMING}::test_what_came_below_what_is_being_gathered_is_decided_too",
    ),
    loop(
        Kind.STREAM,
        "where a batch could not be trimmed, somebody may stand below it",
        "                self._look_below = True\n",
        "                pass\n",
        f"{TRIMMING}::test_what_came_below_a_batch_after_it_was_read_is_decided_too",
    ),
    loop(
        Kind.STREAM,
        "who may stand below the cursor is looked for before anything else is read",
        "if self._look_below and not self._ahead.holds(self.cursor.arrival):",
        "if False:",
        f"{TRIMMING}::test_what_came_below_the_cursor_before_more_was_read_is_decided_too",
    ),
    loop(
        Kind.STREAM,
        "what was read ahead is decided before the stream is made anew",
        "if self._look_below and not self._ahead.holds(self.cursor.arrival):",
        "if self._look_below:",
        f"{TRIMMING}::test_what_was_read_ahead_is_decided_before_the_stream_is_made_anew",
    ),
    loop(
        Kind.STREAM,
        "nothing is read ahead of a look below the cursor",
        "        if not self._look_below:\n            self._ahead.start()\n",
        "        self._ahead.start()\n",
        f"{TRIMMING}::test_nothing_is_read_ahead_of_a_look_below_the_cursor",
    ),
    loop(
        Kind.STREAM,
        "after a loss what is asked again is gathered first",
        "if self.memory.batch_no and was_created(entries):",
        "if False:",
        f"{LOSS}::test_who_asks_again_while_the_allocator_gathers_still_goes_first",
    ),
    loop(
        Kind.STREAM,
        "while the allocator gathers every gateway is told that the stream was lost",
        "        self._arrivals.publish([stream_lost(self._event)])\n",
        "",
        f"{LOSS}::test_while_the_allocator_gathers_every_gateway_is_told_to_ask_again",
    ),
    In("gateway/events.py")(
        Kind.STREAM,
        "a gateway that is told that the stream was lost asks again",
        "        if delta.state == STREAM_LOST:\n",
        "        if False:\n",
        "tests/gateway/test_lost.py"
        "::test_told_that_the_stream_was_lost_it_appends_again_what_another_gateway_would_overtake",
    ),
    loop(
        Kind.STREAM,
        "after a loss nothing is decided before gateways could be told",
        "        self._arrivals.publish([stream_lost(self._event)])\n",
        "        self._publish([stream_lost(self._event)])\n",
        f"{LOSS}::test_nothing_is_decided_before_gateways_could_be_told_that_the_stream_was_lost",
    ),
    loop(
        Kind.CLOCK,
        "the loop looks at the schedule once a second",
        " or self._monotonic() < self._look_at:",
        ":",
        f"{SCHEDULE}::test_a_time_that_an_operator_sets_later_is_seen_by_a_loop_that_looks_once_a_second",
    ),
    loop(
        Kind.CLOCK,
        "the loop sleeps no longer than until the opening",
        "            left_ms = int((self._look_at - self._monotonic()) * 1000)\n",
        "            pass\n",
        f"{SCHEDULE}::test_the_loop_sleeps_no_longer_than_until_the_opening_and_opens_once",
    ),
    loop(
        Kind.CLOCK,
        "an owner without stream opens on time",
        'sale begins.\n        """\n        self._open_when_due()\n',
        'sale begins.\n        """\n',
        f"{SCHEDULE}::test_an_owner_without_stream_opens_on_time_too",
    ),
    In("allocator/readahead.py")(
        Kind.READ_AHEAD,
        "what was read ahead of another cursor is dropped",
        "if ahead is not None and ahead[0] == after else",
        "if ahead is not None else",
        f"{CROSSROADS}::test_a_batch_that_was_read_ahead_does_not_overtake_one_that_was_put_off",
    ),
]

READING = [
    In("allocator/keys.py")(
        Kind.DEDUPE,
        "a key that was there before is suspected",
        "return len(hashes) == before",
        "return False",
        f"{LOOP}::test_a_repeat_gets_the_same_answer_from_the_ledger_and_no_second_row",
        f"{INTAKE}::test_a_key_is_suspected_from_the_second_time_on",
    ),
    In("allocator/keys.py")(
        Kind.DEDUPE,
        "keys that are there are noticed among many",
        "if hashes.isdisjoint(hashed):",
        "if True:",
        f"{INTAKE}::test_a_repeat_of_a_decided_key_gets_the_same_answer_and_is_not_decided_again",
    ),
    In("allocator/keys.py")(
        Kind.DEDUPE,
        "a key that is among many twice is noticed",
        "            if len(hashes) == before + len(hashed):\n",
        "            if True:\n",
        f"{INTAKE}::test_the_same_key_twice_in_a_batch_is_decided_once_and_both_gateways_hear_it",
    ),
    In("allocator/keys.py")(
        Kind.DEDUPE,
        "a key that is among many twice makes no others suspect",
        "            hashes.difference_update(hashed)\n",
        "",
        f"{INTAKE}::test_of_many_keys_only_those_that_were_there_are_suspected",
    ),
    intake(
        Kind.DEDUPE,
        "a conflict that was decided is not decided again",
        "        if conflict and ask.arrival in already:\n",
        "        if False:\n",
        f"{INTAKE}::test_a_conflict_that_its_gateway_appends_again_is_decided_once",
        f"{LOSS}::test_a_conflict_asked_again_by_its_gateway_is_in_the_ledger_once",
    ),
    intake(
        Kind.DEDUPE,
        "a conflict twice in a batch is decided once",
        "        if conflict and (same :=",
        "        if not key and (same :=",
        f"{INTAKE}::test_a_conflict_and_its_second_appending_in_one_batch_are_one_decision_told_twice",
    ),
    intake(
        Kind.DEDUPE,
        "what a half of a batch decided is looked up, too",
        "again = partly or arrived.asked_again",
        "again = arrived.asked_again",
        f"{FAULTS}::test_a_conflict_decided_in_one_half_of_a_batch_is_not_decided_again_by_the_next_owner",
    ),
    loop(
        Kind.DEDUPE,
        "what a part of what was gathered decided is looked up until all that was there is read",
        "self._partly = len(reads[-1]) >= self._batch_size_max",
        "self._partly = False",
        f"{FAULTS}::test_a_conflict_decided_from_what_was_gathered_is_not_decided_again_by_the_next_owner",
    ),
    intake(
        Kind.DEDUPE,
        "conflicts that are asked again are looked up",
        "conflicted = [ask.arrival for ask in asks if _differs(ask, decided)]",
        "conflicted = [ask.arrival for ask in asks if False]",
        f"{INTAKE}::test_a_conflict_that_its_gateway_appends_again_is_decided_once",
    ),
    *[
        In("allocator/sql.py")(Kind.DEDUPE, f"decided conflicts are {what}", old, new, CONFLICTS_OF)
        for what, old, new in (
            (
                "of this event",
                " WHERE event_id = %s AND kind = 'request' AND outcome = 'conflict' AND arrival",
                " WHERE (event_id = %s OR true) AND kind = 'request' AND outcome = 'conflict' AND arrival",
            ),
            (
                "conflicts and nothing else",
                "AND kind = 'request' AND outcome = 'conflict' AND arrival",
                "AND kind = 'request' AND arrival",
            ),
        )
    ],
    intake(
        Kind.DEDUPE,
        "a suspicion is looked up in the ledger",
        "decided = look_up([(asks[i].buyer, asks[i].request_id) for i in suspects])",
        "decided: dict[Key, Known] = {}",
        f"{INTAKE}::test_a_repeat_of_a_decided_key_gets_the_same_answer_and_is_not_decided_again",
    ),
    intake(
        Kind.DEDUPE,
        "other content under a decided key is a conflict",
        "if known is not None and known.want == ask.want:",
        "if known is not None:",
        f"{LOOP}::test_other_content_under_the_same_key_is_a_conflict_and_the_first_decision_stands",
    ),
    intake(
        Kind.DEDUPE,
        "other content under a key of the same batch is a conflict",
        "and batch.asks[mate].want == ask.want:",
        "and True:",
        f"{INTAKE}::test_the_same_key_with_other_content_in_a_batch_is_a_conflict_each_time",
    ),
    intake(
        Kind.DEDUPE,
        "a key twice in a batch is decided once",
        "            batch.echoes.append((gateway, mate))\n            continue\n",
        "            pass\n",
        f"{INTAKE}::test_the_same_key_twice_in_a_batch_is_decided_once_and_both_gateways_hear_it",
    ),
    intake(
        Kind.DEDUPE,
        "what goes first of one key is looked at anew when the order changes",
        "        suspects = list(range(len(asks)))  # of two equal keys the other one may come first now\n",
        "",
        f"{INTAKE}::test_a_repeat_that_goes_first_because_it_was_lost_is_still_a_repeat",
    ),
    intake(
        Kind.STREAM,
        "what the stream lost goes first by its first arrival",
        "    if arrived.asked_again:  #",
        "    if False:  #",
        f"{LOSS}::test_what_the_stream_lost_and_is_asked_again_goes_before_what_came_later",
        f"{INTAKE}::test_what_the_stream_lost_goes_first_by_the_arrival_that_was_acknowledged",
    ),
    intake(
        Kind.STREAM,
        "what is appended again keeps its first arrival",
        "first_arrival=entry.first_arrival or arrival",
        "first_arrival=arrival",
        f"{INTAKE}::test_entries_below_the_cursor_are_asked_again_unless_decided_and_keep_their_arrival",
    ),
    intake(
        Kind.STREAM,
        "what is decided is not appended again",
        "        if key not in decided or decided[key].want.encode() != want\n",
        "",
        f"{INTAKE}::test_entries_below_the_cursor_are_asked_again_unless_decided_and_keep_their_arrival",
    ),
    intake(
        Kind.STREAM,
        "of one key and content below the cursor the first is appended again",
        "waiting.setdefault((key, bytes(entry.want)), (raw_id.decode(), entry))",
        "waiting[key, bytes(entry.want)] = (raw_id.decode(), entry)",
        f"{INTAKE}::test_of_one_key_and_content_below_the_cursor_the_first_is_asked_again",
    ),
    intake(
        Kind.STREAM,
        "other content of a decided key is appended again too",
        "        if key not in decided or decided[key].want.encode() != want\n",
        "        if key not in decided\n",
        f"{INTAKE}::test_other_content_of_a_decided_key_is_asked_again_too",
    ),
    intake(
        Kind.STREAM,
        "an entry nobody can read is answered, not dropped",
        '            append(Ask(Arrival(arrival), "", arrival, "null", Wish(UNREADABLE)))\n'
        '            wait_at("")\n',
        "",
        f"{LOOP}::test_what_nobody_can_read_is_invalid_in_the_ledger_and_holds_up_nobody",
    ),
    intake(
        Kind.LEDGER,
        "names that the ledger cannot hold are not written",
        "readable = not rare or _is_writable(entry)",
        "readable = True",
        f"{INTAKE}::test_an_entry_nobody_can_read_is_invalid_under_its_arrival_and_never_dropped",
    ),
]

MUTANTS: list[Mutant] = [*LOOPS, *READING]
