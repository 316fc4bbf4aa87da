"""Faults in how it is seen whether chores go on, and in what a rehearsal needs where they run."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

REHEARSALS = "tests/onsale/test_rehearsals.py"
HEARD = "tests/onsale/chores/test_heard.py"
heard = In("onsale/chores/heard.py")

scratch = In("onsale/rehearsals/scratch.py")

MUTANTS: list[Mutant] = [
    heard(
        Kind.CONDITION,
        "chores whose process stands still are not well",
        "    if age_seconds > SILENT_SECONDS:\n",
        "    if age_seconds < 0:\n",
        f"{HEARD}::test_a_process_that_stands_still_is_not_well_until_it_turns_again",
    ),
    heard(
        Kind.CONDITION,
        "chores that nobody runs are not well",
        "late = [run.chore for run in found if run.late]",
        "late = [run.chore for run in found if run.late and not run.alive_at]",
        f"{HEARD}::test_a_chore_that_nobody_runs_any_more_is_told_by_name",
    ),
    In("onsale/rehearsals/chore.py")(
        Kind.CONDITION,
        "a rehearsal writes into its own folder",
        ', "TMPDIR": str(folder)}',
        "}",
        f"{REHEARSALS}::test_a_rehearsal_is_run_to_its_result_and_writes_into_its_own_folder",
    ),
    scratch(
        Kind.BOUND,
        "a rehearsal begins where there is room for it",
        "        if free < FREE_BYTES_MIN:\n",
        "        if free < 0:\n",
        f"{REHEARSALS}::test_where_there_is_no_room_it_does_not_begin",
    ),
    scratch(
        Kind.BOUND,
        "what a killed rehearsal left does not stay",
        "        if old:\n",
        "        if False:\n",
        f"{REHEARSALS}::test_folders_of_killed_hosts_go_and_others_stay",
    ),
]
