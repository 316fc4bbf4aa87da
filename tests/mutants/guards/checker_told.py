"""Faults in what the checker says of holders and of who waits (`bench/checks/holders.py`, `waiters.py`)."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

HOLDERS = "tests/checker/test_checker_holders.py"
WAITERS = "tests/checker/test_checker_waiters.py"
NOT_ACCOUNTED_FOR = "test_what_the_ledger_does_not_account_for_is_noticed"
holders = In("bench/checks/holders.py")
waiters = In("bench/checks/waiters.py")
torture = In("bench/torture/run.py")

MUTANTS: list[Mutant] = [
    holders(
        Kind.CHECKER,
        "the checker sees an end that no extension gave",
        "    if not any(abs(answer.expires_at - end) <= ROUNDING_MS * len(paused_ms) for end in possible):\n",
        "    if False:\n",
        f"{HOLDERS}::{NOT_ACCOUNTED_FOR}",
    ),
    holders(
        Kind.CHECKER,
        "a pause before a hold was given gives it no time",
        "    since = [lost - paused_ms[before] for lost in paused_ms[before:]]\n",
        "    since = paused_ms\n",
        f"{HOLDERS}::test_a_pause_from_before_a_hold_was_given_gives_it_no_time",
    ),
    holders(
        Kind.CHECKER,
        "the checker counts the time that an outage gave",
        '        elif row.outcome == "outage":\n',
        '        elif row.outcome == "no such":\n',
        f"{HOLDERS}::test_time_given_back_after_an_outage_explains_a_later_end",
    ),
    holders(
        Kind.CHECKER,
        "the checker sees a hold told to have what it never had",
        "    if told not in course.contents:\n",
        "    if False:\n",
        f"{HOLDERS}::{NOT_ACCOUNTED_FOR}",
    ),
    holders(
        Kind.CHECKER,
        "the checker sees a hold told to keep what was given back",
        "    if op.gives_some and count == op.quantity:\n",
        "    if False:\n",
        f"{HOLDERS}::{NOT_ACCOUNTED_FOR}",
    ),
    waiters(
        Kind.CHECKER,
        "the checker sees an offer that somebody else is told of",
        "    if entry is not None and entry.row.buyer != buyer:\n",
        "    if False:\n",
        f"{WAITERS}::test_an_offer_that_somebody_else_was_told_of_is_noticed",
    ),
    waiters(
        Kind.CHECKER,
        "the checker sees an offer told otherwise than it was made",
        "    elif read_json(entry.offer.result) != result:\n",
        "    elif False:\n",
        f"{WAITERS}::{NOT_ACCOUNTED_FOR}",
    ),
    waiters(
        Kind.CHECKER,
        "the checker sees a place on the list that a request never had",
        "    elif not by_ledger.last <= place <= by_ledger.first:\n",
        "    elif False:\n",
        f"{WAITERS}::{NOT_ACCOUNTED_FOR}",
    ),
    waiters(
        Kind.CHECKER,
        "who left is off the list before the ledger says so",
        "    return 1 + sum(other not in leavers for other in line[: bisect_left(line, wait)])\n",
        "    return 1 + bisect_left(line, wait)\n",
        f"{WAITERS}::test_who_leaves_is_off_the_list_before_the_ledger_says_so",
    ),
    waiters(
        Kind.CHECKER,
        "the checker sees somebody told to have left who did not",
        "    elif not leaving.error and not entry.left:\n",
        "    elif False:\n",
        f"{WAITERS}::{NOT_ACCOUNTED_FOR}",
    ),
    waiters(
        Kind.CHECKER,
        "the checker sees somebody told not to wait who does",
        '    elif leaving.error == "not_waiting" or (leaving.error == "offered" and entry.offer is None):\n',
        "    elif False:\n",
        f"{WAITERS}::test_an_offer_denied_to_who_leaves_is_noticed",
    ),
    waiters(
        Kind.CHECKER,
        "the checker sees an offer that its buyer asked for and was not told of",
        "            if entry.row.request_id in knew and wait not in known[buyer] | still:\n",
        "            if False:\n",
        f"{WAITERS}::test_an_offer_whose_buyer_asked_for_the_list_and_was_not_told_is_lost",
    ),
    waiters(
        Kind.CHECKER,
        "who was not told yet when it asked for the last time has lost nothing",
        "            if entry.row.request_id in knew and wait not in known[buyer] | still:\n",
        "            if entry.row.request_id in knew and wait not in known[buyer]:\n",
        f"{WAITERS}::test_who_could_not_know_or_knows_is_not_lost",
    ),
    torture(
        Kind.CHECKER,
        "a torture in which something never took place fails",
        "        return not self.findings and self.decisions > 0 and not self.never\n",
        "        return not self.findings and self.decisions > 0\n",
        "tests/bench/test_torture.py::test_a_run_in_which_something_never_took_place_says_so_and_fails",
    ),
]
