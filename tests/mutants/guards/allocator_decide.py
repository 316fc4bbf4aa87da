"""Faults in the decision, and in the memory it is made on."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

DECIDE = "tests/allocator/test_decide.py"
LOAD = "tests/allocator/test_load.py"
LOOP = "tests/allocator/test_loop.py"
MEMORY = "tests/allocator/test_memory.py"
CROSSROADS = "tests/allocator/test_crossroads.py"
SEATING = "tests/allocator/test_seating.py"
UP_TO = f"{SEATING}::test_up_to_takes_what_there_is"
decide = In("allocator/decide.py")
choosing = In("allocator/choosing.py")
layout = In("allocator/layout.py")
seating = In("allocator/seating.py")
memory = In("allocator/memory.py")
MOVING = "tests/allocator/test_moving.py"
CHANGES = "tests/allocator/test_hold_changes.py"
NO_TRACE = f"{MEMORY}::test_a_discarded_batch_leaves_no_trace_of_any_kind_of_change"

MUTANTS: list[Mutant] = [
    decide(
        Kind.CONDITION,
        "only the holder moves a hold",
        " or old.buyer != buyer or old.expires_at",
        " or old.expires_at",
        f"{MOVING}::test_only_a_hold_of_ones_own_that_runs_can_be_moved_and_no_more_is_told",
    ),
    decide(
        Kind.EXPIRY,
        "a hold that ran out is not moved",
        " or old.expires_at <= batch_time or too_new:",
        " or too_new:",
        f"{MOVING}::test_only_a_hold_of_ones_own_that_runs_can_be_moved_and_no_more_is_told",
    ),
    decide(
        Kind.CONDITION,
        "a hold that the batch itself gave is not moved",
        " or old.expires_at <= batch_time or too_new:",
        " or old.expires_at <= batch_time:",
        f"{MOVING}::test_a_hold_can_be_moved_once_in_a_batch_and_none_that_the_batch_itself_gave",
    ),
    decide(
        Kind.EXPIRY,
        "moving a hold gives no more time",
        "found[1].areas, old.expires_at)",
        "found[1].areas, old.expires_at + 1_000_000)",
        f"{MOVING}::test_the_new_hold_ends_when_the_old_one_would_have_and_the_old_seats_are_free",
    ),
    choosing(
        Kind.BOUND,
        "what is moved does not count against the limit, and no more than that",
        "        left += more.quantity\n",
        "        left += more.quantity + 1\n",
        f"{MOVING}::test_a_move_to_what_cannot_be_had_leaves_everything_as_it_was_and_says_so",
    ),
    In("allocator/follow.py")(
        Kind.REPLAY,
        "a standby notices a move of a hold that it does not know",
        '            assert moved is not None, "a hold that was moved was active"\n',
        "            if moved is None:\n                return\n",
        "tests/allocator/test_moving_for_real.py::test_a_standby_that_does_not_know_the_old_hold_says_so",
    ),
    memory(
        Kind.OVERLAY,
        "a discarded batch takes an extension back",
        "            self._extended.append((hold, by_us))\n            hold.expires_at += by_us\n",
        "            hold.expires_at += by_us\n",
        NO_TRACE,
    ),
    memory(
        Kind.OVERLAY,
        "a discarded batch puts back what was given back in part",
        "        self._holds.append((hold_id, hold))\n        memory.holds[hold_id] = hold.without(freed)\n",
        "        memory.holds[hold_id] = hold.without(freed)\n",
        NO_TRACE,
    ),
    memory(
        Kind.EXPIRY,
        "an extended hold is due at its new time",
        "            heapq.heappush(self._memory.expiries, (hold.expires_at, hold_id))\n",
        "",
        f"{MEMORY}::test_an_extended_hold_is_due_at_its_new_time_and_nothing_is_left_of_the_old",
    ),
    choosing(
        Kind.OVERLAY,
        "what was counted free for a move is as it was afterwards",
        "            memory.hold_of[seat] = hold_id\n        memory.seating.hide(hold.seats)\n",
        "            memory.hold_of[seat] = hold_id\n",
        f"{MOVING}::test_a_move_to_what_cannot_be_had_leaves_everything_as_it_was_and_says_so",
    ),
    decide(
        Kind.FACTS,
        "facts come before requests",
        "    for fact in facts:\n        _take_fact(memory, overlay, fact, decided)\n    _expire(",
        "    _expire(",
        f"{LOOP}::test_facts_are_consumed_before_requests_and_free_their_seats_for_them",
        more=(
            (
                "asks[start : start + piece], decided, offering)\n        yield decided\n",
                (
                    "asks[start : start + piece], decided, offering)\n        yield decided\n"
                    "    for fact in facts:\n        _take_fact(memory, overlay, fact, decided)\n"
                    "    yield decided\n"
                ),
            ),
        ),
    ),
    decide(
        Kind.FACTS,
        "a paid hold keeps its seats",
        "    if fact.kind == FactKind.PAID:\n        return overlay.settle(fact.hold_id)\n",
        "    if fact.kind == FactKind.PAID:\n        return overlay.free(fact.hold_id)\n",
        f"{DECIDE}::test_a_paid_hold_keeps_its_seats_and_what_it_counts",
    ),
    decide(
        Kind.FACTS,
        "lost time that the loaded tables show already is not given again",
        "extend=fact.fact_id not in memory.reflected",
        "extend=True",
        f"{DECIDE}::test_a_fact_that_the_loaded_tables_show_already_gives_no_time_back_a_second_time",
    ),
    decide(
        Kind.FACTS,
        "what the loaded tables show of a hold is not done to it again",
        "    if fact.fact_id in memory.reflected:  # the",
        "    if fact.fact_id < 0:  # the",
        f"{DECIDE}::test_what_the_loaded_tables_show_of_a_hold_is_not_done_to_it_a_second_time",
        f"{CHANGES}::test_memory_loaded_with_the_change_in_its_tables_does_not_make_it_again",
    ),
    decide(
        Kind.EXPIRY,
        "while paused holds run out by the moment of the pause",
        "_expire(memory, overlay, expiry_now(memory, batch_time), decided)",
        "_expire(memory, overlay, batch_time, decided)",
        f"{DECIDE}::test_while_paused_no_request_may_be_decided_and_no_hold_runs_out_that_ran_at_the_pause",
    ),
    decide(
        Kind.EXPIRY,
        "a mass expiry is spread over batches",
        "while len(decided.expired) < EXPIRIES_PER_BATCH_MAX:",
        "while True:",
        f"{DECIDE}::test_a_mass_expiry_is_spread_over_batches_oldest_first",
    ),
    choosing(
        Kind.CONDITION,
        "a taken seat is not given",
        "        if memory.hold_of[seat]:\n            return Refused",
        "        if memory.hold_of[seat] > 1 << 62:\n            return Refused",
        f"{DECIDE}::test_of_two_who_want_the_same_seat_the_first_has_it_and_the_other_is_told_which_is_taken",
    ),
    choosing(
        Kind.BOUND,
        "a buyer gets no more than the limit",
        "if option.quantity > left:",
        "if option.quantity > left + 1_000:",
        f"{DECIDE}::test_a_buyer_gets_no_more_than_the_limit_over_all_holds_and_orders",
    ),
    choosing(
        Kind.BOUND,
        "who takes what there is gets no more than the limit",
        "named[:left] if",
        "named if",
        UP_TO,
        more=(("min(party.quantity, left - len(seats))", "party.quantity"),),
    ),
    choosing(
        Kind.BOUND,
        "who has all the limit allows gets nothing more by asking for less",
        "    if left <= 0:\n",
        "    if False:\n",
        UP_TO,
    ),
    choosing(
        Kind.CONDITION,
        "of the named seats only free ones are taken",
        "[seat for seat in seats if not memory.hold_of[seat]]",
        "list(seats)",
        UP_TO,
    ),
    choosing(
        Kind.CONDITION,
        "what one party of a choice got is taken for the next",
        "                seating.hide(part)\n",
        "",
        f"{SEATING}::test_of_two_parties_the_second_sees_what_the_first_got",
    ),
    choosing(
        Kind.CONDITION,
        "seats named beside a party are not the party's",
        "    seating.hide(hidden)\n    last",
        "    last",
        f"{SEATING}::test_up_to_takes_what_there_is",
    ),
    choosing(
        Kind.OVERLAY,
        "a choice that was only looked at leaves no trace",
        "        seating.show(hidden)\n",
        "        pass\n",
        f"{SEATING}::test_fallbacks_are_decided_in_one_go_and_the_answer_says_which_it_was",
        f"{DECIDE}::test_any_history_is_decided_as_the_plain_reference_decides_it",
    ),
    choosing(
        Kind.CONDITION,
        "the limit is told of where but for it more could be had",
        "if refusal is None or refusal.outcome is not Outcome.LIMIT_REACHED is chosen.outcome:",
        "if refusal is None:",
        f"{SEATING}::test_the_first_choice_is_the_one_whose_refusal_is_told_unless_the_limit_stood_in_the_way",
    ),
    seating(
        Kind.CONDITION,
        "no single seat is left where another way is there",
        "step, found = Step.TOGETHER, self.leaving_none[quantity] & mask",
        "step, found = Step.TOGETHER, self.fits[quantity] & mask",
        f"{SEATING}::test_neighbours_leaving_no_single_seat_go_before_a_better_row",
    ),
    seating(
        Kind.CONDITION,
        "an aisle is no company",
        "(free[at - 1] and not free[at - 2]) or (free[behind] and not free[behind + 1])",
        "False",
        f"{SEATING}::test_the_block_of_a_row_that_is_nearest_to_the_stage_goes_first",
    ),
    seating(
        Kind.CONDITION,
        "nobody of a parted party sits alone who need not",
        "in chain(in_company, range(max(2, quantity // 2 + 1), quantity + 1)):",
        "in range(quantity, 1, -1):",
        f"{SEATING}::test_who_is_left_alone_is_so_only_when_there_is_no_other_way",
    ),
    seating(
        Kind.BOUND,
        "a large party is not parted",
        "quantity > APART_MAX or ",
        "",
        f"{SEATING}::test_a_party_too_large_for_it_is_not_parted",
    ),
    seating(
        Kind.OVERLAY,
        "parts that were only tried leave no trace",
        "        self.show(placed)\n        return sorted",
        "        return sorted",
        f"{SEATING}::test_parts_that_were_only_tried_leave_no_trace",
    ),
    seating(
        Kind.CONDITION,
        "accessible places are kept for who asks for them",
        "self.free[slot] = free & layout.open_slots[slot]",
        "self.free[slot] = free",
        f"{DECIDE}::test_any_history_is_decided_as_the_plain_reference_decides_it",
    ),
    seating(
        Kind.CONDITION,
        "what a block seats is looked at anew when it changed",
        "            self.changed.add(layout.stretch_of[seat])\n",
        "",
        f"{SEATING}::test_a_row_that_was_given_away_is_not_offered_to_the_next_party",
    ),
    seating(
        Kind.CONDITION,
        "what is named instead is free at that decision",
        "if all_of_them or not self.free.startswith(",
        "if all_of_them and not self.free.startswith(",
        f"{SEATING}::test_what_is_named_instead_follows_every_change",
    ),
    seating(
        Kind.CONDITION,
        "what is named instead is the best after a seat came free",
        "self._forget_runs(rank, all_of_them=stretch in self._came_free)",
        "self._forget_runs(rank, all_of_them=False)",
        f"{SEATING}::test_what_is_named_instead_follows_every_change",
    ),
    seating(
        Kind.CONDITION,
        "what is named instead goes with its run",
        "self._instead[quantity].pop(one, None)",
        "pass",
        f"{SEATING}::test_what_is_named_instead_follows_every_change",
    ),
    seating(
        Kind.CONDITION,
        "a nearer block that has seats again is named",
        "            if largest > before:\n                self._instead[quantity].clear()\n",
        "",
        f"{SEATING}::test_what_is_named_instead_follows_every_change",
    ),
    seating(
        Kind.CONDITION,
        "a seat that came free is looked at before anything is named",
        "        if self._came_free:\n            self.refresh()\n        elif self.changed:",
        "        if self.changed:",
        f"{SEATING}::test_what_is_named_instead_follows_every_change",
    ),
    seating(
        Kind.CONDITION,
        "of two equally good runs the first is taken",
        "costs[before + quantity] - costs[before] <= costs[at + quantity] - costs[at]",
        "costs[before + quantity] - costs[before] < costs[at + quantity] - costs[at]",
        f"{SEATING}::test_the_best_run_is_the_nearest_to_the_stage_and_of_equal_ones_the_first",
        f"{SEATING}::test_of_equal_ways_the_one_nearest_to_the_stage_wins_and_then_the_first",
    ),
    layout(
        Kind.CONDITION,
        "a row without one nearest point is looked at whole",
        "return first + least if falls and rises else -1",
        "return first + least",
        f"{SEATING}::test_the_best_run_is_the_nearest_to_the_stage_and_of_equal_ones_the_first",
    ),
    choosing(
        Kind.CONDITION,
        "no more places are given than there are",
        "if memory.areas_free[area] < quantity:",
        "if memory.areas_free[area] < 0:",
        f"{DECIDE}::test_a_request_is_all_or_nothing_over_seats_best_and_areas",
    ),
    decide(
        Kind.PAUSE,
        "while paused nothing is decided",
        "    assert not asks or memory.policy.state is not EventState.PAUSED,"
        ' "while paused nothing is decided"\n',
        "",
        f"{DECIDE}::test_while_paused_no_request_may_be_decided_and_no_hold_runs_out_that_ran_at_the_pause",
    ),
    memory(
        Kind.EXPIRY,
        "a hold is due at its time, not after it",
        "expiry is not None and expiry <= now",
        "expiry is not None and expiry < now",
        f"{MEMORY}::test_a_hold_is_due_at_its_time_and_not_before",
    ),
    memory(
        Kind.EXPIRY,
        "time stands still at the pause",
        "return min(batch_time, memory.policy.paused_at)",
        "return batch_time",
        f"{MEMORY}::test_while_paused_the_time_for_expiries_stands_at_the_pause",
    ),
    memory(
        Kind.EXPIRY,
        "a hold whose end moved does not run out by its old end",
        "if hold is not None and hold.expires_at == expires_at:",
        "if hold is not None:",
        f"{DECIDE}::test_resuming_gives_every_hold_that_ran_at_the_pause_the_lost_time_back",
        more=(("        self._rebuild_expiries()\n\n    def recategorise", "\n    def recategorise"),),
    ),
    memory(
        Kind.PAUSE,
        "only holds that ran at the pause get the lost time back",
        "            if hold.expires_at > since:\n",
        "            if True:\n",
        f"{CROSSROADS}::test_a_hold_that_was_over_at_the_pause_gets_no_time_back",
    ),
    memory(
        Kind.FACTS,
        "a seat changes hands only from who has it",
        "            assert hold_of[seat] == had, ",
        "            assert hold_of[seat] != 1 << 70, ",
        f"{MEMORY}::test_a_hold_frees_only_seats_that_still_name_it",
        f"{MEMORY}::test_only_free_seats_are_claimed_and_only_places_within_capacity",
        f"{MEMORY}::test_only_free_seats_are_blocked_and_only_blocked_ones_unblocked",
        f"{MEMORY}::test_what_operators_sell_was_off_sale_and_does_not_count_for_the_buyer",
        f"{MEMORY}::test_only_what_the_order_has_is_taken_back",
    ),
    memory(
        Kind.OVERLAY,
        "seats of a batch that is not true are as they were",
        "            self._seats.append((seat, had))\n",
        "",
        NO_TRACE,
        f"{MEMORY}::test_a_discarded_unblock_leaves_the_seats_and_places_blocked",
    ),
    memory(
        Kind.OVERLAY,
        "places stay within their area's capacity",
        '        assert 0 <= areas_free[area] <= self._memory.layout.area_capacities[area], "places within'
        ' capacity"\n',
        "",
        f"{MEMORY}::test_only_free_seats_are_claimed_and_only_places_within_capacity",
    ),
    memory(
        Kind.OVERLAY,
        "a discarded batch leaves no trace",
        "        memory = self._memory\n        if memory.layout is not self._layout:\n",
        "        memory = self._memory\n        if memory:\n            return\n"
        "        if memory.layout is not self._layout:\n",
        NO_TRACE,
    ),
    memory(
        Kind.OVERLAY,
        "a discarded batch gives its policy back",
        "        memory.policy = self._policy\n",
        "",
        NO_TRACE,
    ),
    memory(
        Kind.OVERLAY,
        "a discarded batch takes lost time back",
        "            hold.expires_at -= extend_us\n",
        "            pass\n",
        NO_TRACE,
    ),
    memory(
        Kind.OVERLAY,
        "a discarded batch gives seats back in the order they were taken",
        "in reversed(self._seats):",
        "in self._seats:",
        NO_TRACE,
    ),
    memory(
        Kind.OVERLAY,
        "a discarded batch gives places back",
        "            memory.areas_free[area] = free\n",
        "            pass\n",
        NO_TRACE,
    ),
    memory(
        Kind.OVERLAY,
        "a discarded batch gives buyers their counts back",
        "in reversed(self._counts):",
        "in ():",
        NO_TRACE,
    ),
    memory(
        Kind.OVERLAY,
        "seats that came free are found again",
        "        memory.seating.show(seats)\n",
        "",
        f"{CROSSROADS}::test_a_seat_that_came_free_is_found_by_the_next_search",
    ),
    In("allocator/load.py")(
        Kind.SNAPSHOT,
        "memory is loaded from one moment",
        '"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"',
        '"SET TRANSACTION ISOLATION LEVEL READ COMMITTED READ ONLY"',
        f"{CROSSROADS}::test_memory_loaded_while_a_batch_commits_is_of_one_moment",
    ),
    In("allocator/load.py")(
        Kind.SNAPSHOT,
        "blocked seats and orders are loaded as taken",
        "AND state <> 'available'\"",
        "AND state = 'held'\"",
        f"{LOAD}::test_a_blocked_seat_and_an_order_are_loaded_as_taken",
    ),
    In("allocator/follow.py")(
        Kind.SNAPSHOT,
        "a standby notices that its memory does not fit the ledger",
        "        except (AssertionError, KeyError, msgspec.DecodeError) as error:\n"
        '            raise Mismatch(f"batch {batch_no}: {error}") from error\n',
        "        except (AssertionError, KeyError, msgspec.DecodeError):\n            pass\n",
        f"{LOAD}::test_a_standby_whose_memory_does_not_fit_the_ledger_says_so",
    ),
]
