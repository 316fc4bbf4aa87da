"""Faults in lobbies and sales that begin by themselves."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

EVENTS = "tests/store/test_events.py"
DUE = "tests/store/test_due.py"
SCHEDULE = "tests/store/test_schedule.py"
PLANNER = "tests/allocator/fleet/test_planner.py"
COLD = "tests/allocator/test_cold.py"
FIELDS = "tests/gateway/test_operator_launching.py::test_what_is_wrong_is_told_at_its_field"
opening = In("store/opening.py")
schedule = In("store/schedule.py")

DECIDED = [
    schedule(
        Kind.CLOCK,
        "before its time an event does not begin and says how long that is",
        "        if left_us <= 0:\n",
        "        if left_us is not None:\n",
        f"{EVENTS}::test_before_its_time_an_event_stays_as_it_is_and_says_how_long",
        f"{DUE}::test_before_its_time_a_lobby_says_how_long_it_is_until_then",
    ),
    schedule(
        Kind.CLOCK,
        "who attends to an event looks again when the first of its times comes",
        "min(left_us for",
        "max(left_us for",
        f"{SCHEDULE}::test_who_waits_as_long_as_is_said_finds_something_to_do_and_nothing_sooner",
    ),
    schedule(
        Kind.CONDITION,
        "what has begun is not begun by its schedule",
        " if left_us is not None and state in BEFORE[name]\n",
        " if left_us is not None\n",
        f"{SCHEDULE}::test_what_has_begun_has_nothing_to_wait_for",
    ),
    schedule(
        Kind.CONDITION,
        "where lobby and sale are due the sale begins",
        "    for to, left_us in waits:",
        "    for to, left_us in reversed(waits):",
        f"{SCHEDULE}::test_where_nobody_looked_until_both_were_due_the_sale_begins_at_once",
        f"{DUE}::test_where_both_are_due_at_once_the_sale_begins_and_nobody_was_in_the_draw",
    ),
    schedule(
        Kind.CONDITION,
        "a lobby is before its sale",
        "        check(times.lobby_opens_at < times.opens_at,",
        "        check(times.lobby_opens_at is not times.opens_at,",
        f"{SCHEDULE}::test_a_lobby_that_would_not_be_before_the_sale_is_refused",
    ),
    schedule(
        Kind.CONDITION,
        "the time of what has begun is not changed",
        "        if value != getattr(times, name) and state not in BEFORE[name]:\n",
        "        if value != getattr(times, name) and state not in EventState:\n",
        f"{SCHEDULE}::test_the_time_of_what_has_begun_stays_as_it_is",
    ),
    schedule(
        Kind.CONDITION,
        "a lobby that has begun does not hold its sale back",
        "    check_times(after if state in BEFORE[",
        "    check_times(after if state in EventState or state in BEFORE[",
        f"{SCHEDULE}::test_a_lobby_that_has_begun_does_not_keep_its_sale_from_being_sooner",
    ),
]

BEGUN = [
    opening(
        Kind.CLOCK,
        "an event that opens by itself opens no earlier than the row says that is locked",
        " AND opens_at <= clock_timestamp() FOR UPDATE",
        " FOR UPDATE",
        f"{DUE}::test_a_time_that_is_moved_in_the_moment_it_comes_counts",
    ),
    opening(
        Kind.CLOCK,
        "a lobby begins no earlier than the row says that is locked",
        " AND lobby_opens_at <= clock_timestamp() FOR UPDATE",
        " FOR UPDATE",
        f"{DUE}::test_a_lobby_that_is_moved_in_the_moment_it_is_due_does_not_begin",
    ),
    opening(
        Kind.CONDITION,
        "of many who open an event by its schedule one does",
        " AND state IN ('draft', 'lobby') AND opens_at <=",
        " AND opens_at <=",
        f"{DUE}::test_who_closes_an_event_in_the_moment_it_is_due_is_not_overridden",
    ),
    opening(
        Kind.CONDITION,
        "only a draft becomes a lobby by its schedule",
        " AND state = 'draft' AND lobby_opens_at <=",
        " AND lobby_opens_at <=",
        f"{DUE}::test_who_opens_the_sale_as_its_lobby_is_due_is_not_overridden",
    ),
    opening(
        Kind.LOCK_ORDER,
        "an owner does not wait for an operator who changes a due event",
        " AND opens_at <= clock_timestamp() FOR UPDATE SKIP LOCKED)",
        " AND opens_at <= clock_timestamp() FOR UPDATE)",
        f"{EVENTS}::test_an_operator_who_changes_a_due_event_goes_first",
    ),
    opening(
        Kind.LOCK_ORDER,
        "an owner does not wait for an operator who changes a draft whose lobby is due",
        " AND lobby_opens_at <= clock_timestamp() FOR UPDATE SKIP LOCKED)",
        " AND lobby_opens_at <= clock_timestamp() FOR UPDATE)",
        f"{DUE}::test_an_operator_who_changes_a_draft_whose_lobby_is_due_goes_first",
    ),
    opening(
        Kind.FACTS,
        "what begins by its schedule is told to the allocator",
        "        tell_allocator(conn, event_id)\n",
        "",
        f"{EVENTS}::test_an_event_whose_time_has_come_opens_once_and_tells_the_allocator",
        f"{DUE}::test_a_lobby_whose_time_has_come_begins_once_and_is_told_and_audited_as_due",
    ),
    opening(
        Kind.FACTS,
        "what begins by its schedule is in the audit",
        "        audit.write(conn, event_id, Said(WHO, WHY[due.to]), what)\n",
        "",
        f"{DUE}::test_a_lobby_whose_time_has_come_begins_once_and_is_told_and_audited_as_due",
    ),
    opening(
        Kind.CONDITION,
        "a sale that begins by its schedule ends the lobby",
        "        if due.to is EventState.OPEN:\n",
        "        if due.to is EventState.CLOSED:\n",
        f"{DUE}::test_then_the_sale_begins_at_its_time_and_ends_the_lobby",
    ),
]

AROUND = [
    In("store/fleet/on_sale.py")(
        Kind.CONDITION,
        "a draft whose lobby is to begin soon is attended to",
        "AND least(event.lobby_opens_at, event.opens_at) <=",
        "AND event.opens_at <=",
        f"{PLANNER}::test_events_are_on_sale_as_long_as_somebody_has_to_attend_to_them",
    ),
    In("allocator/cold/sql.py")(
        Kind.CLOCK,
        "events that share wake for a lobby",
        "CASE state WHEN 'draft' THEN least(lobby_opens_at, opens_at) ELSE opens_at END",
        "opens_at",
        f"{COLD}::test_a_draft_begins_its_lobby_and_then_its_sale_at_their_times",
    ),
    In("store/console/needs.py")(
        Kind.CONDITION,
        "a lobby that somebody began is not missed",
        "    return late and seen.state is EventState.DRAFT\n",
        "    return late\n",
        "tests/store/console/test_now.py"
        "::test_a_lobby_that_has_not_begun_in_time_needs_a_hand_until_somebody_begins_it",
    ),
    In("store/launches/checking.py")(
        Kind.CLOCK,
        "a lobby of a launch does not begin at a time that is over",
        "        if lobby <= now:\n",
        "        if lobby <= now.replace(year=2000):\n",
        FIELDS,
    ),
    In("store/launches/checking.py")(
        Kind.CONDITION,
        "a launch whose lobby begins at once has no time for it",
        "        if begin in (Begin.LOBBY, Begin.OPEN):\n",
        "        if begin is Begin.OPEN:\n",
        FIELDS,
    ),
]

MUTANTS: list[Mutant] = [*DECIDED, *BEGUN, *AROUND]
