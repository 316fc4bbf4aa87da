"""Faults in the limits: by category, and across the dates of a tour."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

LIMITS = "tests/allocator/test_limits.py"
TOURS = "tests/allocator/test_tours.py"
STORE = "tests/store/test_limits.py"
choosing = In("allocator/choosing.py")
limits = In("allocator/limits.py")
memory = In("allocator/memory.py")
load = In("allocator/load.py")
decide = In("allocator/decide.py")
loop = In("allocator/loop.py")
sql = In("allocator/sql.py")
truth = In("allocator/truth.py")

CATEGORIES = [
    choosing(
        Kind.BOUND,
        "named seats and places keep the limit of their category",
        "            if category is not None:\n                return _over_a_category(memory, category)\n"
        "    for area",
        "    for area",
        f"{LIMITS}::test_named_seats_up_to_the_limit_and_no_more",
    ),
    limits(
        Kind.BOUND,
        "places of a category count like its seats",
        "        category = plan.areas[area].category\n        if category in counts:\n"
        "            counts[category] += quantity\n",
        "        pass\n",
        f"{LIMITS}::test_places_of_a_category_count_like_its_seats",
    ),
    limits(
        Kind.BOUND,
        "a party is seated only where its category has room for all of it",
        "            if left < quantity:\n",
        "            if left < 0:\n",
        f"{LIMITS}::test_a_party_is_seated_where_its_category_has_room_for_it",
    ),
    choosing(
        Kind.BOUND,
        "what one party of a choice got leaves less room for the next",
        "                if room is not None:\n                    room.spend(part)\n",
        "",
        f"{LIMITS}::test_several_parties_and_named_seats_share_the_room",
    ),
    limits(
        Kind.BOUND,
        "who could never be seated does not wait",
        "        if not mask or self.narrowed(mask, quantity):",
        "        if mask:",
        f"{LIMITS}::test_who_could_never_be_seated_is_told_the_limit_and_does_not_wait",
    ),
    limits(
        Kind.BOUND,
        "who takes what there is gets no more seats than their category's limit",
        "if len(fitting) < most and self.lacking((seat,), 1) is None:",
        "if len(fitting) < most:",
        f"{LIMITS}::test_up_to_takes_as_many_as_the_limits_leave",
    ),
    limits(
        Kind.BOUND,
        "who takes what there is gets no more places than their category's limit",
        "            most = max(0, min(most, self._left[category]))\n",
        "",
        f"{LIMITS}::test_up_to_takes_as_many_as_the_limits_leave",
    ),
    limits(
        Kind.BOUND,
        "seats left out for their category take nothing of what a buyer may have in all",
        "        for seat in seats:\n            if len(fitting) < most and",
        "        for seat in list(seats)[:most]:\n            if len(fitting) < most and",
        f"{LIMITS}::test_a_category_in_the_way_of_part_of_a_choice_leaves_room_for_the_rest",
    ),
    choosing(
        Kind.BOUND,
        "what is moved does not count against its category's limit, and no more than that",
        " + back.get(category, 0))",
        " + 2 * back.get(category, 0))",
        f"{LIMITS}::test_a_move_counts_what_it_leaves_as_not_had",
    ),
    memory(
        Kind.OVERLAY,
        "a discarded batch gives counts by category back",
        "        for key, count in reversed(self._category_counts):\n"
        "            _set_count(memory.count_by_category, key, count)\n",
        "",
        f"{LIMITS}::test_a_discarded_batch_leaves_counts_and_limits_as_they_were",
    ),
    memory(
        Kind.OVERLAY,
        "a discarded batch gives the limits back",
        "        memory.category_limits = limits_by_number(memory.layout, self._policy)\n",
        "",
        f"{LIMITS}::test_a_discarded_batch_leaves_counts_and_limits_as_they_were",
    ),
    memory(
        Kind.FACTS,
        "what was never counted is not limited",
        "limits.keys() == memory.category_limits.keys() or not memory.count_by_buyer",
        "True or not memory.count_by_buyer",
        f"{LIMITS}::test_which_categories_are_limited_is_settled_before_anybody_has_anything",
    ),
    load(
        Kind.SNAPSHOT,
        "loading counts seats and places of orders by category",
        """WHERE event_id = %(event)s AND state IN ('active', 'paid') AND kind = 'buyer' UNION ALL\"""",
        """WHERE event_id = %(event)s AND state = 'active' AND kind = 'buyer' UNION ALL\"""",
        f"{LIMITS}::test_loading_counts_holds_and_orders_seats_and_places",
    ),
    load(
        Kind.SNAPSHOT,
        "loading counts by category where there are such limits",
        "    if memory.category_limits:\n        _counts_by_category(conn, event_id, memory)\n",
        "",
        f"{LIMITS}::test_loading_counts_holds_and_orders_seats_and_places",
    ),
]

ACROSS_A_TOUR = [
    choosing(
        Kind.BOUND,
        "what a buyer has on other dates counts",
        "tour.seats_per_buyer_max - here - elsewhere)",
        "tour.seats_per_buyer_max - here)",
        f"{TOURS}::test_what_is_held_on_another_date_counts_here_and_is_told",
    ),
    choosing(
        Kind.BOUND,
        "what a buyer has on this date counts for the tour too",
        "tour.seats_per_buyer_max - here - elsewhere)",
        "tour.seats_per_buyer_max - elsewhere)",
        f"{TOURS}::test_what_is_held_on_another_date_counts_here_and_is_told",
    ),
    memory(
        Kind.SNAPSHOT,
        "what was found on other dates is known in that batch only",
        "        self._memory.batch_time = batch_time\n        self._memory.elsewhere = {}\n",
        "        self._memory.batch_time = batch_time\n",
        f"{TOURS}::test_the_own_limit_is_told_before_the_tours",
    ),
    memory(
        Kind.OVERLAY,
        "a discarded batch forgets what it found on other dates",
        "        memory.elsewhere = {}\n        for hold, ext",
        "        for hold, ext",
        f"{LIMITS}::test_a_discarded_batch_leaves_counts_and_limits_as_they_were",
    ),
    loop(
        Kind.LEDGER,
        "what was found on other dates is in the ledger",
        "        return [*facts, elsewhere_fact(counts)] if counts else facts\n",
        "        self.memory.elsewhere = counts\n        return facts\n",
        f"{TOURS}::test_the_ledger_has_what_was_found_of_who_has_something_there",
    ),
    loop(
        Kind.FACTS,
        "an event that joins a tour and opens in one batch asks about its buyers",
        "        policy = _policy_after(self.memory.policy, facts)\n",
        "        policy = self.memory.policy\n",
        f"{TOURS}::test_an_event_that_joins_and_opens_with_its_first_requests_counts_them",
    ),
    loop(
        Kind.CONDITION,
        "a date that does not sell locks nobody",
        "        if policy.tour is None or policy.state is not EventState.OPEN:\n",
        "        if policy.tour is None:\n",
        f"{TOURS}::test_a_date_that_does_not_sell_asks_nothing",
    ),
    sql(
        Kind.CONDITION,
        "two dates do not decide about one buyer at the same moment",
        "DO UPDATE SET buyer = excluded.buyer WHERE false",
        "DO NOTHING",
        f"{TOURS}::test_buyers_are_locked_by_name_and_before_holds_and_seats",
        f"{TOURS}::test_two_dates_that_decide_at_the_same_moment_give_exactly_the_limit",
    ),
    sql(
        Kind.LOCK_ORDER,
        "a batch locks a tour's buyers by name",
        'SELECT %(tour)s, buyer FROM asking ORDER BY buyer COLLATE "C"',
        'SELECT %(tour)s, buyer FROM asking ORDER BY buyer COLLATE "C" DESC',
        f"{TOURS}::test_buyers_are_locked_by_name_and_before_holds_and_seats",
    ),
    sql(
        Kind.CONDITION,
        "what a buyer has on this date is not counted as elsewhere",
        "hold.buyer = asking.buyer AND hold.event_id <> %(event)s",
        "hold.buyer = asking.buyer AND hold.event_id IS DISTINCT FROM -%(event)s",
        f"{TOURS}::test_the_ledger_has_what_was_found_of_who_has_something_there",
        f"{TOURS}::test_what_is_held_on_another_date_counts_here_and_is_told",
    ),
    sql(
        Kind.CONDITION,
        "orders on other dates count",
        "AND hold.state IN ('active', 'paid')) AS has",
        "AND hold.state = 'active') AS has",
        f"{TOURS}::test_orders_elsewhere_count_and_what_was_given_back_does_not",
    ),
    sql(
        Kind.CONDITION,
        "what was given back on other dates does not count",
        "       AND hold.state IN ('active', 'paid')) AS has",
        "       ) AS has",
        f"{TOURS}::test_orders_elsewhere_count_and_what_was_given_back_does_not",
    ),
    sql(
        Kind.CONDITION,
        "who waits on the event's list is asked about",
        "   UNION SELECT buyer FROM waiting WHERE event_id = %(event)s AND state = 'waiting')",
        "   UNION SELECT buyer FROM waiting WHERE event_id = %(event)s AND state = 'offered')",
        f"{TOURS}::test_buyers_on_the_events_waiting_list_are_asked_about_too",
    ),
    truth(
        Kind.CONDITION,
        "what a date of a tour gives counts for the tour",
        '            "tour": tour_id,\n        }\n        done',
        '            "tour": None,\n        }\n        done',
        f"{TOURS}::test_what_is_held_on_another_date_counts_here_and_is_told",
    ),
]

events = In("store/events.py")
terms = In("store/terms.py")
checks = In("bench/checks/limits.py")
JUDGED = "tests/checker/test_checker_limits.py"

AS_WRITTEN = [
    events(
        Kind.CONDITION,
        "which categories have limits is settled when the sale begins",
        " and limits.keys() != event.limits.keys():\n",
        " and False:\n",
        f"{STORE}::test_which_categories_have_limits_is_settled_when_the_sale_begins",
    ),
    events(
        Kind.BOUND,
        "limits are checked when an event is made",
        "    check_limits(all_terms.limits, all_terms.seats_per_buyer_max, categories)\n",
        "",
        f"{STORE}::test_limits_that_cannot_be_meant_are_refused_in_words",
    ),
    terms(
        Kind.BOUND,
        "limits are of the plan's categories",
        "        check(name in categories,",
        "        check(True,",
        f"{STORE}::test_limits_that_cannot_be_meant_are_refused_in_words",
    ),
    terms(
        Kind.BOUND,
        "a limit by category is not above what a buyer may have in all",
        "        check(most <= seats_per_buyer_max, said,",
        "        check(True, said,",
        f"{STORE}::test_a_limit_of_all_below_that_of_a_category_is_refused_until_both_are_changed",
    ),
    events(
        Kind.CONDITION,
        "only a draft joins a tour",
        "        if event.state is not EventState.DRAFT:\n",
        "        if event.state is EventState.CLOSED:\n",
        f"{STORE}::test_an_event_that_has_begun_stays_alone",
    ),
    events(
        Kind.CONDITION,
        "a date stays a date of its tour",
        "        if policy.tour is not None:\n            raise Conflicted(",
        "        if False:\n            raise Conflicted(",
        f"{STORE}::test_a_date_stays_a_date_of_its_tour",
    ),
    events(
        Kind.FACTS,
        "the allocator is told of the tour an event joins",
        "        tell_allocator(conn, event.id)\n        return None, get_event(conn, slug)",
        "        return None, get_event(conn, slug)",
        f"{STORE}::test_a_draft_becomes_a_date_once_with_its_reason_and_its_allocator_is_told",
    ),
    checks(
        Kind.CHECKER,
        "who got more than the limit of all is found",
        "        if most is not None and quantity > most:\n",
        "        if False:\n",
        f"{JUDGED}::test_who_got_more_than_a_limit_is_told_with_the_limit",
    ),
    checks(
        Kind.CHECKER,
        "who got more of a category than its limit is found",
        "            if asked[category] and by_category[category] > limit:\n",
        "            if by_category[category] > limit + 1:\n",
        f"{JUDGED}::test_who_got_more_than_a_limit_is_told_with_the_limit",
    ),
    checks(
        Kind.CHECKER,
        "what a batch found on other dates is counted in it",
        "counts.get(row.buyer, 0) if batch_no == row.batch_no else 0",
        "0",
        f"{JUDGED}::test_what_the_batch_found_on_other_dates_counts_in_that_batch",
    ),
    checks(
        Kind.CHECKER,
        "who has more on all dates than the tour allows is found in the tables",
        "            if quantity > truth.tour.seats_per_buyer_max:\n",
        "            if False:\n",
        f"{JUDGED}::test_a_buyer_with_more_on_all_dates_than_the_tour_allows_is_found_in_the_tables",
    ),
]

MUTANTS: list[Mutant] = [*CATEGORIES, *ACROSS_A_TOUR, *AS_WRITTEN]
