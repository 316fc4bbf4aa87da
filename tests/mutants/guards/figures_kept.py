"""Faults in what is kept of forgotten rows of the outbox, in counting anew, and in the settlement's CSV."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

KEPT = "tests/store/figures/test_kept.py"
TRIM = "tests/store/subscribers/test_trim.py"
WHENEVER = (
    f"{KEPT}::test_counted_on_counted_anew_and_read_from_the_tables_is_the_same_whenever_rows_were_forgotten"
)
kept = In("store/figures/kept.py")
settlement_csv = In("store/payments/settlement_csv.py")
project = In("store/figures/project.py")
trim = In("store/subscribers/trim.py")
sales = In("store/sales.py")

MUTANTS: list[Mutant] = [
    trim(
        Kind.BOUND,
        "one call removes only so many rows of the outbox",
        "   ORDER BY o.id LIMIT %(limit)s) AS old\n",
        "   ORDER BY o.id) AS old\n",
        f"{TRIM}::test_a_call_is_bounded_and_repeated_until_nothing_is_left",
    ),
    kept(
        Kind.CONDITION,
        "only rows that the figures have counted are forgotten",
        " and row.number <= counted[0]]",
        "]",
        f"{KEPT}::test_only_what_the_figures_have_counted_by_then_is_forgotten",
    ),
    kept(
        Kind.CONDITION,
        "nobody puts figures that counted fewer while rows are forgotten",
        "WHERE event_id = %(event)s FOR SHARE\n",
        "WHERE event_id = %(event)s\n",
        f"{KEPT}::test_figures_that_counted_fewer_do_not_come_while_rows_are_forgotten",
    ),
    kept(
        Kind.CONDITION,
        "what is kept is the sum of all rows from the first",
        "        if rows[0].number == was.outbox_number + 1:",
        "        if True:",
        f"{KEPT}::test_rows_that_are_gone_and_were_not_kept_are_missed_and_the_figures_stay",
    ),
    kept(
        Kind.CONDITION,
        "rows are forgotten from the first on",
        "    if not rows or rows[0].number != found[0][-1]:",
        "    if not rows:",
        f"{TRIM}::test_rows_that_somebody_else_removes_are_left_to_them",
    ),
    kept(
        Kind.DEDUPE,
        "what rows came to is added to what was kept before",
        "plus(was.figures, change_of_rows(conn, event_id, rows, plan))",
        "change_of_rows(conn, event_id, rows, plan)",
        WHENEVER,
    ),
    project(
        Kind.CONDITION,
        "figures are not put below what is forgotten",
        "\n   AND %(number)s >= coalesce(",
        "\n   AND 0 >= 0 * coalesce(",
        f"{KEPT}::test_rows_that_are_forgotten_while_it_is_counted_anew_are_in_it_once",
    ),
    project(
        Kind.CONDITION,
        "figures that were lost begin with what is kept",
        "SELECT %(event)s, coalesce(kept.outbox_number, 0), %(capacity)s, coalesce(kept.figures, '{}')",
        "SELECT %(event)s, coalesce(kept.outbox_number, 0), %(capacity)s, '{}'",
        WHENEVER,
    ),
    project(
        Kind.CONDITION,
        "rows that are missing are missed",
        "    if not whole:\n",
        "    if False:\n",
        f"{KEPT}::test_of_rows_that_are_missing_in_the_middle_none_behind_them_is_counted",
    ),
    project(
        Kind.CONDITION,
        "rows that are missing at the end are missed",
        " if rows else told <= number\n",
        " if rows else True\n",
        f"{KEPT}::test_rows_that_are_gone_and_were_not_kept_are_missed_and_the_figures_stay",
    ),
    project(
        Kind.CONDITION,
        "who finds rows forgotten that somebody else counted goes on",
        "            return 1  # somebody else counted these",
        "            raise  # somebody else counted these",
        f"{KEPT}::test_who_counts_what_somebody_else_counted_and_forgot_goes_on_from_there",
    ),
    sales(
        Kind.CONDITION,
        "what is taken back says what was paid for it",
        "    if owed.amount_minor:\n        tells |=",
        "    if False:\n        tells |=",
        WHENEVER,
    ),
    settlement_csv(
        Kind.BOUND,
        "a settlement's file is told in pieces",
        "islice(entries, LINES_AT_A_TIME)",
        "islice(entries, None)",
        "tests/store/test_settlement.py"
        "::test_the_file_is_told_in_pieces_of_one_moment_and_little_is_read_ahead",
    ),
    settlement_csv(
        Kind.CONDITION,
        "what others wrote is no formula to a spreadsheet",
        "if text.lstrip().startswith(FORMULA_BEGINS) else text",
        "if False else text",
        "tests/store/test_settlement.py"
        "::test_what_others_wrote_is_no_formula_to_a_spreadsheet_and_amounts_are_numbers",
    ),
]
