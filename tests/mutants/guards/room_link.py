"""Faults in how the waiting room's page proves and how it is told, whatever the network lets through."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

PROOF = "tests/browser/test_proof.py"
proving = In("gateway/pages/static/core/proving.js")
proof = In("gateway/pages/static/core/proof.js")
asking = In("gateway/pages/static/core/roomasking.js")

MUTANTS: list[Mutant] = [
    proving(
        Kind.BOUND,
        "a proof that nobody wants any more is not worked for in a worker",
        "    this.worker?.terminate();\n    this.found(solution);\n",
        "    this.found(solution);\n",
        f"{PROOF}::test_who_does_not_want_it_any_more_stops_it_and_may_begin_anew",
    ),
    proof(
        Kind.BOUND,
        "a proof that nobody wants any more is not worked for in the page",
        "first < TRIES_MAX && wanted();",
        "first < TRIES_MAX;",
        f"{PROOF}::test_where_workers_are_missing_it_stops_too",
    ),
    asking(
        Kind.BOUND,
        "one join proves a few times and not for ever",
        " && now.proofs < PROOFS_MAX",
        "",
        f"{PROOF}::test_a_proof_that_was_refused_is_found_anew_but_not_for_ever",
    ),
]
