"""Faults in what the planner of the fleet does, and in how its steps are written."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

PLAN = "tests/allocator/fleet/test_plan.py"
ANY = "tests/allocator/fleet/test_plan_properties.py::test_each_fleet_settles_where_everything_is_attended_to"
PLANNER = "tests/allocator/fleet/test_planner.py"
STEPS = "tests/store/fleet/test_steps.py"
READ = "tests/store/fleet/test_read.py"
state = In("allocator/fleet/state.py")
losing = In("allocator/fleet/losing.py")
heat = In("allocator/fleet/heat.py")
pools = In("allocator/fleet/pools.py")
aims = In("allocator/fleet/aims.py")
moving = In("allocator/fleet/moving.py")
plan = In("allocator/fleet/plan.py")
planner = In("allocator/fleet/planner.py")
steps = In("store/fleet/steps.py")
alive = In("store/fleet/alive.py")
on_sale = In("store/fleet/on_sale.py")
turn = In("store/fleet/turn.py")
limits = In("store/fleet/limits.py")

MUTANTS: list[Mutant] = [
    moving(
        Kind.TAKEOVER,
        "an owner is not taken off its event",
        "if worker in (state.owner(event), state.preferred(event)) or not wanted.workers:",
        "if not wanted.workers:",
        f"{PLAN}::test_an_owner_keeps_its_event_until_another_one_is_warm_and_owns_it",
        ANY,
    ),
    moving(
        Kind.TAKEOVER,
        "an event is handed over to one that is warm only",
        "if to is not None and to != preferred and _warm(state, event, to):",
        "if to is not None and to != preferred and to in rows:",
        f"{PLAN}::test_one_that_does_not_get_warm_is_not_waited_for",
        ANY,
        f"{PLAN}::test_an_owner_keeps_its_event_until_another_one_is_warm_and_owns_it",
    ),
    moving(
        Kind.TAKEOVER,
        "nobody leaves an event before those who come in their place are warm",
        "if enough and ready and any(row.warm for row in others.values()):",
        "if enough:",
        ANY,
        f"{PLAN}::test_a_second_host_is_used_for_standing_by_and_the_spare_worker_ends",
        f"{PLAN}::test_an_owner_keeps_its_event_until_another_one_is_warm_and_owns_it",
    ),
    moving(
        Kind.BOUND,
        "few events are handed over at a time",
        "if may_move or not takes:",
        "if may_move or takes:",
        f"{PLAN}::test_a_draining_host_is_left_few_events_at_a_time_and_then_empty",
        ANY,
    ),
    moving(
        Kind.BOUND,
        "who does not get warm is waited for no longer",
        "if owner is not None and _overdue(state, event, preferred):",
        "if owner is not None and not _overdue(state, event, preferred):",
        f"{PLAN}::test_one_that_does_not_get_warm_is_not_waited_for",
    ),
    state(
        Kind.CONDITION,
        "draining hosts are given nothing new",
        "if not host.draining or self.last_resort()]",
        "if host.slots]",
        f"{PLAN}::test_a_draining_host_is_left_few_events_at_a_time_and_then_empty",
        ANY,
    ),
    state(
        Kind.CONDITION,
        "what is on sale does not stand still while only draining hosts are there",
        "if not host.draining or self.last_resort()]",
        "if not host.draining]",
        f"{PLAN}::test_a_draining_host_takes_events_while_no_other_one_is_there_and_gives_them_up_again",
        f"{PLANNER}::test_a_draining_host_takes_events_once_no_other_one_is_there_and_gives_them_up_again",
    ),
    alive(
        Kind.CONDITION,
        "a draining host is the last resort only while no other one is there",
        "   AND NOT EXISTS (SELECT FROM fleet_host AS other WHERE other.draining_at IS NULL))",
        "   AND true)",
        "tests/allocator/fleet/test_hosts.py"
        "::test_a_draining_host_is_the_last_resort_once_the_planner_took_every_other_one_away",
        f"{STEPS}::test_nothing_is_started_on_hosts_that_are_gone_drain_or_are_full",
    ),
    state(
        Kind.BOUND,
        "no host has more workers than slots",
        "for worker in self.workers.values()))",
        "and not worker.stopping for worker in self.workers.values()))",
        f"{PLAN}::test_a_slot_is_free_once_the_worker_that_is_to_stop_is_gone",
    ),
    losing(
        Kind.CLOCK,
        "nobody is lost before they could be heard of",
        "return state.now - max(since, state.view.heard_since)",
        "return state.now - since",
        f"{PLAN}::test_nobody_is_lost_before_they_could_be_heard_of",
        f"{PLANNER}::test_a_worker_that_was_not_heard_of_goes_and_who_owns_its_event_is_preferred",
    ),
    planner(
        Kind.CLOCK,
        "a clock that was set back keeps no silent host alive",
        "            self._set_back, self._heard_since = True, 0\n",
        "            self._heard_since = 0\n",
        f"{PLANNER}::test_after_the_clock_was_set_back_who_is_silent_is_lost_all_the_same",
    ),
    planner(
        Kind.CLOCK,
        "a planner that heard nothing for long counts nobody as lost at once",
        "            self._heard_since = 0\n        try:",
        "            self._heard_since += 0\n        try:",
        f"{PLANNER}::test_after_a_gap_all_have_time_to_show_up",
    ),
    heat(
        Kind.BOUND,
        "an event is hot only after it was busy for long enough",
        ">= state.limits.busy_seconds:",
        ">= 0:",
        f"{PLAN}::test_what_is_busy_for_a_moment_stays_cold",
    ),
    heat(
        Kind.BOUND,
        "an event is cold only after it was quiet for long enough",
        ">= state.limits.quiet_seconds:",
        ">= 0:",
        f"{PLAN}::test_a_busy_event_becomes_hot_after_seconds_and_cold_after_quiet_ones",
    ),
    heat(
        Kind.BOUND,
        "between the limits an event stays what it is",
        "arrivals < limits.cold_arrivals_per_second and",
        "arrivals < limits.hot_arrivals_per_second and",
        f"{PLAN}::test_a_busy_event_becomes_hot_after_seconds_and_cold_after_quiet_ones",
    ),
    heat(
        Kind.BOUND,
        "so many events are hot by their load at most",
        "if hot >= state.limits.hot_events_max:",
        "if hot > state.limits.hot_events_max:",
        f"{PLAN}::test_no_more_events_get_hot_by_their_load_than_are_allowed",
    ),
    heat(
        Kind.CLOCK,
        "an old load says nothing",
        " and state.now - event.load_at <= LOAD_SECONDS * 1_000",
        "",
        f"{PLAN}::test_a_load_nobody_wrote_down_lately_changes_nothing",
    ),
    pools(
        Kind.BOUND,
        "one worker has so many cold events at most",
        "rows = -(-len(cold) // ROW_EVENTS_MAX)",
        "rows = min(1, len(cold))",
        f"{PLAN}::test_more_than_one_worker_was_measured_with_have_several",
    ),
    aims(
        Kind.BOUND,
        "hot events share evenly",
        "while self._from_most_to_least(aims) or self._apart(aims):",
        "while self._apart(aims):",
        f"{PLAN}::test_events_that_share_go_to_a_host_that_joins_until_all_have_as_many",
    ),
    plan(
        Kind.BOUND,
        "a turn goes on until nothing more is safe",
        "PASSES_MAX: Final = 6",
        "PASSES_MAX: Final = 1",
        ANY,
    ),
    plan(
        Kind.DEDUPE,
        "that slots are short is told once",
        "    if now == state.view.short:\n        return\n",
        "",
        f"{PLAN}::test_with_a_single_slot_one_worker_does_all_and_it_is_told_once",
    ),
    steps(
        Kind.COUNT,
        "a step that does not find its row undoes the turn",
        "if cursor.rowcount != len(values):",
        "if cursor.rowcount > len(values):",
        f"{PLANNER}::test_steps_that_find_something_else_than_was_planned_with_are_undone",
        f"{STEPS}::test_who_was_heard_of_meanwhile_is_not_lost",
    ),
    steps(
        Kind.CONDITION,
        "a worker that was heard of meanwhile is not lost",
        """ AND {milliseconds("seen_at")} IS NOT DISTINCT FROM %(seen_at)s::bigint\"""",
        '"',
        f"{STEPS}::test_who_was_heard_of_meanwhile_is_not_lost",
    ),
    steps(
        Kind.BOUND,
        "a worker is started where there is a slot",
        "AND slots > (SELECT",
        "AND 99 > (SELECT",
        f"{STEPS}::test_nothing_is_started_on_hosts_that_are_gone_drain_or_are_full",
    ),
    steps(
        Kind.CONDITION,
        "a worker is started where nothing drains",
        "name = %(host)s AND {MAY_TAKE}",
        "name = %(host)s",
        f"{STEPS}::test_nothing_is_started_on_hosts_that_are_gone_drain_or_are_full",
    ),
    steps(
        Kind.CONDITION,
        "who attends to something is not stopped",
        "       AND NOT EXISTS (SELECT FROM fleet_assignment WHERE worker_id = %(worker)s)",
        "",
        f"{STEPS}::test_who_attends_to_something_is_not_stopped_and_who_is_stopped_is_given_nothing",
    ),
    steps(
        Kind.CONDITION,
        "who is to stop is given nothing",
        "WHERE id = %(worker)s AND stop_at IS NULL\n    ON CONFLICT",
        "WHERE id = %(worker)s\n    ON CONFLICT",
        f"{STEPS}::test_who_attends_to_something_is_not_stopped_and_who_is_stopped_is_given_nothing",
    ),
    steps(
        Kind.CONDITION,
        "what an operator changed meanwhile gets hot from their edition on",
        "fleet_event.edition = %(edition)s AND fleet_event.hot <> excluded.hot",
        "fleet_event.hot <> excluded.hot",
        f"{STEPS}::test_what_an_operator_changed_meanwhile_is_not_written_over",
    ),
    turn(
        Kind.FENCE,
        "one planner plans at a time",
        'TRY: Final = "SELECT 1 FROM fleet_turn FOR UPDATE SKIP LOCKED"',
        'TRY: Final = "SELECT 1 FROM fleet_turn"',
        f"{PLANNER}::test_who_finds_the_turn_taken_leaves_it",
    ),
    alive(
        Kind.CLOCK,
        "a standby far behind the ledger is not warm",
        ">= (SELECT batch_no FROM event_cursor",
        "<= 9223372036854775807 + 0 * (SELECT batch_no FROM event_cursor",
        f"{READ}::test_a_standby_far_behind_the_ledger_is_not_warm",
    ),
    alive(
        Kind.CLOCK,
        "a standby nobody heard of lately is not warm",
        "fleet_assignment.warm_at > clock_timestamp() - interval '{LOST_SECONDS} seconds'\n       AND ",
        "",
        f"{READ}::test_a_standby_far_behind_the_ledger_is_not_warm",
    ),
    on_sale(
        Kind.CONDITION,
        "a closed event with facts is attended to",
        "            OR EXISTS (SELECT FROM fact WHERE event_id = event.id)\n",
        "",
        f"{PLANNER}::test_what_is_not_on_sale_any_more_is_attended_to_by_nobody",
    ),
    limits(
        Kind.BOUND,
        "settings of the fleet are within their bounds",
        "and least <= int(text) <= most):",
        "):",
        f"{PLAN}::test_settings_are_read_within_bounds",
    ),
]
