"""Faults in operators' sales and returns, in what takes them in, and in prices and ranks."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

SALES = "tests/store/test_sales.py"
MOMENT = "tests/allocator/test_sales.py"
MEMORY = "tests/allocator/test_memory.py"
CHECKED = "tests/checker/test_checker_sales.py"
PRICES = "tests/store/test_prices.py"
RANKS = "tests/store/test_row_ranks.py"
ALONE = f"{SALES}::test_each_statement_stands_alone_against_what_is_not_as_it_must_be"
TOO_FEW = f"{SALES}::test_a_sale_that_won_too_few_is_undone_and_alarms"
DISCARDED = f"{MEMORY}::test_a_discarded_batch_leaves_no_trace_of_any_kind_of_change"
SOLD = f"{MEMORY}::test_what_operators_sell_was_off_sale_and_does_not_count_for_the_buyer"
BACK = f"{MEMORY}::test_an_order_taken_back_counts_no_longer_and_is_free_or_off_sale"
CANNOT = f"{CHECKED}::test_a_sale_or_return_that_cannot_have_been_is_unexplained"
sales = In("store/sales.py")
parts = In("store/hold_parts.py")
memory = In("allocator/memory.py")
decide = In("allocator/decide.py")
load = In("allocator/load.py")
announce = In("allocator/announce.py")
migration = In("store/migrations/versions/0006_operators_sales.py")
holds = In("store/holds.py")
walk = In("bench/checks/walk.py")
prices = In("store/prices.py")
event_prices = In("store/event_prices.py")
plan = In("store/plan.py")
csv = In("store/venues/csv_plan.py")
pretix = In("store/venues/pretix.py")

STORE: list[Mutant] = [
    sales(
        Kind.DEDUPE,
        "the same sale by hand is made once",
        "        if standing is not None:\n",
        "        if standing is None and not standing is None:\n",
        f"{SALES}::test_the_same_sale_again_is_the_same_order_and_nothing_is_changed",
    ),
    sales(
        Kind.DEDUPE,
        "a sale by hand that was taken back is no sale that stands",
        " AND request_id = %(request)s AND state = 'paid'\n",
        " AND request_id = %(request)s\n",
        f"{SALES}::test_what_was_taken_back_whole_can_be_sold_again_in_the_same_words",
    ),
    sales(
        Kind.DEDUPE,
        "sales by hand to different buyers are different sales",
        "msgspec.json.encode((buyer, kind, reference, ",
        "msgspec.json.encode((kind, reference, ",
        f"{SALES}::test_two_alike_are_told_apart_by_a_reference_a_buyer_or_a_kind",
    ),
    sales(
        Kind.LOCK_ORDER,
        "of two operators who sell at once one waits for the other",
        "        conn.execute(LOCK_EVENT, values)\n        standing",
        "        standing",
        f"{SALES}::test_a_sale_locks_the_event_then_seats_by_number_then_places",
    ),
    sales(
        Kind.LOCK_ORDER,
        "no order is taken back while a batch is under way",
        "    def attempt() -> Order:\n        conn.execute(blocks.LOCK_CURSOR, values)\n",
        "    def attempt() -> Order:\n",
        "tests/allocator/test_blocks.py::test_what_goes_off_sale_during_a_batch_comes_back_after_it",
    ),
    sales(
        Kind.LOCK_ORDER,
        "no places are sold by hand while a batch is under way",
        "        if wanted.areas:\n            conn.execute(blocks.LOCK_CURSOR, values)\n",
        "",
        "tests/allocator/test_blocks.py::test_places_go_off_sale_when_no_batch_is_under_way",
    ),
    sales(
        Kind.CONDITION,
        "what somebody has is not sold by hand",
        "    if gone:\n",
        "    if gone and not gone:\n",
        f"{SALES}::test_a_seat_that_somebody_has_is_refused_by_name_and_nothing_is_sold",
    ),
    sales(
        Kind.CONDITION,
        "no more places are sold by hand than there are",
        "        if places > free + blocked:\n",
        "        if places > free + 2 * blocked:\n",
        f"{SALES}::test_no_more_places_are_sold_than_are_free_or_blocked",
    ),
    sales(
        Kind.FACTS,
        "what is on sale is blocked before it is sold by hand",
        "            blocks.turn(conn, values, on_sale, FactKind.BLOCKED)\n",
        "            pass\n",
        f"{SALES}::test_what_is_on_sale_is_blocked_first_and_blocked_places_go_before_free_ones",
    ),
    sales(
        Kind.CONDITION,
        "only blocked seats are sold by hand",
        "   WHERE event_id = %(event)s AND seat_no = ANY (%(seats)s::int[]) AND state = 'blocked'\n",
        "   WHERE event_id = %(event)s AND seat_no = ANY (%(seats)s::int[])\n",
        ALONE,
    ),
    sales(
        Kind.CONDITION,
        "only blocked places are sold by hand",
        " AND area.area_no = moved.area_no AND blocked >= moved.quantity\n",
        " AND area.area_no = moved.area_no\n",
        ALONE,
    ),
    sales(
        Kind.COUNT,
        "a sale by hand has all the seats it names",
        '    assert sold.rowcount == len(wanted.seats), "the seats',
        '    assert sold.rowcount >= 0, "the seats',
        TOO_FEW,
    ),
    sales(
        Kind.COUNT,
        "a sale by hand has all the places it names",
        '    assert moved.rowcount == len(wanted.areas), "the areas',
        '    assert moved.rowcount >= 0, "the areas',
        TOO_FEW,
    ),
    sales(
        Kind.FACTS,
        "a sale by hand is told to the allocator",
        "        _tell(conn, event_id, FactKind.SOLD, hold_id, body)\n",
        "",
        f"{SALES}::test_blocked_seats_and_places_become_an_order_with_fact_history_and_audit",
    ),
    sales(
        Kind.BOUND,
        "a sale by hand is of so many seats and places at most",
        "    if quantity > QUANTITY_MAX:\n",
        "    if quantity > 2 * QUANTITY_MAX:\n",
        f"{SALES}::test_a_sale_that_cannot_be_is_refused",
    ),
    sales(
        Kind.CONDITION,
        "only an order is taken back",
        "        if state is not HoldState.PAID:\n",
        "        if state is HoldState.REFUNDED:\n",
        f"{SALES}::test_what_is_no_order_is_not_taken_back",
    ),
    sales(
        Kind.DEDUPE,
        "an order that is another than the operator knows is not taken back",
        "        if quantity not in (None, has):\n",
        "        if quantity is not None and has > quantity:\n",
        f"{SALES}::test_a_part_that_is_named_again_is_refused_and_taken_once",
    ),
    sales(
        Kind.DEDUPE,
        "who takes places back says how many there are",
        "    if wanted is not None and wanted.areas and quantity is None:\n",
        "    if wanted is None and wanted is not None:\n",
        f"{SALES}::test_a_part_that_is_named_again_is_refused_and_taken_once",
    ),
    sales(
        Kind.CONDITION,
        "only what the order has is taken back",
        "    if missing:\n",
        "    if missing and not missing:\n",
        f"{SALES}::test_a_part_that_is_named_again_is_refused_and_taken_once",
    ),
    sales(
        Kind.CONDITION,
        "only a paid hold becomes refunded",
        '%(hold)s AND state = \'paid\'\n"""\n\nKEEP_FEWER',
        '%(hold)s\n"""\n\nKEEP_FEWER',
        ALONE,
    ),
    sales(
        Kind.CONDITION,
        "an order keeps at least one",
        " AND state = 'paid' AND quantity > %(count)s\n",
        " AND state = 'paid'\n",
        ALONE,
    ),
    sales(
        Kind.CONDITION,
        "only seats that the order has become free",
        " AND state = 'sold' AND hold_id = %(hold)s\n  RETURNING",
        " AND state = 'sold'\n  RETURNING",
        ALONE,
    ),
    parts(
        Kind.CONDITION,
        "places that come back are of that order",
        "     AND hold_area.quantity = given.quantity\n",
        "     AND hold_area.quantity <= given.quantity\n",
        ALONE,
    ),
    sales(
        Kind.COUNT,
        "an order that does not add up is left alone",
        '    assert found == has, f"order',
        '    assert found or not found, f"order',
        f"{SALES}::test_an_order_that_does_not_add_up_is_left_alone_and_alarms",
    ),
    sales(
        Kind.FACTS,
        "an order taken back is told to the allocator",
        "    _tell(conn, event_id, FactKind.RETURNED, order.hold_id, body)\n",
        "",
        f"{SALES}::test_an_order_that_is_taken_back_whole_is_refunded_and_all_it_had_is_free_or_off_sale",
    ),
    sales(
        Kind.LOCK_ORDER,
        "an order's seats are locked by number",
        " ORDER BY seat.seat_no FOR UPDATE OF seat\n",
        " ORDER BY seat.seat_no DESC FOR UPDATE OF seat\n",
        f"{SALES}::test_an_order_is_locked_before_its_seats_and_they_before_its_places",
    ),
    migration(
        Kind.CONSTRAINT,
        "numbers of orders by hand and of decisions are apart",
        "(kind = 'buyer') = (hold_id < 576460752303423488)",
        "hold_id > 0",
        f"{SALES}::test_a_number_of_the_other_kind_is_refused_by_the_table",
    ),
    holds(
        Kind.CONDITION,
        "a holder is told that the order was taken back",
        "HoldState.REFUNDED:\n        raise _refunded()\n    if now.state is HoldState.RELEASED",
        "HoldState.RELEASED",
        f"{SALES}::test_a_holder_is_told_that_the_order_was_taken_back",
    ),
]

ALLOCATOR: list[Mutant] = [
    memory(
        Kind.OVERLAY,
        "an order taken back counts no longer",
        "        if returned.counted:\n",
        "        if returned.counted and not returned.counted:\n",
        BACK,
    ),
    memory(
        Kind.OVERLAY,
        "what was taken back to stay off sale is not free",
        "        if returned.blocked:  # places",
        "        if False:  # places",
        BACK,
    ),
    decide(
        Kind.FACTS,
        "a sale that the loaded tables show is not taken in twice",
        "        if fact.fact_id not in memory.reflected:\n            overlay.sell",
        "        if fact is not None:\n            overlay.sell",
        f"{MOMENT}::test_an_owner_that_loaded_it_before_its_facts_takes_it_in_once",
    ),
    decide(
        Kind.FACTS,
        "a return that the loaded tables show is not taken in twice",
        "    if fact.fact_id not in memory.reflected:\n        overlay.take_back",
        "    if fact is not None:\n        overlay.take_back",
        f"{MOMENT}::test_an_owner_that_loaded_it_before_its_facts_takes_it_in_once",
    ),
    load(
        Kind.FACTS,
        "what an operator sold does not count towards a limit after loading",
        " AND kind = 'buyer'\",\n        (event_id,),\n",
        '",\n        (event_id,),\n',
        f"{MOMENT}::test_an_owner_that_loaded_it_before_its_facts_takes_it_in_once",
        f"{MOMENT}::test_a_standby_follows_whether_it_loaded_before_or_after",
    ),
    announce(
        Kind.FACTS,
        "what was paid and taken back before a batch is shown free",
        " for seat in hold.seats if hold_of[seat] > 0],\n",
        " for seat in hold.seats],\n",
        f"{MOMENT}::test_an_order_paid_and_taken_back_before_a_batch_is_free_and_shown_free",
    ),
    decide(
        Kind.FACTS,
        "gateways hear what was taken back to stay off sale",
        "        decided.blocks_by_fact.append(Blocks(back.seats, back.areas))\n",
        "        pass\n",
        f"{MOMENT}::test_gateways_hear_what_was_sold_and_taken_back",
    ),
]

CHECKER: list[Mutant] = [
    walk(
        Kind.CHECKER,
        "the checker sees a seat sold by hand that was not off sale",
        "            if seat not in self.walk.blocked:\n",
        "            if False:\n",
        CANNOT,
    ),
    walk(
        Kind.CHECKER,
        "the checker sees places sold by hand that were not off sale",
        "            if self.walk.places_blocked[area] < 0:\n                name",
        "            if False:\n                name",
        CANNOT,
    ),
    walk(
        Kind.CHECKER,
        "the checker sees an order sold twice",
        "        if hold_id in self.walk.lives:\n",
        "        if False:\n",
        CANNOT,
    ),
    walk(
        Kind.CHECKER,
        "the checker sees taken back what is no order",
        '        if life is None or life.end is not None or not life.paid:\n            story = f"Batch',
        '        if life is None:\n            return\n        if False:\n            story = f"Batch',
        CANNOT,
    ),
]

MONEY: list[Mutant] = [
    prices(
        Kind.COUNT,
        "half of the smallest unit is rounded upwards",
        "    return (2 * numerator + denominator) // (2 * denominator)\n",
        "    return numerator // denominator\n",
        f"{PRICES}::test_examples",
    ),
    prices(
        Kind.COUNT,
        "tax that is in the price is not added to it",
        "        return Price(price_minor, fee, _part(asked * tax, WHOLE + tax), asked)\n",
        "        return Price(price_minor, fee, _part(asked * tax, WHOLE), asked)\n",
        f"{PRICES}::test_the_parts_of_a_seat_add_up_and_each_is_what_it_says_to_half_a_unit",
    ),
    event_prices(
        Kind.CONDITION,
        "fees and tax are settled when the sale begins",
        "            if state not in BEFORE_THE_SALE:\n",
        "            if state is EventState.CLOSED:\n",
        f"{PRICES}::test_terms_are_set_and_changed_until_the_sale_begins_with_who_and_why",
    ),
    event_prices(
        Kind.CONDITION,
        "who saw other fees and tax changes none",
        "            if seen not in (None, now):\n",
        "            if seen == terms:\n",
        f"{PRICES}::test_of_two_who_saw_the_same_fees_the_second_is_told",
    ),
    plan(
        Kind.CONDITION,
        "ranks given by the organiser win",
        "(rank_of[row[0].guid], _distance(row, focal), row[0].section)",
        "(_distance(row, focal), rank_of[row[0].guid], row[0].section)",
        f"{RANKS}::test_given_ranks_win_and_rows_of_equal_rank_are_as_near_as_they_are",
    ),
    csv(
        Kind.CONDITION,
        "every row of a table has a rank or none has",
        '        refuse_unless(row in reading.ranks, line.place("rank"), story)\n',
        "        reading.ranks.setdefault(row, (1, story))\n",
        f"{RANKS}::test_a_rank_that_cannot_be_is_told_with_its_line",
    ),
    pretix(
        Kind.CONDITION,
        "every row of a pretix plan has a rank or none has",
        "        if row.rank is None:\n",
        "        if row.rank is None and not placed:\n",
        f"{RANKS}::test_a_rank_of_a_pretix_row_that_cannot_be_is_told_with_its_place",
    ),
]

MUTANTS: list[Mutant] = [*STORE, *ALLOCATOR, *CHECKER, *MONEY]
