"""Faults in the waiting list: who is offered what, when, and what of it is true."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

WAITING = "tests/allocator/test_waiting.py"
REAL = "tests/allocator/test_waiting_for_real.py"
ANNOUNCE = "tests/allocator/test_announce.py"
decide = In("allocator/decide.py")
offering = In("allocator/offering.py")
waiting = In("allocator/waiting.py")
memory = In("allocator/memory.py")
sql = In("allocator/sql.py")
truth = In("allocator/truth.py")
load = In("allocator/load.py")
follow = In("allocator/follow.py")
loop = In("allocator/loop.py")
PAUSED = f"{WAITING}::test_while_paused_nothing_is_offered_and_then_all_of_it"
CLOSED = f"{WAITING}::test_when_the_event_is_closed_nothing_is_offered"
PASSED_OVER = f"{WAITING}::test_a_party_that_does_not_fit_is_passed_over_for_a_pair_and_keeps_its_rank"
LIMITED = f"{WAITING}::test_who_has_as_much_as_one_may_have_is_passed_over_and_keeps_the_rank"
FOLLOWS = f"{REAL}::test_a_standby_follows_the_list"
OWED = f"{REAL}::test_whoever_takes_over_knows_that_offers_are_owed"
TOO_MANY = f"{REAL}::test_more_offers_than_a_batch_may_make_go_before_the_requests_that_came_with_them"
DISCARDED = f"{WAITING}::test_a_discarded_batch_leaves_the_list_as_it_was"

MUTANTS: list[Mutant] = [
    offering(
        Kind.PAUSE,
        "an event that does not sell offers nothing",
        "if self._memory.waiting.groups and self._memory.policy.state is EventState.OPEN:",
        "if self._memory.waiting.groups:",
        PAUSED,
        CLOSED,
    ),
    offering(
        Kind.BOUND,
        "a batch makes so many offers at most",
        "            if self._overlay.offers >= waiting.OFFERS_PER_BATCH_MAX:\n",
        "            if self._overlay.offers >= 1 << 30:\n",
        f"{WAITING}::test_a_batch_offers_so_many_at_most_and_the_next_goes_on",
    ),
    offering(
        Kind.BOUND,
        "requests wait while there are more offers than a batch makes",
        "                if self._has_asks:\n                    raise OffersFirst\n",
        "",
        f"{WAITING}::test_with_so_many_offers_requests_wait_for_another_batch",
    ),
    offering(
        Kind.CONDITION,
        "who waits for the same comes before a request",
        "        if group is not None:\n",
        "        if group is None:\n            return\n        if not group.waits:\n",
        f"{WAITING}::test_whoever_wants_what_somebody_waits_for_comes_after_them",
    ),
    offering(
        Kind.CONDITION,
        "who is over the limit holds nobody behind up",
        "            elif found.outcome is Outcome.LIMIT_REACHED:\n",
        "            elif found.outcome is Outcome.INVALID:\n",
        LIMITED,
    ),
    offering(
        Kind.CONDITION,
        "the limit of who waits counts",
        "        left = left_for(memory, entry.buyer)\n",
        "        left = 50\n",
        LIMITED,
    ),
    offering(
        Kind.INTAKE_ORDER,
        "an offer says how many it passed over",
        "passed_over = memory.waiting.order.below(wait_id)",
        "passed_over = 0",
        PASSED_OVER,
    ),
    offering(
        Kind.EXPIRY,
        "an offer runs out when the organiser says",
        "memory.policy.offer_ttl_seconds * 1_000_000\n",
        "memory.policy.hold_ttl_seconds * 1_000_000\n",
        f"{WAITING}::test_what_comes_back_is_offered_as_a_hold_that_runs_out_when_the_organiser_says",
    ),
    decide(
        Kind.EXPIRY,
        "what a moved hold had is offered before the next request",
        "                    offering.to_all()  # what the old hold had\n",
        "",
        f"{WAITING}::test_what_a_hold_had_that_was_moved_is_offered_before_the_next_request",
    ),
    decide(
        Kind.BOUND,
        "offers that are owed are made",
        "    if decided.rows or memory.offers_owed or decided.tour_id is not None:",
        "    if decided.rows:",
        f"{WAITING}::test_a_batch_offers_so_many_at_most_and_the_next_goes_on",
    ),
    decide(
        Kind.REPLAY,
        "only a change is a reason to offer",
        "    if decided.rows or memory.offers_owed or decided.tour_id is not None:",
        "    if True:",
        f"{WAITING}::test_without_a_change_nobody_is_looked_at",
    ),
    decide(
        Kind.BOUND,
        "a batch with its offers has positions enough",
        "    assert position + len(asks) + more_offers < 1 << 16,",
        "    assert position + len(asks) < 1 << 16,",
        f"{WAITING}::test_a_batch_has_no_more_positions_than_a_hold_id_has_room_for",
    ),
    decide(
        Kind.CONDITION,
        "the limit is no reason to wait",
        "    if refused.outcome is Outcome.LIMIT_REACHED:\n        return refused\n",
        "",
        f"{WAITING}::test_the_limit_is_no_reason_to_wait",
    ),
    decide(
        Kind.BOUND,
        "a buyer waits with so many requests at most",
        ">= WAITING_PER_BUYER_MAX:",
        "> WAITING_PER_BUYER_MAX:",
        f"{WAITING}::test_a_buyer_waits_with_four_requests_at_most",
    ),
    decide(
        Kind.BOUND,
        "a list is full at some length",
        "    if len(memory.waiting) >= WAITING_MAX:\n",
        "    if len(memory.waiting) > WAITING_MAX:\n",
        f"{WAITING}::test_a_full_list_refuses_and_says_so",
    ),
    decide(
        Kind.FACTS,
        "who left is off the list",
        "        overlay.leave(WaitId(int(_decode_left(fact.body).wait)))\n",
        "",
        f"{WAITING}::test_who_left_is_offered_nothing_and_leaving_twice_or_after_an_offer_is_nothing",
    ),
    memory(
        Kind.FACTS,
        "leaving twice, or after an offer, is nothing",
        "        if wait_id in self._memory.waiting.entries:\n            self._waits",
        "        if True:\n            self._waits",
        f"{WAITING}::test_who_left_is_offered_nothing_and_leaving_twice_or_after_an_offer_is_nothing",
    ),
    In("allocator/wishes.py")(
        Kind.CONDITION,
        "a hold is not moved later",
        "    if want.waitlist and want.move is not UNSET:\n        return Wish(WAITLIST_WITH_MOVE)\n",
        "",
        f"{WAITING}::test_a_hold_is_not_moved_later",
    ),
    waiting(
        Kind.CONDITION,
        "who lacked a seat or a place is tried when it comes free",
        "    def _wake_all(self, lack: int) -> None:\n",
        "    def _wake_all(self, lack: int) -> None:\n        return\n",
        f"{WAITING}::test_one_freed_seat_is_no_reason_to_look_at_everybody_who_waits",
    ),
    waiting(
        Kind.CONDITION,
        "a party is tried when something comes free in its blocks",
        "            if mask & came_free and (not size or mask & fits[size])\n",
        "            if not size and mask & came_free and mask & fits[1]\n",
        f"{WAITING}::test_seats_given_back_of_a_hold_and_seats_put_on_sale_again_are_offered",
        PASSED_OVER,
    ),
    waiting(
        Kind.OVERLAY,
        "who fell asleep in a discarded batch is awake again",
        "            if self.groups.get(group.wish.options) is group:\n                self.wake(group)\n",
        "            pass\n",
        f"{WAITING}::test_who_fell_asleep_in_a_discarded_batch_is_awake_again",
    ),
    waiting(
        Kind.CONDITION,
        "choices that a seat less can make possible never sleep",
        "            if not all(_is_steady(option) for option in wish.options):\n",
        "            if False:\n",
        f"{WAITING}::test_whoever_wants_what_somebody_waits_for_comes_after_them",
        f"{WAITING}::test_choices_that_a_seat_less_can_make_possible_are_tried_whatever_came_free",
    ),
    memory(
        Kind.OVERLAY,
        "a discarded batch leaves the list as it was",
        "        for wait_id, entry in reversed(self._waits):\n",
        "        for wait_id, entry in ():\n",
        DISCARDED,
    ),
    memory(
        Kind.BOUND,
        "a batch that made as many offers as it may owes more",
        "self._memory.offers_owed = self.offers >= waiting.OFFERS_PER_BATCH_MAX\n",
        "self._memory.offers_owed = False\n",
        f"{WAITING}::test_a_batch_offers_so_many_at_most_and_the_next_goes_on",
    ),
    sql(
        Kind.CONDITION,
        "only who still waits is taken off the list",
        " AND waiting.state = 'waiting'\n   ORDER BY waiting.wait_id",
        "\n   ORDER BY waiting.wait_id",
        f"{REAL}::test_who_leaves_in_the_moment_of_an_offer_has_left_and_the_next_is_offered_it",
    ),
    sql(
        Kind.LOCK_ORDER,
        "the list is locked in its order",
        "   ORDER BY waiting.wait_id FOR UPDATE OF waiting)\n",
        "   ORDER BY waiting.wait_id DESC FOR UPDATE OF waiting)\n",
        f"{REAL}::test_the_list_is_locked_after_holds_and_before_seats_and_in_its_order",
    ),
    sql(
        Kind.CONDITION,
        "nobody who waits for another event is taken off the list",
        "FROM served WHERE waiting.event_id = %(event)s AND",
        "FROM served WHERE",
        f"{REAL}::test_who_waits_for_another_event_is_not_loaded",
    ),
    truth(
        Kind.COUNT,
        "offers are counted",
        'sql.TAKE_OFF_LIST, given), len(offered), "requests served"))',
        'sql.TAKE_OFF_LIST, given), -1, "requests served"))',
        f"{REAL}::test_who_leaves_in_the_moment_of_an_offer_has_left_and_the_next_is_offered_it",
        more=(
            (
                "                if cursor.rowcount != count:\n",
                "                if cursor.rowcount != count and count >= 0:\n",
            ),
        ),
    ),
    truth(
        Kind.LOCK_ORDER,
        "holds are locked before the list",
        "                expected += self._end(decided.expired, decided.moved, begun.batch_time)\n"
        "                expected += self._wait(decided)\n",
        "                expected += self._wait(decided)\n"
        "                expected += self._end(decided.expired, decided.moved, begun.batch_time)\n",
        f"{REAL}::test_a_hold_that_is_moved_is_locked_before_the_list",
    ),
    truth(
        Kind.LOCK_ORDER,
        "the list is locked before seats",
        "                expected += self._wait(decided)\n"
        "                expected += self._free(decided.expired, decided.moved)\n"
        "                expected += self._claim(decided.claims, decided.tour_id)\n",
        "                expected += self._free(decided.expired, decided.moved)\n"
        "                expected += self._claim(decided.claims, decided.tour_id)\n"
        "                expected += self._wait(decided)\n",
        f"{REAL}::test_the_list_is_locked_after_holds_and_before_seats_and_in_its_order",
    ),
    load(
        Kind.SNAPSHOT,
        "who was offered something or has left is not loaded as waiting",
        " AND waiting.state = 'waiting' ORDER BY wait_id",
        " ORDER BY wait_id",
        f"{REAL}::test_memory_that_is_loaded_knows_who_waits_as_the_owner_does",
    ),
    load(
        Kind.SNAPSHOT,
        "who waits for another event is not loaded",
        " WHERE waiting.event_id = %s AND waiting.state",
        " WHERE %s > 0 AND waiting.state",
        f"{REAL}::test_who_waits_for_another_event_is_not_loaded",
        more=(('ON ledger.event_id = waiting.event_id"\n        "   AND', 'ON true"\n        "   AND'),),
    ),
    load(
        Kind.TAKEOVER,
        "an heir knows that offers are owed",
        "row[0] >= waiting.OFFERS_PER_BATCH_MAX",
        "row[0] < 0",
        OWED,
    ),
    follow(
        Kind.REPLAY,
        "a standby notices an offer that runs out by no policy it knows",
        'assert expires_at // 1000 == held.expires_at, "an offer runs out by the policy of its batch"',
        "pass",
        f"{REAL}::test_a_standby_notices_an_offer_that_runs_out_when_no_offer_does",
    ),
    follow(
        Kind.TAKEOVER,
        "a standby knows who waits",
        "OR outcome = 'waitlisted' THEN outcome END,",
        "THEN outcome END,",
        FOLLOWS,
    ),
    loop(
        Kind.BOUND,
        "offers that are owed need no other reason for a batch",
        "        if due or self.memory.offers_owed or",
        "        if due or",
        f"{REAL}::test_offers_that_are_owed_are_made_without_waiting_for_anything",
    ),
    loop(
        Kind.HALVING,
        "offers go before requests until none is owed",
        "            owed = self.memory.offers_owed\n",
        "            owed = False\n",
        TOO_MANY,
    ),
    loop(
        Kind.PAUSE,
        "a pause that came with offers leaves requests undecided",
        "(policies[-1] if policies else memory.policy).state is EventState.PAUSED",
        "bool(policies) and policies[-1].state is EventState.PAUSED",
        f"{REAL}::test_an_event_that_was_paused_before_offers_went_first_decides_no_request",
    ),
    In("allocator/announce.py")(
        Kind.CONDITION,
        "an offer is told to its buyer",
        '        messages.append((holds_channel(event), encode_news(HoldNews("", buyer, frame))))\n',
        "",
        f"{REAL}::test_offers_and_what_they_hold_are_told_after_the_batch",
    ),
]
