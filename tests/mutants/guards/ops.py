"""Faults in what operators rely on: logs that say nothing of people, backups that are whole."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

LOGS = "tests/store/test_logs.py"
logs = In("store/logs.py")
BACKUP = "tests/onsale/backup/test_backup.py"
ON = "tests/onsale/backup/test_going_on.py"
made = In("onsale/backup/make.py")
restored = In("onsale/backup/restore.py")

MUTANTS: list[Mutant] = [
    made(
        Kind.CHECKER,
        "a backup that lacks rows is none",
        "        if found.get(table, 0) != count:\n",
        "        if False:\n",
        f"{BACKUP}::test_a_file_that_lacks_rows_never_gets_its_name",
    ),
    restored(
        Kind.CHECKER,
        "a backup that was changed is refused",
        "    check_sum(path, manifest)\n",
        "",
        f"{BACKUP}::test_a_file_that_is_not_what_was_written_is_refused",
    ),
    restored(
        Kind.CONDITION,
        "a restore overwrites nothing",
        "        if name not in MAY_HAVE_ROWS and found == (True,):\n",
        "        if False:\n",
        f"{BACKUP}::test_nothing_is_overwritten",
    ),
    restored(
        Kind.CONDITION,
        "a restore waits until nobody else is in the database",
        "    if others := [name for (name,) in conn.execute(OTHERS).fetchall()]:\n",
        "    if others := []:\n",
        f"{BACKUP}::test_while_others_are_in_the_database_it_is_left_alone",
    ),
    restored(
        Kind.TOKEN,
        "a session that ended does not come back with a restore",
        '"event_balance", "operator_session",',
        '"event_balance",',
        f"{BACKUP}::test_everything_comes_back_as_it_was",
    ),
    restored(
        Kind.FENCE,
        "an owner from before a restore is fenced",
        "UPDATE event_cursor SET epoch = epoch + {epochs}, owner = gen_random_uuid();\n",
        "",
        f"{ON}::test_who_owned_the_event_before_is_fenced",
        f"{BACKUP}::test_numbers_go_on_beyond_all_that_were_told",
    ),
    restored(
        Kind.LEDGER,
        "no hold after a restore has the number of one that was told before",
        "BATCHES: Final = 100_000_000\n",
        "BATCHES: Final = 1\n",
        f"{BACKUP}::test_numbers_go_on_beyond_all_that_were_told",
    ),
    restored(
        Kind.DEDUPE,
        "no message after a restore has the number of one that was told before",
        "COUNTED: Final = 10_000_000_000\n",
        "COUNTED: Final = 1_000_000\n",
        f"{BACKUP}::test_no_number_that_the_world_tells_repeats_by_is_given_twice",
    ),
    In("store/tickets/transfers.py")(
        Kind.TOKEN,
        "no ticket after a restore has the serial of one whose transfer is lost",
        "greatest(serial, {restored.SERIAL_ABOVE}) + 1",
        "serial + 1",
        "tests/store/tickets/test_transfers.py"
        "::test_after_a_restore_nobody_gets_the_serial_of_somebody_whose_transfer_is_lost",
    ),
    logs(
        Kind.TOKEN,
        "a row that Postgres quotes in an error stays out of logs",
        '    text = _QUOTED_ROWS.sub("", text)\n',
        "",
        f"{LOGS}::test_a_row_that_postgres_quotes_is_not_told",
    ),
    logs(
        Kind.TOKEN,
        "mail addresses stay out of logs",
        '    text = _MAIL.sub("[mail address]", text)\n',
        "",
        f"{LOGS}::test_people_and_secrets_are_taken_out",
    ),
    logs(
        Kind.TOKEN,
        "a trace is scrubbed as the message is",
        'told["trace"] = scrubbed(self.formatException(record.exc_info))[-TRACE_LENGTH_MAX:]',
        'told["trace"] = self.formatException(record.exc_info)[-TRACE_LENGTH_MAX:]',
        f"{LOGS}::test_a_row_that_postgres_quotes_is_not_told",
    ),
]
