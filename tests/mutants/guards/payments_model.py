"""Faults in the money's machinery that its model, or a test of one order of locks, notices."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

REFUNDS = "tests/store/payments/test_refunds.py"
MOVE = "tests/store/calling_off/test_move.py"

refunds = In("store/payments/refunds.py")

settle = In("store/payments/settle.py")
ONE_ID = "tests/store/payments/test_settle.py::test_one_id_for_two_payments_hides_no_money_and_stops_nobody"

MUTANTS: list[Mutant] = [
    settle(
        Kind.DEDUPE,
        "notices of one id are not decided together",
        " or name in names:",
        ":",
        ONE_ID,
    ),
    settle(
        Kind.DEDUPE,
        "a notice of an id that was another payment's is no repeat",
        "if of not in (None, payment.id):",
        "if False:",
        ONE_ID,
    ),
    refunds(
        Kind.CONDITION,
        "a payment is locked before its refund",
        'WHERE id = %(payment)s FOR NO KEY UPDATE\n"""\n\nGIVEN',
        'WHERE id = %(payment)s\n"""\n\nGIVEN',
        f"{REFUNDS}::test_a_payment_is_locked_before_its_refund_as_by_who_owes_and_moves",
    ),
    refunds(
        Kind.CONDITION,
        "a refund is told where its order is now",
        "rows = [(event_id, Told",
        "rows = [(due.event_id, Told",
        f"{MOVE}::test_a_refund_that_was_asked_for_before_the_move_is_told_where_its_order_is_now",
    ),
]
