"""Faults in what operators rely on: logs that say nothing of people, backups that are whole."""

from __future__ import annotations

from tests.mutants.mutant import In, Kind, Mutant

LOGS = "tests/store/test_logs.py"
logs = In("store/logs.py")

MUTANTS: list[Mutant] = [
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
