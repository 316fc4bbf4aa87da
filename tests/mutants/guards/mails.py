"""Faults in mails: for whom they are, what a mail server says to them, and what is told of that."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

ROWS = "tests/store/test_mail.py"
SERVER = "tests/notifier/test_mail_server.py"
MAIL = "tests/onsale/chores/test_mail.py"
rows = In("store/mail.py")
letters = In("notifier/mail.py")
chore = In("onsale/chores/mail.py")

MUTANTS: list[Mutant] = [
    rows(
        Kind.DEDUPE,
        "what was made a mail of and forgotten is not made one again",
        "WHERE event_id = %(event)s AND number > %(after)s AND number <= %(to)s),",
        "WHERE event_id = %(event)s AND number <= %(to)s),",
        f"{ROWS}::test_what_was_forgotten_is_not_written_down_again",
    ),
    rows(
        Kind.BOUND,
        "rows are not held against every payment",
        "      OFFSET 0) AS whose ON true\n   WHERE told.kind = ANY (%(of_payment)s)",
        "      ) AS whose ON true\n   WHERE told.kind = ANY (%(of_payment)s)",
        f"{ROWS}::test_rows_are_not_held_against_every_payment_of_the_event",
    ),
    rows(
        Kind.BOUND,
        "the payments of orders are read once, not for each row",
        "paid -> (told.body ->> 'order') ->> 'email'",
        "(SELECT email FROM payment WHERE payment.event_id = told.event_id"
        " AND order_id = (told.body ->> 'order')::bigint)",
        f"{ROWS}::test_rows_are_not_held_against_every_payment_of_the_event",
    ),
    rows(
        Kind.CONDITION,
        "an event that was read is left alone",
        " WHERE told.rows > coalesce(at.number, 0)\n",
        " WHERE told.rows >= coalesce(at.number, 0)\n",
        f"{ROWS}::test_events_that_told_something_new_are_found_without_reading_the_outbox",
    ),
    chore(
        Kind.BOUND,
        "an event whose rows cannot be read stops no other",
        'await doing.trying(f"mails of event {event}", written)',
        "await written",
        f"{MAIL}::test_an_event_whose_rows_cannot_be_read_stops_no_others_mails",
    ),
    letters(
        Kind.CONDITION,
        "mails are not given up where the sender is refused",
        "        except smtplib.SMTPDataError as error:\n",
        "        except smtplib.SMTPResponseException as error:\n",
        f"{SERVER}::test_only_what_is_about_the_mail_itself_is_for_good",
    ),
    letters(
        Kind.CONDITION,
        "an address that a server cannot take is given up",
        "        except smtplib.SMTPNotSupportedError as error:\n"
        '            raise NeverSent("The mail server takes no address with such letters.") from error\n',
        "",
        f"{SERVER}::test_an_address_with_letters_that_a_server_does_not_take_is_never_written_to_again",
    ),
    letters(
        Kind.CONDITION,
        "no address is told of in a failure",
        'return re.sub(r"\\S*@\\S*", "…", text)',
        "return text",
        f"{SERVER}::test_no_address_is_in_what_is_told_of_a_failure",
    ),
    letters(
        Kind.CONDITION,
        "a password is not told in the clear",
        "if not (secure or host in _HERE):",
        "if not (secure or host):",
        f"{SERVER}::test_a_password_is_told_to_nobody_in_the_clear",
    ),
    letters(
        Kind.CONDITION,
        "an address with anything else in it is none",
        '    if [(one.username, one.domain) for one in mail["To"].addresses] != [(local, host)]:\n'
        '        raise NeverSent("The address is none, or several.")\n',
        "",
        f"{SERVER}::test_what_a_header_would_read_as_something_else_is_no_address",
        f"{MAIL}::test_an_address_that_is_none_is_never_written_to",
    ),
]
