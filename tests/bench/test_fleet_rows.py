"""What a time without answers counts for, and which groups a fleet's benchmark has."""

from __future__ import annotations

import pytest

from bench import labels
from bench.effort import Effort
from bench.fleet.house import wait
from bench.fleet.rows_handover import Handover, longest
from bench.fleet.run import GROUPS, run_fleet
from bench.orders import Round
from store.errors import BadRequest, OnsaleError

GAPS = [(1_000, 300), (2_000, 100), (3_000, 50)]
"""(when it ended, how long it was)"""


def test_a_time_without_answers_counts_where_a_part_of_it_is_meant() -> None:
    done = Round(answer_gaps=GAPS)
    assert done.answer_gap_ns_within(1_500, 2_500) == 100
    assert done.answer_gap_ns_within(900, 2_500) == 300  # began before, ended within
    assert done.answer_gap_ns_within(1_950, 1_960) == 100  # longer than what is asked about
    assert done.answer_gap_ns_within(4_000, 5_000) == 0


def test_reached_is_what_the_longest_of_all_handovers_reaches() -> None:
    rounds = [Handover(ms * 1_000_000, 7_000_000, []) for ms in (40, 50, 210)]
    row = longest("planned_handover", rounds, "ms", 200, lawful=True)
    assert (row.value, row.reached) == (50, False)
    assert row.note == "the longest: 210 ms; undisturbed: 7 ms"
    assert longest("planned_handover", rounds[:2], "ms", 200, lawful=True).reached
    assert not longest("planned_handover", rounds[:2], "ms", 200, lawful=False).reached


def test_every_row_has_a_name_for_people() -> None:
    for _, rows in GROUPS.values():
        for row in rows:
            assert labels.label(row) != row.replace("_", " ")


def test_unknown_rows_are_refused_before_anything_is_started() -> None:
    with pytest.raises(BadRequest, match="planned_handover_shared"):
        run_fleet(["handovr"], lambda _: None, Effort(quick=True))


def test_waiting_ends_with_what_was_waited_for() -> None:
    with pytest.raises(OnsaleError, match="until an owner is there"):
        wait(lambda: False, "an owner is there", seconds_max=0.0)
