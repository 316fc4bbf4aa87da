"""Faults in who is told by mail of events that are called off, how much, and in what words."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

OFF = "tests/onsale/chores/test_mails_off.py"
CANCELED = f"{OFF}::test_of_a_canceled_event_each_buyer_reads_once_how_much_comes_back"
MOVED = f"{OFF}::test_of_a_moved_event_each_buyer_reads_both_dates_and_then_of_the_new_order"
mails = In("store/mail.py")
letters = In("notifier/letters.py")

MUTANTS: list[Mutant] = [
    mails(
        Kind.CONDITION,
        "what went back before is not told to come back",
        "WHERE payment_id = payment.id AND refund.reason <> 'event_canceled'), 0)",
        "WHERE payment_id = payment.id AND false), 0)",
        f"{OFF}::test_what_went_back_before_the_event_was_canceled_is_not_told_again",
    ),
    mails(
        Kind.CONDITION,
        "who has everything back is not told of a cancelation's refund",
        " AS paid ON left_minor > 0\n",
        " AS paid ON true\n",
        CANCELED,
    ),
    mails(
        Kind.DEDUPE,
        "what the event's mail told is not told of each order",
        "     AND (told.body ->> 'reason' IS DISTINCT FROM 'event_canceled'\n",
        "     AND (true\n",
        CANCELED,
    ),
    mails(
        Kind.CONDITION,
        "who paid after the event was canceled is told of the order",
        "          OR (paid -> (told.body ->> 'order') ->> 'after')::boolean)\n",
        "          OR false)\n",
        f"{OFF}::test_who_paid_after_the_event_was_canceled_reads_that_the_order_is_taken_back",
    ),
    mails(
        Kind.CONDITION,
        "whose order went along already is told that the event was moved",
        "       WHERE rebooked.event_id = told.event_id) AS goes",
        "       WHERE rebooked.event_id = told.event_id AND false) AS goes",
        MOVED,
    ),
    letters(
        Kind.CONDITION,
        "a name is on one line of characters that can be printed",
        'one if one.isprintable() else " "',
        "one",
        f"{OFF}::test_what_an_event_is_called_begins_no_header_no_line_and_no_markup",
    ),
    letters(
        Kind.CONDITION,
        "an order that came along is no new one that was paid for",
        'case Told.ORDER_PAID if body.get("moved_from"):',
        'case Told.ORDER_PAID if body.get("moved_from_nowhere"):',
        MOVED,
    ),
]
