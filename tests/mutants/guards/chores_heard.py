"""Faults in how it is seen whether chores go on, and in what a rehearsal needs where they run."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

HEARD = "tests/onsale/chores/test_heard.py"
heard = In("onsale/chores/heard.py")

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
]
