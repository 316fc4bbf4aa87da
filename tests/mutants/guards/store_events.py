"""Faults in what operators change and in what gateways look up."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

EVENTS_TEST = "tests/store/test_events.py"
TWO = "tests/allocator/test_two_events.py"
OTHERS_ROWS = f"{TWO}::test_what_happens_in_one_event_changes_no_row_of_another"
HOLD_GUARDS = "tests/store/test_hold_guards.py"
LOOK_UPS = "tests/store/test_reads.py"
holds = In("store/holds.py")
events = In("store/events.py")
lookups = In("store/lookups.py")

EVENTS = [
    events(
        Kind.LOCK_ORDER,
        "one operator at a time changes an event",
        '_READ_LOCKED = _READ + " FOR UPDATE"',
        "_READ_LOCKED = _READ",
        f"{EVENTS_TEST}::test_two_who_resume_at_once_extend_holds_once",
        f"{EVENTS_TEST}::test_of_two_operators_who_pause_at_once_one_is_told_it_is_paused",
    ),
    events(
        Kind.PAUSE,
        "what was given back is told to the allocator",
        "        tell_allocator(conn, event.id, holds_extended_us=extended_us)\n",
        "        tell_allocator(conn, event.id)\n",
        f"{EVENTS_TEST}::test_running_holds_get_exactly_the_lost_time_back",
    ),
    events(
        Kind.CONDITION,
        "a change of state that is not allowed is refused",
        "        if to not in TRANSITIONS[event.state] or (",
        "        if (",
        f"{EVENTS_TEST}::test_only_the_transitions_of_the_design_are_allowed",
    ),
    events(
        Kind.FACTS,
        "a change of state is told to the allocator",
        "        tell_allocator(conn, event.id, holds_extended_us=extended_us)\n",
        "",
        f"{EVENTS_TEST}::test_only_the_transitions_of_the_design_are_allowed",
    ),
    events(
        Kind.FACTS,
        "a new policy is told to the allocator",
        "isdisjoint(DECIDED_BY):\n            tell_allocator(conn, event.id)\n",
        "isdisjoint(DECIDED_BY):\n            pass\n",
        f"{EVENTS_TEST}::test_a_new_policy_is_whole_and_told_once",
    ),
]

LOOKUPS = [
    lookups(
        Kind.ASK_AGAIN,
        "a pool whose connections failed goes on trying",
        "        reconnect_failed=reconnect_failed,\n",
        "",
        "tests/store/test_lookups.py"
        "::test_a_pool_whose_queue_filled_up_while_postgres_was_away_is_back_with_it",
    ),
    lookups(
        Kind.ASK_AGAIN,
        "a pool that goes on trying makes an attempt",
        "            await pool.check()  #",
        "            pass  #",
        "tests/store/test_lookups.py"
        "::test_a_pool_whose_queue_filled_up_while_postgres_was_away_is_back_with_it",
    ),
    lookups(
        Kind.DEDUPE,
        "a key is looked up in its own event",
        "    WHERE event_id + 0 = %s AND buyer = asked.buyer AND",
        "    WHERE (event_id = %s OR true) AND buyer = asked.buyer AND",
        f"{LOOK_UPS}::test_a_key_of_another_event_or_buyer_is_not_known_here",
    ),
    lookups(
        Kind.BOUND,
        "a plan made on a ledger without rows does not read it whole later",
        ";\nSET enable_seqscan = off\n",
        "\n",
        "tests/gateway/test_lost.py::test_a_look_up_probes_the_key_index_for_each_key",
        "tests/allocator/test_hot_statements.py"
        "::test_every_statement_does_so_too_when_it_was_planned_before_there_were_rows",
    ),
    lookups(
        Kind.BOUND,
        "a key is not looked for among all rows of its event",
        "    WHERE event_id + 0 = %s AND buyer = asked.buyer AND",
        "    WHERE event_id = %s AND buyer = asked.buyer AND",
        "tests/gateway/test_lost.py::test_a_look_up_probes_the_key_index_for_each_key",
    ),
    lookups(
        Kind.DEDUPE,
        "a key is looked up for its own buyer",
        " AND buyer = asked.buyer AND request_id = asked.request_id\n",
        " AND request_id = asked.request_id\n",
        f"{LOOK_UPS}::test_a_key_of_another_event_or_buyer_is_not_known_here",
    ),
    lookups(
        Kind.DEDUPE,
        "a conflict is not its key's decision",
        "      AND kind = 'request' AND outcome <> 'conflict'\n",
        "      AND kind = 'request'\n",
        f"{LOOK_UPS}::test_a_conflict_is_never_the_decision_of_its_key",
    ),
    lookups(
        Kind.SNAPSHOT,
        "the seat map is of one moment",
        '"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"',
        '"SET TRANSACTION ISOLATION LEVEL READ COMMITTED READ ONLY"',
        f"{LOOK_UPS}::test_a_seat_map_read_while_a_batch_commits_is_of_one_moment",
    ),
]

MUTANTS: list[Mutant] = [*EVENTS, *LOOKUPS]
