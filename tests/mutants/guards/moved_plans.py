"""Faults in moves to other categories: before a sale, while it runs, and in what reads them."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

MOVED = "tests/store/test_recategorise.py"
TAKEN_IN = "tests/allocator/test_moved_plans.py"
SHOWN = "tests/gateway/test_prices_shown.py"
CHECKED = "tests/checker/test_checker_moves.py"
SHOWN_ONCE = f"{SHOWN}::test_a_move_while_the_event_sells_is_shown_once_a_batch_took_it_in"
STAYS = f"{TAKEN_IN}::test_who_waits_for_a_category_that_has_no_seats_any_longer_stays_on_the_list"
OFFERED = f"{TAKEN_IN}::test_who_waits_is_offered_what_became_of_their_category_in_the_lists_order"
WITH_IT = f"{TAKEN_IN}::test_requests_that_came_with_a_move_are_decided_by_the_new_plan_in_their_order"
OFFERED_NOW = "tests/gateway/test_operator_sales.py"
recategorise = In("store/recategorise.py")
offered = In("store/offered.py")
categories = In("store/categories.py")
lookups = In("store/lookups.py")
load = In("allocator/load.py")
loop = In("allocator/loop.py")
memory = In("allocator/memory.py")
decide = In("allocator/decide.py")
waiting = In("allocator/waiting.py")
limits = In("allocator/limits.py")
follow = In("allocator/follow.py")
replay = In("allocator/replay.py")
truth = In("allocator/truth.py")
sql = In("allocator/sql.py")
announce = In("allocator/announce.py")
runtime = In("gateway/events.py")
stock = In("gateway/stock.py")
free = In("bench/checks/free.py")
walk = In("bench/checks/walk.py")
checked_limits = In("bench/checks/limits.py")
answers = In("bench/checks/answers.py")

STORE: list[Mutant] = [
    recategorise(
        Kind.CONDITION,
        "a move of a sale that runs is a fact",
        "state = 'draft' AND coalesce(",
        "coalesce(",
        f"{MOVED}::test_while_the_sale_runs_each_move_is_a_fact_and_a_plan_of_its_own",
    ),
    recategorise(
        Kind.CONDITION,
        "a move minutes before an event begins by itself is a fact",
        "           > clock_timestamp() + interval '{MINUTES_BEFORE_OPENING} minutes', true)",
        "           IS NOT NULL, true)",
        f"{MOVED}::test_minutes_before_an_event_begins_by_itself_a_move_is_a_fact_too",
    ),
    recategorise(
        Kind.CONDITION,
        "a move minutes before a lobby begins by itself is a fact",
        "         least(lobby_opens_at, opens_at)\n",
        "         opens_at\n",
        f"{MOVED}::test_minutes_before_an_event_begins_by_itself_a_move_is_a_fact_too",
    ),
    recategorise(
        Kind.CONDITION,
        "a move of a draft that an allocator attended to is a fact",
        " WHERE event_id = event.id AND batch_no > 0)",
        " WHERE event_id = event.id AND batch_no < 0)",
        f"{MOVED}::test_a_draft_that_was_attended_to_before_its_times_were_moved_is_moved_by_facts",
    ),
    recategorise(
        Kind.CONDITION,
        "a draft whose plan an allocator may know goes on with facts",
        "            if not early or known:\n",
        "            if not early:\n",
        f"{MOVED}::test_a_draft_that_had_a_fact_goes_on_with_facts",
    ),
    recategorise(
        Kind.CONDITION,
        "a seat that somebody has keeps its category before the sale",
        "    if taken:\n",
        "    if taken and not taken:\n",
        f"{MOVED}::test_before_the_sale_what_somebody_has_keeps_its_category",
    ),
    recategorise(
        Kind.CONDITION,
        "an area in which somebody has places keeps its category before the sale",
        "        if free + blocked < plan.areas[area].capacity:\n",
        "        if free + blocked < 0:\n",
        f"{MOVED}::test_before_the_sale_what_somebody_has_keeps_its_category",
    ),
    recategorise(
        Kind.CONDITION,
        "who saw an older plan moves nothing",
        "        if version not in (None, known):\n",
        "        if version == -1:\n",
        f"{MOVED}::test_of_two_operators_who_saw_the_same_plan_the_second_is_told",
    ),
    recategorise(
        Kind.CONDITION,
        "who saw another plan of a draft moves nothing",
        "        if seen not in (None, fingerprint(encode(before))):\n",
        "        if seen == b'':\n",
        f"{MOVED}::test_who_saw_another_plan_of_a_draft_is_told_and_one_that_was_moved_back_is_the_same",
    ),
    offered(
        Kind.CONDITION,
        "which seats have which price is told as the last move left it",
        "     ORDER BY version DESC LIMIT 1) AS last ON true\n",
        "     ORDER BY version LIMIT 1) AS last ON true\n",
        f"{OFFERED_NOW}::test_prices_say_which_seats_have_them_and_what_can_still_be_changed",
    ),
    recategorise(
        Kind.LOCK_ORDER,
        "moves of one event are made one after the other",
        " FOR NO KEY UPDATE",
        "",
        f"{MOVED}::test_moves_at_the_same_time_are_made_one_after_the_other",
    ),
    recategorise(
        Kind.CONDITION,
        "categories are settled once the sale is over",
        "        if state == EventState.CLOSED:\n",
        "        if not state:\n",
        f"{MOVED}::test_once_the_sale_is_over_categories_are_settled",
    ),
    recategorise(
        Kind.CONDITION,
        "what is of a limited category is settled when the sale begins",
        "    if limited:\n",
        "    if limited and not limited:\n",
        f"{MOVED}::test_what_is_of_a_limited_category_is_settled_when_the_sale_begins",
    ),
    recategorise(
        Kind.BOUND,
        "a sale has a most of moves",
        "    if known >= VERSIONS_MAX:\n",
        "    if known < 0:\n",
        f"{MOVED}::test_there_is_a_most_of_moves",
    ),
    recategorise(
        Kind.DEDUPE,
        "the same move again is none",
        "        if plan != before:\n",
        "        if plan is not before:\n",
        f"{MOVED}::test_the_same_move_again_changes_nothing_while_the_sale_runs",
    ),
    categories(
        Kind.CONDITION,
        "blocks of moved categories end at the same aisles",
        "        or seat in hard\n",
        "",
        f"{MOVED}::test_blocks_are_cut_as_if_the_plan_had_been_made_so_and_back_again",
    ),
    lookups(
        Kind.CONDITION,
        "a plan counts when a batch took its move in",
        " AND (version = 0 OR ledger_at IS NOT NULL)\n",
        "\n",
        f"{MOVED}::test_until_a_batch_takes_it_in_everybody_reads_the_plan_before",
    ),
]

ALLOCATOR: list[Mutant] = [
    load(
        Kind.REPLAY,
        "the allocator decides by the event's own plan",
        "SELECT coalesce(event_plan.plan, venue.plan), coalesce(event_plan.version, 0)",
        "SELECT coalesce(venue.plan, event_plan.plan), coalesce(event_plan.version, 0)",
        f"{MOVED}::test_best_available_and_its_replay_follow_the_moved_categories",
    ),
    load(
        Kind.SNAPSHOT,
        "memory is loaded by the plan of its snapshot",
        "        if version != layout.version:\n",
        "        if version < layout.version:\n",
        STAYS,
    ),
    load(
        Kind.REPLAY,
        "a replay begins with the plan that the sale began with",
        " AND event_plan.version = 0 WHERE",
        " WHERE",
        f"{TAKEN_IN}::test_who_asks_before_a_move_is_served_by_the_plan_before_it_and_who_asks_after_it_is_not",
    ),
    load(
        Kind.SNAPSHOT,
        "who waits for what is of no category any longer is loaded too",
        "wishes.read_again(want.encode())",
        "wishes.read(want.encode())",
        STAYS,
    ),
    loop(
        Kind.FACTS,
        "requests that came with a move are read again",
        "            if asks and any(fact.kind == FactKind.RECATEGORISED for fact in begun.facts):\n",
        "            if asks and any(fact.kind == '' for fact in begun.facts):\n",
        WITH_IT,
    ),
    loop(
        Kind.FACTS,
        "requests are decided by the plan they were read by",
        "        if asks and self._wishes.layout is not memory.layout:\n",
        "        if asks and memory is None:\n",
        f"{TAKEN_IN}::test_memory_that_is_loaded_anew_by_another_plan_has_its_requests_read_again",
    ),
    loop(
        Kind.FACTS,
        "requests are read by the plan that memory has",
        "            self._wishes = self._wishes.by(self.memory.layout)\n",
        "",
        WITH_IT,
    ),
    loop(
        Kind.READ_AHEAD,
        "what was read ahead of a move is read again",
        "            self._ahead.prepare_again()\n",
        "",
        f"{TAKEN_IN}::test_what_was_read_ahead_is_read_again_by_the_plan_it_is_decided_by",
    ),
    memory(
        Kind.OVERLAY,
        "a discarded batch gives its plan back",
        "            memory.under(self._layout)\n",
        "            pass\n",
        f"{TAKEN_IN}::test_a_batch_that_came_short_after_a_move_is_decided_again_by_the_plan_before",
    ),
    memory(
        Kind.OVERLAY,
        "who left the list in a discarded batch wants what the plan before has",
        "                wish = wishes.read_again(entry.wish.text)",
        "                wish = entry.wish",
        f"{TAKEN_IN}::test_who_was_offered_something_by_a_plan_that_was_discarded_waits_by_the_one_before",
    ),
    memory(
        Kind.FACTS,
        "moves are taken in one by one",
        "        assert move.version == memory.layout.version + 1,",
        "        assert move.version,",
        f"{TAKEN_IN}::test_moves_are_taken_in_one_by_one",
    ),
    memory(
        Kind.FACTS,
        "what is of a limited category is moved by nobody",
        "        assert touched.isdisjoint(memory.category_limits) or not memory.count_by_buyer,",
        "        assert touched,",
        f"{TAKEN_IN}::test_what_is_of_a_limited_category_contradicts_memory_when_it_is_moved",
    ),
    memory(
        Kind.FACTS,
        "a limit that was set in the lobby after a move does not contradict it",
        "(memory.category_limits) or not memory.count_by_buyer,",
        "(memory.category_limits),",
        f"{TAKEN_IN}::test_a_limit_that_was_set_in_the_lobby_after_a_move_does_not_contradict_it",
    ),
    memory(
        Kind.FACTS,
        "by another plan what is taken stays taken",
        "        self.seating.hide([seat for seat, hold_id in enumerate(self.hold_of) if hold_id])\n",
        "",
        f"{TAKEN_IN}::test_a_hold_knows_by_its_number_which_plan_it_was_given_by",
    ),
    memory(
        Kind.FACTS,
        "by another plan who waits wants what the words say",
        "        self.waiting = self.waiting.under(layout)\n",
        "",
        OFFERED,
    ),
    decide(
        Kind.FACTS,
        "a batch that takes in a move decides no requests",
        "    assert not asks or not decided.plans,",
        "    assert decided,",
        f"{TAKEN_IN}::test_a_batch_that_takes_in_a_move_decides_no_requests",
    ),
    waiting(
        Kind.FACTS,
        "who waits stays on the list whatever is moved",
        "wishes.read_again(entry.wish.text))",
        "wishes.read(entry.wish.text))",
        STAYS,
    ),
    limits(
        Kind.CONDITION,
        "who describes what there is no longer is over no limit of it",
        "        if not mask or self.narrowed(mask, quantity):",
        "        if self.narrowed(mask, quantity):",
        f"{TAKEN_IN}::test_who_waits_for_what_there_is_no_longer_is_over_no_limit",
    ),
    follow(
        Kind.REPLAY,
        "a standby reads who waits by the plan of the row",
        "        self._wishes = self._wishes.by(memory.layout)\n",
        "",
        f"{TAKEN_IN}::test_a_standby_follows_a_move_and_decides_as_the_owner_would",
    ),
    replay(
        Kind.REPLAY,
        "a replay reads requests by the plan of their batch",
        "            wishes[number] = wishes[number].by(memory.layout)\n",
        "",
        WITH_IT,
    ),
    replay(
        Kind.REPLAY,
        "the plan that counts is the one that the ledger's moves lead to",
        "    if not moved_on and (now.version, now.plan)",
        "    if moved_on and (now.version, now.plan)",
        f"{TAKEN_IN}::test_a_plan_that_the_ledgers_moves_do_not_lead_to_is_found",
    ),
    truth(
        Kind.COUNT,
        "a plan that cannot come to count is a short write",
        "                expected += self._plans(batch_no, decided)\n",
        "                self._plans(batch_no, decided)\n",
        f"{TAKEN_IN}::test_a_plan_begins_to_count_at_one_place",
    ),
    sql(
        Kind.CONDITION,
        "a plan begins to count once",
        " AND version = %s AND ledger_at IS NULL",
        " AND version = %s",
        f"{TAKEN_IN}::test_a_plan_begins_to_count_at_one_place",
    ),
    announce(
        Kind.FACTS,
        "gateways hear that the plan is another",
        "        bool(decided.plans),\n",
        "        False,\n",
        f"{TAKEN_IN}::test_gateways_hear_that_the_plan_is_another",
    ),
]

GATEWAY: list[Mutant] = [
    runtime(
        Kind.GATE,
        "a gateway notices that categories were moved",
        "                moved = row.plan_sha256 != self.row.plan_sha256\n",
        "                moved = not row.plan_sha256\n",
        f"{SHOWN}::test_a_draft_whose_categories_were_moved_is_shown_so_soon",
    ),
    runtime(
        Kind.GATE,
        "a gateway reads the plan as soon as a batch took a move in",
        "        if delta.plan:\n",
        "        if delta.plan and not delta.plan:\n",
        SHOWN_ONCE,
    ),
    runtime(
        Kind.GATE,
        "every socket hears that the plan is another",
        "            await broadcast(self.clients, PLAN_CHANGED)\n",
        "            pass\n",
        SHOWN_ONCE,
    ),
    stock(
        Kind.GATE,
        "the map of another plan has the same seats held",
        "        stock.load(bytes(self.letters), held, [])\n",
        "",
        SHOWN_ONCE,
        f"{SHOWN}::test_the_map_of_another_plan_has_the_same_seats_held_until_the_same_time",
    ),
]

CHECKER: list[Mutant] = [
    walk(
        Kind.CHECKER,
        "the checker describes seats by the category they have at that row",
        '            self._category_of[seat] = body["category"]\n',
        "            pass\n",
        f"{CHECKED}::test_who_is_refused_what_was_moved_away_is_refused_rightly_and_what_was_moved_there_wrongly",
    ),
    free(
        Kind.CHECKER,
        "the checker parts neighbours of two categories",
        "(run if number == before else 0)",
        "run",
        f"{CHECKED}::test_neighbours_of_two_categories_are_not_together",
    ),
    walk(
        Kind.CHECKER,
        "the checker counts moves",
        '        if body["version"] != self._moves:\n',
        '        if not body["version"]:\n',
        f"{CHECKED}::test_moves_are_numbered_one_after_the_other",
    ),
    checked_limits(
        Kind.CHECKER,
        "the checker limits what is of a category now",
        "            self._category_of.update({self._guids[seat]: name",
        "            dict({self._guids[seat]: name",
        f"{CHECKED}::test_a_limit_by_category_goes_by_what_is_of_it_now",
    ),
    answers(
        Kind.CHECKER,
        "the checker judges no gate by seats that were moved",
        " | {truth.plan.seats[seat].guid for seat in walk.moved}",
        "",
        f"{CHECKED}::test_a_gate_that_said_nothing_is_left_of_a_category_is_not_judged_by_seats_that_were_moved",
    ),
]

MUTANTS: list[Mutant] = [*STORE, *ALLOCATOR, *GATEWAY, *CHECKER]
