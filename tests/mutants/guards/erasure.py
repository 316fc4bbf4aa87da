"""Faults in erasing buyers, and in what keeps the ledger from changing otherwise."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

TESTS = "tests/store/erasure/test_erase.py"
erase = In("store/erasure/erase.py")
statements = In("store/erasure/statements.py")
replay = In("allocator/replay.py")
sales = In("store/sales.py")

MUTANTS: list[Mutant] = [
    erase(
        Kind.CONDITION,
        "nobody is erased from a sale that runs",
        "    if running:\n",
        "    if running and False:\n",
        f"{TESTS}::test_while_a_sale_runs_nothing_is_erased",
    ),
    erase(
        Kind.CONDITION,
        "nobody is erased who is still owed something",
        "        if why is not None:\n",
        "        if why is None:\n",
        f"{TESTS}::test_what_somebody_is_still_to_do_for_the_buyer_is_waited_for",
    ),
    erase(
        Kind.REPLAY,
        "what a tour counted elsewhere is erased too",
        "            row[INPUT_COLUMN] = in_keys(row[INPUT_COLUMN], buyer, pseudonym)\n",
        "            pass\n",
        f"{TESTS}::test_what_a_tour_counted_is_erased_once_all_its_dates_are_closed",
    ),
    erase(
        Kind.REPLAY,
        "what the stream still has of somebody erased goes first",
        '        _add(rows, "stream", forget_requests(redis_url, event.slug, buyer, until))\n',
        "        assert until\n",
        f"{TESTS}::test_while_the_stream_does_not_answer_nothing_is_erased",
    ),
    statements(
        Kind.CONDITION,
        "mails to an address a place had before are erased too",
        "        OR body ->> 'place' IN (",
        "        OR body ->> 'none' IN (",
        f"{TESTS}::test_nothing_of_a_buyer_is_left_anywhere_and_every_decision_stands",
    ),
    statements(
        Kind.CONDITION,
        "erasing a buyer changes no states in the audit",
        'PUT_AUDIT, ("buyer",))',
        "PUT_AUDIT, NAMES)",
        f"{TESTS}::test_a_buyer_who_is_called_like_a_state_changes_nothing_that_is_told_of_states",
    ),
    erase(
        Kind.CONDITION,
        "who erased mails is in the audit",
        "    if count:\n",
        "    if count and False:\n",
        f"{TESTS}::test_who_erased_mails_of_nobody_else_is_in_the_audit",
    ),
    replay(
        Kind.REPLAY,
        "an erased row is what its record says",
        "row_digest(row) != erased.get(position, digest)",
        "position not in erased and row_digest(row) != digest",
        f"{TESTS}::test_a_row_that_was_changed_after_it_was_erased_is_named",
    ),
    replay(
        Kind.REPLAY,
        "a record of an erasure hides no other change",
        "position in erased and not names_pseudonym(row.buyer + row.input)",
        "False",
        f"{TESTS}::test_a_record_that_hides_another_change_is_named",
    ),
    sales(
        Kind.CONDITION,
        "orders of somebody erased can be taken back",
        " and not is_pseudonym(order.buyer)",
        "",
        f"{TESTS}::test_an_order_of_somebody_erased_can_still_be_taken_back",
    ),
]
