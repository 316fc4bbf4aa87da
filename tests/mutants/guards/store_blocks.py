"""Faults in operators' changes of seats, in what takes them in, and in what looks whether all adds up."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

BLOCKS = "tests/store/test_blocks.py"
MOMENT = "tests/allocator/test_blocks.py"
DECIDE = "tests/allocator/test_decide.py"
MEMORY = "tests/allocator/test_memory.py"
ADDS_UP = "tests/store/test_invariant.py"
TOLD = f"{ADDS_UP}::test_what_does_not_add_up_is_told_and_left_alone"
OTHERS = f"{BLOCKS}::test_seats_and_places_of_another_event_stay_as_they_are"
REFUSED = (
    f"{BLOCKS}::test_a_seat_that_somebody_has_or_that_is_blocked_is_refused_by_name_and_nothing_is_changed"
)
PLACES_AFTER_THE_BATCH = f"{MOMENT}::test_places_go_off_sale_when_no_batch_is_under_way"
AFTER_THE_BATCH = f"{MOMENT}::test_what_goes_off_sale_during_a_batch_comes_back_after_it"
BY_NUMBER = f"{BLOCKS}::test_seats_are_locked_by_number_and_before_places"
blocks = In("store/blocks.py")
audit = In("store/audit.py")
invariant = In("store/invariant.py")
decide = In("allocator/decide.py")
memory = In("allocator/memory.py")
announce = In("allocator/announce.py")
gate = In("gateway/gate.py")
runtime = In("gateway/events.py")
balance = In("allocator/balance.py")
process = In("allocator/attend.py")
replay = In("allocator/replay.py")
walk = In("bench/checks/walk.py")
tables = In("bench/checks/tables.py")
CHECKED = "tests/checker/test_checker_blocks.py"

STORE: list[Mutant] = [
    blocks(
        Kind.CONDITION,
        "only free seats are blocked, and only blocked ones unblocked",
        "        _refuse_seats(plan, conn.execute(LOCK_SEATS, values).fetchall(), blocks, was)\n",
        "        conn.execute(LOCK_SEATS, values)\n",
        REFUSED,
    ),
    blocks(
        Kind.CONDITION,
        "a seat changes only from the state it is to leave",
        " AND state = %(was)s::text\n",
        "\n",
        f"{BLOCKS}::test_each_statement_stands_alone_against_a_seat_that_is_not_as_it_must_be",
    ),
    blocks(
        Kind.COUNT,
        "an operator's change turns all the seats it names",
        '    assert turned.rowcount == len(blocks.seats), "the seats',
        '    assert turned.rowcount >= 0, "the seats',
        f"{BLOCKS}::test_a_change_that_turned_too_few_is_undone_and_alarms",
    ),
    blocks(
        Kind.COUNT,
        "an operator's change moves all the counters it names",
        '    assert moved.rowcount == len(blocks.areas), "the areas',
        '    assert moved.rowcount >= 0, "the areas',
        f"{BLOCKS}::test_a_change_that_turned_too_few_is_undone_and_alarms",
    ),
    blocks(
        Kind.CONDITION,
        "an operator turns only this event's seats",
        "   WHERE event_id = %(event)s AND seat_no = ANY (%(seats)s::int[]) AND state = %(was)s::text\n",
        "   WHERE seat_no = ANY (%(seats)s::int[]) AND state = %(was)s::text\n",
        OTHERS,
    ),
    blocks(
        Kind.CONDITION,
        "an operator locks only this event's seats",
        " WHERE event_id = %(event)s AND seat_no = ANY (%(seats)s::int[]) ORDER BY seat_no FOR UPDATE\n",
        " WHERE seat_no = ANY (%(seats)s::int[]) ORDER BY seat_no FOR UPDATE\n",
        OTHERS,
    ),
    blocks(
        Kind.CONDITION,
        "an operator moves only this event's counters",
        " WHERE area.event_id = %(event)s AND area.area_no = moved.area_no\n",
        " WHERE area.area_no = moved.area_no\n",
        OTHERS,
    ),
    blocks(
        Kind.CONDITION,
        "an operator locks only this event's counters",
        " WHERE event_id = %(event)s AND area_no = ANY (%(areas)s::int[]) ORDER BY area_no FOR UPDATE\n",
        " WHERE area_no = ANY (%(areas)s::int[]) ORDER BY area_no FOR UPDATE\n",
        OTHERS,
    ),
    blocks(
        Kind.CONDITION,
        "no more places are blocked than are free",
        " AND held + sold + blocked + moved.quantity <= capacity\n",
        "\n",
        f"{BLOCKS}::test_each_statement_stands_alone_against_an_area_that_is_not_as_it_must_be",
    ),
    blocks(
        Kind.CONDITION,
        "no more places are unblocked than are blocked",
        "   AND blocked + moved.quantity >= 0 AND held",
        "   AND held",
        f"{BLOCKS}::test_each_statement_stands_alone_against_an_area_that_is_not_as_it_must_be",
    ),
    blocks(
        Kind.CONDITION,
        "too many places to block are refused before anything is changed",
        "wanted > free:",
        "wanted > free + blocked:",
        f"{BLOCKS}::test_no_more_places_are_blocked_than_are_free",
    ),
    blocks(
        Kind.CONDITION,
        "too many places to unblock are refused before anything is changed",
        "wanted > blocked:",
        "wanted > free + blocked:",
        f"{BLOCKS}::test_no_more_places_are_unblocked_than_are_blocked",
    ),
    blocks(
        Kind.CONDITION,
        "an operator releases only the hold that is named",
        " WHERE event_id = %(event)s AND hold_id = %(hold)s AND state || '' = 'active'\n",
        " WHERE event_id = %(event)s AND state || '' = 'active'\n",
        f"{BLOCKS}::test_a_hold_that_an_operator_releases_frees_all_it_had",
    ),
    blocks(
        Kind.CONDITION,
        "an operator releases only a hold of this event",
        " WHERE event_id = %(event)s AND hold_id = %(hold)s AND state || '' = 'active'\n",
        " WHERE hold_id = %(hold)s AND state || '' = 'active'\n",
        OTHERS,
    ),
    blocks(
        Kind.CONDITION,
        "an operator releases no order",
        " WHERE event_id = %(event)s AND hold_id = %(hold)s AND state || '' = 'active'\n",
        " WHERE event_id = %(event)s AND hold_id = %(hold)s\n",
        f"{BLOCKS}::test_what_ran_out_is_told_and_an_order_or_no_hold_is_refused",
    ),
    blocks(
        Kind.CONDITION,
        "an operator is told that an order was taken back, not that it is released",
        "    if state is HoldState.REFUNDED:\n",
        "    if False:\n",
        "tests/store/test_sales.py::test_an_operator_who_releases_an_order_taken_back_is_told_so",
    ),
    blocks(
        Kind.COUNT,
        "a hold an operator releases has all that it counts",
        '        assert found == quantity, f"hold',
        '        assert found or not found, f"hold',
        f"{BLOCKS}::test_a_hold_whose_seats_do_not_add_up_is_left_alone_and_alarms",
    ),
    blocks(
        Kind.FACTS,
        "a block is told to the allocator",
        '    conn.execute(INSERT_FACT, given | {"kind": kind.value, "hold": None, "body": body})\n',
        "",
        f"{BLOCKS}::test_what_is_blocked_is_off_sale_with_fact_history_and_audit",
    ),
    blocks(
        Kind.FACTS,
        "an operator's release is told to the allocator",
        '        conn.execute(INSERT_FACT, values | {"kind": FactKind.RELEASED.value, "body": None})\n',
        "",
        f"{BLOCKS}::test_a_hold_that_an_operator_releases_frees_all_it_had",
    ),
    blocks(
        Kind.FACTS,
        "an operator's change is whole, with fact and audit, or none",
        "            with conn.transaction():\n",
        "            if conn:\n",
        f"{BLOCKS}::test_only_what_may_be_retried_is_retried_and_three_times",
    ),
    blocks(
        Kind.LOCK_ORDER,
        "nothing is put on sale again while a batch is under way",
        "        if blocks.areas or not blocked:\n",
        "        if blocks.areas and blocked:\n",
        AFTER_THE_BATCH,
    ),
    blocks(
        Kind.LOCK_ORDER,
        "no places are blocked while a batch is under way",
        "        if blocks.areas or not blocked:\n",
        "        if not blocked:\n",
        PLACES_AFTER_THE_BATCH,
    ),
    blocks(
        Kind.LOCK_ORDER,
        "an operator locks seats by number",
        " ORDER BY seat_no FOR UPDATE\n",
        " ORDER BY seat_no DESC FOR UPDATE\n",
        BY_NUMBER,
    ),
    blocks(
        Kind.LOCK_ORDER,
        "an operator locks seats before places",
        "        _refuse_seats(plan, conn.execute(LOCK_SEATS",
        "        conn.execute(LOCK_AREAS, values)\n        _refuse_seats(plan, conn.execute(LOCK_SEATS",
        BY_NUMBER,
    ),
    blocks(
        Kind.LOCK_ORDER,
        "an operator locks the hold before its seats",
        "        row = conn.execute(RELEASE, values).fetchone()\n",
        "        conn.execute(holds.LOCK_SEATS.format(among=''), values)\n"
        "        row = conn.execute(RELEASE, values).fetchone()\n",
        f"{BLOCKS}::test_a_released_hold_is_locked_before_its_seats_and_they_before_its_places",
    ),
    blocks(
        Kind.BOUND,
        "an operator waits for a lock only so long",
        '                conn.execute(f"SET LOCAL lock_timeout = {LOCK_WAIT_MS_MAX}")\n',
        "",
        f"{BLOCKS}::test_no_lock_is_waited_for_longer_than_the_bound",
    ),
    blocks(
        Kind.BOUND,
        "an operator's change is tried a bounded number of times",
        "            if tries == TRIES_MAX:\n",
        "            if tries == 2 * TRIES_MAX:\n",
        f"{BLOCKS}::test_only_what_may_be_retried_is_retried_and_three_times",
    ),
    blocks(
        Kind.BOUND,
        "an operator changes at most so many seats a call",
        "    if len(seats) > SEATS_MAX:\n",
        "    if len(seats) > 2 * SEATS_MAX:\n",
        f"{BLOCKS}::test_what_the_plan_does_not_have_is_refused",
    ),
    audit(
        Kind.CONDITION,
        "nobody takes the name of what changes seats by itself",
        " or who in NOT_PEOPLE:\n",
        ":\n",
        f"{BLOCKS}::test_who_must_be_an_operators_name",
    ),
    audit(
        Kind.BOUND,
        "why is said, in so many characters",
        "    if not 0 < len(why) <= WHY_LENGTH_MAX or",
        "    if",
        f"{BLOCKS}::test_why_must_be_said",
    ),
    audit(
        Kind.CONDITION,
        "audit is read of one event",
        " WHERE (%(event)s::int IS NULL OR audit.event_id = %(event)s)\n",
        " WHERE true\n",
        OTHERS,
    ),
    invariant(
        Kind.SNAPSHOT,
        "what must add up is read in one snapshot",
        '        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")\n',
        "",
        f"{ADDS_UP}::test_all_is_read_of_one_moment",
    ),
    invariant(
        Kind.CHECKER,
        "a seat that another hold keeps does not add up",
        " WHERE seat.hold_id IS DISTINCT FROM kept.hold_id\n    OR seat",
        " WHERE seat",
        TOLD,
    ),
    invariant(
        Kind.CHECKER,
        "an offer that is not its buyer's hold does not add up",
        " WHERE (hold.buyer, hold.request_id) IS DISTINCT FROM (waiting.buyer, waiting.request_id)\n",
        " WHERE hold.buyer IS NULL\n",
        TOLD,
    ),
    invariant(
        Kind.CHECKER,
        "a seat whose state is not its hold's does not add up",
        "       AND seat.state IS DISTINCT FROM CASE",
        "       AND seat.state IS NULL AND seat.state = CASE",
        TOLD,
    ),
    invariant(
        Kind.CHECKER,
        "a hold that keeps more or less than it counts does not add up",
        "       IS DISTINCT FROM CASE WHEN hold.state IN",
        "       < CASE WHEN hold.state IN",
        TOLD,
    ),
    invariant(
        Kind.CHECKER,
        "an area that counts other places than its holds keep does not add up",
        " WHERE area.held IS DISTINCT FROM coalesce(kept.held, 0) OR area.sold IS DISTINCT FROM"
        " coalesce(kept.sold, 0)\n    OR area.blocked",
        " WHERE area.blocked",
        TOLD,
    ),
    invariant(
        Kind.CHECKER,
        "an area with more than its capacity does not add up",
        " OR area.held + area.sold + area.blocked > area.capacity\n",
        "\n",
        TOLD,
    ),
    invariant(
        Kind.CHECKER,
        "a plan whose seats have no rows does not add up",
        "    if (known, there) != (capacity.seats, capacity.seats):\n",
        "    if there > capacity.seats:\n",
        TOLD,
    ),
    invariant(
        Kind.CHECKER,
        "an area whose capacity is not the plan's does not add up",
        "    if areas != list(enumerate(capacity.areas)):\n",
        "    if len(areas) != len(capacity.areas):\n",
        TOLD,
    ),
    invariant(
        Kind.BOUND,
        "a bounded number of rows that do not add up is told",
        " ORDER BY seat_no LIMIT %(limit)s\n",
        " ORDER BY seat_no\n",
        f"{ADDS_UP}::test_many_rows_are_told_up_to_a_bound",
    ),
]

ALLOCATOR: list[Mutant] = [
    decide(
        Kind.FACTS,
        "a block that the loaded tables show is not taken in twice",
        "        if fact.fact_id not in memory.reflected:\n            change =",
        "        if True:\n            change =",
        f"{MOMENT}::test_an_owner_that_loaded_a_block_before_its_fact_counts_it_once",
    ),
    memory(
        Kind.OVERLAY,
        "best available does not see blocked seats",
        "        memory.seating.hide(blocks.seats)\n",
        "",
        f"{DECIDE}::test_what_an_operator_blocks_is_off_sale_from_that_batch_on_and_on_sale_again_when_unblocked",
    ),
    announce(
        Kind.FACTS,
        "gateways hear what was blocked",
        "        [seat for seat in turned if hold_of[seat] == BLOCKED],\n",
        "",
        f"{MOMENT}::test_gateways_hear_what_was_blocked_and_unblocked",
    ),
    announce(
        Kind.FACTS,
        "gateways hear which blocked seats were unblocked",
        " for seat in hold.seats] + turned\n",
        " for seat in hold.seats]\n",
        f"{MOMENT}::test_gateways_hear_what_was_blocked_and_unblocked",
    ),
    announce(
        Kind.FACTS,
        "gateways hear how many places a block leaves",
        "    areas.update(area for blocks in decided.blocks_by_fact for area, _ in blocks.areas)\n",
        "",
        f"{MOMENT}::test_gateways_hear_what_was_blocked_and_unblocked",
    ),
    gate(
        Kind.GATE,
        "a blocked seat is gone at the gate",
        "        stock.turn(delta.blocked, BLOCKED)\n",
        "",
        "tests/gateway/test_gate.py::test_a_batch_shows_what_an_operator_blocked_and_unblocked",
    ),
    runtime(
        Kind.GATE,
        "watchers of the map see a seat blocked",
        " + delta.sold + delta.blocked\n",
        " + delta.sold\n",
        "tests/gateway/test_gate_asked.py::test_watchers_hear_of_a_blocked_seat",
    ),
    balance(
        Kind.CHECKER,
        "what does not add up is an alert",
        "        if rows:\n            told",
        "        if not rows:\n            told",
        "tests/allocator/test_balance.py::test_what_does_not_add_up_is_an_alert_with_its_rows_and_stays",
    ),
    process(
        Kind.CHECKER,
        "the allocator's process looks whether its events add up",
        "        balance.start()\n",
        "        balance.daemon = True\n",
        "tests/allocator/test_balance.py::test_the_allocators_process_watches_the_events_it_owns",
    ),
]

CHECKER: list[Mutant] = [
    replay(
        Kind.REPLAY,
        "a batch that cannot be decided again is a finding",
        "    except (AssertionError, OffersFirst, msgspec.DecodeError) as error:\n",
        "    except msgspec.DecodeError as error:\n",
        "tests/allocator/test_verify.py"
        "::test_an_unblock_of_what_no_fact_had_blocked_is_a_finding_of_its_batch",
    ),
    walk(
        Kind.CHECKER,
        "the checker sees a blocked seat that is given",
        "            if seat in self.walk.blocked:\n",
        "            if False:\n",
        f"{CHECKED}::test_a_blocked_seat_that_is_given_is_oversold",
    ),
    walk(
        Kind.CHECKER,
        "the checker sees a block of a seat that somebody has",
        "            if seat in self.walk.holder:\n",
        "            if False:\n",
        f"{CHECKED}::test_a_block_that_cannot_have_been_is_unexplained",
    ),
    walk(
        Kind.CHECKER,
        "the checker sees a seat unblocked that was not blocked",
        "            if (seat in blocked) == block:\n",
        "            if False:\n",
        f"{CHECKED}::test_a_block_that_cannot_have_been_is_unexplained",
    ),
    walk(
        Kind.CHECKER,
        "the checker knows that what is unblocked can be had",
        "        self._frees += not block\n",
        "",
        f"{CHECKED}::test_who_is_refused_what_was_unblocked_again_is_refused_though_it_was_free",
    ),
    tables(
        Kind.CHECKER,
        "the checker sees a seat blocked behind the ledger's back",
        '        if (state == "blocked") != (seat_no in walk.blocked):\n',
        "        if False:\n",
        f"{CHECKED}::test_what_is_blocked_behind_everybodys_back_is_unexplained",
    ),
    tables(
        Kind.CHECKER,
        "the checker sees places blocked behind the ledger's back",
        "        if area.blocked != walk.places_blocked[area.area_no]:\n",
        "        if False:\n",
        f"{CHECKED}::test_what_is_blocked_behind_everybodys_back_is_unexplained",
    ),
]

MUTANTS: list[Mutant] = [*STORE, *ALLOCATOR, *CHECKER]
