"""Faults in how an event goes from one allocator to another by plan."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

DIRECTION = "tests/allocator/test_direction.py"
LEASE = "tests/allocator/test_lease.py"
OUTAGES = "tests/allocator/test_outages.py"
direction = In("allocator/direction.py")
lease = In("allocator/lease.py")

MUTANTS: list[Mutant] = [
    direction(
        Kind.TAKEOVER,
        "nothing is handed over to who is not warm",
        "if preferred is not False or not successor_warm:",
        "if preferred is not False:",
        f"{DIRECTION}::test_an_owner_keeps_what_nobody_else_is_ready_for",
    ),
    direction(
        Kind.TAKEOVER,
        "a handover waits until the other one has learnt of it",
        "now - wanted_at >= SETTLED_SECONDS",
        "now - wanted_at >= 0",
        f"{DIRECTION}::test_an_owner_hands_over_once_another_one_that_is_warm_has_been_preferred_for_long_enough",
    ),
    direction(
        Kind.TAKEOVER,
        "what nobody took is not given back again and again",
        "return settled and now >= self._keeps_until",
        "return settled",
        f"{DIRECTION}::test_who_handed_over_and_had_to_take_it_again_keeps_it_for_a_while",
    ),
    direction(
        Kind.TAKEOVER,
        "what was given back is left to who is preferred",
        "return seen.free and not (seen.given_back and self._preferred is False)",
        "return seen.free",
        f"{DIRECTION}::test_what_was_given_back_a_moment_ago_is_left_to_who_is_preferred",
    ),
    lease(
        Kind.TAKEOVER,
        "giving back hides no time in which nobody attended",
        "renewed_at = CASE WHEN {UNATTENDED} THEN lease.renewed_at ELSE clock_timestamp() END",
        "renewed_at = clock_timestamp()",
        f"{OUTAGES}::test_giving_back_hides_no_outage",
    ),
    lease(
        Kind.TAKEOVER,
        "precedence lasts a moment",
        "AND lease.renewed_at > clock_timestamp() - make_interval(secs => {PRECEDENCE_SECONDS})",
        "",
        f"{LEASE}::test_what_was_given_back_is_left_to_one_for_a_moment_only",
    ),
]
