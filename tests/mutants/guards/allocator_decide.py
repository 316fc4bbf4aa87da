"""Faults in the decision, and in the memory it is made on."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

DECIDE = "tests/allocator/test_decide.py"
LOAD = "tests/allocator/test_load.py"
LOOP = "tests/allocator/test_loop.py"
MEMORY = "tests/allocator/test_memory.py"
CROSSROADS = "tests/allocator/test_crossroads.py"
decide = In("allocator/decide.py")
memory = In("allocator/memory.py")
NO_TRACE = f"{MEMORY}::test_a_discarded_batch_leaves_no_trace_of_any_kind_of_change"

MUTANTS: list[Mutant] = [
    decide(
        Kind.FACTS,
        "facts come before requests",
        "    for fact in facts:\n        _take_fact(memory, overlay, fact, decided)\n    _expire(",
        "    _expire(",
        f"{LOOP}::test_facts_are_consumed_before_requests_and_free_their_seats_for_them",
        more=(
            (
                "asks[start : start + piece], decided)\n        yield decided\n",
                (
                    "asks[start : start + piece], decided)\n        yield decided\n    for fact in facts:\n"
                    "        _take_fact(memory, overlay, fact, decided)\n    yield decided\n"
                ),
            ),
        ),
    ),
    decide(
        Kind.FACTS,
        "a paid hold keeps its seats",
        "return overlay.settle(fact.hold_id) if fact.kind == FactKind.PAID else overlay.free(fact.hold_id)",
        "return overlay.free(fact.hold_id)",
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
    decide(
        Kind.CONDITION,
        "a taken seat is not given",
        "        if hold_of[seat]:\n            return Outcome.TAKEN",
        "        if hold_of[seat] > 1 << 62:\n            return Outcome.TAKEN",
        f"{DECIDE}::test_of_two_who_want_the_same_seat_the_first_has_it_and_the_other_is_told_which_is_taken",
    ),
    decide(
        Kind.BOUND,
        "a buyer gets no more than the limit",
        "> memory.policy.seats_per_buyer_max:",
        "> 1_000 * memory.policy.seats_per_buyer_max:",
        f"{DECIDE}::test_a_buyer_gets_no_more_than_the_limit_over_all_holds_and_orders",
    ),
    decide(
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
        more=(("            self._rebuild_expiries()\n        memory.policy", "        memory.policy"),),
    ),
    memory(
        Kind.PAUSE,
        "only holds that ran at the pause get the lost time back",
        "                if hold.expires_at > paused_at:\n",
        "                if True:\n",
        f"{CROSSROADS}::test_a_hold_that_was_over_at_the_pause_gets_no_time_back",
    ),
    memory(
        Kind.FACTS,
        "a hold frees only seats that still name it",
        '            assert memory.hold_of[seat] == hold_id, "a hold frees only seats that still name it"\n',
        "",
        f"{MEMORY}::test_a_hold_frees_only_seats_that_still_name_it",
    ),
    memory(
        Kind.OVERLAY,
        "only free seats are claimed",
        '            assert memory.hold_of[seat] == 0, "only free seats are claimed"\n',
        "",
        f"{MEMORY}::test_only_free_seats_are_claimed_and_only_places_within_capacity",
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
        "        memory = self._memory\n        memory.policy = self._policy\n",
        "        memory = self._memory\n        if memory:\n            return\n"
        "        memory.policy = self._policy\n",
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
        "searches begin anew where seats came free",
        "        if hold.seats:\n            memory.search_from.clear()\n",
        "",
        f"{CROSSROADS}::test_a_seat_that_came_free_is_found_by_a_search_that_was_past_it",
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
