"""Faults where a rehearsal could touch a sale: beside one, two at once, with its engines and providers."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

REHEARSALS = "tests/gateway/test_operator_rehearsals.py"
CHORE = "tests/onsale/test_rehearsals.py"
rows = In("store/rehearsals/rows.py")

MUTANTS: list[Mutant] = [
    rows(
        Kind.CONDITION,
        "no rehearsal begins while something sells, unless that is said",
        "        if selling is not None and not beside_a_sale:\n",
        "        if selling is not None and not conn:\n",
        f"{REHEARSALS}::test_not_while_anything_sells_unless_that_is_said",
    ),
    rows(
        Kind.CONDITION,
        "a rehearsal that counts as over gets no result any more",
        "       ended_at = clock_timestamp()\n WHERE id = %(id)s AND state = 'running'\n",
        "       ended_at = clock_timestamp()\n WHERE id = %(id)s\n",
        f"{REHEARSALS}::test_one_whose_runner_is_gone_has_failed_and_the_next_may_begin",
    ),
    rows(
        Kind.CONDITION,
        "no rehearsal begins once something sells, unless that is said",
        "OR NOT beside_a_sale AND EXISTS",
        "OR NULL AND EXISTS",
        f"{REHEARSALS}::test_a_sale_that_opens_before_it_is_begun_goes_first",
    ),
    In("onsale/rehearsals/chore.py")(
        Kind.CONDITION,
        "a rehearsal ends with who looks after it, whatever ended that",
        "    finally:\n        _end(process)",
        "    finally:\n        pass",
        f"{CHORE}::test_where_postgres_goes_away_the_rehearsal_ends_before_another_could_begin",
    ),
    In("onsale/rehearsals/chore.py")(
        Kind.CONDITION,
        "a rehearsal knows nothing of this onsale's engines and providers",
        'OURS: Final = ("ONSALE_", "DATABASE_URL", ',
        'OURS: Final = ("DATABASE_URL", ',
        "tests/onsale/test_rehearsals.py::test_a_rehearsal_knows_no_engine_key_or_provider_of_this_onsale",
    ),
    In("bench/rehearsal/copying.py")(
        Kind.CONDITION,
        "a rehearsal takes no money",
        '        payment="none",\n',
        "",
        "tests/bench/test_rehearsal.py::test_plan_terms_limits_and_room_are_copied_and_no_money_is_taken",
    ),
    In("bench/rehearsal/sizing.py")(
        Kind.BOUND,
        "a sizing plans with a share of what was measured",
        "    ceiling = max(1.0, off.decisions_per_second * SHARE_USED)\n",
        "    ceiling = max(1.0, off.decisions_per_second)\n",
        "tests/bench/test_sizing.py::test_nothing_is_planned_above_the_share_of_what_was_measured",
    ),
]
