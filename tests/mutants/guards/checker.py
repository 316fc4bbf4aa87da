"""Faults in the checker: what it must find when a law was broken (`bench/checks`)."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

CHECKER = "tests/checker/test_checker.py"
OVERTAKEN = "tests/checker/test_checker_overtaken.py"
TOUR = "tests/checker/test_checker_tour.py"
answers = In("bench/checks/answers.py")
lives = In("bench/checks/lives.py")
order = In("bench/checks/order.py")
tables = In("bench/checks/tables.py")
tour = In("bench/checks/tour.py")
walk = In("bench/checks/walk.py")

MUTANTS: list[Mutant] = [
    tables(
        Kind.CHECKER,
        "the checker sees a seat in two live holds",
        "        if len(holds) > 1:\n",
        "        if len(holds) > 2:\n",
        f"{CHECKER}::test_oversold",
    ),
    tables(
        Kind.CHECKER,
        "the checker sees an area over its capacity",
        "        if most > area.capacity:\n",
        "        if most > 2 * area.capacity:\n",
        f"{CHECKER}::test_oversold",
    ),
    tables(
        Kind.CHECKER,
        "the checker sees a gap between batches that no restore made",
        "        expected = truth.restored.get(last, last + 1)\n",
        "        expected = batch.batch_no\n",
        f"{CHECKER}::test_batches_go_on_further_up_only_where_a_restore_says_so",
    ),
    walk(
        Kind.CHECKER,
        "the checker sees a seat given while somebody has it",
        "            if holder is not None:\n",
        "            if False:\n",
        "tests/checker/test_checker_alone.py"
        "::test_a_ledger_that_gives_a_seat_that_is_held_is_oversold_though_no_client_tells",
    ),
    answers(
        Kind.CHECKER,
        "the checker sees two clients who believe in one seat",
        "    yield from _two_believe(seen, truth, walk)\n",
        "",
        f"{CHECKER}::test_oversold",
    ),
    answers(
        Kind.CHECKER,
        "the checker sees an accepted request that is in no ledger",
        "    elif accepted and not rows:\n",
        "    elif False:\n",
        f"{CHECKER}::test_lost",
    ),
    answers(
        Kind.CHECKER,
        "the checker sees a decision that nobody was told",
        "        if waited:\n",
        "        if False:\n",
        f"{CHECKER}::test_lost",
    ),
    answers(
        Kind.CHECKER,
        "the checker sees two decisions of one key",
        "    if len(decided) > 1:\n",
        "    if len(decided) > 2:\n",
        f"{CHECKER}::test_doubled",
    ),
    tables(
        Kind.CHECKER,
        "the checker sees a key decided twice in the ledger",
        "            if key in keys:\n",
        "            if False:\n",
        f"{CHECKER}::test_doubled",
    ),
    order(
        Kind.CHECKER,
        "the checker sees rows out of arrival order",
        "    yield from _ledger_order(truth)\n",
        "",
        f"{CHECKER}::test_reordered",
    ),
    order(
        Kind.CHECKER,
        "the checker sees who was refused what a later arrival got",
        "    yield from _refused_though_free(truth, walk)\n",
        "",
        f"{CHECKER}::test_reordered",
    ),
    order(
        Kind.CHECKER,
        "the checker sees who was overtaken after a loss",
        "    yield from _overtaken(truth, walk, losses)\n",
        "",
        f"{CHECKER}::test_reordered",
    ),
    walk(
        Kind.CHECKER,
        "the checker sees who was overtaken though a refusal of the same was right before",
        "        if self._behind and row.at in self._behind:\n",
        "        elif self._behind and row.at in self._behind:\n",
        f"{OVERTAKEN}::test_who_would_have_had_it_but_for_later_arrivals_was_overtaken",
    ),
    walk(
        Kind.CHECKER,
        "each who was overtaken is judged by its own arrival",
        "        if frees == self._frees and nothing_for <= order:\n",
        "        if frees == self._frees:\n",
        f"{OVERTAKEN}::test_who_arrived_later_is_judged_by_each_arrival_and_a_want_of_its_own",
    ),
    walk(
        Kind.CHECKER,
        "who was overtaken by what came free since is judged anew",
        "        if frees == self._frees and nothing_for <= order:\n",
        "        if frees >= 0 and nothing_for <= order:\n",
        f"{OVERTAKEN}::test_who_arrived_later_is_judged_by_each_arrival_and_a_want_of_its_own",
    ),
    lives(
        Kind.CHECKER,
        "an earlier arrival's seat was nobody's to lose",
        "life.row.arrival and life.since(seat) > order else None",
        "life.row.arrival else None",
        f"{OVERTAKEN}::test_who_would_not_have_had_it_all_the_same_was_not",
    ),
    lives(
        Kind.CHECKER,
        "an earlier arrival's places were nobody's to lose",
        "        while line and line[-1][0] > order and found < wanted:\n",
        "        while line and found < wanted:\n",
        f"{OVERTAKEN}::test_who_would_not_have_had_it_all_the_same_was_not",
    ),
    lives(
        Kind.CHECKER,
        "places of a hold that is over are nobody's any more",
        "            places = 0 if life.end is not None else dict(life.areas).get(area, 0)\n",
        "            places = dict(life.areas).get(area, 0)\n",
        f"{OVERTAKEN}::test_what_is_over_or_given_back_is_nobodys_any_more",
    ),
    lives(
        Kind.CHECKER,
        "a hold that was moved has its seats since it had them first",
        "        return self.kept_seats.get(seat) or arrival_order(self.row.arrival)\n",
        "        return arrival_order(self.row.arrival)\n",
        f"{OVERTAKEN}::test_a_hold_that_was_moved_is_no_later_for_what_it_had_before",
    ),
    lives(
        Kind.CHECKER,
        "a hold that was moved has its places since it had them first",
        "        return self.kept_areas.get(area) or arrival_order(self.row.arrival)\n",
        "        return arrival_order(self.row.arrival)\n",
        f"{OVERTAKEN}::test_places_that_were_moved_are_no_later_than_they_were_had_first",
    ),
    lives(
        Kind.CHECKER,
        "a seat that a later arrival's move set free was nobody's to lose",
        "            if self._moved_off.get(seat, order) > order:\n",
        "            if False:\n",
        f"{OVERTAKEN}::test_what_a_later_arrivals_move_set_free_was_not_to_be_had_in_order",
    ),
    lives(
        Kind.CHECKER,
        "places that a later arrival's move set free were nobody's to lose",
        "            if self._moved_off_area.get(area, order) > order:\n",
        "            if False:\n",
        f"{OVERTAKEN}::test_what_a_later_arrivals_move_set_free_was_not_to_be_had_in_order",
    ),
    order(
        Kind.CHECKER,
        "who may not have as much was not overtaken",
        " if limits.allow(row, could)), None)\n",
        "), None)\n",
        f"{OVERTAKEN}::test_who_may_not_have_as_much_lost_nothing",
    ),
    order(
        Kind.CHECKER,
        "the checker sees a place that got worse than acknowledged",
        "    yield from _arrivals_told(seen)\n",
        "",
        f"{CHECKER}::test_reordered",
    ),
    order(
        Kind.CHECKER,
        "the checker sees that who was answered first came later",
        "    yield from _acting_first(seen)\n",
        "",
        f"{CHECKER}::test_reordered",
    ),
    answers(
        Kind.CHECKER,
        "the checker sees an answer about another's hold",
        "        yield from _hold_ops(client, owners, states)\n",
        "",
        f"{CHECKER}::test_foreign_hold",
    ),
    answers(
        Kind.CHECKER,
        "the checker sees an answer that the ledger does not have",
        "            yield from _frame(buyer, frame, rows, owners)\n",
        "            pass\n",
        f"{CHECKER}::test_unexplained",
    ),
    tables(
        Kind.CHECKER,
        "the checker sees a payment that never reached the ledger",
        "    elif not waits and hold.state != (state := _state_of(life)):\n",
        "    elif not (state := hold.state):\n",
        "tests/checker/test_checker_states.py::test_a_state_that_the_ledger_does_not_have_is_unexplained",
    ),
    tables(
        Kind.CHECKER,
        "a fact that waits explains what the table is ahead of",
        "    elif not waits and hold.state != (state := _state_of(life)):\n",
        "    elif hold.state != (state := _state_of(life)):\n",
        "tests/checker/test_checker_states.py"
        "::test_a_payment_the_allocator_has_not_consumed_yet_explains_the_table",
    ),
    tables(
        Kind.CHECKER,
        "the checker sees tables that contradict each other",
        "    yield from _batches(truth)\n",
        "",
        f"{CHECKER}::test_inconsistent_tables",
    ),
    walk(
        Kind.CHECKER,
        "the checker sees what was given back though it was not had",
        '            if self.walk.holder.get(seat) != life.hold_id:\n                story = f"Hold',
        '            if seat < 0:\n                story = f"Hold',
        f"{CHECKER}::test_what_a_hold_had_not_cannot_have_been_given_back",
    ),
    walk(
        Kind.CHECKER,
        "the checker sees places given back that were not had",
        "            if left.get(area, 0) < quantity:\n",
        "            if quantity < 0:\n",
        f"{CHECKER}::test_what_a_hold_had_not_cannot_have_been_given_back",
    ),
    walk(
        Kind.CHECKER,
        "the checker sees somebody move another's hold",
        " or life.row.buyer != (row.buyer or life.row.buyer):\n",
        ":\n",
        f"{CHECKER}::test_somebody_elses_hold_cannot_have_been_moved",
    ),
    tour(
        Kind.CHECKER,
        "the checker sees what somebody had on all dates of a tour in the meantime",
        "            if quantity > most:\n",
        "            if False:\n",
        f"{TOUR}::test_what_is_over_for_long_is_found_all_the_same",
    ),
    tour(
        Kind.CHECKER,
        "what a tour's buyer had counts from when it was surely committed",
        "        since = times.get(life.row.batch_no + 1)\n",
        "        since = times.get(life.row.batch_no)\n",
        f"{TOUR}::test_seats_and_places_of_both_dates_count_from_the_batch_after_the_one_that_gave_them",
    ),
    tour(
        Kind.CHECKER,
        "what came free is nobody's on a tour any more",
        "self.until is None or self.until > moment",
        "True",
        f"{TOUR}::test_one_after_the_other_is_not_both_together",
    ),
    tour(
        Kind.CHECKER,
        "places given back at a time nobody knows are nobody's guess",
        "        elif life.ending in ENDS_BY_A_BATCH:",
        "        else:",
        f"{TOUR}::test_places_count_as_long_as_a_batch_says_that_the_hold_ran",
    ),
    tour(
        Kind.CHECKER,
        "what an operator sold is no tour's concern",
        " or hold >= OPERATORS_HOLDS:",
        ":",
        f"{TOUR}::test_orders_that_an_operator_sold_count_for_no_limit",
    ),
]
