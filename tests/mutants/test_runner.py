"""What is caught, what survives and what says nothing: on four small faults, in one real copy."""

from __future__ import annotations

import pytest

from tests.mutants.mutant import In, Kind
from tests.mutants.runner import Outcome, Verdict, run

GATE = "tests/gateway/test_gate.py"
gate = In("gateway/gate.py")
FREE = "            if letter == AVAILABLE:\n                continue\n"
CAUGHT = gate(Kind.GATE, "caught", FREE, "", f"{GATE}::test_a_batch_changes_the_map_in_its_own_order",
              f"{GATE}::test_seats_that_are_sold_blocked_or_held_well_beyond_now_are_gone")  # fmt: skip
SURVIVES = gate(Kind.GATE, "survives", FREE, "", f"{GATE}::test_a_seat_nobody_knows_is_left_to_the_decision")
IS_GONE = gate(Kind.GATE, "is gone", "no such text", "", *SURVIVES.noticed_by)
NO_TEST = gate(Kind.GATE, "no test", FREE, "", f"{GATE}::test_that_was_renamed")
CANNOT_RUN = gate(Kind.GATE, "cannot run", "class Seats:", "class Seat:", *SURVIVES.noticed_by)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    told: list[Outcome] = []
    returned = run([CAUGHT, SURVIVES, IS_GONE, NO_TEST, CANNOT_RUN, SURVIVES], 1, told.append)
    assert told == returned
    return {outcome.mutant.guard: outcome for outcome in returned}


def test_a_fault_is_caught_by_the_tests_that_fail_and_why(outcomes):
    caught = outcomes["caught"]
    assert caught.verdict is Verdict.CAUGHT
    [failure] = caught.failures
    assert failure.test == CAUGHT.noticed_by[1]
    assert failure.why.startswith("AssertionError: assert ['free'")


def test_a_fault_that_fails_no_test_survives_also_after_others_were_taken_back(outcomes):
    assert (outcomes["survives"].verdict, outcomes["survives"].failures) == (Verdict.SURVIVED, ())


def test_what_does_not_apply_or_names_no_test_or_cannot_be_loaded_is_not_caught(outcomes):
    assert outcomes["is gone"].verdict is Verdict.DOES_NOT_APPLY
    assert outcomes["no test"].verdict is Verdict.NO_SUCH_TEST
    assert outcomes["cannot run"].verdict is Verdict.UNCLEAR
    assert [guard for guard, outcome in outcomes.items() if outcome.caught] == ["caught"]
