"""Faults in what operators change of the fleet, and in who may."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

EDIT = "tests/store/fleet/test_edit.py"
READ = "tests/store/fleet/test_read.py"
HTTP = "tests/gateway/test_operator_fleet.py"
edit = In("store/fleet/edit.py")
log = In("store/fleet/log.py")
fleet = In("gateway/operators/fleet.py")
trim = In("onsale/chores/trim.py")

MUTANTS: list[Mutant] = [
    edit(
        Kind.BOUND,
        "an event has as many workers as it may have",
        "if not 1 <= workers <= WORKERS_MAX:",
        "if not workers <= WORKERS_MAX:",
        f"{EDIT}::test_an_event_has_one_to_eight_workers",
    ),
    edit(
        Kind.CONDITION,
        "who saw another edition of the wanted workers is refused",
        "if edition is not None and edition != was.edition:",
        "if edition is not None and edition > was.edition:",
        f"{EDIT}::test_who_saw_another_edition_is_told_what_it_is_now",
        f"{EDIT}::test_of_two_operators_at_once_one_is_refused",
    ),
    edit(
        Kind.FENCE,
        "operators change the fleet one after the other",
        "        turn.take(conn)\n        yield",
        "        yield",
        f"{EDIT}::test_who_waits_too_long_for_the_turn_is_told_to_try_again",
    ),
    edit(
        Kind.CONDITION,
        "what is not on sale is not moved",
        "if conn.execute(IS_ON_SALE, (event,)).fetchone() is None:",
        "if False:",
        f"{EDIT}::test_nothing_goes_where_it_could_not_stay",
    ),
    edit(
        Kind.CONDITION,
        "nothing is moved to a host that is gone",
        "if not host.alive:\n",
        "if not host.name:\n",
        f"{EDIT}::test_nothing_goes_where_it_could_not_stay",
    ),
    edit(
        Kind.CONDITION,
        "nothing is moved to a host that drains",
        "if host.draining:\n            story",
        "if not host.name:\n            story",
        f"{EDIT}::test_nothing_goes_where_it_could_not_stay",
    ),
    edit(
        Kind.BOUND,
        "nothing is moved to a host that is full",
        "if host.used >= host.slots:",
        "if host.used > host.slots:",
        f"{EDIT}::test_a_hot_event_does_not_go_to_who_is_for_others",
    ),
    edit(
        Kind.CONDITION,
        "a hot event is not moved to who is for others",
        "shared = [worker for worker in there if worker.cold and not was.hot]",
        "shared = [worker for worker in there if worker.cold]",
        f"{EDIT}::test_a_hot_event_does_not_go_to_who_is_for_others",
    ),
    edit(
        Kind.CONDITION,
        "the last host that is there is not drained",
        "host.alive and not host.draining for host in hosts",
        "not host.draining for host in hosts",
        f"{EDIT}::test_the_last_host_is_not_drained",
    ),
    edit(
        Kind.CONDITION,
        "a host that drains does not count as one that stays",
        "host.alive and not host.draining for host in hosts",
        "host.alive for host in hosts",
        f"{EDIT}::test_the_last_host_is_not_drained",
        f"{EDIT}::test_of_the_last_two_hosts_drained_at_once_one_stays",
    ),
    edit(
        Kind.LEDGER,
        "who scaled an event is in its audit",
        '        audit.write(conn, event, said, {"change": "scale", **detail})\n',
        "",
        f"{EDIT}::test_an_event_is_scaled_and_it_is_told",
    ),
    edit(
        Kind.LEDGER,
        "who moved an event is in its audit",
        '        audit.write(conn, event, said, {"change": "move to host", **detail})\n',
        "",
        f"{EDIT}::test_a_cold_event_goes_to_who_shares_on_that_host",
    ),
    log(
        Kind.BOUND,
        "the fleet's log keeps so many rows at most",
        "      OR id <= (SELECT id FROM fleet_log ORDER BY id DESC OFFSET %(rows)s LIMIT 1)\n",
        "",
        f"{READ}::test_old_rows_of_the_log_go_a_bounded_number_at_a_time",
    ),
    In("store/fleet/steps.py")(
        Kind.CONDITION,
        "what the planner notes first is no operator's edition",
        "    VALUES (%(event)s, 0, %(hot)s,",
        "    VALUES (%(event)s, 1, %(hot)s,",
        f"{EDIT}::test_what_the_planner_notes_is_no_operators_change",
    ),
    trim(
        Kind.BOUND,
        "the fleet's log is trimmed by a chore",
        "told.trim_dead, fleet_log.trim)",
        "told.trim_dead)",
        "tests/onsale/chores/test_planner.py::test_the_fleets_log_is_trimmed",
    ),
    fleet(
        Kind.TOKEN,
        "who looks at the fleet has a key",
        "LOOKS = [Depends(require_viewer)]",
        "LOOKS = []",
        f"{HTTP}::test_nobody_gets_in_without_a_key",
    ),
    fleet(
        Kind.TOKEN,
        "who changes the fleet has a key",
        "CHANGES = [Depends(require_operator)]",
        "CHANGES = []",
        f"{HTTP}::test_nobody_gets_in_without_a_key",
    ),
]
